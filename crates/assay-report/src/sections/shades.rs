//! Tables with shaded cells.

use crate::document::{Block, Caption, Column, Row, Table, TableCell, Wish};
use crate::number::NONE;
use crate::words::capital;

#[derive(Clone)]
pub struct ShadedTable {
    pub title: String,
    /// Meaning of its cells and shades.
    pub note: String,
    pub corner: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<ShadedRow>,
}

impl ShadedTable {
    pub(crate) fn table(&self) -> Table {
        let columns = self.columns.iter().map(|name| Column::numbers(name.clone()));
        let cell = |cell: &ShadedCell| TableCell::from(cell.text.clone()).class(cell.shade.class());
        let rows = self.rows.iter().map(|row| {
            let name = TableCell::from(row.name.clone());
            Row::new(std::iter::once(name).chain(row.cells.iter().map(cell)))
        });
        let columns = std::iter::once(Column::words(self.corner)).chain(columns).collect();
        let (title, note) = (self.title.clone(), self.note.clone());
        let caption = Some(Caption { title, note, legend: self.legend() });
        Table { caption, ..Table::new(columns, rows) }
    }

    /// With a capital letter in its title, except in terminals.
    pub(crate) fn titled(&self, wish: &Wish<'_>) -> Table {
        let mut table = self.table();
        let captions = table.caption.iter_mut().filter(|_| !wish.is_terminal());
        captions.for_each(|caption| caption.title = capital(&caption.title));
        table
    }

    pub(crate) fn block(&self, wish: &Wish<'_>) -> Block<'static> {
        Block::Table(self.titled(wish))
    }

    fn legend(&self) -> Vec<(String, &'static str)> {
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
pub struct ShadedRow {
    pub name: String,
    pub cells: Vec<ShadedCell>,
}

impl ShadedRow {
    /// Without shades.
    pub(crate) fn plain(
        name: impl Into<String>,
        texts: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let cells = texts.into_iter().map(ShadedCell::plain);
        Self { name: name.into(), cells: cells.collect() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ShadedCell {
    pub text: String,
    pub shade: Shade,
}

impl ShadedCell {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), shade: Shade::None }
    }

    /// For an absent value.
    pub(crate) fn none() -> Self {
        Self::plain(NONE)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shade {
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
