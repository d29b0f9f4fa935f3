//! Tables with shaded cells.

/// A table whose cells may be shaded.
pub(crate) struct ShadedTable {
    pub(crate) title: String,
    /// What its cells and shades mean.
    pub(crate) note: String,
    /// What the rows are.
    pub(crate) corner: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<ShadedRow>,
}

pub(crate) struct ShadedRow {
    pub(crate) name: String,
    pub(crate) cells: Vec<ShadedCell>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShadedCell {
    pub(crate) text: String,
    pub(crate) shade: Shade,
}

/// The background of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shade {
    None,
    /// In the worst quarter of its column.
    Low,
    /// In the best quarter.
    High,
    /// The step missed its SLA, or the number is a target.
    Gray,
    /// More than 5 % better than the base.
    Better,
    /// More than 5 % worse.
    Worse,
    /// A share of all: from 0, white, to 20, the darkest.
    Share(u8),
}

impl Shade {
    /// The word of its style.
    pub(crate) fn class(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Low => "low".to_owned(),
            Self::High => "high".to_owned(),
            Self::Gray => "gray".to_owned(),
            Self::Better => "better".to_owned(),
            Self::Worse => "worse".to_owned(),
            Self::Share(level) => format!("share{level}"),
        }
    }
}
