//! The scripts of the documentation that read studies: they run on the CSV of a recorded study, and print the figures
//! of assay. The page prints what it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use assay_ledger::Ledger;
use assay_model::{Slice, SliceOutcome, StudyRecord};
use serde_json::Value;

const STUDY: &str = include_str!("../../../assay-ledger/tests/recorded/study.id");

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to");

#[track_caller]
fn printed(folder: &Path, mut program: Command, script: &Path) -> String {
    let output = program.arg(script).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {program:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The tables that a script of the documentation prints.
#[track_caller]
fn tables(folder: &Path, program: Command, script: &str) -> Vec<Table> {
    let printed = printed(folder, program, &Path::new(PAGES).join(script));
    printed.split("\n\n").filter_map(Table::read).collect()
}

/// The text of the first code block that begins with this line.
fn block<'a>(page: &'a str, opening: &str) -> &'a str {
    page.split_once(opening).unwrap().1.split_once("```").unwrap().0
}

struct Table {
    columns: Vec<String>,
    rows: BTreeMap<(String, String), BTreeMap<String, String>>,
}

impl Table {
    fn read(printed: &str) -> Option<Self> {
        let mut lines = printed.lines();
        let columns: Vec<String> = lines.next()?.split_whitespace().map(str::to_owned).collect();
        if !columns.starts_with(&["test".to_owned(), "system".to_owned()]) {
            return None;
        }
        let mut rows = BTreeMap::new();
        // Names of systems have spaces.
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(name_end) = (words.len() + 2).checked_sub(columns.len()).filter(|it| *it > 1)
            else {
                continue;
            };
            let values = words[name_end..].iter().map(|it| (*it).to_owned());
            let values = columns[2..].iter().cloned().zip(values).collect();
            rows.insert((words[0].to_owned(), words[1..name_end].join(" ")), values);
        }
        Some(Self { columns, rows })
    }

    #[track_caller]
    fn check(&self, of: &(String, String), column: &str, value: Option<f64>, rounded_to: f64) {
        let Some(row) = self.rows.get(of) else { panic!("{of:?} is not in {:?}", self.rows) };
        let printed = row[column].parse::<f64>().ok().filter(|it| it.is_finite());
        let is_same = match (printed, value) {
            (Some(printed), Some(value)) => {
                (printed - value).abs() <= 0.501 * rounded_to + 1e-6 * value.abs()
            }
            (printed, value) => printed.is_none() && value.is_none(),
        };
        assert!(is_same, "{of:?}: {column} is {printed:?}, and not {value:?}");
    }
}

/// A directory with the recorded study as CSV; what assay reports on it; and its slices.
fn recorded() -> (tempfile::TempDir, Value, StudyRecord) {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded/study.db.gz");
    let mut bytes = Vec::new();
    let packed = fs_err::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let ledger = folder.join("ledger.db");
    fs_err::write(&ledger, bytes).unwrap();
    let assay = |words: &[&str]| {
        let mut assay = Command::new(env!("CARGO_BIN_EXE_assay"));
        assay.args(words).env("ASSAY_LEDGER", &ledger).env("XDG_STATE_HOME", folder.join("state"));
        let output = assay.current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    assay(&["report", "latest", "--format", "csv", "-o", "study.csv"]);
    let report = serde_json::from_slice(&assay(&["report", "--format", "json"])).unwrap();
    let record = Ledger::open(&ledger).unwrap().read(STUDY).unwrap();
    (directory, report, record)
}

#[track_caller]
fn check(tables: &[Table], report: &Value, record: &StudyRecord) {
    let [change, latency, cpu, terms, ratios @ ..] = tables else {
        panic!("{} tables", tables.len())
    };
    let cells = report["cells"].as_array().unwrap();
    let base = &report["systems"][0]["name"];
    let mut seen = BTreeSet::new();
    for cell in cells {
        let of = (text(&cell["test"]), text(&cell["system"]));
        let us = &cell["latency_us"];
        for name in ["avg", "p50", "p95", "p99", "max"] {
            latency.check(&of, name, us[name].as_f64(), 0.1);
        }
        let of_base = cells.iter().find(|it| it["system"] == *base && it["test"] == cell["test"]);
        let of_base = of_base.unwrap()["latency_us"]["p95"].as_f64().unwrap();
        latency.check(&of, "p95_ratio", us["p95"].as_f64().map(|it| it / of_base), 0.01);
        cpu.check(&of, "cpu_us", cell["per_op"]["server_cpu_us"].as_f64(), 0.1);
        for (column, key) in [("ratio", "value"), ("low", "low"), ("high", "high")] {
            cpu.check(&of, column, cell["cpu_ratio"][key].as_f64(), 0.01);
        }
        if cell["system"] == *base {
            continue;
        }
        assert_eq!(cpu.rows[&of]["verdict"], text(&cell["cpu_verdict"]));
        assert_eq!(change.rows[&of]["verdict"], text(&cell["verdict"]));
        for (column, key) in [("percent", "value"), ("low", "low"), ("high", "high")] {
            let ratio = cell["rqps"][key].as_f64();
            change.check(&of, column, ratio.map(|it| 100.0 * (it - 1.0)), 0.1);
        }
        for table in ratios {
            check_slices(table, &of, &all_ratios(record, &of));
        }
        for term in &terms.columns[2..] {
            terms.check(&of, term, cell["change_us"][term]["value"].as_f64(), 0.1);
        }
        seen.insert(of);
    }
    for table in [change, terms].into_iter().chain(ratios) {
        assert_eq!(table.rows.keys().cloned().collect::<BTreeSet<_>>(), seen);
    }
    assert!(seen.len() >= 8 && terms.columns.len() >= 6, "{seen:?} {:?}", terms.columns);
}

fn check_slices(table: &Table, of: &(String, String), values: &[f64]) {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    table.check(of, "count", Some(values.len() as f64), 0.0);
    for (column, quarter) in [("25%", 1), ("50%", 2), ("75%", 3)] {
        let place = (values.len() - 1) as f64 * f64::from(quarter) / 4.0;
        let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
        let value = below + (above - below) * place.fract();
        table.check(of, column, Some(value), 0.001);
    }
}

/// Events per nanosecond of the slices of a test and a system, by block and round.
fn by_round(record: &StudyRecord, test: &str, system: &str) -> BTreeMap<(u32, u32), f64> {
    let slices = record.slices.iter().filter(|it| {
        let is_good = matches!(it.outcome, SliceOutcome::Good | SliceOutcome::Troubled);
        is_good && it.cell.test.name() == test && record.systems[it.system].name == system
    });
    let rate = |it: &Slice| it.work.events as f64 / it.work.elapsed_ns as f64;
    slices.map(|it| ((it.block, it.round), rate(it))).collect()
}

fn all_ratios(record: &StudyRecord, (test, system): &(String, String)) -> Vec<f64> {
    let base = by_round(record, test, &record.systems[0].name);
    by_round(record, test, system).into_iter().map(|(round, rate)| rate / base[&round]).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn the_script_for_pandas_prints_the_figures_of_assay_and_the_page_its_own() {
    let (folder, report, record) = recorded();
    let folder = folder.path();
    let python = || {
        let mut python = assay_testkit::python(&["pandas==2.3.3", "matplotlib==3.10.7"]);
        python.env("MPLCONFIGDIR", folder).env("MPLBACKEND", "agg");
        python
    };
    let tables = tables(folder, python(), "data-frames.py");
    assert_eq!(tables.len(), 5);
    check(&tables, &report, &record);
    assert!(fs_err::read_to_string(folder.join("change.svg")).unwrap().contains("</svg>"));

    let path = Path::new(PAGES).join("data-frames.md");
    let page = fs_err::read_to_string(&path).unwrap();
    let script = folder.join("page.py");
    fs_err::write(&script, block(&page, "```python\n")).unwrap();
    let (printed, shown) = (printed(folder, python(), &script), block(&page, "```text\n"));
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs_err::write(&path, page.replace(shown, &printed)).unwrap();
    } else {
        assert_eq!(printed, shown, "`INSTA_UPDATE=always` writes what is printed into the page");
    }
}

/// It needs the program `Rscript`, of Debian's package `r-base-core`.
#[test]
fn the_script_for_r_prints_the_figures_of_assay() {
    let (folder, report, record) = recorded();
    let folder = folder.path();
    let mut rscript = Command::new("Rscript");
    rscript.arg("--vanilla");
    let tables = tables(folder, rscript, "data-frames.R");
    check(&tables, &report, &record);
    assert!(fs_err::read_to_string(folder.join("change.svg")).unwrap().contains("</svg>"));
}
