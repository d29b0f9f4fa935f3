//! `assay export`: the queries of docs/reference/export.md work on the tables. DuckDB runs them; pip installs it into
//! the user's cache.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const STUDY: &str = include_str!("../../assay-ledger/tests/recorded/study.id");

const SCRIPT: &str = r#"
import duckdb, json, sys
queries, tables, published = json.load(open(sys.argv[1]))
rows = lambda query: [[str(it) if it is not None else None for it in row] for row in duckdb.sql(query).fetchall()]
print(json.dumps({
    "answers": [rows(query) for query in queries],
    "columns": {it: [row[:2] for row in rows(f"DESCRIBE SELECT * FROM '{it}.parquet'")] for it in tables},
    "counts": [rows(f"SELECT (SELECT count(*) FROM '{it}.parquet'), (SELECT count(*) FROM read_csv('{it}.csv',"
               "header = true, all_varchar = true))")[0] for it in tables],
    "qps": rows("SELECT test, system, qps, rqps FROM 'cells.parquet' WHERE study NOT LIKE 'imported%'"),
    "invented": [
        [table, column]
        for table, known in published
        for column in [row[0] for row in rows(f"DESCRIBE SELECT * FROM '{table}.parquet'")]
        if column not in known.split()
        and rows(f"""SELECT 1 FROM '{table}.parquet' WHERE study LIKE 'imported%' AND "{column}" IS NOT NULL LIMIT 1""")
    ],
}))
"#;

const TABLES: [&str; 9] =
    ["studies", "systems", "settings", "cells", "groups", "steps", "changes", "slices", "series"];

/// Columns filled by a published table of rates, and those that identify it. All others are null.
const PUBLISHED: [(&str, &str); 4] = [
    (
        "studies",
        "study finished preset experiment threshold systems cells slices assay_version judged_by",
    ),
    ("systems", "study number system is_base is_twin version source build"),
    ("cells", "study test clients tables rows group system verdict qps rqps slices"),
    ("slices", "study slice test clients tables rows system run block round position outcome qps"),
];

fn queries() -> Vec<String> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/export.md");
    let docs = fs_err::read_to_string(docs).unwrap();
    let blocks = docs.split("```sql\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

fn documented(table: &str) -> Vec<Value> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/export.md");
    let docs = fs_err::read_to_string(docs).unwrap();
    let (_, section) = docs.split_once(&format!("\n### {table}\n")).unwrap();
    let section = section.split("\n### ").next().unwrap();
    let columns = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let column = |line: &str| {
        let (name, rest) = line.split_once("` | ").unwrap();
        let kind = rest.split(" | ").next().unwrap();
        let kind = if kind == "TIMESTAMPTZ" { "TIMESTAMP WITH TIME ZONE" } else { kind };
        Value::from(vec![name, kind])
    };
    columns.map(column).collect()
}

fn assay(folder: &Path, words: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(words)
        .current_dir(folder)
        .env("ASSAY_LEDGER", folder.join("ledger.db"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A ledger with a measured study, which has a series, and an imported one.
fn ledger(folder: &Path) {
    let recorded =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded/study.db.gz");
    let mut bytes = Vec::new();
    let packed = fs_err::File::open(recorded).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = folder.join("ledger.db");
    fs_err::write(&path, bytes).unwrap();
    let mut ledger = assay_ledger::Ledger::open(&path).unwrap();
    let slice = ledger.read(STUDY).unwrap().slices[2].id();
    let series =
        assay_model::Series { name: "events".to_owned(), step_ms: 500, counts: vec![4, 0] };
    ledger.add_series(STUDY, slice, &series).unwrap();
    let table = "col-1 : =a\ncol-2 : b\n100\t110\tpoint-query\n200\t190\tscan\n";
    fs_err::write(folder.join("qps.abs.x.tsv"), table).unwrap();
    assay(folder, &["import", "mytools", "qps.abs.x.tsv"]);
}

#[test]
fn documented_queries_run_on_exported_tables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ledger(folder);
    assay(folder, &["export", "tables"]);
    assay(folder, &["export", "again"]);
    for table in TABLES {
        for ending in ["parquet", "csv"] {
            let read = |directory: &str| {
                fs_err::read(folder.join(format!("{directory}/{table}.{ending}")))
            };
            assert_eq!(read("tables").unwrap(), read("again").unwrap(), "{table}.{ending}");
        }
    }
    let systems = fs_err::read_to_string(folder.join("tables/systems.csv")).unwrap();
    assert!(systems.contains(",'=a,"), "a formula: {systems}");

    let (queries, asked) = (queries(), folder.join("asked.json"));
    fs_err::write(&asked, serde_json::to_vec(&(&queries, TABLES, PUBLISHED)).unwrap()).unwrap();
    let output = assay_testkit::python(&["duckdb"])
        .args(["-c", SCRIPT])
        .arg(&asked)
        .current_dir(folder.join("tables"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["answers"].as_array().unwrap().len(), queries.len());
    assert_eq!(told["invented"], Value::Array(Vec::new()), "never measured");
    for (number, table) in TABLES.iter().enumerate() {
        assert_eq!(told["columns"][table], Value::from(documented(table)), "{table}");
        let counts = &told["counts"][number];
        assert_eq!(counts[0], counts[1], "rows of {table} in Parquet and CSV");
    }
    // 0.5 s with no event.
    let slowest = told["answers"].as_array().unwrap().iter().flat_map(|it| it.as_array().unwrap());
    let slowest: Vec<_> = slowest.filter(|row| row[2] == "events").collect();
    assert_eq!(
        (&slowest[0][1], &slowest[0][3], &slowest[0][4]),
        (&"3".into(), &"0.0".into(), &"4.0".into())
    );

    // The report rounds its figures.
    let report = assay(folder, &["report", STUDY, "--format", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let cells = report["cells"].as_array().unwrap();
    assert_eq!(told["qps"].as_array().unwrap().len(), cells.len());
    for (row, cell) in told["qps"].as_array().unwrap().iter().zip(cells) {
        assert_eq!((&row[0], &row[1]), (&cell["test"], &cell["system"]));
        for (exact, shown) in [(&row[2], &cell["qps"]), (&row[3], &cell["rqps"])] {
            let exact = exact.as_str().map(|it| it.parse::<f64>().unwrap());
            let shown = shown["value"].as_f64();
            let is_same =
                exact.zip(shown).is_none_or(|(exact, shown)| (exact / shown - 1.0).abs() < 1e-7);
            assert!(exact.is_some() == shown.is_some() && is_same, "{row} {cell}");
        }
    }
}

#[test]
fn only_named_studies_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ledger(folder);
    let told = assay(folder, &["export", "one", STUDY, "--format", "json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((&told[0]["table"], &told[0]["rows"]), (&"studies".into(), &1.into()));
    assay(folder, &["pack", STUDY, "a.assay"]);
    assay(folder, &["export", "packed", "--ledger", "a.assay"]);
    let read = |name: &str| fs_err::read(folder.join(name)).unwrap();
    assert_eq!(read("one/cells.parquet"), read("packed/cells.parquet"));
}

#[test]
fn only_tables_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ledger(folder);
    assay(folder, &["export", "tables"]);
    let before = fs_err::read(folder.join("tables/cells.csv")).unwrap();
    let refused = |directory: &str, ledger: &str, what: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["export", directory, STUDY, "--ledger", ledger])
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(what), "{directory}: {told}");
    };
    let series = folder.join("tables/series.csv");
    fs_err::remove_file(&series).unwrap();
    fs_err::os::unix::fs::symlink(folder.join("ledger.db"), &series).unwrap();
    refused("tables", "ledger.db", "`tables/series.csv` is no regular file");
    fs_err::remove_file(&series).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &series, 0o600.into()).unwrap();
    refused("tables", "ledger.db", "`tables/series.csv` is no regular file");
    // Only the named study would be in it.
    assert_eq!(fs_err::read(folder.join("tables/cells.csv")).unwrap(), before);
    fs_err::create_dir(folder.join("own")).unwrap();
    fs_err::copy(folder.join("ledger.db"), folder.join("own/studies.csv")).unwrap();
    let kept = fs_err::read(folder.join("own/studies.csv")).unwrap();
    refused("own", "own/studies.csv", "`own/studies.csv` is the ledger");
    assert_eq!(fs_err::read(folder.join("own/studies.csv")).unwrap(), kept);
}
