//! Workloads of users on real servers: both examples on every product, files with rows, attached servers, resumption.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

/// More than a busy machine needs: blocks and rounds decide how much is measured.
const BUDGET: [&str; 2] = ["--budget", "20m"];

const NEWEST: [&str; 3] = ["mariadb@11.8", "mysql@8.0", "postgres@16"];

/// An example with a tenth of its rows, so that loading them takes less time.
fn example(folder: &Path, name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let whole = fs_err::read_to_string(root.join("workloads").join(name)).unwrap();
    let small = whole.replace("0k\"", "k\"").replace("step = \"5s\"", "step = \"50s\"");
    assert_ne!(small, whole);
    let file = folder.join(name);
    fs_err::write(&file, small).unwrap();
    file.display().to_string()
}

#[track_caller]
fn json(output: Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn written(directory: &Path, rows: &str, tests: &str) -> PathBuf {
    let file = directory.join("own.toml");
    fs_err::write(&file, format!("[table.t]\n{rows}\n{tests}")).unwrap();
    file
}

#[test]
fn both_examples_run_on_every_product() {
    let [place, ..] = NEWEST.map(Place::with);
    let folder = tempfile::tempdir().unwrap();
    for (name, tests) in [("web-shop.toml", 5), ("events.toml", 5)] {
        let file = example(folder.path(), name);
        let options = ["--preset", "smoke", "--offline", "--format", "json", "--key", "blocks=1"];
        let workload = ["--workload", &file];
        let args = [&["compare"][..], &NEWEST, &options, &workload, &BUDGET].concat();
        let result = json(place.run_to_end(&args));
        let cells = result["cells"].as_array().unwrap();
        assert_eq!(cells.len(), NEWEST.len() * tests, "{name}");
        for cell in cells {
            assert_eq!(cell["errors"], 0, "{cell:#}");
            assert!(cell["ops"].as_u64().unwrap() > 0, "{cell:#}");
            assert_eq!(cell["group"], name.trim_end_matches(".toml"));
        }
    }
    place.assert_nothing_left();
}

#[test]
fn a_pgbench_script_is_a_workload_of_postgres_alone() {
    let place = Place::with("postgres@16");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tpcb.pgbench");
    let script = "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
                  UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
                  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
                  INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)\n\
                    VALUES (1, 1, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n";
    fs_err::write(&file, script).unwrap();
    let file = file.display().to_string();
    let compare = ["compare", "postgres@16", "--twin", "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--format", "json"];
    let result = json(place.run_to_end(&[&compare[..], &options[..], &BUDGET].concat()));
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells[0]["test"], "tpcb");
    assert!(cells.iter().all(|cell| cell["errors"] == 0 && cell["slices"] != 0), "{cells:#?}");
    let with_mysql = ["compare", "postgres@16", "mysql@8.0", "--workload", &file, "--offline"];
    let output = place.run_to_end(&with_mysql);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`mysql@8.0` cannot take part"), "{stderr}");
}

/// Rows from a file and from a script, on a server that somebody else runs: tables that no load has made stay.
#[test]
fn a_load_replaces_only_what_a_load_has_made() {
    for system in ["mariadb@11.8", "postgres@16"] {
        let place = Place::with(system);
        let start = ["server", "start", system, "--offline", "--format", "json"];
        let server = json(place.run_to_end(&start));
        let (url, name) = (server["url"].as_str().unwrap(), server["name"].as_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("t.csv"), "id,word\n1,it's\n2,\n3,\"a\\,\"\"b\"\n")
            .unwrap();
        let rows = "csv = \"t.csv\"\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(20) DEFAULT 'none')\"";
        let more = "[table.u]\nscript = \"u.sql\"\n[test.read]\nsteps = [\"SELECT word FROM t WHERE id = 2\"]\n";
        let script = "CREATE TABLE u (a INT);\n-- two rows\nINSERT INTO u VALUES (1), (2);\n";
        fs_err::write(folder.path().join("u.sql"), script).unwrap();
        let file = written(folder.path(), rows, more).display().to_string();
        let load = ["load", url, "--workload", &file, "--format", "json"];
        let loaded = json(place.run_to_end(&load));
        assert_eq!((&loaded["tables"], &loaded["rows"]), (&2.into(), &5.into()), "{system}");
        assert_eq!(json(place.run_to_end(&load))["checksum"], loaded["checksum"]);
        let bench = ["bench", url, "--workload", &file, "--test", "read", "--time", "1"];
        let done = json(place.run_to_end(&[&bench[..], &["--format", "json"][..]].concat()));
        assert_eq!((&done["test"], &done["errors"]), (&"read".into(), &serde_json::json!({})));
        assert!(done["events"].as_u64().unwrap() > 10);
        // Another workload does not own them.
        let other = folder.path().join("other.toml");
        fs_err::copy(&file, &other).unwrap();
        let other = other.display().to_string();
        let refused = place.run_to_end(&["load", url, "--workload", &other]);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("no load of this workload made: t; u"), "{stderr}");
        let replaced = place.run_to_end(&["load", url, "--workload", &other, "--replace"]);
        assert_eq!(
            replaced.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&replaced.stderr)
        );
        // Nor does a workload own a foreign table that it names only now.
        let more =
            "[table.v]\nrows = 1\ncreate = \"CREATE TABLE v (a INT)\"\ncolumns = { a = 1 }\n";
        let test = "[test.read]\nsteps = [\"SELECT a FROM v\"]\n";
        let theirs = folder.path().join("theirs.toml");
        fs_err::write(&theirs, format!("{more}{test}")).unwrap();
        let theirs = theirs.display().to_string();
        json(place.run_to_end(&["load", url, "--workload", &theirs, "--format", "json"]));
        fs_err::write(&other, format!("[table.t]\n{rows}\n{more}{test}")).unwrap();
        let refused = place.run_to_end(&["load", url, "--workload", &other]);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(stderr.contains("no load of this workload made: v"), "{stderr}");
        if system.starts_with("mariadb") {
            a_dump_with_its_database_is_loaded(&place, url, folder.path());
        }
        assert!(place.run_to_end(&["server", "stop", name]).status.success());
    }
}

/// Names as written by mysqlpump and MySQL Workbench; a refused statement is counted.
fn a_dump_with_its_database_is_loaded(place: &Place, url: &str, folder: &Path) {
    let dump = "-- Dump created by MySQL pump utility, version: 5.7.29\n\
        CREATE DATABASE /*!32312 IF NOT EXISTS*/ `school` /*!40100 DEFAULT CHARACTER SET latin1 */;\n\
        CREATE TABLE `school`.`lesson` (\n`id` int NOT NULL PRIMARY KEY, `place` varchar(9)\n) ENGINE=InnoDB;\n\
        INSERT INTO `school`.`lesson` VALUES (1,\"Road\"),(2,\"school.x\");\n\
        INSERT INTO `school`.`lesson` VALUES (2,\"Lane\");\n";
    fs_err::write(folder.join("dump.sql"), dump).unwrap();
    let test =
        "dump = \"dump.sql\"\n[test.one]\nsteps = [\"SELECT place FROM lesson WHERE id = 1\"]\n";
    fs_err::write(folder.join("school.toml"), test).unwrap();
    let file = folder.join("school.toml").display().to_string();
    let load = ["load", url, "--workload", &file, "--replace", "--format", "json"];
    let output = place.run_to_end(&load);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("`dump.sql`, line 7): ") && stderr.contains("Duplicate"), "{stderr}");
    assert!(stderr.contains("the server refused 1 statement of the dump"), "{stderr}");
    let loaded: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = [&loaded["tables"], &loaded["rows"], &loaded["refused"]];
    assert_eq!(found, [1, 2, 1].map(Value::from).each_ref());
}

#[test]
fn a_server_that_runs_already_takes_part() {
    let place = Place::new();
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(place.run_to_end(&start));
    let (url, name) = (server["url"].as_str().unwrap(), server["name"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let rows = "rows = 1000\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, a INT)\"\n\
                columns = { id = { sequence = 1 }, a = { uniform = [1, 9] } }";
    let tests = "[test.read]\nlet.id = { uniform = \"t\" }\nsteps = [\"SELECT a FROM t WHERE id = :id\"]\n\
                 [test.change]\nlet.id = { zipfian = \"t\" }\n\
                 steps = [\"UPDATE t SET a = a + 1 WHERE id = :id\"]";
    let file = written(folder.path(), rows, tests).display().to_string();
    let compare = ["compare", url, "mariadb@11.8", "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--format", "json"];
    let result = json(place.run_to_end(&[&compare[..], &options[..], &BUDGET].concat()));
    for cell in result["cells"].as_array().unwrap() {
        assert!(cell["errors"] == 0 && cell["slices"].as_u64().unwrap() > 0, "{cell:#}");
    }
    assert!(place.run_to_end(&["server", "stop", name]).status.success());
    place.assert_nothing_left();
}

#[test]
fn an_interrupted_study_goes_on() {
    let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
    let file = example(folder.path(), "web-shop.toml");
    let compare = ["compare", "mariadb@11.8", "--twin", "--workload", &file, "--offline"];
    let tests = ["--tests", "browse,order", "--preset", "smoke", "--key", "blocks=2,rounds=4"];
    let mut command = place.command(&[&compare[..], &tests[..], &BUDGET].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_slices(4, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let before = place.slices();
    let resumed = json(place.run_to_end(&["resume", "--offline", "--format", "json"]));
    assert!(place.slices() > before);
    let cells = resumed["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["errors"] == 0), "{cells:#?}");
    // A finished study remains the user's own.
    let slices = place.slices();
    place.measure_more("another slice", || place.slices() > slices);
    place.assert_nothing_left();
}

#[test]
fn a_test_that_one_version_cannot_run_is_measured_on_the_others() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = "rows = 100\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, a INT)\"\n\
                 columns = { id = { sequence = 1 }, a = { uniform = [1, 9] } }";
    let tests = "[test.both]\nsteps = [\"SELECT SUM(a) FROM t\"]\n\
                 [test.only-new]\nsteps = [\"SELECT JSON_SCHEMA_VALID('{}', '{}'), SUM(a) FROM t\"]\n\
                 [test.empty]\nsteps = [\"SELECT a FROM t WHERE id = -1\"]\n\
                 [test.still]\nsteps = [\"UPDATE t SET a = 0 WHERE id = -1\"]";
    let file = written(folder.path(), table, tests).display().to_string();
    let (old, other) = ("mariadb@10.11", "mariadb@11.8+innodb_doublewrite=OFF");
    let compare = ["compare", "mariadb@11.8", old, other, "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--key", "blocks=1"];
    let output = place.run_to_end(&[&compare[..], &options, &BUDGET].concat());
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{message}");
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // It is printed once.
    let why = "only-new, mariadb@10.11: fails; 1 row → error 1305: FUNCTION sbtest.JSON_SCHEMA_VALID does not exist";
    assert!(words.contains(why), "{message}");
    assert_eq!(words.matches("error 1305").count(), 1, "{message}");
    let nothing =
        "warning: `empty` returned no rows on any server: `SELECT a FROM t WHERE id = -1`";
    assert!(words.contains(nothing), "{message}");
    assert_eq!(words.matches("returned no rows").count(), 1, "{message}");
    let still = "warning: `still` changed no row on any server: `UPDATE t SET a = 0 WHERE id = -1`";
    assert!(words.contains(still), "{message}");
    let good = |place: &Place, system: usize, test: &str| {
        let slices = place.all_slices();
        let of = slices.iter().filter(|it| it.system == system && it.cell.test.name() == test);
        of.filter(|it| !matches!(it.outcome, assay_model::SliceOutcome::Failed(_))).count()
    };
    let counts = |place: &Place| {
        let of_one = |system| ["both", "only-new"].map(|test| good(place, system, test));
        [0, 1, 2].map(of_one)
    };
    let before = counts(&place);
    let [[all, base], [_, failing], [_, others]] = before;
    assert!(all > 0 && base > 0 && failing == 0 && base == others, "{before:?}");
    assert_eq!(place.failed_slices(), 1);
    // The failed test stays unchanged, and the others get more time.
    place.measure_more("more slices of both tests", || {
        let after = counts(&place);
        after[2][1] > others && after[1][0] > before[1][0]
    });
    let after = counts(&place);
    assert_eq!((after[1][1], place.failed_slices()), (0, 1));
    place.assert_nothing_left();
}

#[test]
fn what_a_server_refuses_is_told_with_its_line() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = "rows = 100\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, a INT)\"\n\
                 columns = { id = { sequence = 1 },\n  b = { uniform = [1, 9] } }";
    let tests = "[test.typo]\nsteps = [\"SELCT a FROM t\", \"SELECT d FROM t\"]\n[test.column]\n\
                 steps = [\"UPDATE t SET c = 1 WHERE id = :r\"]\nlet = { r = { uniform = [1, 9] } }\n\
                 [test.fine]\nsteps = [\"SELECT a FROM t\"]";
    let file = written(folder.path(), table, tests).display().to_string();
    let listed = place.run_to_end(&["tests", "--workload", &file]);
    let message = String::from_utf8_lossy(&listed.stderr);
    assert_eq!(listed.status.code(), Some(2), "{message}");
    for words in [
        "own.toml`, line 5: query `INSERT INTO t (`id`, `b`)` failed",
        "own.toml`, line 7: cannot prepare `SELCT a FROM t`",
        "own.toml`, line 7: cannot prepare `SELECT d FROM t`",
        "own.toml`, line 9: cannot prepare `UPDATE t SET c = 1 WHERE id = ?`",
        "4 faults",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    // Statements that the other dialect may accept are listed: nothing says for which they are.
    let array = folder.path().join("array.toml");
    let table = "[table.t]\nrows = 9\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY)\"\n\
                 columns = { id = { sequence = 1 } }\n";
    let test = "[test.arrays]\nsteps = [\"SELECT array_agg(id) FROM t\"]\n";
    fs_err::write(&array, format!("{table}{test}")).unwrap();
    let listed = place.run_to_end(&["tests", "--workload", &array.display().to_string()]);
    let message = String::from_utf8_lossy(&listed.stderr);
    assert_eq!(listed.status.code(), Some(0), "{message}");
    // Other tests may have put a server of Postgres into the cache, which accepts it.
    let is_told = ["does not take the workload, and no server of the other dialect", "takes all"];
    assert!(is_told.iter().any(|words| message.contains(words)), "{message}");
    // The same place in a study.
    let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
    let output = place.run_to_end(&[&compare[..], &["--workload", &file]].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("own.toml`, line 5\n"), "{message}");
    place.assert_nothing_left();
}

/// A script of pgbench cannot run on MariaDB, which is reported before anything is fetched.
#[test]
fn a_pgbench_script_on_mariadb_is_for_postgres_only() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("read.sql");
    fs_err::write(
        &script,
        "\\set aid random(1, 9)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    )
    .unwrap();
    let file = script.display().to_string();
    let compare = ["compare", "mariadb@10.11", "mariadb@11.8", "--workload", &file];
    let output = place.run_to_end(&compare);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("is for Postgres only") && message.contains("hint: "), "{message}");
    assert!(!message.contains("mariadb 1"), "{message}");
}

/// Neither connects: no server listens there.
#[test]
fn a_pgbench_script_is_refused_on_a_server_of_mysql() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("one.sql");
    fs_err::write(&script, "SELECT 1;\n").unwrap();
    let file = script.display().to_string();
    let url = "mysql://root@127.0.0.1:1/test";
    for command in [
        &["bench", url, "--workload", &file][..],
        &["bench", url, "--workload", "tpcb-like"],
        &["load", url, "--workload", "tpcb-like"],
    ] {
        let output = place.run_to_end(command);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {message}");
        assert!(
            message.contains("is for Postgres only") && message.contains("hint: "),
            "{message}"
        );
    }
}

#[test]
fn what_cannot_work_is_told_before_anything_is_measured() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = "rows = 100\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY, a INT)\"\n\
                 columns = { id = { sequence = 1 }, a = { uniform = [1, 9] } }";
    let ends = |code: i32, tests: &str, options: &[&str], words: &str| {
        let file = written(folder.path(), table, tests).display().to_string();
        let compare = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--offline"];
        let output =
            place.run_to_end(&[&compare[..], &["--workload", &file][..], options].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
        assert_eq!(place.failed_slices(), place.all_slices().len());
    };
    let refused = |tests: &str, options: &[&str], words: &str| ends(2, tests, options, words);
    refused("[test.x]\nsteps = [\"SELECT :a\"]", &[], "no variable is called `a` so far");
    let fine = "[test.x]\nsteps = [\"SELECT a FROM t WHERE id = 1\"]";
    refused(fine, &["--tests", "y"], "`y` matches none of the 1 tests of the workload");
    refused(fine, &["--rows", "5000"], "cannot be used with");
    // A test that servers refuse fails, and others would be measured.
    ends(3, "[test.x]\nsteps = [\"SELECT b FROM t\"]", &[], "cannot prepare `SELECT b FROM t`");
    let table = table.replace("sequence = 1", "uniform = [1, 9]");
    let file = written(folder.path(), &table, fine).display().to_string();
    let output = place.run_to_end(&[
        "compare",
        "mariadb@11.8",
        "--twin",
        "--preset",
        "smoke",
        "--offline",
        "--workload",
        &file,
    ]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot load data into") && stderr.contains("1062"), "{stderr}");
    place.assert_nothing_left();
}

/// A test that takes minutes on one side is judged by a bound, does not continue, and does not keep others from being
/// measured.
#[test]
fn a_statement_that_takes_minutes_on_one_side_is_slower() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let rows = "rows = 100\ncreate = \"CREATE TABLE t (id INT PRIMARY KEY)\"\n\
                [table.t.columns]\nid = { sequence = 1 }";
    let [slow, quick] = [(300.0, 0.002), (0.002, 0.004)]
        .map(|(newer, older)| format!("IF(VERSION() LIKE '11.%', {newer}, {older})"));
    let tests = format!(
        "[test.quick]\ndoes = \"x\"\nsteps = [\"SELECT SLEEP({quick}) FROM t WHERE id = 1\"]\n\
         [test.report]\ndoes = \"x\"\nsteps = [\"SELECT SLEEP({slow}) FROM t WHERE id = 1\"]\n\
         [test.change]\ndoes = \"x\"\nsteps = [\"UPDATE t SET id = 1 WHERE id = 1 AND SLEEP({slow}) = 0\"]\n"
    );
    let file = written(folder.path(), rows, &tests).display().to_string();
    for (base, other, verdict) in
        [("mariadb@10.11", "mariadb@11.8", "slower"), ("mariadb@11.8", "mariadb@10.11", "faster")]
    {
        let study = ["compare", base, other, "--workload", &file, "--budget", "3m"];
        let options = ["--key", "blocks=1,rounds=4", "--offline", "--format", "json"];
        let result = json(place.run_to_end(&[&study[..], &options].concat()));
        let found_cell = |test: &str, system: &str| {
            let cells = result["cells"].as_array().unwrap();
            cells.iter().find(|it| it["test"] == test && it["system"] == system).unwrap().clone()
        };
        for test in ["report", "change"] {
            let cell = found_cell(test, other);
            assert_eq!(cell["verdict"], verdict, "{cell:#}");
            assert!(cell["rqps"]["value"].is_null(), "{cell:#}");
            let bound = &cell["rqps"][if verdict == "slower" { "high" } else { "low" }];
            let ratio = bound.as_f64().unwrap();
            assert!(ratio.max(1.0 / ratio) > 50.0, "{cell:#}");
            let why = cell["why"].as_str().unwrap();
            assert!(why.contains("within 30 s; at least "), "{why}");
        }
        assert!(found_cell("quick", other)["slices"].as_u64().unwrap() > 0);
        // A gate counts a bound that leaves no doubt.
        let gate = ["gate", "--study", "latest", "--max-slowdown", "10%", "--format", "json"];
        let output = place.run_to_end(&gate);
        let gated: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cells = gated["gate"]["cells"].as_array().unwrap();
        let gated_cell = |test: &str| cells.iter().find(|it| it["test"] == test).unwrap();
        let word = if verdict == "slower" { "exceeded" } else { "passed" };
        for test in ["report", "change"] {
            assert_eq!(gated_cell(test)["verdict"], word, "{gated:#}");
        }
        if verdict == "slower" {
            assert_eq!(
                (gated_cell("quick")["verdict"].as_str(), output.status.code()),
                (Some("passed"), Some(1)),
                "{gated:#}"
            );
        }
    }
    place.assert_nothing_left();
}
