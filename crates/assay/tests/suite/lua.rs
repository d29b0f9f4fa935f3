//! Lua scripts of sysbench through the program: in studies, gates and `bench`, interrupted, changed, and faulty.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use assay_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::Place;

/// More than a busy machine needs: blocks and rounds decide how much is measured.
const BUDGET: [&str; 2] = ["--budget", "20m"];

const SHARED: &str = r###"
sysbench.cmdline.options = { ["table-size"] = { "Rows", 100 }, fails = { "Raise an error", false } }

function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE own (id INT PRIMARY KEY, v INT NOT NULL)")
  con:bulk_insert_init("INSERT INTO own VALUES")
  for i = 1, sysbench.opt.table_size do
    con:bulk_insert_next(("(%d, %d)"):format(i, sysbench.rand.default(1, 100)))
  end
  con:bulk_insert_done()
  print("made " .. sysbench.opt.table_size .. " rows")
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE own")
end
"###;

const SCRIPT: &str = r###"
require("shared")

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  if sysbench.opt.fails then error("as it was asked to") end
  con:query("UPDATE own SET v = v + 1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.table_size))
end
"###;

struct Scripts {
    folder: TempDir,
}

impl Scripts {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scripts = Self { folder };
        fs_err::write(scripts.path("shared.lua"), SHARED).unwrap();
        scripts.with("own.lua", SCRIPT);
        scripts
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn with(&self, name: &str, text: &str) -> String {
        fs_err::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    fn own(&self) -> String {
        self.path("own.lua").display().to_string()
    }
}

#[track_caller]
fn json(output: Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refused(output: Output, code: i32, expected: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for text in expected {
        assert!(stderr.contains(text), "{text}: {stderr}");
    }
}

#[test]
fn a_script_is_a_workload_and_its_study_says_how_to_repeat_it() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let file = scripts.own();
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--format", "json"];
    let last = ["--", "--table-size=50"];
    let result = json(place.run_to_end(&[&compare[..], &options, &BUDGET, &last].concat()));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2, "{result:#}");
    for cell in cells {
        assert_eq!((&cell["test"], &cell["errors"]), (&"own".into(), &0.into()), "{cell:#}");
        assert!(cell["ops"].as_u64().unwrap() > 0, "{cell:#}");
    }
    assert_eq!(result["workload"], "own");
    let page = place.run_to_end(&["report", "--format", "html"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("-- --table-size=50"), "{page}");
    assert!(page.contains("script-options = "), "{page}");
    let ledger = rusqlite::Connection::open(place.ledger()).unwrap();
    let request: String = ledger
        .query_row("SELECT request -> '$.options.script-options' FROM study", [], |row| row.get(0))
        .unwrap();
    drop(ledger);
    assert_eq!(request, "[\"--table-size=50\"]");
    let text = format!(
        "compare = [\"mariadb@11.8\"]\ntwin = true\npreset = \"smoke\"\nblocks = 1\nbudget = {:?}\n\
         workload = {file:?}\nscript-options = {request}\n",
        BUDGET[1]
    );
    let study = scripts.with("again.toml", &text);
    let run = json(place.run_to_end(&["run", &study, "--offline", "--format", "json"]));
    assert_eq!(run["cells"].as_array().unwrap().len(), 2);
    place.assert_nothing_left();
}

/// Statements that clients send in order to end belong to the run, not to its events.
#[test]
fn what_thread_done_sends_is_counted() {
    let (place, scripts) = (Place::with("postgres@16"), Scripts::new());
    let start = ["server", "start", "postgres@16", "--offline", "--format", "json"];
    let server = json(place.run_to_end(&start));
    let url = server["url"].as_str().unwrap();
    let last = scripts.with(
        "last.lua",
        "function event() db_query('SELECT 1') end
         function thread_done() db_query('SELECT 2') db_query('BEGIN') end",
    );
    let run = ["bench", url, "--script", &last, "--events", "3", "--format", "json"];
    let ran = json(place.run_to_end(&run));
    assert_eq!([&ran["events"], &ran["read"], &ran["other"]], [3, 4, 1], "{ran:#}");
    let name = server["name"].as_str().unwrap();
    assert!(place.run_to_end(&["server", "stop", name]).status.success());
    place.assert_nothing_left();
}

#[test]
fn bench_carries_out_the_commands_of_a_script() {
    let (place, scripts) = (Place::with("postgres@16"), Scripts::new());
    let file = scripts.own();
    let start = ["server", "start", "postgres@16", "--offline", "--format", "json"];
    let server = json(place.run_to_end(&start));
    let url = server["url"].as_str().unwrap();
    let bench = |command: &[&str], last: &[&str]| {
        let first = ["bench", url, "--script", &file];
        place.run_to_end(&[&first[..], command, &["--"], last].concat())
    };
    let made = bench(&["prepare"], &["--table-size=30"]);
    assert_eq!(String::from_utf8_lossy(&made.stdout), "made 30 rows\n");
    let other = scripts.with(
        "other.lua",
        "function go() print('hello') error('boom') end
         sysbench.cmdline.commands = { go = { go } }
         function event()
           print('in event')
           db_query('SELEC 1')
         end",
    );
    let of_other = |word: &str| place.run_to_end(&["bench", url, "--script", &other, word]);
    let failed = of_other("go");
    assert_eq!(String::from_utf8_lossy(&failed.stdout), "hello\n");
    refused(failed, 2, &["other.lua:1: boom"]);
    refused(of_other("run"), 2, &["in event", "other.lua:5: query `SELEC 1` failed"]);
    let once = scripts.with(
        "once.lua",
        "function init() print('begins')\nend
         function event() print('one') print('two') db_query('SELECT 1') end
         sysbench.hooks.report_cumulative = sysbench.report_json
         function done() print('ends') end",
    );
    let run = ["bench", url, "--script", &once, "--events", "1", "--format", "json"];
    let run = place.run_to_end(&run);
    let message = String::from_utf8_lossy(&run.stderr);
    let places = ["begins\n", "one\ntwo\n", "[\n  {\n    \"time\":", "\n  }\n]\n", "ends\n"];
    let places = places.map(|it| message.find(it).unwrap_or_else(|| panic!("{it}: {message}")));
    assert!(places.is_sorted() && run.status.success(), "{message}");
    let endless = scripts.with(
        "endless.lua",
        "function event()
           db_query('SELECT 1')
           string.gsub(string.rep('a', 1e6), '.-b', function() end)
         end",
    );
    let message = place.run_to_end(&["bench", url, "--script", &endless, "--time", "1"]);
    refused(message, 3, &["1 of 1 client did not finish", "endless.lua:3"]);
    let sleeps = scripts.with("sleeps.lua", "function event() os.execute('sleep 50') end");
    let slept =
        place.run_to_end(&["bench", url, "--script", &sleeps, "--time", "1", "--format", "json"]);
    assert_eq!(slept.status.code(), Some(3));
    let slept: Value = serde_json::from_slice(&slept.stdout).unwrap();
    assert_eq!((&slept["events"], &slept["cut_off"]), (&0.into(), &1.into()), "{slept:#}");
    let run = ["run", "--clients", "2", "--events", "100", "--time", "10m", "--format", "json"];
    let measured = json(bench(&run, &["--table-size=30"]));
    assert_eq!((&measured["events"], &measured["write"]), (&100.into(), &100.into()));
    assert_eq!([&measured["tables"], &measured["rows_per_table"]], [&Value::Null; 2]);
    // Events that send nothing are no measurement, nor is a script that ends its clients.
    for (text, words) in [
        ("function event() end", "sent no statement, so nothing was measured"),
        ("function event() return 1 end", "the script ended its clients after"),
    ] {
        let idle = scripts.with("idle.lua", text);
        let run = place.run_to_end(&["bench", url, "--script", &idle, "--time", "1"]);
        refused(run, 3, &[words]);
    }
    refused(bench(&["prepare"], &[]), 2, &["already exists"]);
    assert_eq!(bench(&["cleanup"], &[]).status.code(), Some(0));
    refused(bench(&["explode"], &[]), 2, &["the script has no `explode`"]);
    let name = server["name"].as_str().unwrap();
    assert_eq!(place.run_to_end(&["server", "stop", name]).status.code(), Some(0));
}

#[test]
fn mistakes_are_found_before_anything_waits() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let file = scripts.own();
    let compare = |file: &str, more: &[&str]| {
        let first = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
        place.run_to_end(&[&first[..], &["--workload", file], more].concat())
    };
    let unknown = ["has no option `--tables`; it has `--fails`, `--table-size`"];
    refused(compare(&file, &["--", "--tables=3"]), 2, &unknown);
    refused(compare(&file, &["--", "--threads=3"]), 2, &["use `--clients`"]);
    refused(compare(&file, &["--", "tables"]), 2, &["`tables` is no option of a script"]);
    let wrong = scripts.with("wrong.lua", "function event()\n  local = 3\nend\n");
    refused(compare(&wrong, &[]), 2, &["wrong.lua:2: "]);
    let none = scripts.with("none.lua", "function prepare()\nend\n");
    refused(compare(&none, &[]), 2, &["the script has no `event`"]);
    let reads = scripts.with("reads.lua", "io.open('/etc/passwd')\nfunction event()\nend\n");
    refused(compare(&reads, &[]), 2, &["outside of the script's directory", "--allow-script-io"]);
    refused(compare(&file, &["--key", "scale=3"]), 2, &["`--scale` is for scripts of pgbench"]);
    refused(compare(&file, &["--", "--help"]), 2, &["--table-size=N   Rows [100]"]);
    let own = scripts.with("own.toml", "[table.t]\nrows = 1\n");
    refused(compare(&own, &["--", "--tables=3"]), 2, &["and the workload is none"]);
    let plain = ["compare", "mariadb@11.8", "--twin", "--offline", "--", "--tables=3"];
    refused(place.run_to_end(&plain), 2, &["name one with `--workload`"]);
}

/// A second plain `CREATE TABLE` fails. Each block replaces the tables of a running server by those of `prepare`, and
/// those made by `init`.
#[test]
fn init_comes_once_on_each_instance() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let begins = "require('shared')
        function init()
          local con = sysbench.sql.driver():connect()
          con:query('CREATE TABLE made_by_init (threads INT NOT NULL)')
          con:query('INSERT INTO made_by_init VALUES (' .. sysbench.opt.threads .. ')')
        end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          local threads = tonumber(con:query_row('SELECT threads FROM made_by_init'))
          if threads ~= 2 then error('so many threads: ' .. threads) end
          con:query('SELECT v FROM own WHERE id = 3')
        end";
    let file = scripts.with("begins.lua", begins);
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(place.run_to_end(&start));
    let (name, url) = (server["name"].as_str().unwrap(), server["url"].as_str().unwrap());
    for clients in [["--clients", "1,2"], ["--clients", "2"]] {
        let compare = ["compare", url, "mariadb@11.8", "--preset", "smoke", "--offline"];
        let options = ["--workload", &file, "--format", "json"];
        let result = json(place.run_to_end(&[&compare[..], &clients, &BUDGET, &options].concat()));
        for cell in result["cells"].as_array().unwrap() {
            assert_eq!(cell["errors"], 0, "{cell:#}");
            assert!(cell["ops"].as_u64().unwrap() > 0, "{cell:#}");
        }
    }
    assert!(place.run_to_end(&["server", "stop", name]).status.success());
    let fails = "function init() error('as it was asked to') end\nfunction event() end";
    let file = scripts.with("fails.lua", fails);
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let output = place.run_to_end(&[&compare[..], &["--workload", &file]].concat());
    assert_ne!(output.status.code(), Some(0));
    let message = [output.stdout, output.stderr].concat();
    let message = String::from_utf8_lossy(&message);
    assert!(message.contains("fails.lua:1: as it was asked to"), "{message}");
    place.assert_nothing_left();
}

#[test]
fn a_script_that_fails_fails_its_test_with_the_line() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let file = scripts.own();
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--", "--fails=on"];
    let output = place.run_to_end(&[&compare[..], &options].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_ne!(output.status.code(), Some(0), "{stderr}");
    assert!(
        format!("{stdout}{stderr}").contains("own.lua:9: as it was asked to"),
        "{stdout}{stderr}"
    );
    place.assert_nothing_left();
}

/// A changed module is detected before any server of a block starts, and measurements are kept.
#[test]
fn a_study_whose_module_has_changed_does_not_go_on() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let file = scripts.own();
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let mut command = place.command(&[&compare[..], &BUDGET, &["--workload", &file]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(1, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    fs_err::write(scripts.path("shared.lua"), format!("{SHARED}\n-- changed\n")).unwrap();
    let resumed = place.run_to_end(&["resume", "latest", "--offline"]);
    let stderr = String::from_utf8_lossy(&resumed.stderr).into_owned();
    refused(
        resumed,
        2,
        &["shared.lua` cannot be used: it has changed since the study was planned"],
    );
    assert!(!stderr.contains("starting the servers of a block"), "{stderr}");
    place.assert_nothing_left();
}

/// A script's data are known before the study begins, and take none of its budget.
#[test]
fn data_that_never_age_are_ready_before_the_study_begins() {
    let scripts = Scripts::new();
    drop(Place::with("mariadb@11.8"));
    let place = Place::bare();
    let file = scripts.own();
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let mut command = place.command(&[&compare[..], &BUDGET, &["--workload", &file]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_while_measuring(&mut child, "the study", || !place.finished().is_empty());
    let fresh = place.templates("fresh");
    let ready = fresh.iter().filter(|it| it.with_file_name("made.json").is_file()).count();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_eq!((fresh.len(), ready), (1, 1), "{fresh:?}");
    place.assert_nothing_left();
}

/// No verdict is possible, and no more time would help.
#[test]
fn a_script_that_sends_nothing_fails_its_test() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let file = scripts.with("idle.lua", "function event() end\n");
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let output = place.run_to_end(&[&compare[..], &["--workload", &file]].concat());
    assert_ne!(output.status.code(), Some(0));
    let message = [output.stdout, output.stderr].concat();
    let message = String::from_utf8_lossy(&message);
    assert!(message.contains("its events send no statement"), "{message}");
    place.assert_nothing_left();
}

/// Two equal systems execute about equally many instructions.
#[test]
fn instructions_of_a_script_are_counted() {
    let (place, scripts) = (Place::with("postgres@16"), Scripts::new());
    let file = scripts.own();
    let gate = ["gate", "postgres@16", "postgres@16", "--count", "--max-more", "10%"];
    let rest = ["--workload", &file, "--offline", "--format", "json"];
    let result = json(place.run_to_end(&[&gate[..], &rest].concat()));
    let gate = &result["gate"]["cells"][0];
    assert_eq!((&gate["test"], &gate["verdict"]), (&"own".into(), &"passed".into()), "{gate:#}");
    let count = result["cells"][0]["count"]["instructions"]["value"].as_f64().unwrap();
    assert!(count > 10_000.0, "{result:#}");
    place.assert_nothing_left();
}

/// MariaDB 11.8 reads rows that an index covers with fewer instructions than 10.11, whatever the client.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_search_for_a_version_takes_a_script() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let covered = "require('shared')
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          local ids = {}
          for i = 1, 100 do ids[i] = sysbench.rand.uniform(1, sysbench.opt.table_size) end
          con:query('SELECT id FROM own WHERE id IN (' .. table.concat(ids, ',') .. ')')
        end";
    let file = scripts.with("covered.lua", covered);
    let words = ["bisect", "mariadb@10.11..11.8", "--test", "covered", "--count", "--offline"];
    let rest = ["--workload", &file, "--format", "json", "--", "--table-size=5000"];
    let answer = json(place.run_to_end(&[&words[..], &rest].concat()));
    let version = answer["answer"]["version"].as_str().unwrap();
    assert!(version.starts_with("11."), "{answer:#}");
    assert!(answer["answer"]["ratio"]["value"].as_f64().unwrap() < 0.98, "{answer:#}");
    place.assert_nothing_left();
}

#[test]
fn a_script_prepares_in_parallel_and_makes_its_own_reports() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let parallel = scripts.with(
        "parallel.lua",
        r###"
sysbench.cmdline.options = { tables = { "Tables", 4 } }
function cmd_prepare()
  local con = sysbench.sql.driver():connect()
  for i = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    con:query("CREATE TABLE t" .. i .. " (id INT)")
    print("table " .. i .. " by " .. sysbench.tid)
  end
end
sysbench.cmdline.commands = { prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND } }
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT * FROM t1") end
sysbench.hooks.report_cumulative = function(stat) print("did " .. stat.events .. " in " .. sysbench.tid) end
"###,
    );
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(place.run_to_end(&start));
    let bench = |more: &[&str]| {
        let first = ["bench", server["url"].as_str().unwrap(), "--script", &parallel];
        place.run_to_end(&[&first[..], more].concat())
    };
    let made = bench(&["prepare", "--clients", "2"]);
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert_eq!(said, "table 1 by 0\ntable 3 by 0\ntable 2 by 1\ntable 4 by 1\n");
    let help = bench(&["help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("--tables"), "{help:?}");
    let run = bench(&["run", "--clients", "2", "--events", "40", "--time", "10m"]);
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(message.contains("did 40 in 0"), "{message}");
    let name = server["name"].as_str().unwrap();
    assert_eq!(place.run_to_end(&["server", "stop", name]).status.code(), Some(0));
}

/// Listing the tests of a script reads it, which must not affect anything outside of its directory.
#[test]
fn a_script_runs_no_program_unless_it_may() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let elsewhere = tempfile::tempdir().unwrap();
    let outside = elsewhere.path().join("outside");
    let text = |command: &str| {
        format!("os.execute(\"{command}\")\nfunction event() db_query('SELECT 1') end")
    };
    let command = format!("touch here; touch {}", outside.display());
    let file = scripts.with("runs.lua", &text(&command));
    let list = |file: &str, more: &[&str]| {
        place.run_to_end(&[&["tests", "--workload", file], more].concat())
    };
    refused(list(&file, &[]), 2, &["the script wants to run `touch here; ", "--allow-script-io"]);
    assert!(!outside.exists() && !scripts.path("here").exists());
    let wait = scripts.with("waits.lua", &text("sleep 0.01"));
    assert_eq!(list(&wait, &[]).status.code(), Some(0));
}

/// A background program of a script neither outlives assay nor keeps its output open: the command below would never
/// end.
#[test]
fn what_a_script_has_started_ends_with_it() {
    let (place, scripts) = (Place::with("mariadb@11.8"), Scripts::new());
    let text = "local function run(command) return os.execute(command) end
        assert(run('exit 3') == 768 and run('kill -9 $$') == 9)
        run('sleep 1000 & echo $! > pids')
        run('setsid sleep 1000 & echo $! >> pids')
        local program = io.popen('echo one; echo two; sleep 1000 & echo $! >> pids')
        assert(program:read('*l') == 'one' and program:lines()() == 'two')
        program = io.popen('cat > copy', 'w')
        program:write('written') program:close()
        assert(io.open('copy'):read('*a') == 'written')
        run('echo ${ASSAY_PASSWORD:-no password} > password')
        function event() db_query('SELECT 1') end";
    let file = scripts.with("starts.lua", text);
    let mut command = place.command(&["tests", "--workload", &file, "--allow-script-io"]);
    command.current_dir(scripts.path("")).env("ASSAY_PASSWORD", "canary");
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    let pids = fs_err::read_to_string(scripts.path("pids")).unwrap();
    assert!(pids.lines().count() >= 3, "{pids}");
    for pid in pids.lines() {
        let deadline = std::time::Instant::now() + assay_testkit::PATIENCE;
        // A keeper kills them when assay has ended.
        while std::path::Path::new("/proc").join(pid).join("exe").exists() {
            assert!(std::time::Instant::now() < deadline, "{pid} is still there");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let password = fs_err::read_to_string(scripts.path("password")).unwrap();
    assert_eq!(password, "no password\n");
}

/// Keeper of a program that first prints a line, and the socket of its reports.
fn kept(command: &str) -> (Child, String, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_assay"));
    keeper.args([assay_lua::PROGRAM_COMMAND, assay_lua::ProgramOutput::Apart.word(), command]);
    keeper.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper = keeper.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(keeper.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (keeper, line.trim().to_owned(), ours)
}

/// A process started after its keeper listed all others would live on, and the keeper would wait for it.
#[test]
fn a_keeper_ends_what_starts_while_it_ends_the_rest() {
    let place = tempfile::tempdir().unwrap();
    // Each process waits for a writer and exists only for a moment, so the last one is on no list.
    let command = format!(
        "cd {} && mkfifo pipe; echo begun; while :; do : < pipe & kill -9 $!; wait; done",
        place.path().display()
    );
    for _ in 0..60 {
        let (mut keeper, _, socket) = kept(&command);
        drop(socket);
        eventually("the keeper has ended", || keeper.try_wait().unwrap().is_some());
    }
}

#[test]
fn a_program_ends_with_its_keeper() {
    let (mut keeper, pid, _socket) = kept("echo $$; exec sleep 1000");
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    let program = Path::new("/proc").join(pid).join("exe");
    eventually("the program has ended", || !program.exists());
}
