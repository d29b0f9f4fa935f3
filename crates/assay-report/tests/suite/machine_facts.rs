//! The facts about a machine in the report of a study.

use assay_model::*;
use assay_report::{Format, TextOptions};

use crate::common;

const OPTIONS: TextOptions = TextOptions { width: 100, color: false, verbose: true };

#[test]
fn the_report_of_a_study_says_what_was_worth_changing() {
    let process = BusyProcess { name: "rustc".into(), pid: 7, cpu_percent: 97 };
    let load = LoadFacts { other_cpus: Some(1.31), busiest: vec![process], ..LoadFacts::default() };
    let turn = TurnError { turn_ms: 2.0, error: 0.01 };
    let noise = Noise { turns: vec![turn], asked_ms: 1.0, ..Noise::default() };
    let cpus = CpuFacts { allowed: 2, ..CpuFacts::default() };
    let busy = Examination { cpus, load, noise: Some(noise), ..Examination::default() };
    let mut record = common::record(&["11.8"]);
    record.runs[0].host.doctor = Some(busy);
    let judgement = assay_verdict::judge(&record);
    let render_as = |format| assay_report::render(&record, &judgement, format, &OPTIONS);
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let report = render_as(format);
        assert!(report.contains("noise before the study: ±"), "{report}");
        assert!(report.contains("worth changing: ") && report.contains("rustc 97%"), "{report}");
    }
    let json: serde_json::Value = serde_json::from_str(&render_as(Format::JSON)).unwrap();
    assert_eq!(json["host"]["doctor"]["noise"]["asked_ms"], 1.0);
}
