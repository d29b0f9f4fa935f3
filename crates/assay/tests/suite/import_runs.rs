//! Outputs of sysbench and pgbench: incomparable ones are refused or warned of, and nothing that was read is lost.

use std::process::Output;

use serde_json::Value;

use crate::common::Place;

#[derive(Clone, Copy)]
struct Report {
    head: &'static str,
    threads: u64,
    transactions: u64,
    /// Reads, writes and others of a transaction.
    statements: [u64; 3],
    seconds: u64,
    errors: u64,
    reconnects: u64,
    p95: f64,
}

const USUAL: Report = Report {
    head: "",
    threads: 2,
    transactions: 3000,
    statements: [14, 4, 2],
    seconds: 60,
    errors: 0,
    reconnects: 0,
    p95: 60.0,
};

impl Report {
    fn text(self) -> String {
        let Self { head, threads, transactions, seconds, errors, reconnects, p95, .. } = self;
        let [read, write, other] = self.statements.map(|it| it * transactions);
        let queries = read + write + other;
        let each = |count: u64| format!("{count} ({:.2} per sec.)", count as f64 / seconds as f64);
        let sum = 1000 * threads * seconds;
        let average = sum as f64 / transactions as f64;
        format!(
            "{head}sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: {threads}\n\n\
             SQL statistics:\n    queries performed:\n        read: {read}\n        write: {write}\n\
             \x20       other: {other}\n        total: {queries}\n    transactions: {}\n    queries: {}\n\
             \x20   ignored errors: {}\n    reconnects: {}\n\nGeneral statistics:\n\
             \x20   total time: {seconds}.0010s\n    total number of events: {transactions}\n\n\
             Latency (ms):\n    min: 1.00\n    avg: {average:.2}\n    max: 900.00\n\
             \x20   95th percentile: {p95:.2}\n    sum: {sum}.00\n",
            each(transactions),
            each(queries),
            each(errors),
            each(reconnects),
        )
    }
}

struct Trial {
    place: Place,
    folder: tempfile::TempDir,
}

impl Trial {
    fn new() -> Self {
        Self { place: Place::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn import(&self, files: &[&str], more: &[&str]) -> Output {
        self.place.run_to_end(&[&["import", "sysbench"][..], files, more].concat())
    }

    fn two(&self, old: Report, new: Report, format: &str) -> Output {
        let (old, new) = (self.write("old.txt", old.text()), self.write("new.txt", new.text()));
        self.import(&[&old, &new], &["--format", format])
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn assert_refused(output: &Output, why: &str) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(why) && message.contains("hint: "), "{why} is not in {message}");
}

#[test]
fn other_work_is_refused() {
    const HEAD: &str = "sysbench oltp_read_write --threads=2 --time=60 --tables=4 run\n";
    let trial = Trial::new();
    let paced = "Target transaction rate: 50/sec\n";
    for (new, why) in [
        (
            Report { statements: [14, 0, 2], ..USUAL },
            "it sent 16 queries per transaction (14 reads, 2 others)",
        ),
        (
            Report { head: paced, ..USUAL },
            "it was limited to 50 transactions/s, and `old.txt` was not",
        ),
        (Report { head: "sysbench 0.5: x\n", ..USUAL }, "names two versions, 0.5 and 1.0.20"),
    ] {
        assert_refused(&trial.two(USUAL, new, "text"), why);
    }
    let old = Report { head: HEAD, ..USUAL };
    let edited = Report { statements: [1, 0, 0], ..old };
    assert_refused(&trial.two(old, edited, "text"), "are the same, so a script was edited");
    for (head, why) in [
        (
            "sysbench oltp_read_only --threads=2 --time=60 --tables=4 run\n",
            "it ran the script `oltp_read_only`",
        ),
        (
            "sysbench oltp_read_write --threads=2 --tables=8 run\n",
            "it has `tables` 8, and `old.txt` has `tables` 4",
        ),
        (
            "sysbench oltp_read_write --tables=4 --table-size=9 run\n",
            "`table-size` 9, and `old.txt` has no",
        ),
    ] {
        assert_refused(&trial.two(old, Report { head, ..old }, "text"), why);
    }
    let more_threads = Report { threads: 4, ..USUAL };
    assert_refused(
        &trial.two(USUAL, more_threads, "text"),
        "numbers of clients: old.txt 2, new.txt 4",
    );
}

#[test]
fn a_report_that_contradicts_itself_is_refused() {
    let trial = Trial::new();
    let old = trial.write("old.txt", USUAL.text());
    for (from, to, why) in [
        ("total: 60000", "total: 70000", "are 60,000 queries, not 70,000"),
        ("events: 3000", "events: 2000", "3,000 transactions are 2,000 events"),
        ("(50.00 per", "(80.00 per", "are 50.00 per second, not 80.00"),
    ] {
        let new = trial.write("new.txt", USUAL.text().replace(from, to));
        assert_refused(&trial.import(&[&old, &new], &[]), why);
    }
    let twice = trial.write("twice.txt", [USUAL.text(), USUAL.text()].concat());
    assert_refused(&trial.import(&[&twice, &old], &[]), "has 2 reports");
    let cut = USUAL.text();
    let cut = trial.write("cut.txt", cut.split("General").next().unwrap());
    assert_refused(&trial.import(&[&cut, &old], &[]), "is cut off");
    let late = USUAL.text();
    let late = trial.write("late.txt", late.split("Latency").next().unwrap());
    let message = printed(&trial.import(&[&old, &late], &[]));
    assert!(message.contains("late.txt: its report ends before its response times"), "{message}");
}

#[test]
fn what_makes_a_comparison_doubtful_is_told_in_every_format() {
    let trial = Trial::new();
    let failing = Report { errors: 90_000, reconnects: 44, transactions: 4800, ..USUAL };
    for format in ["text", "markdown", "html", "json"] {
        let message = printed(&trial.two(USUAL, failing, format));
        for part in ["18.75 errors per transaction", "90,000 errors", "44 reconnects"] {
            assert!(message.contains(part), "{format}: {part} is not in {message}");
        }
    }
    let csv = printed(&trial.two(USUAL, failing, "csv"));
    assert!(csv.contains(",90000,") && csv.contains(",60000,"), "errors, and 60 ms in µs: {csv}");

    const HEAD: &str = "sysbench oltp_read_write --threads=8 --time=180 --tables=64 run\n";
    let foreign = Report { head: HEAD, ..USUAL };
    let message = printed(&trial.two(foreign, foreign, "json"));
    assert!(
        message.contains("--threads=8, and it had 2 threads; --time=180, and it took 60 s"),
        "{message}"
    );
    assert!(message.contains("\"tables\": 1,") && !message.contains("\"tables\": 64"), "{message}");

    assert!(message.contains("old.txt and new.txt are the same to the last digit"), "{message}");

    let long = Report { seconds: 180, transactions: 9000, ..USUAL };
    let message = printed(&trial.two(USUAL, long, "text"));
    assert!(message.contains("different durations: old.txt 60 s, new.txt 180 s"), "{message}");
}

#[test]
fn limited_rates_are_not_compared_but_response_times_are() {
    let trial = Trial::new();
    let head = "Target transaction rate: 50/sec\n";
    let (old, new) = (Report { head, p95: 9.1, ..USUAL }, Report { head, p95: 69.3, ..USUAL });
    let text = printed(&trial.two(old, new, "text"));
    let answer =
        "no test has a relative QPS; 95th percentile of the response time 69.3 ms against 9.10 ms";
    assert!(text.contains(answer) && text.contains("limited to 50 transactions/s"), "{text}");
    for format in ["markdown", "html"] {
        let message = printed(&trial.two(old, new, format));
        assert!(
            message.contains("69.3") && message.contains("limited to 50 transactions/s"),
            "{message}"
        );
    }
    let json: Value = serde_json::from_str(&printed(&trial.two(old, new, "json"))).unwrap();
    let cell = &json["cells"][1];
    assert!(cell["rqps"].is_null() && cell["latency_us"]["p50"].is_null(), "{cell:#}");
    assert_eq!(cell["latency_us"]["p95"], 69_300);
    assert_eq!(cell["published"]["target_tps"], 50);
    assert!(json["events"][0]["what"].as_str().unwrap().contains("say nothing about capacity"));
}

#[test]
fn logs_by_threads_are_a_sweep_and_repeats_have_an_interval() {
    let trial = Trial::new();
    let mut files = Vec::new();
    for (system, factor) in [("old", 10), ("new", 9)] {
        for threads in [1_u64, 4, 16] {
            let report = Report { threads, transactions: 300 * threads * factor, ..USUAL };
            files.push(trial.write(&format!("{system}-t{threads}.txt"), report.text()));
        }
    }
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let json: Value =
        serde_json::from_str(&printed(&trial.import(&all, &["--format", "json"]))).unwrap();
    let clients: Vec<_> =
        json["cells"].as_array().unwrap().iter().map(|it| &it["clients"]).collect();
    assert_eq!(clients, [1, 1, 4, 4, 16, 16]);
    assert_eq!(json["cells"][5]["rqps"]["value"], 0.9);
    let text = printed(&trial.import(&all, &[]));
    assert!(text.contains("at 16 × 1 × 1, new"), "{text}");
    // A duplicate is no repeat, and adds no study.
    let twice = [&all[..], &all[..1]].concat();
    let output = trial.import(&twice, &[]);
    assert_eq!(printed(&output), text);
    let message = stderr(&output);
    assert!(message.contains("old-t1.txt` is named twice, and counts once"), "{message}");
    assert!(message.contains("these results are in the ledger already"), "{message}");

    let mut named = Vec::new();
    for (system, rates) in [("old", [3000, 3030, 2990, 3010]), ("new", [1500, 1480, 1460, 1400])] {
        for (number, transactions) in rates.into_iter().enumerate() {
            let path = format!("{system}{number}.txt");
            let path = trial.write(&path, Report { transactions, ..USUAL }.text());
            named.push(format!("{system}={path}"));
        }
    }
    let all: Vec<&str> = named.iter().map(String::as_str).collect();
    let json: Value =
        serde_json::from_str(&printed(&trial.import(&all, &["--format", "json"]))).unwrap();
    let cell = &json["cells"][1];
    let (low, high) =
        (cell["rqps"]["low"].as_f64().unwrap(), cell["rqps"]["high"].as_f64().unwrap());
    assert!(low > 0.4 && low < 0.49 && high > 0.49 && high < 0.6, "{cell:#}");
    assert_eq!((&cell["blocks"], &cell["slices"]), (&4.into(), &4.into()));
    let message = json["events"][0]["what"].as_str().unwrap();
    assert!(message.contains("a trend among the repeats of new: the rate falls"), "{message}");
}

#[test]
fn pgbench_is_read_and_other_programs_are_named() {
    let trial = Trial::new();
    let pgbench = |tps: u32, failed: u32| {
        let all = tps * 60;
        format!(
            "pgbench (16.1)\r\ntransaction type: <builtin: select only>\r\nscaling factor: 10\r\n\
             query mode: prepared\r\nnumber of clients: 8\r\nnumber of threads: 2\r\n\
             maximum number of tries: 1\r\nduration: 60 s\r\n\
             number of transactions actually processed: {all}\r\n\
             number of failed transactions: {failed} (0.1%)\r\nlatency average = 8.5 ms\r\n\
             initial connection time = 5.1 ms\r\ntps = {tps}.000000 (without initial connection time)\r\n"
        )
    };
    let old = trial.write("old.txt", pgbench(1000, 0));
    let new = trial.write("new.txt", pgbench(900, 600));
    let json: Value =
        serde_json::from_str(&printed(&trial.import(&[&old, &new], &["--format", "json"])))
            .unwrap();
    let cell = &json["cells"][1];
    assert_eq!(
        (&cell["test"], &cell["clients"], &cell["rows"]),
        (&"select-only".into(), &8.into(), &1_000_000.into())
    );
    assert_eq!((&cell["rqps"]["value"], &cell["latency_us"]["avg"]), (&0.9.into(), &8500.into()));
    assert!(json["events"][0]["what"].as_str().unwrap().contains("600 errors"), "{json:#}");
    let simple = trial.write("simple.txt", pgbench(900, 0).replace("prepared", "simple"));
    assert_refused(&trial.import(&[&old, &simple], &[]), "it has `protocol` simple");
    let sysbench = trial.write("sysbench.txt", USUAL.text());
    assert_refused(&trial.import(&[&old, &sysbench], &[]), "it is an output of sysbench, and");

    for (content, why) in [
        (
            "sysbench 1.0.20 (x)\nPrime numbers limit: 10000\nThreads started!\n",
            "the cpu test of sysbench",
        ),
        ("sysbench 0.4.12:  multi\n    transactions: 10 (1.0 per sec.)\n", "sysbench 0.4"),
        ("Vuser 1:TEST RESULT : System achieved 9 NOPM from 20 TPM\n", "HammerDB"),
        ("1,4,10.00,200.00,140.00,40.00,20.00,5.09,0.00,0.00\n", "as CSV"),
        ("[\n  {\n    \"time\": 1,\n    \"tps\": 10.0\n", "as JSON"),
        ("hello\n", "not the output of a benchmark that assay knows"),
    ] {
        let other = trial.write("other.txt", content);
        assert_refused(&trial.import(&[&other, &old], &[]), why);
    }
}

#[test]
fn raw_runs_have_percentiles_and_metrics_and_losses_are_named() {
    let trial = Trial::new();
    let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
                   2  0      0 900000  10000 400000    0    0     0     5 5000 8000 30 10 60  0  0\n";
    let iostat = "Device            r/s     rkB/s     w/s     wkB/s\nsda 10.00 160.00 5.00 40.00\nsdb 0 0 0 1\n";
    let gzip = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    for server in ["my8033", "my9704"] {
        let run = "point-query.range100.pk1.dop2";
        let at = |word: &str| format!("raw/{server}/sb.{word}.{run}");
        trial.write(&format!("{}.gz", at("o")), gzip(&USUAL.text()));
        trial.write(&at("vm"), vmstat);
        trial.write(&at("io"), iostat);
    }
    let folder = trial.folder.path().join("raw").display().to_string();
    let import = ["import", "mytools", &folder, "--format", "json"];
    let json: Value = serde_json::from_str(&printed(&trial.place.run_to_end(&import))).unwrap();
    let cell = &json["cells"][1];
    assert_eq!(cell["latency_us"]["p95"], 60_000);
    // 3,000 transactions of 20 queries in 60 s are 1,000 queries/s.
    let expected =
        [("cpu/o", 0.04), ("cs/o", 8.0), ("r/o", 0.01), ("rKB/o", 0.16), ("wKB/o", 0.04)];
    for (name, value) in expected {
        let found = cell["published"][name].as_f64().unwrap();
        assert!((found / value - 1.0).abs() < 0.001, "{name}: {found}");
    }
    assert!(json["events"].to_string().contains("`sda`, the busiest of 2"), "{}", json["events"]);

    trial.write("raw/my8033/sb.o.scan.range100.pk1.dop2", "FATAL: unable to connect\n");
    trial.write("raw/o.qps.abs", "sb.r.qps.a.pk1\n900\t1700\tmy8033\n");
    trial.write("raw/old.tar", "x");
    let output = trial.place.run_to_end(&import);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    for message in [
        "my8033/sb.o.scan.range100.pk1.dop2: FATAL: unable",
        "1 test at 2 numbers of clients",
        "old.tar",
    ] {
        assert!(stderr(&output).contains(message), "{message}: {}", stderr(&output));
    }
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["cells"].as_array().unwrap().len(), 2);
}

#[test]
fn what_a_directory_has_besides_outputs_is_told() {
    let trial = Trial::new();
    trial.write("old/one.txt", USUAL.text());
    trial.write("new/one.txt", USUAL.text());
    let below = trial.write("new/sub/two.txt", USUAL.text());
    std::os::unix::fs::symlink("nowhere", trial.folder.path().join("new/link")).unwrap();
    let [old, new] = ["old", "new"].map(|it| trial.folder.path().join(it).display().to_string());
    let output = trial.import(&[&old, &new], &[]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(
        message.contains("/new/sub` is a directory: name it") && message.contains("/new/link`")
    );
    let above = trial.folder.path().display().to_string();
    assert_refused(&trial.import(&[&above], &[]), "there is no output to import");
    let raw = trial.folder.path().join("x.pg1110.a.pk1");
    fs_err::create_dir_all(raw.join("sub")).unwrap();
    fs_err::copy(below, raw.join("sb.o.hot-points.range100.pk1.dop2")).unwrap();
    std::os::unix::fs::symlink("nowhere", raw.join("sb.o.insert.range100.pk1.dop2")).unwrap();
    let output = trial.place.run_to_end(&["import", "mytools", &raw.display().to_string()]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("/sub: it is a directory among the outputs"), "{message}");
    assert!(
        message.contains("/sb.o.insert.range100.pk1.dop2: it is not a regular file"),
        "{message}"
    );
}
