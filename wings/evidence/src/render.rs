//! The reports of a pack.

use assay_model::StudyRecord;
use assay_report::{Format, TextOptions};

const LAYOUT: TextOptions = TextOptions { width: 120, color: false, verbose: true };

pub(super) const REPORTS: [(&str, Format); 5] = [
    ("report.json", Format::JSON),
    ("report.csv", Format::CSV),
    ("report.html", Format::HTML),
    ("report.md", Format::MARKDOWN),
    ("report.txt", Format::TEXT),
];

pub(super) fn reports(record: &StudyRecord) -> [Vec<u8>; REPORTS.len()] {
    let judgement = assay_verdict::judge(record);
    REPORTS
        .map(|(_, format)| assay_report::render(record, &judgement, format, &LAYOUT).into_bytes())
}
