//! Reviews of files in the forms of the programs, written by hand.

use assay_model::{Estimate, Product};
use assay_plan::read_study;
use serde_json::Value;

use super::*;

/// The output of a run of a minute with a report each second, whose rates go up and down around a mean.
fn sysbench(mean: u32) -> String {
    let wobble = [0.0, 0.01, 0.02, 0.01, 0.0, -0.01, -0.02, -0.01, 0.015, -0.015];
    let mut text = "sysbench --threads=4 --tables=8 --table-size=100000 --report-interval=1 oltp_read_only run\n\
        sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following options:\n\
        Number of threads: 4\nReport intermediate results every 1 second(s)\n\nThreads started!\n\n"
        .to_owned();
    for second in 1..=60_usize {
        let tps = f64::from(mean) * (1.0 + wobble[second % 10]);
        text += &format!(
            "[ {second}s ] thds: 4 tps: {tps:.2} qps: {:.2} (r/w/o: {:.2}/0.00/{:.2}) lat (ms,95%): 4.10 err/s: 0.00 \
             reconn/s: 0.00\n",
            16.0 * tps,
            14.0 * tps,
            2.0 * tps
        );
    }
    let events = 60 * mean;
    let each = |count: u32| format!("{count} ({:.2} per sec.)", f64::from(count) / 60.0);
    text + &format!(
        "SQL statistics:\n    queries performed:\n        read: {}\n        write: 0\n        other: {}\n        \
         total: {}\n    transactions: {}\n    queries: {}\n    ignored errors: 0 (0.00 per sec.)\n    reconnects: 0 \
         (0.00 per sec.)\n\nGeneral statistics:\n    total time: 60.0010s\n    total number of events: {events}\n\n\
         Latency (ms):\n         min: 1.00\n         avg: {:.2}\n         max: 90.00\n         95th percentile: \
         4.10\n         sum: 240000.00\n",
        14 * events,
        2 * events,
        16 * events,
        each(events),
        each(16 * events),
        240_000.0 / f64::from(events),
    )
}

fn settings(version: &str, sync_binlog: u32) -> String {
    format!("Variable_name\tValue\nversion\t{version}\nlog_bin\tON\nsync_binlog\t{sync_binlog}\n")
}

const BUSY: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
    1  0      0  10000   2000 300000    0    0     5    10   50  100  2  1 97  0  0\n \
    9  0      0  10000   2000 300000    0    0     5    10   50  900 80 18  2  0  0\n \
    9  0      0  10000   2000 300000    0    0     5    10   50  900 82 18  0  0  3\n";

fn review(files: &[(&str, &str, String)]) -> BenchmarkReview {
    let assigned = files.iter().map(|(system, file, text)| {
        let (content, faults) = content_of(file, text.as_bytes(), None).unwrap();
        assert_eq!(faults.len(), 0, "{faults:?}");
        let content = content.unwrap_or_else(|| panic!("{file} is unknown"));
        AssignedFile { system: (*system).to_owned(), file: (*file).to_owned(), content }
    });
    let known = |releases: [(Product, &str); 2], test: &str| {
        let is_known = test == "read-only_range=100" && releases[1].1 == "8.4.0";
        is_known.then_some(Estimate { value: 1.1, low: 1.09, high: 1.11 })
    };
    BenchmarkReview::new(ReviewedFiles::new(assigned.collect()), known)
}

fn json(review: &BenchmarkReview) -> Value {
    let format = assay_report::Format::of_extension("json").unwrap();
    let options = assay_report::TextOptions { width: 100, color: false, verbose: false };
    serde_json::from_str(&Page::new(review).render(format, &options).unwrap()).unwrap()
}

fn has(sentences: &[String], words: &str) -> bool {
    sentences.iter().any(|sentence| sentence.contains(words))
}

#[test]
fn a_pair_of_runs_shows_a_difference_within_the_runs() {
    let found = review(&[
        ("old", "old.txt", sysbench(1000)),
        ("old", "old-vars.txt", settings("8.0.36", 1)),
        ("old", "old.vmstat", BUSY.to_owned()),
        ("new", "new.txt", sysbench(900)),
        ("new", "new-vars.txt", settings("8.4.0", 0)),
    ]);
    let value = json(&found);
    let difference = &value["differences"][0];
    assert_eq!(difference["verdict"], "shown-within-runs");
    assert_eq!(difference["test"], "oltp_read_only");
    assert_eq!(difference["clients"], 4);
    assert!(difference["ratio"]["high"].as_f64().unwrap() < 0.95, "{difference}");
    assert!(has(&found.unequal, "sync_binlog = 1 → 0 (old → new)"), "{:?}", found.unequal);
    for words in ["ran once", "no warm-up", "took 1 min", "4 clients only", "no vmstat of new"] {
        assert!(has(&found.gaps, words), "{words}: {:?}", found.gaps);
    }
    assert!(has(&found.gaps, "old: 99% of CPU time, the mean of 2 samples"), "{:?}", found.gaps);
    assert!(has(&found.gaps, "went to other virtual machines"), "{:?}", found.gaps);
    assert_eq!(found.known.len(), 1);
    assert_eq!(value["map"][0]["counted_as"], "read-only_range=100");
    let study = read_study("s", found.study.as_ref().unwrap()).unwrap();
    let systems: Vec<&str> = study.systems.iter().map(|system| system.words.as_str()).collect();
    assert_eq!(systems, ["mysql@8.0.36", "mysql@8.4.0"]);
    assert_eq!((study.suite.word(), study.tests), ("oltp", vec!["oltp_read_only".to_owned()]));
    let setup = &study.setups[0];
    assert_eq!(
        (setup.tables, setup.rows, setup.clients.clone()),
        (Some(8), Some(100_000), Some(vec![4]))
    );
}

#[test]
fn what_repeats_do_not_agree_on_is_not_shown() {
    let found = review(&[
        ("mysql@8.0.36", "a1", sysbench(1000)),
        ("mysql@8.0.36", "a2", sysbench(1100)),
        ("mysql@8.4.0", "b1", sysbench(1080)),
        ("mysql@8.4.0", "b2", sysbench(1180)),
    ]);
    let [change] = found.changes.as_slice() else { panic!("{:?}", found.changes) };
    assert_eq!((change.verdict().words(), change.runs), ("not shown", [2, 2]));
    assert!(!has(&found.gaps, "no repeats") && has(&found.gaps, "no settings of mysql@8.0.36"));
    let options = assay_report::TextOptions { width: 100, color: false, verbose: false };
    let text = assay_report::Format::of_extension("txt").unwrap();
    let text = Page::new(&found).render(text, &options).unwrap();
    assert!(text.contains("not shown") && !text.contains("wrong"), "{text}");
    let html = assay_report::Format::of_extension("html").unwrap();
    assert!(Page::new(&found).render(html, &options).unwrap().contains("the interval includes"));
}

#[test]
fn runs_without_noise_show_nothing() {
    let hammerdb = |nopm: u32| {
        format!(
            "Vuser 1:Beginning rampup time of 2 minutes\nVuser 1:Timing test period of 5 in minutes\n\
             Vuser 1:4 Active Virtual Users configured\n\
             Vuser 1:TEST RESULT : System achieved {nopm} NOPM from 40000 MySQL TPM\n"
        )
    };
    let found =
        review(&[("mysql-8.0.36", "old", hammerdb(9000)), ("mysql-8.4.0", "new", hammerdb(9900))]);
    assert_eq!(json(&found)["differences"][0]["covers"], Value::Null);
    assert_eq!(found.changes[0].verdict().words(), "not shown");
    assert!(found.study.as_ref().unwrap().contains("suite = \"tpcc\""));
    let table =
        "col-1 : my8036_rel\ncol-2 : my8400_rel\n100\t90\tscan\n200\t210\tpoint-query_range=10\n";
    let found =
        review(&[("table", "qps.abs.tsv", table.to_owned()), ("x", "v", settings("8.4.0", 1))]);
    assert_eq!(found.changes.len(), 2);
    // The version that the settings state is that of a column.
    assert!(found.left_out.is_empty() && found.systems[1].settings.is_some());
    assert!(found.study.as_ref().unwrap().contains("point-query"), "{:?}", found.study);
}

#[test]
fn scripts_in_names_of_files_are_tests() {
    let text = sysbench(1000).split_once('\n').unwrap().1.to_owned();
    let runs = ["a", "b"].map(|system| {
        ["oltp_read_only.txt", "oltp_read_write.txt"].map(|file| (system, file, text.clone()))
    });
    let found = review(&runs.concat());
    let tests: Vec<&str> = found.changes.iter().map(|change| change.test.as_str()).collect();
    assert_eq!(tests, ["oltp_read_only", "oltp_read_write"]);
}

#[test]
fn folders_and_lists_name_systems() {
    let folder = tempfile::tempdir().unwrap();
    for (system, mean) in [("mysql-8.0.36", 1000), ("mysql-8.4.0", 900)] {
        let own = folder.path().join(system);
        fs::create_dir(&own).unwrap();
        fs::write(own.join("run.txt"), sysbench(mean)).unwrap();
        fs::write(own.join("notes.md"), "It was a dark night.\n").unwrap();
    }
    let word = |path: &str| folder.path().join(path).display().to_string();
    let read = |words: &[String]| read_all(&given_files(words)?);
    let files = read(&[word("mysql-8.0.36"), word("mysql-8.4.0")]).unwrap();
    let names: Vec<&str> = files.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["mysql-8.0.36", "mysql-8.4.0"]);
    assert_eq!(files.left_out.len(), 2);
    let list = format!("both={},{}", word("mysql-8.0.36/run.txt"), word("mysql-8.4.0/run.txt"));
    let files = read(&[list]).unwrap();
    assert_eq!((files.systems.len(), files.runs.len()), (1, 2));
    assert_eq!(files.runs[1].file, "mysql-8.4.0/run.txt");
    // The notes too are read once.
    let twice = read(&[word("mysql-8.4.0"), word("mysql-8.4.0")]).unwrap();
    assert_eq!((twice.runs.len(), twice.left_out.len()), (1, 3));
    let unknown = read(&[word("mysql-8.4.0/notes.md")]).err().unwrap();
    assert!(unknown.to_string().contains("nothing that a review reads"), "{unknown}");
    assert!(read(&["no-such-file".to_owned()]).is_err());
}
