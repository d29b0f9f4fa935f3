//! CSV (RFC 4180): one line per cell and system.

use assay_model::StudyRecord;
use assay_verdict::Judgement;

/// Renders the report.
pub(crate) fn render(_record: &StudyRecord, _judgement: &Judgement) -> String {
    String::new()
}
