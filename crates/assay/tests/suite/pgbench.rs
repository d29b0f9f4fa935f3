//! Scripts of pgbench against pgbench itself, on the same server: values of expressions, tables, and statements.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use assay_wire::{Address, ConnectOptions, Connection, Protocol};
use serde_json::Value;

use crate::common::Place;

struct Bed {
    place: Place,
    folder: tempfile::TempDir,
    name: String,
    url: String,
    options: ConnectOptions,
}

#[track_caller]
fn json(output: Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

impl Bed {
    fn start() -> Self {
        let place = Place::with("postgres@16");
        let folder = tempfile::tempdir().unwrap();
        let start = ["server", "start", "postgres@16", "--offline", "--format", "json"];
        let started = json(place.run_to_end(&start));
        let text = |key: &str| started[key].as_str().unwrap().to_owned();
        let (name, url) = (text("name"), text("url"));
        let parsed = assay_plan::parse_url(&url).unwrap();
        let assay_plan::ServerPlace::Socket(socket) = &parsed.place else {
            panic!("no socket: {url}")
        };
        let options = ConnectOptions {
            protocol: Protocol::Postgres,
            password: parsed.password.as_ref().map(|it| it.reveal().to_owned()),
            database: Some(parsed.database.clone()),
            ..ConnectOptions::unix(socket, &parsed.user)
        };
        Self { place, folder, name, url, options }
    }

    fn listen(&mut self) -> Listener {
        let Address::Unix(socket) = &self.options.address else { panic!("no socket") };
        let listener = Listener::before(socket);
        let socket = listener.directory.path().join(".s.PGSQL.5432");
        let host = listener.directory.path().display();
        let database = self.options.database.as_deref().unwrap();
        self.url = format!("postgres://{}@/{database}?host={host}&port=5432", self.options.user);
        self.options.address = Address::Unix(socket);
        listener
    }

    fn connect(&self) -> Connection {
        Connection::connect(&self.options).unwrap()
    }

    fn script(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        fs_err::write(&file, text).unwrap();
        file.display().to_string()
    }

    #[track_caller]
    fn pgbench(&self, args: &[&str]) {
        let Address::Unix(socket) = &self.options.address else { panic!("no socket") };
        let directory = socket.parent().filter(|_| socket.extension().is_some()).unwrap_or(socket);
        let port = socket.extension().map_or("5432", |it| it.to_str().unwrap());
        let mut command = Command::new("pgbench");
        command.arg("-h").arg(directory).args(["-p", port, "-U", &self.options.user]).args(args);
        command.arg(self.options.database.as_deref().unwrap());
        command.env("PGPASSWORD", self.options.password.as_deref().unwrap_or_default());
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {message}");
    }

    #[track_caller]
    fn bench(&self, args: &[&str]) -> Value {
        // The number of events ends it, however long they take on a busy machine.
        let bench = ["bench", &self.url, "--format", "json", "--quiet", "--time", "10m"];
        json(self.place.run_to_end(&[&bench[..], args].concat()))
    }

    fn stop(self) {
        assert!(self.place.run_to_end(&["server", "stop", &self.name]).status.success());
        self.place.assert_nothing_left();
    }
}

const EXPRESSIONS: &str = "
~1 + 2 | ~1 # 7 | 2 * ~1 + 2 | - 2 * 3 | -2 % 3 | 7 / -2 | -7 / 2 | 7.0 / 2 | 1 << 2 + 1 | 1 << 70 | 1 >> 65
-1 >> 1
1 << -1 | 6 & 3 | 5 # 3 | 1 <> 2 | 1 != 1.0 | 1 >= 1 | 3 > 2.5 | 1 =2 | 2--3 | - - 3 | .5 | 1.e3 | 1e3 | 1.0/3 | 1e20
1e15 | 1e14 + 0.5 | 123456789.123456789 | 0.00001234 | 0.0001 | 1.0/7*1e-7 | 2.0 | 0.1+0.2 | 0.1 * 3 | - 0.0
not true or true | not 1 = 2 | not true is null | 1 = 1 is true | 1 is null | null is null | null isnull | 2 notnull
null = 1 | true and null | false and null | null or true | null and false | true or null | not null | not not true
1 is true | 1.5 is true | tRue is not false | null is not true | null isnull and true | 1 is not true
case when 1 then 2 end | case when null then 2 else 3 end | case when 1 > 2 then 1 when 2.5 then 4.0 else 5 end
case when true then null else 1 end | case when false then 1 end is null
greatest(5, 4.0) / 2 | greatest(1, 2, 3) | least(5, 4, 3, 2.1) | greatest(1, null) | least(1, 2.0) | least(5)
abs(-17) | abs(-17.5) | abs(-9223372036854775807 - 1) | int(5.4 + 3.8) | int(2.5) | int(3.5) | int(-2.5)
int(pow(2,62))
double(5432) | double(1) / 2 | 1 / 2 * 1.0 | double(9223372036854775807) | exp(1) | ln(2.718281828459045) | sqrt(2.0)
pi() | pow(2.0, 10) | power(2, 0.5) | pow(2, 3) + 1 | pow(10, 18) | mod(54, 32) | mod(54.4, 32) | 5.5 % 2 | 1.5 << 1
1.5 # 2 | ~2.5 | -9223372036854775808 | (-9223372036854775807 - 1) % -1 | 9223372036854775807 + 1.0
hash(10, 5432) | hash(10) | hash_fnv1a(10, 5432) | hash_fnv1a(-1) | hash_murmur2(10, 5432) | hash_murmur2(2.5)
hash(null)
permute(0, 4) | permute(1, 4.0) | permute(2, 4) | permute(3, 4) | permute(0, 4, 5432) | permute(11, 100, 1)
permute(-3, 100, 1) | permute(5, 1000000, 99) | permute(5, 1) | permute(5, 9223372036854775807, 3) | permute(1.7, 10)
permute(123456789012, 1000000007, -5) | permute(1, null) | random(5, 5) | random_gaussian(1.2, 1.4, 3) | debug(3) + 1
:v + 1 | :h * 2 | :b and true | - :v | :scale * 2 | :client_id + 1 | :t is null
";

const REFUSED: &str = "
1 = true | true < false | 1 and 2 | true and 1 | not 1 | int(1e30) | double(true) | -5 % 0 | 5 / 0
9223372036854775807 + 1 | 9223372036854775807 * 2 | -(-9223372036854775807 - 1) | (-9223372036854775807 - 1) / -1
9223372036854775808 | 1e309 | permute(5, 0) | random(5, 4) | random_zipfian(1, 10, 1.0) | random_gaussian(1, 10, 1.9)
random_exponential(1, 10, 0) | random_zipfian(1, 10, 1001) | 'a' | :v::int | 1 < 2 < 3 | 1 in (1) | greatest()
nosuch(1) | abs() | case 1 when 1 then 2 end | 1 between 0 and 2 | 5 = 5 = true | 2 ^ 3 | 0x10 | 1_000 | 1e | - true
hash(true) | greatest(true, false) | 1 + not true
";

fn listed(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split(" | "))
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect()
}

const DEFINED: [&str; 10] =
    ["-D", "default_seed=42", "-D", "v=3", "-D", "h=0.5", "-D", "b=on", "-D", "t=null"];

#[test]
fn expressions_have_the_values_of_pgbench() {
    let bed = Bed::start();
    let mut control = bed.connect();
    for table in ["of_pgbench", "of_assay"] {
        control
            .query(&format!("CREATE TABLE {table} (protocol text, number int, value text)"))
            .unwrap();
    }
    let all = listed(EXPRESSIONS);
    assert!(all.len() > 120, "{}", all.len());
    for protocol in ["simple", "extended", "prepared"] {
        // A prepared statement of pgbench takes 255 values.
        for (first, some) in (0..).step_by(50).zip(all.chunks(50)) {
            let script = |table: &str| {
                let sets = (0..).zip(some).map(|(at, it)| format!("\\set x{at} {it}\n"));
                let rows = (0..some.len())
                    .map(|at| format!("('{protocol}', {}, (:x{at})::text)", first + at));
                let rows = rows.collect::<Vec<_>>().join(", ");
                format!("{}INSERT INTO {table} VALUES {rows};\n", sets.collect::<String>())
            };
            let theirs = bed.script("theirs.sql", &script("of_pgbench"));
            let run = ["-n", "-t", "1", "-M", protocol, "-s", "3", "-f", &theirs];
            bed.pgbench(&[&run[..], &DEFINED].concat());
            let ours = bed.script("ours.sql", &script("of_assay"));
            let run = ["--workload", &ours, "--events", "1", "-M", protocol, "--scale", "3"];
            bed.bench(&[&run[..], &DEFINED].concat());
        }
    }
    let found = control
        .query(
            "SELECT a.protocol, a.number, a.value, b.value FROM of_pgbench a JOIN of_assay b USING (protocol, number) \
             WHERE a.value IS DISTINCT FROM b.value AND NOT (a.value = 'NULL' AND b.value IS NULL) \
             AND CASE WHEN a.value ~ '^-?[0-9.]+(e[+-][0-9]+)?$' AND b.value ~ '^-?[0-9.]+$' \
                 THEN a.value::numeric <> b.value::numeric ELSE true END",
        )
        .unwrap();
    let number = |row: usize| found.text(row, 1).unwrap().parse::<usize>().unwrap();
    let text = |row: usize, column: usize| found.text(row, column).unwrap_or("NULL");
    let differing: Vec<String> = (0..found.rows.len())
        .map(|row| {
            let [protocol, theirs, ours] = [0, 2, 3].map(|column| text(row, column));
            format!("{}, {protocol}: {theirs}, {ours}", all[number(row)])
        })
        .collect();
    assert!(differing.is_empty(), "{differing:#?}");
    let counted = control
        .query("SELECT count(*) FROM of_pgbench UNION ALL SELECT count(*) FROM of_assay")
        .unwrap();
    let wanted = (3 * all.len()).to_string();
    assert_eq!([counted.text(0, 0), counted.text(1, 0)], [Some(&*wanted); 2]);
    drop(control);
    bed.stop();
}

#[test]
fn what_pgbench_refuses_is_refused_with_its_place() {
    let bed = Bed::start();
    for expression in listed(REFUSED) {
        let script = format!("\\set v 3\n\\set x {expression}\nSELECT :x;\n");
        let file = bed.script("refused.sql", &script);
        let bench = ["bench", &bed.url, "--workload", &file, "--events", "1"];
        let output = bed.place.run_to_end(&bench);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{expression}: {message}");
        assert!(message.contains("refused.sql:2:"), "{expression}: {message}");
    }
    bed.stop();
}

fn contents(control: &mut Connection, schema: &str) -> Vec<String> {
    let one = |table: &str| {
        let sql = format!(
            "SELECT count(*) || ' ' || coalesce(sum(hashtext(x::text)::bigint), 0) FROM {schema}.pgbench_{table} x"
        );
        control.query(&sql).unwrap().first_string().unwrap()
    };
    ["branches", "tellers", "accounts", "history"].map(one).to_vec()
}

#[test]
fn tables_are_those_of_pgbench() {
    let bed = Bed::start();
    let mut control = bed.connect();
    bed.pgbench(&["-i", "-q", "-s", "2"]);
    let theirs = contents(&mut control, "public");
    for (table, rows) in theirs.iter().zip(["2 ", "20 ", "200000 ", "0 "]) {
        assert!(table.starts_with(rows), "{table}");
    }
    control.query("CREATE SCHEMA theirs").unwrap();
    for table in ["branches", "tellers", "accounts", "history"] {
        control.query(&format!("ALTER TABLE pgbench_{table} SET SCHEMA theirs")).unwrap();
    }
    let load = ["load", &bed.url, "--workload", "tpcb-like", "--scale", "2", "--format", "json"];
    let loaded = json(bed.place.run_to_end(&load));
    assert_eq!((&loaded["tables"], &loaded["rows"]), (&4.into(), &200_022.into()));
    assert_eq!(contents(&mut control, "public"), theirs);
    let columns = |schema: &str| {
        format!(
            "SELECT string_agg(table_name || '.' || column_name || ' ' || data_type || is_nullable, ', ' \
             ORDER BY table_name, ordinal_position) FROM information_schema.columns WHERE table_schema = '{schema}' \
             AND table_name LIKE 'pgbench%'"
        )
    };
    let [ours, theirs] =
        ["public", "theirs"].map(|schema| control.query(&columns(schema)).unwrap().first_string());
    assert_eq!(ours, theirs);
    drop(control);
    bed.stop();
}

/// Proxy that records the statements that clients send as text.
struct Listener {
    directory: tempfile::TempDir,
    statements: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn before(server: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let (server, statements) = (server.to_owned(), Arc::<Mutex<Vec<String>>>::default());
        let all = Arc::clone(&statements);
        std::thread::spawn(move || {
            for client in socket.incoming() {
                let (client, server) = (client.unwrap(), UnixStream::connect(&server).unwrap());
                let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                });
                let all = Arc::clone(&all);
                std::thread::spawn(move || pass_on(client, server, &all));
            }
        });
        Self { directory, statements }
    }

    /// The statements since the last call, without those that begin and end sessions.
    fn take(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.statements.lock().unwrap());
        let work = ["BEGIN", "END", "UPDATE pgbench", "SELECT abalance", "INSERT INTO pgbench"];
        all.into_iter().filter(|it| work.iter().any(|begin| it.starts_with(begin))).collect()
    }
}

/// A message has its kind, its length and a body; the first one has no kind.
fn pass_on(mut client: UnixStream, mut server: UnixStream, all: &Mutex<Vec<String>>) {
    let mut is_first = true;
    loop {
        let mut head = vec![0; if is_first { 4 } else { 5 }];
        if client.read_exact(&mut head).is_err() {
            let _ = server.shutdown(std::net::Shutdown::Write);
            return;
        }
        let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        client.read_exact(&mut body).unwrap();
        if !is_first && head[0] == b'Q' {
            let text = String::from_utf8_lossy(&body);
            let text = text.trim_end_matches('\0').trim().trim_end_matches(';').trim();
            all.lock().unwrap().push(text.to_owned());
        }
        is_first = false;
        if server.write_all(&[head, body].concat()).is_err() {
            return;
        }
    }
}

/// A statement without its numbers, and the numbers. assay puts negative ones into parentheses.
fn taken_apart(statement: &str) -> (String, Vec<f64>) {
    let (mut shape, mut numbers) = (String::new(), Vec::new());
    let mut rest = statement;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits =
            rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |it| at + it);
        let (before, number) = (&rest[..at], &rest[at..digits]);
        let bare = before.strip_suffix('-');
        let enclosed = bare.and_then(|it| it.strip_suffix('('));
        rest = &rest[digits..];
        if enclosed.is_some() {
            rest = rest.strip_prefix(')').unwrap_or(rest);
        }
        shape += enclosed.or(bare).unwrap_or(before);
        shape.push('?');
        let number: f64 = number.parse().unwrap();
        numbers.push(if bare.is_some() { -number } else { number });
    }
    let shape = shape + rest;
    (shape.split_whitespace().collect::<Vec<_>>().join(" "), numbers)
}

/// Minimum, maximum, mean, and the square of its standard error.
fn summary(values: &[f64]) -> [f64; 4] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [low, high, mean, variance / count]
}

#[test]
fn statements_are_those_of_pgbench() {
    const EVENTS: usize = 1000;
    let mut bed = Bed::start();
    bed.pgbench(&["-i", "-q", "-s", "2"]);
    let listener = bed.listen();
    for (script, each) in [("tpcb-like", 7), ("simple-update", 5), ("select-only", 1)] {
        bed.pgbench(&["-n", "-t", "1000", "-M", "simple", "--random-seed", "5", "-b", script]);
        let theirs = listener.take();
        let run = ["--workload", script, "--scale", "2", "--events", "1000", "-M", "simple"];
        let done = bed.bench(&run);
        assert_eq!((&done["events"], &done["errors"]), (&1000.into(), &serde_json::json!({})));
        let ours = listener.take();
        assert_eq!((theirs.len(), ours.len()), (each * EVENTS, each * EVENTS), "{script}");
        for at in 0..each {
            let every_nth = |all: &[String]| -> Vec<(String, Vec<f64>)> {
                all.iter().skip(at).step_by(each).map(|it| taken_apart(it)).collect()
            };
            let (theirs, ours) = (every_nth(&theirs), every_nth(&ours));
            let shape = &theirs[0].0;
            assert!(theirs.iter().chain(&ours).all(|it| it.0 == *shape), "{shape}: {ours:?}");
            for number in 0..theirs[0].1.len() {
                let values = |all: &[(String, Vec<f64>)]| {
                    all.iter().map(|it| it.1[number]).collect::<Vec<_>>()
                };
                let [a, b] = [summary(&values(&theirs)), summary(&values(&ours))];
                let message = format!("{script}, value {number} of `{shape}`: {a:?}, {b:?}");
                // Of 1,000 values, the ends are within 2% of those of the range, and the means within five errors.
                let room = 0.02 * (a[1] - a[0]);
                assert!((a[0] - b[0]).abs() <= room && (a[1] - b[1]).abs() <= room, "{message}");
                assert!((a[2] - b[2]).abs() <= 5.0 * (a[3] + b[3]).sqrt(), "{message}");
            }
        }
    }
    bed.stop();
}

/// Statements up to a synchronisation point are one transaction, as in pgbench, whose `\syncpipeline` is newer than
/// this one.
#[test]
fn pipelines_are_those_of_pgbench() {
    const EVENTS: &str = "20";
    let bed = Bed::start();
    let mut control = bed.connect();
    control.query("CREATE TABLE seen (name text, step int, n int, tx bigint)").unwrap();
    let steps = |name: &str, sync: &str| {
        let insert =
            |step: u32| format!("INSERT INTO seen VALUES ('{name}', {step}, :n, txid_current());");
        let [one, two, three, four] = [1, 2, 3, 4].map(insert);
        format!(
            "\\set n random(1, 9)\n\\startpipeline\n{one}\n{two}\n{sync}\n{three}\n\\endpipeline\n{four}\n"
        )
    };
    for protocol in ["extended", "prepared"] {
        let [theirs, ours] = ["theirs", "ours"].map(|it| format!("{it} {protocol}"));
        let text = steps(&theirs, "\\endpipeline\n\\startpipeline");
        let file = bed.script("theirs.sql", &text);
        bed.pgbench(&["-n", "-t", EVENTS, "-M", protocol, "-f", &file]);
        let file = bed.script("ours.sql", &steps(&ours, "\\syncpipeline"));
        let done = bed.bench(&["--workload", &file, "--events", EVENTS, "-M", protocol]);
        // Four statements of each event return no rows.
        assert_eq!((&done["events"], &done["queries"]), (&20.into(), &80.into()), "{done:#}");
    }
    // By program and protocol: rows, transactions, and pairs of statements that shared a transaction.
    let found = control
        .query(
            "SELECT name, count(*), count(DISTINCT tx), \
             (SELECT string_agg(DISTINCT a.step || '+' || b.step, ' ') FROM seen a JOIN seen b USING (name, tx) \
              WHERE a.step < b.step AND a.name = s.name), min(n), max(n) \
             FROM seen s GROUP BY name ORDER BY name",
        )
        .unwrap();
    let rows: Vec<Vec<&str>> =
        (0..4).map(|row| (1..4).map(|column| found.text(row, column).unwrap()).collect()).collect();
    assert_eq!(rows, vec![vec!["80", "60", "1+2"]; 4], "{found:?}");
    // A failing statement in a pipeline ends the run with its text.
    let file = bed.script("bad.sql", "\\startpipeline\nSELECT 1;\nSELECT 1 / 0;\n\\endpipeline\n");
    let bench = ["bench", &bed.url, "--workload", &file, "--events", "3", "-M", "prepared"];
    let output = bed.place.run_to_end(&bench);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("division by zero"), "{stderr}");
    drop(control);
    bed.stop();
}

/// Each of several statements in one message gives the values of its last row.
#[test]
fn values_of_all_results_are_kept_as_by_pgbench() {
    let bed = Bed::start();
    let mut control = bed.connect();
    control.query("CREATE TABLE seen (name text, a int, b text, c numeric, d int)").unwrap();
    let script = |name: &str| {
        format!(
            "SELECT 5 AS a \\; SELECT x || 'x' AS b, x * 1.5 AS c FROM generate_series(1, 3) AS x \\aset\n\
             \\If :c > 4\n\\SET d :a * 2\n\\else\n\\set d 0\n\\endif\n\\sleep 1us\n\
             -- UPDATE seen SET a = :a WHERE b = :undefined;\n\
             INSERT INTO seen VALUES ('{name}', :a, '<:b>', :c, ':d'::int);\n\
             SELECT count(*) AS a FROM generate_series(1, 7) \\gset g_\n\
             INSERT INTO seen VALUES ('{name}', :g_a, '', 0, :a);\n"
        )
    };
    let file = bed.script("theirs.sql", &script("theirs"));
    bed.pgbench(&["-n", "-t", "3", "-M", "simple", "-f", &file]);
    for protocol in ["simple", "extended", "prepared"] {
        let file = bed.script("ours.sql", &script(protocol));
        let done = bed.bench(&["--workload", &file, "--events", "3", "-M", protocol]);
        assert_eq!(done["events"], 3, "{done:#}");
    }
    let sql = "SELECT name, string_agg(concat_ws(' ', a, b, c, d), ', ' ORDER BY a, b) \
               FROM seen GROUP BY name ORDER BY name = 'theirs' DESC";
    let found = control.query(sql).unwrap();
    let theirs = found.text(0, 1).unwrap();
    assert!(theirs.starts_with("5 <3x> 4.5 10, 5 <3x> 4.5 10"), "{theirs}");
    for row in 1..4 {
        assert_eq!(found.text(row, 1), Some(theirs), "{:?}", found.text(row, 0));
    }
    drop(control);
    bed.stop();
}
