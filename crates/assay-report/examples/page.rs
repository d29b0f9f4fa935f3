//! Writes the report of a synthetic study to a file: `page KIND FILE [WIDTH]`. The extension determines the format;
//! `DIRECTORY/` gets the charts, `short.txt` the output of a terminal without `--verbose`.

#![allow(clippy::unwrap_used, reason = "the fixtures are those of the tests")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/common/mod.rs"]
mod common;

use assay_model::{Estimate, Setup, StudyRecord, TestSet};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use common::studies::{FOUR, ONE, failed, study};

const LINE: [&str; 11] =
    ["10.2", "10.3", "10.4", "10.5", "10.6", "11.4", "11.8", "12.0", "12.1", "12.2", "12.3"];

const CLIENTS: [Setup; 3] = [ONE, Setup { clients: 4, ..ONE }, Setup { clients: 16, ..ONE }];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_default();
    let file = arguments.next().unwrap_or_else(|| "page.html".into());
    let mut judgement = None;
    let record: StudyRecord = match kind.as_str() {
        "two" => study(&["11.8"], TestSet::Set32, &[ONE], true),
        "three" => failed(study(&["11.4", "11.8"], TestSet::Set32, &[ONE], false), 4),
        "five" => study(&["10.5", "10.6", "11.4", "11.8"], TestSet::Set47, &[ONE], true),
        "setups" => common::suspicious(study(&["11.8"], TestSet::Set42, &FOUR, true)),
        "twelve" => study(&LINE, TestSet::Set32, &[ONE], false),
        "many" => study(&LINE, TestSet::Set47, &CLIENTS, false),
        "far" => {
            let mut it = study(&["11.8"], TestSet::Set32, &[ONE], true);
            for slice in it.slices.iter_mut().filter(|it| it.system == 1) {
                let n = slice.cell.test.name().len() as u64;
                if n.is_multiple_of(5) {
                    slice.work.elapsed_ns *= 2300 + 7 * u64::from(slice.round);
                }
            }
            it
        }
        "clients" => study(&["11.4", "11.8"], TestSet::Set27, &CLIENTS, false),
        "single" => {
            let record = study(&["11.8"], TestSet::Set32, &[ONE], false);
            let mut single = judge(&record);
            for cell in &mut single.cells {
                let without = |e: Estimate| Estimate::without_interval(e.value);
                (cell.qps, cell.rqps) = (cell.qps.map(without), cell.rqps.map(without));
            }
            judgement = Some(single);
            record
        }
        _ => {
            let mut record = common::record(&["11.8"]);
            record.slices.clear();
            record.finished = false;
            record
        }
    };
    let judgement = judgement.unwrap_or_else(|| judge(&record));
    let width = arguments.next().map_or(80, |width| width.parse().unwrap());
    let (format, color) = match file.rsplit('.').next() {
        Some("txt") => (Format::TEXT, false),
        Some("ansi") => (Format::TEXT, true),
        Some("md") => (Format::MARKDOWN, false),
        Some("csv") => (Format::CSV, false),
        Some("json") => (Format::JSON, false),
        _ => (Format::HTML, false),
    };
    if file.ends_with('/') {
        fs_err::create_dir_all(&file).unwrap();
        for chart in assay_report::report(&record, &judgement).with_charts("svg").0 {
            fs_err::write(format!("{file}{}.svg", chart.name), chart.svg).unwrap();
        }
        return;
    }
    let verbose = !file.contains("short");
    let options = TextOptions { width, color, verbose };
    fs_err::write(file, render(&record, &judgement, format, &options)).unwrap();
}
