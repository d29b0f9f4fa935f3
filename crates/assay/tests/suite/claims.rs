//! Published statements checked against studies of the ledger.
#![expect(clippy::print_stderr, reason = "a test that is left out must say so")]

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::common::Place;

const TABLE: &str = "col-1 : x.my5651_rel.z12a.pk1\ncol-2 : x.my8036_rel.z12a.pk1\n\
    1000\t1100\thot-points_range=100\n2000\t1900\tpoint-query_range=100\n500\t400\tscan_range=100\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn written(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs_err::write(&path, content).unwrap();
    path.display().to_string()
}

fn claim(lines: &str) -> String {
    format!("[[claim]]\nsource = \"a post\"\ntext = \"8.0 is said to be so\"\n{lines}\n")
}

#[test]
fn the_exit_code_says_whether_all_claims_hold() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = written(folder.path(), "qps.abs.x.tsv", TABLE);
    assert!(place.run_to_end(&["import", "mytools", &table]).status.success());
    let checked = |content: &str, more: &[&str]| -> Output {
        let file = written(folder.path(), "claims.toml", content);
        place.run_to_end(&[&["claims", &file][..], more].concat())
    };
    let holds = claim("tests = \"point\"\nfaster = true\nin = \"1 of 2 tests\"");
    let fails = claim("systems = \"8.0\"\nthan = \"5.6\"\nfaster = true");
    let open = claim("systems = \"9.4\"\nfaster = true");
    for (content, more, code, said) in [
        (holds.clone(), &[][..], 0, "the claim holds"),
        (format!("{holds}{fails}"), &[], 1, "2 claims: 1 holds, 1 does not hold"),
        (format!("{fails}{open}"), &["--allow-undecided"], 1, "1 cannot be decided"),
        (open.clone(), &[], 3, "`9.4` is not among the systems: mysql@5.6.51, mysql@8.0.36"),
        (open.clone(), &["--allow-undecided"], 0, "cannot say"),
    ] {
        let output = checked(&content, more);
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{stdout}{}", text(&output.stderr));
        assert!(stdout.contains(said), "{stdout}");
    }
    let shown = text(&checked(&fails, &[]).stdout);
    assert!(
        shown.contains("not so: 0.95 −5% (point-query, 1 client, mysql@8.0.36 / mysql@5.6.51)"),
        "{shown}"
    );
    assert!(shown.contains("values without an interval is unknown"), "{shown}");
    let json: Value =
        serde_json::from_slice(&checked(&fails, &["--format", "json"]).stdout).unwrap();
    let part = &json["claims"][0]["parts"][0];
    assert_eq!((&part["status"], &part["as_claimed"]), (&"does not hold".into(), &1.into()));
    assert_eq!(part["figures"][2]["value"]["value"], 0.8);
    assert!(part["figures"][2]["value"]["low"].is_null(), "{part:#}");
    let hostile = claim("tests = \"point\"\nfaster = true").replace("a post", "[x](y)");
    let hostile = hostile.replace("to be so", "<b>|\\u001b[31m");
    let markdown = text(&checked(&hostile, &["--format", "markdown"]).stdout);
    assert!(
        markdown.contains("31m") && !markdown.contains("[x](y)") && !markdown.contains('\u{1b}'),
        "{markdown}"
    );
    let wrong = checked(&claim("fastr = true"), &[]);
    let message = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{message}");
    assert!(message.contains("unknown key `fastr`") && message.contains("^^^^^"), "{message}");
    let shown = checked(&hostile, &["--format", "html"]);
    let page = text(&shown.stdout);
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}{}", text(&shown.stderr));
    assert!(
        page.contains("&#60;b&#62;") && !page.contains("<b>") && !page.contains('\u{1b}'),
        "{page}"
    );
    let refused = checked(&holds, &["--format", "svg"]);
    let message = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(message.contains("[possible values: text, html, markdown, json]"), "{message}");
}

#[test]
fn the_claims_of_every_post_can_be_read() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = written(folder.path(), "qps.abs.x.tsv", TABLE);
    assert!(place.run_to_end(&["import", "mytools", &table]).status.success());
    let posts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../posts");
    let mut read = 0;
    for post in fs_err::read_dir(posts).unwrap() {
        for file in fs_err::read_dir(post.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            if file.file_name().unwrap().to_string_lossy().starts_with("claims") {
                let output = place.run_to_end(&["claims", file.to_str().unwrap()]);
                let code = output.status.code();
                assert!(matches!(code, Some(0 | 1 | 3)), "{}", text(&output.stderr));
                read += 1;
            }
        }
    }
    assert!(read > 10, "{read} files");
}

fn published() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/published");
    let folder = std::env::var_os("ASSAY_PUBLISHED").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!(
            "skipped: there are no published results in {}; set ASSAY_PUBLISHED",
            folder.display()
        );
        return None;
    }
    Some(folder)
}

type PublishedFile = (&'static str, &'static [&'static str], &'static [(&'static str, bool)]);

/// Published statements by their names in `expected.json`. The files may have more.
const FILES: [PublishedFile; 7] = [
    (
        "2026-04-mariadb-latin1/claims.toml",
        &["sysbench/apr26-pn53-mariadb-latin1/qps.abs.latest.tsv"],
        &[
            ("002.point.faster", true),
            ("002.range1.faster", true),
            ("002.range2.faster", true),
            ("002.range2.within2", true),
            ("002.writes.10pct", true),
            ("002.writes.step", true),
            ("002.tldr.writes", false),
            ("002.point.trend", true),
            ("002.range1.trend", true),
        ],
    ),
    (
        "2025-08-mysql-small/claims.toml",
        &["sysbench/aug25-pn53-mysql/qps.abs.all.tsv"],
        &[("004.aug25.2of32.my8043", true)],
    ),
    (
        "2025-03-mysql-by-clients/claims.toml",
        &[
            "sysbench/mar25-hetz48-mysql-by-clients/dop1/qps.abs.in.tsv",
            "sysbench/mar25-hetz48-mysql-by-clients/dop4/qps.abs.in.tsv",
            "sysbench/mar25-hetz48-mysql-by-clients/dop8/qps.abs.in.tsv",
            "sysbench/mar25-hetz48-mysql-by-clients/dop20/qps.abs.in.tsv",
            "sysbench/mar25-hetz48-mysql-by-clients/dop40/qps.abs.in.tsv",
        ],
        &[
            ("004.mar25.point.57gt80", true),
            ("004.mar25.range1.56best", true),
            ("004.mar25.range1.57gt80", false),
            ("004.mar25.range2.57gt80", true),
            ("004.mar25.range2.80at40", true),
            ("004.mar25.range2.57at6", false),
            ("004.mar25.point.two", true),
            ("004.mar25.point.cross80", true),
            ("004.mar25.point.cross57", true),
            ("004.mar25.writes.20plus", false),
            ("004.mar25.updidx", true),
            ("004.mar25.bug102037", true),
        ],
    ),
    (
        "2024-02-mysql-small/claims.toml",
        &["sysbench/feb24-bee-mysql-42tests/qps.abs.my678.tsv"],
        &[("feb24my.point", true), ("feb24my.range1", true), ("feb24my.range2", false)],
    ),
    (
        "2025-11-mysql-small/claims.toml",
        &["sysbench-raw/nov25-pn53-mysql-dop1/qps.abs.all.tsv"],
        &[("nov25.low.range2.57", true), ("nov25.low.range2.9x", true), ("nov25.low.point", true)],
    ),
    (
        "2024-05-insert-benchmark/claims.toml",
        &["ibench/may24-pn53-mysql-cached/tput.tsv"],
        &[("may24.my.worst", true)],
    ),
    (
        "2024-05-insert-benchmark/claims-io.toml",
        &["ibench/may24-amd3-mysql-io/tput.tsv"],
        &[("may24.io.sla", true)],
    ),
];

#[test]
fn published_statements_hold_as_far_as_their_tables_say_so() {
    let Some(published) = published() else { return };
    let expected = fs_err::read_to_string(published.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let expected = expected["claims"].as_array().unwrap();
    let place = Place::new();
    let import = |table: &str| {
        let path = published.join(table);
        let clients =
            table.split_once("/dop").map_or("1", |(_, rest)| rest.split('/').next().unwrap());
        let path = path.display().to_string();
        let import = ["import", "mytools", &path, "--clients", clients, "--format", "json"];
        let output = place.run_to_end(&import);
        let study: Value = serde_json::from_slice(&output.stdout).unwrap();
        study["study"]["id"].as_str().unwrap().to_owned()
    };
    let check = |file: &str, tables: &[&str]| -> Value {
        let studies: Vec<String> = tables.iter().map(|it| import(it)).collect();
        let mut args = vec!["claims", file, "--format", "json"];
        args.extend(studies.iter().map(String::as_str));
        serde_json::from_slice(&place.run_to_end(&args).stdout).unwrap()
    };
    let mut checked = 0;
    for (name, tables, claims) in FILES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../posts").join(name);
        let found = check(file.to_str().unwrap(), tables);
        let found = found["claims"].as_array().unwrap();
        for (id, holds) in claims {
            let theirs = expected.iter().find(|it| it["id"] == *id).unwrap();
            let words = |text: &Value| {
                text.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let is_it = |ours: &&Value| words(&ours["text"]) == words(&theirs["claim"]);
            let ours = found.iter().find(is_it).unwrap_or_else(|| panic!("{name}: no {id}"));
            let said = theirs["status"].as_str().unwrap();
            let status = if *holds { "holds" } else { "does not hold" };
            assert_eq!(ours["status"], status, "{id}: {ours:#}");
            assert!(said == "approx" || *holds == said.starts_with("exact"), "{id}: {said}");
            checked += 1;
        }
    }
    eprintln!("{checked} of {checked} published statements are as expected.json says");
}
