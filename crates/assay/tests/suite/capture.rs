//! Workload files from logs of real servers.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::common::Place;

const LOGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wings/upgrade/capture/tests/logs");

fn log(name: &str) -> PathBuf {
    Path::new(LOGS).join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn rotated(folder: &Path) -> [String; 2] {
    let whole = fs_err::read(log("mysql-8.0-slow.log")).unwrap();
    let begins: Vec<usize> =
        (1..whole.len()).filter(|at| whole[*at..].starts_with(b"# Time: ")).collect();
    let (first, second) = whole.split_at(begins[begins.len() / 2]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(first).unwrap();
    let contents = [("slow.log.1", gzip.finish().unwrap()), ("slow.log", second.to_vec())];
    contents.map(|(name, content)| {
        fs_err::write(folder.join(name), content).unwrap();
        folder.join(name).display().to_string()
    })
}

#[test]
fn rotated_logs_become_a_workload_with_values_that_only_the_user_can_read() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [first, second] = rotated(folder.path());
    fs_err::write(at("dump.sql"), "-- MySQL dump 10.13  Distrib 8.0.33\n").unwrap();
    fs_err::create_dir_all(at("out/app.values")).unwrap();
    fs_err::set_permissions(at("out/app.values"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (dump, out) =
        (at("dump.sql").display().to_string(), at("out/app.toml").display().to_string());
    // In the wrong order.
    let words = ["workload", "from", &second, &first, "--schema", &dump, "-o", &out, "--writes"];
    let made = place.run_to_end(&words);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let summary = text(&made.stdout);
    let files: Vec<&str> = summary.lines().filter(|line| line.starts_with("file ")).collect();
    assert!(
        files[0].contains("slow.log.1 (slow") && files[1].contains("slow.log (slow"),
        "{summary}"
    );
    assert!(summary.contains("read       112 statements of 8 sessions"), "{summary}");
    let workload = fs_err::read_to_string(at("out/app.toml")).unwrap();
    assert!(workload.contains("dump = \"../dump.sql\"\n"), "{workload}");
    assert!(summary.contains("assay compare mysql@8.0.33 mysql@8.4 --workload"), "{summary}");
    assert!(summary.contains("assay upgrade mysql@8.0.33 mysql@8.4 --queries"), "{summary}");
    assert!(workload.contains("[test.transaction-product-orders]\n"), "{workload}");
    let values = at("out/app.values");
    assert_eq!(fs_err::metadata(&values).unwrap().permissions().mode() & 0o777, 0o700);
    for file in fs_err::read_dir(&values).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let named = workload.matches("values = { file = \"app.values/").count();
    assert_eq!(fs_err::read_dir(&values).unwrap().count(), named);
    let again = place.run_to_end(&words);
    assert_eq!(text(&again.stdout), summary);
    assert_eq!(fs_err::read_to_string(at("out/app.toml")).unwrap(), workload);
}

#[test]
fn a_summary_alone_writes_nothing() {
    let place = Place::bare();
    let csv = log("postgres-15.csv").display().to_string();
    let made = place.run_to_end(&["workload", "from", &csv, "--limit", "2"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let summary = text(&made.stdout);
    assert!(summary.contains("database   shop\ntests      2, from"), "{summary}");
    assert!(!summary.contains("wrote"), "{summary}");
}

#[test]
fn what_cannot_be_read_is_told_with_what_to_do() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes").display().to_string();
    let slow = log("mysql-8.0-slow.log").display().to_string();
    for (content, words, said) in [
        ("hello\n", vec!["workload", "from", &file], "in no format that assay reads"),
        (
            "hello\n",
            vec!["workload", "from", &file, "--log-line-prefix", "%m"],
            "SHOW log_line_prefix",
        ),
        ("", vec!["workload", "from", &file], "it is empty"),
        ("", vec!["workload", "from", "/nowhere.log"], "does not exist"),
        ("", vec!["workload", "from", &slow, "--database", "x"], "the logs have shop, forum"),
        ("", vec!["workload", "from", &slow, "--log-format", "x"], "possible values"),
    ] {
        fs_err::write(&file, content).unwrap();
        let made = place.run_to_end(&words);
        assert_eq!(made.status.code(), Some(2), "{words:?}");
        assert!(text(&made.stderr).contains(said), "{words:?}: {}", text(&made.stderr));
    }
    // Without values, there is nothing to measure.
    let view = log("postgres-15-pg_stat_statements.csv").display().to_string();
    let made = place.run_to_end(&["workload", "from", &view]);
    assert_eq!(made.status.code(), Some(3), "{}", text(&made.stdout));
}

#[test]
fn a_gzipped_log_that_is_cut_off_is_read_up_to_there() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&fs_err::read(log("mysql-8.0-slow.log")).unwrap()).unwrap();
    let whole = gzip.finish().unwrap();
    let file = folder.path().join("slow.log.gz").display().to_string();
    fs_err::write(&file, &whole[..whole.len() / 2]).unwrap();
    let made = place.run_to_end(&["workload", "from", &file]);
    let summary = text(&made.stdout);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(summary.contains("slow.log.gz is cut off"), "{summary}");
    assert!(summary.contains("select-"), "{summary}");
}

#[test]
fn files_that_assay_did_not_make_are_neither_replaced_nor_taken_for_dumps() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs_err::write(at("other.toml"), "[test.mine]\n").unwrap();
    fs_err::write(at("passwd"), "root:x:0:0:root:/root:/bin/bash\n").unwrap();
    fs_err::write(at("pg.sql"), "--\n-- PostgreSQL database dump\n--\n").unwrap();
    fs_err::write(at("utf16"), b"\xff\xfeS\0E\0L\0E\0C\0T\0").unwrap();
    std::os::unix::fs::symlink("other.toml", at("link.toml")).unwrap();
    let slow = log("mysql-8.0-slow.log").display().to_string();
    let (other, link, root) = (at("other.toml"), at("link.toml"), at(""));
    let (passwd, pg, utf16) = (at("passwd"), at("pg.sql"), at("utf16"));
    let (report, bzip2) = (at("report.txt"), at("slow.log.bz2"));
    let digest = "\n# Overall: 10 total, 2 unique, 0 QPS, 0x concurrency ____\n# Query 1: 0 QPS, ID 0xAA ____\n\
        SELECT a FROM t WHERE b = 4\\G\n";
    fs_err::write(&report, digest).unwrap();
    fs_err::write(&bzip2, b"BZh91AY&SY").unwrap();
    for (words, said) in [
        ([slow.as_str(), "-o", &other], "did not make it"),
        ([&slow, "-o", &link], "symbolic link"),
        ([&slow, "-o", "/dev/null"], "not a regular file"),
        ([&slow, "--schema", &passwd], "is no dump of a database"),
        ([&slow, "--schema", &pg], "is a dump of Postgres"),
        ([&slow, "--schema", &root], "is a directory"),
        ([&slow, "--schema", "/dev/null"], "not a regular file"),
        (["/dev/null", "--limit", "1"], "not a regular file"),
        ([&report, "--limit", "1"], "it is a report of pt-query-digest"),
        ([&bzip2, "--limit", "1"], "bunzip2 --keep"),
        ([&utf16, "--limit", "1"], "iconv -f UTF-16 -t UTF-8"),
    ] {
        let made = place.run_to_end(&[&["workload", "from"][..], &words].concat());
        assert_eq!(made.status.code(), Some(2), "{words:?}");
        assert!(text(&made.stderr).contains(said), "{words:?}: {}", text(&made.stderr));
    }
    assert_eq!(fs_err::read_to_string(at("other.toml")).unwrap(), "[test.mine]\n");
}

/// A schema without a heading reveals its dialect, and every command accepts the output of `workload from`.
#[test]
fn what_is_written_is_taken_by_other_commands() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs_err::write(at("q.sql"), "SELECT a FROM t WHERE id = 1;\nSELECT a FROM t WHERE id = 2;\n")
        .unwrap();
    let schema = "/*\n A sample\n*/\nDROP DATABASE IF EXISTS music;\nCREATE DATABASE music;\n\\c music;\n\
        CREATE TABLE t (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a TEXT);\n\
        INSERT INTO t (a) VALUES (N'one'), (N'two');\n";
    fs_err::write(at("schema.sql"), schema).unwrap();
    let (queries, dump, out) = (at("q.sql"), at("schema.sql"), at("app.toml"));
    let made = place.run_to_end(&["workload", "from", &queries, "--schema", &dump, "-o", &out]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("assay compare postgres@"), "{}", text(&made.stdout));
    assert!(fs_err::read_to_string(&out).unwrap().contains("{ postgres = \"SELECT a FROM t"));
    let listed = place.run_to_end(&["tests", "--workload", &out]);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert!(text(&listed.stdout).contains("select-t-by-id"), "{}", text(&listed.stdout));
}
