//! Relative QPS by group, as in the published tables.

use assay_model::{Estimate, Group, Setup};
use assay_verdict::GroupSummary;

use super::reasons;
use super::study::JudgedStudy;
use crate::charts::Place;
use crate::document::{
    Block, Caption, Column, Indent, Look, Row, RowGroup, Table, TableCell, Wish,
};
use crate::number::NONE;
use crate::ratio::{Ratio, short};
use crate::text::{Text, bold, drawing, interval, words};
use crate::words::capital;

pub(crate) struct GroupRow<'a> {
    pub(crate) group: &'static Group,
    pub(crate) setup: Setup,
    system_number: usize,
    pub(crate) system: &'a str,
    pub(crate) is_twin: bool,
    pub(crate) n: String,
    /// Smallest, largest and mean relative QPS.
    extent: [String; 3],
    stddev: String,
    pub(crate) median: Ratio,
    pub(crate) span: (f64, f64),
    /// Causes of its tests' changes; `None` if none changed.
    why: Option<String>,
}

impl GroupRow<'_> {
    /// Word of its colour.
    fn class(&self) -> &'static str {
        match self.median.0 {
            Some(median) if median.high < 1.0 => "slower",
            Some(median) if median.low > 1.0 => "faster",
            _ => "same",
        }
    }
}

pub(crate) fn rows<'a>(study: &'a JudgedStudy<'a>) -> Vec<GroupRow<'a>> {
    let groups = study.judgement.groups.iter();
    let compared = groups.filter(|summary| study.compared.contains(&summary.system));
    let row = |summary: &GroupSummary| GroupRow {
        group: summary.group,
        setup: summary.setup,
        system_number: summary.system,
        system: study.label(summary.system),
        is_twin: study.is_twin(summary.system),
        n: tests(summary),
        extent: [summary.min, summary.max, summary.avg].map(short),
        stddev: summary.stddev.map_or_else(|| NONE.to_owned(), |it| format!("{it:.3}")),
        median: Ratio(Some(
            summary.median_interval.unwrap_or(Estimate::without_interval(summary.median)),
        )),
        span: (summary.min, summary.max),
        why: reasons::of_group(&study.judgement.cells, summary),
    };
    compared.map(row).collect()
}

/// Tests with a relative QPS: `5`, or `5 of 6` if one was not answered.
pub(super) fn tests(summary: &GroupSummary) -> String {
    match summary.bounded {
        0 => summary.n.to_string(),
        bounded => format!("{} of {}", summary.n, summary.n + bounded),
    }
}

/// The published statistics of relative QPS by group. A narrow terminal has headings instead of a column of systems.
pub(super) fn blocks<'r>(study: &'r JudgedStudy<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let (rows, several) = (rows(study), study.several_systems());
    let mut blocks = vec![Block::Images(wish.images.at(&Place::Groups))];
    if wish.is_page() {
        blocks.extend(Block::place("groups", "Groups", "Groups", drawn(study, &rows)));
    } else if wish.is_post() && !rows.is_empty() {
        let table = vec![Block::Table(wide(study, &rows))];
        blocks.extend(Block::section("Relative QPS by group", table));
    } else if !rows.is_empty() {
        blocks.push(Block::Fitted(Box::new(move |number| match number {
            0 => Some(vec![Block::Table(narrow(study, &rows, several, false))]),
            1 if several => Some(vec![Block::Table(narrow(study, &rows, false, true))]),
            _ => None,
        })));
    }
    blocks
}

fn drawn(study: &JudgedStudy, rows: &[GroupRow]) -> Vec<Block<'static>> {
    let shown: Vec<&GroupRow> = rows.iter().filter(|row| !row.is_twin).collect();
    if shown.is_empty() {
        return Block::prose("", ["No group has a relative QPS."]);
    }
    let scale = study.scale();
    let several = study.several_setups();
    let mut columns = vec![Column::words("Group")];
    columns.extend(several.then(|| Column::words(capital(study.setup_column())).class("nowrap")));
    columns.push(Column::words("System").class("name"));
    columns.push(Column::numbers("Median [95%]"));
    columns.push(Column { scale: scale.axis(25.0), ..Column::words("Chart").class("scale") });
    columns.extend(["n", "Min", "Max", "Avg", "Stddev"].map(Column::numbers));
    let row = |row: &&GroupRow| {
        let mut cells =
            vec![TableCell::from(row.group.word.as_str()).titled(row.group.title.as_str())];
        cells.extend(study.setup_if_several(row.setup).map(Into::into));
        let (median, spread) = (row.median.value(), row.median.interval());
        let spread = interval(Some(spread.unwrap_or_else(|| "no interval".to_owned())));
        cells.push(row.system.into());
        cells.push(Text::from(bold(median)).and(spread).into());
        cells.push(drawing(scale.strip(row.median.0, Some(row.span), row.class())).into());
        let [min, max, avg] = &row.extent;
        cells.extend(
            [&row.n, min, max, avg, &row.stddev].map(|text| TableCell::from(text.as_str())),
        );
        Row::new(cells)
    };
    let has_single = shown.iter().any(|row| row.stddev == NONE);
    let single = if has_single { " Stddev needs at least two tests." } else { "" };
    let note = format!(
        "Relative QPS over the tests of a group. Thick line and dot: median with 95% interval; thin line: smallest to \
         largest.{single}"
    );
    let caption = Some(Caption { note, ..Caption::default() });
    let look = Look { class: "groups stack".to_owned(), label: "Groups", ..Look::default() };
    let table = Table { caption, ..Table::new(columns, shown.iter().map(row)).look(look) };
    let reason = |row: &&GroupRow| {
        let setup = study.setup_if_several(row.setup);
        let setup = setup.map_or_else(String::new, |setup| format!(", {setup}"));
        let why = format!("{setup}, {}: {}", row.system, row.why.as_ref()?);
        Some(Text::from(bold(&row.group.word)).and([words(why)]))
    };
    let reasons = Block::list(shown.iter().filter_map(reason));
    std::iter::once(Block::Table(table)).chain(reasons).collect()
}

const STATISTICS: [&str; 4] = ["n", "min", "max", "avg"];

fn wide(study: &JudgedStudy, rows: &[GroupRow]) -> Table {
    let (several_setups, several_systems) = (study.several_setups(), study.several_systems());
    let mut columns = vec![Column::words("group")];
    columns.extend(several_setups.then(|| Column::words(study.setup_column())));
    columns.extend(several_systems.then(|| Column::words("system")));
    columns.extend(STATISTICS.into_iter().chain(["median [95%]", "stddev"]).map(Column::numbers));
    let rows = rows.iter().map(|row| {
        let mut cells = vec![row.group.word.clone()];
        cells.extend(several_setups.then(|| study.plain_setup(row.setup)));
        cells.extend(several_systems.then(|| row.system.to_owned()));
        cells.extend(statistics(row));
        Row::new(cells)
    });
    Table::new(columns, rows)
}

fn statistics(row: &GroupRow) -> [String; 6] {
    let [min, max, avg] = row.extent.clone();
    [row.n.clone(), min, max, avg, row.median.to_string(), row.stddev.clone()]
}

fn narrow(study: &JudgedStudy, rows: &[GroupRow], has_column: bool, has_headings: bool) -> Table {
    let mut rows: Vec<&GroupRow> = rows.iter().collect();
    if has_headings {
        rows.sort_by_key(|row| (row.setup, row.system_number));
    }
    let mut columns = vec![Column::words("rQPS by group")];
    columns.extend(has_column.then(|| Column::words("system")));
    columns.extend(STATISTICS.map(Column::numbers));
    columns.extend([Column::words("median [95%]"), Column::numbers("stddev")]);
    let heading = |row: &GroupRow| {
        let setup = study.several_setups().then(|| study.plain_setup(row.setup));
        let system = has_headings.then(|| row.system.to_owned());
        [setup, system].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let groups = rows.chunk_by(|one, next| heading(one) == heading(next)).map(|rows| RowGroup {
        heading: heading(rows[0]).into(),
        rows: rows
            .iter()
            .map(|row| {
                let system = has_column.then(|| row.system.to_owned());
                let cells = std::iter::once(row.group.word.clone()).chain(system);
                Row::new(cells.chain(statistics(row)))
            })
            .collect(),
        ..RowGroup::default()
    });
    Table { columns, groups: groups.collect(), indent: Indent::Close, ..Table::default() }
}
