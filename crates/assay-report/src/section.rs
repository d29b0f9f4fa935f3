//! Sections on what the work after a study left. Each belongs to a wing; the report lays them out and knows none.

use std::sync::OnceLock;

use assay_model::{Estimate, StudyRecord};
use assay_verdict::CellJudgement;
use serde::{Serialize, Serializer};

use crate::data::number::{Interval, Number};
pub use crate::number::{NONE, duration, figure, thousands};
pub use crate::ratio::Ratio;
pub use crate::view::drawing::{Chart, Values, chart};
pub use crate::view::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
pub use crate::view::study::JudgedStudy;

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

/// A value in JSON. Keys keep their order.
pub enum JsonValue {
    Null,
    Flag(bool),
    Whole(u64),
    /// Null if it is not finite.
    Fraction(f64),
    Interval(Estimate),
    List(Vec<Self>),
    Fields(Vec<(&'static str, Self)>),
}

impl From<bool> for JsonValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<u32> for JsonValue {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<u64> for JsonValue {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for JsonValue {
    fn from(value: f64) -> Self {
        Self::Fraction(value)
    }
}

impl From<Estimate> for JsonValue {
    fn from(value: Estimate) -> Self {
        Self::Interval(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Flag(value) => serializer.serialize_bool(*value),
            Self::Whole(value) => serializer.serialize_u64(*value),
            Self::Fraction(value) => Number::from(*value).serialize(serializer),
            Self::Interval(value) => Interval::from(*value).serialize(serializer),
            Self::List(values) => serializer.collect_seq(values),
            Self::Fields(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

/// The values of all sections beside a cell.
pub(crate) struct SectionValues(Vec<(&'static str, JsonValue)>);

impl SectionValues {
    pub(crate) fn new(record: &StudyRecord, judged: &CellJudgement) -> Self {
        let value = |section: &'static dyn AfterwardSection| {
            Some((section.key(), section.value(record, judged)?))
        };
        Self(all().filter_map(value).collect())
    }
}

impl Serialize for SectionValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}
