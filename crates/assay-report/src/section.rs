//! Sections on what the work after a study left. Each belongs to a wing; the report lays them out and knows none.

use std::sync::OnceLock;

use assay_model::StudyRecord;
use assay_verdict::CellJudgement;

pub use crate::charts::drawing::{Chart, Values, chart};
pub use crate::data::value::JsonValue;
pub use crate::number::{NONE, duration, figure, thousands};
pub use crate::ratio::Ratio;
pub use crate::sections::shades::{Shade, ShadedCell, ShadedRow, ShadedTable};
pub use crate::sections::study::JudgedStudy;

/// What a report says about documents of one name.
pub trait AfterwardSection: Sync {
    /// Key of its values beside a cell in JSON, its place in pages, and the beginning of the names of its charts.
    fn key(&self) -> &'static str;

    /// In lower case; pages begin it with a capital letter.
    fn title(&self) -> &'static str;

    /// `None` without documents.
    fn content(&self, study: &JudgedStudy) -> Option<SectionContent>;

    /// The value beside a cell in JSON; left out if there is none.
    fn value(&self, record: &StudyRecord, judged: &CellJudgement) -> Option<JsonValue>;

    /// The fields of the value and their meanings, for the reference.
    fn fields(&self) -> &'static [(&'static str, &'static str)];
}

/// The content of a section, whatever the format.
#[derive(Default)]
pub struct SectionContent {
    /// Sentences that contradict the answer of the study. They are shown with it.
    pub contradictions: Vec<String>,
    /// Findings in words, the largest first. A short report has only the first ones.
    pub sentences: Vec<String>,
    /// For readers of half a page: what is worth acting on, the gravest first.
    pub findings: Vec<String>,
    /// The widest first, then the same in fewer columns.
    pub tables: Vec<ShadedTable>,
    pub notes: Vec<String>,
    pub charts: Vec<SectionChart>,
}

/// A drawing with a line for each system.
pub struct SectionChart {
    pub test: String,
    pub chart: Chart,
    /// In words.
    pub summary: String,
}

static ALL: OnceLock<Vec<&'static dyn AfterwardSection>> = OnceLock::new();

/// Sets all sections, in their order. Only the first call counts.
pub fn set_sections(all: Vec<&'static dyn AfterwardSection>) {
    ALL.get_or_init(|| all);
}

pub(crate) fn all() -> impl Iterator<Item = &'static dyn AfterwardSection> {
    ALL.get().into_iter().flatten().copied()
}

/// A section of a report.
pub(crate) struct ShownSection {
    pub(crate) section: &'static dyn AfterwardSection,
    pub(crate) content: SectionContent,
    /// Labels of all systems, for the key of its charts.
    pub(crate) systems: Vec<String>,
}

pub(crate) fn sections(study: &JudgedStudy) -> Vec<ShownSection> {
    let shown = all().filter_map(|section| {
        let content = section.content(study)?;
        let systems = (0..study.record.systems.len()).map(|it| study.label(it).to_owned());
        Some(ShownSection { section, content, systems: systems.collect() })
    });
    shown.collect()
}

/// The values of all sections beside a cell.
pub(crate) fn values(record: &StudyRecord, judged: &CellJudgement) -> JsonValue {
    let value = |section: &'static dyn AfterwardSection| {
        Some((section.key(), section.value(record, judged)?))
    };
    JsonValue::Fields(all().filter_map(value).collect())
}
