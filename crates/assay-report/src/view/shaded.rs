//! Tables with shaded cells.

/// A table whose cells may be shaded.
#[derive(Clone)]
pub(crate) struct ShadedTable {
    pub(crate) title: String,
    /// What its cells and shades mean.
    pub(crate) note: String,
    /// What the rows are.
    pub(crate) corner: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<ShadedRow>,
}

impl ShadedTable {
    /// What the colours of its cells mean: the shades that occur.
    pub(crate) fn legend(&self) -> Vec<(String, &'static str)> {
        let mut used: Vec<Shade> =
            self.rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.shade)).collect();
        used.sort();
        let meant = used.iter().filter_map(|shade| Some((shade.sample(), shade.meaning()?)));
        let mut legend: Vec<(String, &str)> = meant.collect();
        legend.dedup();
        legend
    }
}

#[derive(Clone)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shade {
    None,
    /// In the best quarter of its column, of which a system is called faster or slower.
    High,
    /// In the worst quarter.
    Low,
    /// The step missed its SLA, or the number is a target.
    Gray,
    /// More than 5% better than the base, and called so.
    Better,
    /// More than 5% worse, and called so.
    Worse,
    /// Fewer instructions than the base, or more, and called so.
    Fewer,
    More,
    /// A share of all: from 0, white, to 20, the darkest.
    Share(u8),
}

impl Shade {
    /// What a legend says; `None` for what needs none.
    fn meaning(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Share(0) => None,
            Self::High => Some("in the best quarter of its column"),
            Self::Low => Some("in the worst quarter of its column, or below its target"),
            Self::Gray => Some("a target, or missed its SLA"),
            Self::Better => Some("more than 5% better than the base"),
            Self::Worse => Some("more than 5% worse"),
            Self::Fewer => Some("fewer instructions than the base"),
            Self::More => Some("more instructions"),
            Self::Share(_) => Some("the darker, the larger the share"),
        }
    }

    /// The style of its sample in a legend.
    fn sample(self) -> String {
        match self {
            Self::Share(_) => Self::Share(10).class(),
            other => other.class(),
        }
    }

    /// The word of its style.
    pub(crate) fn class(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Low => "low".to_owned(),
            Self::High => "high".to_owned(),
            Self::Gray => "gray".to_owned(),
            Self::Better | Self::Fewer => "better".to_owned(),
            Self::Worse | Self::More => "worse".to_owned(),
            Self::Share(level) => format!("share{level}"),
        }
    }
}
