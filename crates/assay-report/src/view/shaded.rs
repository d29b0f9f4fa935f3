//! Tables with shaded cells.

#[derive(Clone)]
pub(crate) struct ShadedTable {
    pub(crate) title: String,
    /// Meaning of its cells and shades.
    pub(crate) note: String,
    pub(crate) corner: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<ShadedRow>,
}

impl ShadedTable {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shade {
    None,
    /// In the best quarter of a column in which a system is called faster or slower.
    High,
    Low,
    /// The step missed its SLA, or the number is a target.
    Gray,
    /// More than 5% better than the base, and called so.
    Better,
    /// More than 5% worse, and called so.
    Worse,
    /// Called fewer or more instructions than the base.
    Fewer,
    More,
    /// A share of all: from 0, white, to 20, the darkest.
    Share(u8),
}

impl Shade {
    /// Legend; `None` if not needed.
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

    fn sample(self) -> String {
        match self {
            Self::Share(_) => Self::Share(10).class(),
            other => other.class(),
        }
    }

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
