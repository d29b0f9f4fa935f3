//! Published results of other tools become studies.

use std::process::Output;

use serde_json::Value;

use crate::common::Place;

const TABLE: &str = "col-1 : x.ma101116_rel.z12a_c8r32.pk1\r\ncol-2 : x.ma110806_rel.z12b_c8r32.pk1\r\n\r\n\
    col-1\tcol-2\r\n1000\t1100\thot-points_range=100\r\n2000\t1900\tpoint-query_range=100\r\n\
    500\t0\tscan_range=100\r\n7\t8\ttheir-own\r\n1\t1\tscan.warm_range=100\r\nbroken\r\n";

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_published_table_is_a_study_without_verdicts() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("qps.abs.mine.tsv");
    fs_err::write(&file, TABLE).unwrap();
    let directory = folder.path();
    let folder = directory.to_str().unwrap();
    let import = ["import", "mytools", folder, "--rows", "50M", "--clients", "4"];
    let output = place.run_to_end(&[&import[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("qps.abs.mine.tsv:10: neither tabs nor commas"), "{message}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = study["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4 * 2, "{study:#}");
    let cell = |test: &str, system: &str| {
        cells.iter().find(|it| it["test"] == test && it["system"] == system).unwrap()
    };
    let point = cell("point-query", "mariadb@11.8.6");
    assert_eq!((&point["clients"], &point["rows"]), (&4.into(), &50_000_000.into()));
    assert_eq!((&point["qps"]["value"], &point["rqps"]["value"]), (&1900.into(), &0.95.into()));
    assert_eq!(point["verdict"], "undecided");
    for unknown in ["tps", "latency_us", "cpu_ratio"] {
        assert!(point[unknown].is_null(), "{unknown}: {point:#}");
    }
    assert!(point["rqps"]["low"].is_null() && point["disturbed"].is_null(), "{point:#}");
    for unknown in ["started", "seed", "budget_s", "elapsed_s"] {
        assert!(study["study"][unknown].is_null(), "{unknown}: {}", study["study"]);
    }
    assert!(study["host"].as_object().unwrap().values().all(Value::is_null), "{}", study["host"]);
    assert!(study["workload_version"].is_null());
    assert!(cell("scan", "mariadb@11.8.6")["qps"].is_null());
    let text = place.run_to_end(&["report", "--verbose"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("host: unknown") && text.contains("has no interval, and so no"),
        "{text}"
    );
    assert!(!text.contains(folder), "a path of this machine: {text}");

    let beside = place.run_to_end(&["report", "--beside", "nonsense"]);
    assert_eq!(beside.status.code(), Some(2));
    let message = stderr(&beside);
    assert!(message.contains("published table: mariadb-mysql-2024-07"), "{message}");
    // It has other versions.
    let table = place.run_to_end(&["report", "--beside", "mariadb-mysql-2024-07"]);
    assert_eq!(table.status.code(), Some(2));
    let message = stderr(&table);
    assert!(
        message.contains("has no counterpart") && message.contains("there: mysql"),
        "{message}"
    );

    assert!(place.run_to_end(&import).status.success());
    let studies = place.run_to_end(&["studies", "--format", "json"]);
    assert_eq!(String::from_utf8_lossy(&studies.stdout).matches("imported-").count(), 1);
    fs_err::write(directory.join("qps.abs.other.tsv"), TABLE.replace("1100", "1200")).unwrap();
    let two = place.run_to_end(&["import", "mytools", folder, "--format", "html"]);
    assert!(stderr(&two).contains("these are 2"), "{}", stderr(&two));
    assert!(place.run_to_end(&["import", "mytools", folder]).status.success());
}

#[test]
fn names_of_tests_are_words() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("qps.abs.x.tsv");
    fs_err::write(&file, "col-1 : a\ncol-2 : b\n1\t2\tx</title><b>y\n").unwrap();
    let page = place.run_to_end(&["import", "mytools", file.to_str().unwrap(), "--format", "html"]);
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("x__title__b_y") && !page.contains("<b>y"), "{page}");
    // The names of its servers do not reveal their product.
    let study = place.run_to_end(&["report", "--format", "json"]);
    let study: Value = serde_json::from_slice(&study.stdout).unwrap();
    let system = &study["systems"][1];
    assert!(system["product"].is_null() && system["engine"].is_null(), "{system}");
    assert!(!page.contains("mysql") && page.contains("published results, imported"), "{page}");
}

/// Tables with metrics, steps of the Insert Benchmark and raw runs in one directory are a study each.
#[test]
fn all_layouts_of_a_directory_become_studies() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let server = "x.ma101116_rel.z12a_c8r32.pk1";
    let second = |number: u32| {
        format!("1.0\t{number}.0\t100\t100\t0\t0\t0\t0\t9\t0\t0\t{number}00\t0\t0\t0\t0\t0\n")
    };
    let client: String = (1..=30).map(second).collect();
    let files = [
        ("a/qps.abs.mine.tsv", TABLE.to_owned()),
        (
            "a/o.met.mine",
            format!(
                "sb.met.hot-points.range100.pk1.dop8\n--- absolute\ncpu/o\t\tcs/o\to/s\tdbms\n\
                 0.000097\t4.2\t1000\t{server}\n"
            ),
        ),
        ("b/tput.tsv", "dbms\tl.i0\tqr100.L1\nmy5651.a\t900\t50\nmy8036.a\t800\t40\n".to_owned()),
        ("b/iput.tsv", "dbms\tqr100.L1\nmy5651.a\t100\nmy8036.a\t90\n".to_owned()),
        ("c/1m.pg1520.cxa/l.i0/o.ib.dop1.1", client),
        ("d/x.pg1023.a.pk1/sb.o.hot-points.range100.pk1.dop4", sysbench(4, 100_000)),
        ("d/x.pg1110.a.pk1/sb.o.hot-points.range100.pk1.dop4", sysbench(4, 90_000)),
    ];
    for (name, content) in files {
        let path = folder.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }
    let all = place.run_to_end(&["import", "mytools", folder.path().to_str().unwrap()]);
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    assert_eq!(stderr(&all).matches("imported-").count(), 4, "{}", stderr(&all));
    let json = |name: &str| -> Value {
        let path = folder.path().join(name).display().to_string();
        let output = place.run_to_end(&["import", "mytools", &path, "--format", "json"]);
        assert_eq!(output.status.code().unwrap() % 3, 0, "{name}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    fs_err::write(folder.path().join("b/qps.abs.bad.tsv"), "x").unwrap();
    let most = place.run_to_end(&["import", "mytools", folder.path().to_str().unwrap()]);
    assert_eq!(most.status.code(), Some(3), "{}", stderr(&most));
    assert!(stderr(&most).contains("left out: cannot import"), "{}", stderr(&most));
    assert_eq!(stderr(&most).matches("\nimported-").count(), 4, "{}", stderr(&most));
    fs_err::remove_file(folder.path().join("b/qps.abs.bad.tsv")).unwrap();
    let table = json("a");
    assert_eq!(table["cells"][0]["clients"], 8);
    assert_eq!(table["cells"][0]["published"], serde_json::json!({"cpu/o": 0.000097, "cs/o": 4.2}));
    let steps = json("b");
    let query = &steps["cells"][3];
    assert_eq!((&query["test"], &query["verdict"]), (&"qr100".into(), &"failed".into()));
    assert_eq!(query["step"]["sla_met"], false);
    assert!(query["step"]["seconds"].is_null() && query["step"]["query"].is_null(), "{query:#}");
    let client = json("c");
    assert_eq!(client["cells"][0]["step"]["ips"], 100);
    let raw = json("d/x.pg1023.a.pk1");
    assert_eq!((&raw["cells"][0]["rows"], &raw["cells"][0]["clients"]), (&5000.into(), &4.into()));
}

/// As in the author's directory of December 2025: a table of some of the servers of the metrics, with another name.
#[test]
fn a_table_has_the_metrics_with_its_rates() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let names = ["x.my5651_rel.z12a.pk1", "x.my8044_rel.z12a.pk1", "x.my9500_rel.z12a.pk1"];
    let [old, middle, new] = names;
    let table = format!("col-1 : {old}\ncol-2 : {new}\n\n1000\t900\tinsert_range=100\n");
    let metrics = format!(
        "sb.met.insert.range100.pk1.dop16\n--- absolute\ncpu/o\t\tcs/o\to/s\tdbms\n\
         0.004\t8\t1000\t{old}\n0.005\t10\t950\t{middle}\n0.006\t12\t900\t{new}\n"
    );
    fs_err::write(folder.path().join("qps.abs.my.latest.tsv"), table).unwrap();
    fs_err::write(folder.path().join("o.met.my.all"), metrics).unwrap();
    let import = || -> Value {
        let folder = folder.path().to_str().unwrap();
        let output = place.run_to_end(&["import", "mytools", folder, "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let study = import();
    let cell = &study["cells"][1];
    assert_eq!((&cell["system"], &cell["clients"]), (&"mysql@9.5.0".into(), &16.into()));
    assert_eq!(cell["published"], serde_json::json!({"cpu/o": 0.006, "cs/o": 12}));
    assert_eq!(cell["cpu_ratio"]["value"], 1.5);
    assert!(cell["cpu_ratio"]["low"].is_null() && cell["cpu_verdict"].is_null(), "{cell:#}");
    let unknown = "the number of clients is unknown";
    assert!(!study["events"].to_string().contains(unknown), "{}", study["events"]);
    fs_err::remove_file(folder.path().join("o.met.my.all")).unwrap();
    let events = import()["events"].to_string();
    assert!(events.contains(unknown), "{events}");
}

#[test]
fn what_is_no_table_of_rates_is_refused() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    for (content, why) in [
        ("Relative to: a\ncol-1 : b\n1.0\tinsert\n", "its numbers are ratios"),
        ("insert,1,2\n", "it has no names of servers"),
        ("col-1 : a\n", "it has no rows"),
        ("", "it has no names of servers"),
    ] {
        let file = folder.path().join("table");
        fs_err::write(&file, content).unwrap();
        let output = place.run_to_end(&["import", "mytools", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
    let empty = place.run_to_end(&["import", "mytools", folder.path().to_str().unwrap()]);
    assert!(stderr(&empty).contains("there are no published results"), "{}", stderr(&empty));
    let pipe = place.run_to_end(&["import", "mytools", "/dev/zero"]);
    assert!(stderr(&pipe).contains("not a regular file"), "{}", stderr(&pipe));
}

fn sysbench(threads: u32, queries: u64) -> String {
    let per_second = queries as f64 / 10.0;
    format!(
        "sysbench --db-driver=mysql --table-size=5000 --tables=2 --mysql-password=hidden \
         lua/oltp_point_select.lua run\n\
         sysbench 1.0.20 (using system LuaJIT 2.1.0)\nNumber of threads: {threads}\nSQL statistics:\n\
         \x20   queries performed:\n        read:                            {queries}\n\
         \x20       write:                           0\n        other:                           0\n\
         \x20   transactions:                        {queries} ({per_second:.2} per sec.)\n\
         \x20   queries:                             {queries} ({per_second:.2} per sec.)\n\
         \x20   ignored errors:                      0      (0.00 per sec.)\n\
         General statistics:\n    total time:                          10.0000s\n\
         \x20   total number of events:              {queries}\n"
    )
}

#[test]
fn outputs_of_sysbench_are_compared() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs_err::write(&path, content).unwrap();
        path.display().to_string()
    };
    let (old, new) =
        (written("old.txt", &sysbench(4, 100_000)), written("new.txt", &sysbench(4, 90_000)));
    let import = ["import", "sysbench", &old, &new, "--format", "json"];
    let output = place.run_to_end(&import);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cell = &study["cells"][1];
    assert_eq!((&cell["test"], &cell["clients"]), (&"oltp_point_select".into(), &4.into()));
    assert_eq!((&cell["tables"], &cell["rows"]), (&2.into(), &5000.into()));
    assert_eq!((&cell["qps"]["value"], &cell["rqps"]["value"]), (&9000.into(), &0.9.into()));
    assert_eq!(cell["tps"], 9000);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("hidden"));
    let other = written("other.txt", &sysbench(8, 100_000));
    let refused = place.run_to_end(&["import", "sysbench", &old, &other]);
    assert_eq!(refused.status.code(), Some(2));
    let why = "different numbers of clients: old.txt 4, other.txt 8";
    assert!(stderr(&refused).contains(why), "{}", stderr(&refused));
    let failed = written("failed.txt", "FATAL: unable to connect to MySQL server\n");
    let refused = place.run_to_end(&["import", "sysbench", &failed]);
    assert!(
        stderr(&refused).contains("`failed.txt` has no report: FATAL: unable"),
        "{}",
        stderr(&refused)
    );
}
