//! Tables that stand as they are: groups, the Insert Benchmark, client counts.

use crate::document::{Block, Caption, Cell, Column, Fold, Group, Indent, Row, Table, Wish};
use crate::view::Report;
use crate::view::groups::GroupRow;
use crate::view::insert_bench::InsertBench;
use crate::view::shaded::{ShadedCell, ShadedTable};
use crate::view::sweep::Sweep;
use crate::words::capital;

impl ShadedTable {
    /// The table with a title in words: in a terminal, it is in lower case.
    pub(super) fn titled(&self, wish: &Wish<'_>) -> Table {
        let mut table = self.table();
        let captions = table.caption.iter_mut().filter(|_| !wish.is_terminal());
        captions.for_each(|caption| caption.title = capital(&caption.title));
        table
    }

    /// The table with its title, its note and the meaning of its shades.
    pub(super) fn table(&self) -> Table {
        let columns = self.columns.iter().map(|name| Column::numbers(name.clone()));
        let cell = |cell: &ShadedCell| Cell { text: cell.text.clone(), class: cell.shade.class() };
        let rows = self.rows.iter().map(|row| {
            let name = Cell::from(row.name.clone());
            Row::new(std::iter::once(name).chain(row.cells.iter().map(cell)))
        });
        let columns = std::iter::once(Column::words(self.corner)).chain(columns).collect();
        let (title, note) = (self.title.clone(), self.note.clone());
        let caption = Some(Caption { title, note, legend: self.legend() });
        Table { caption, ..Table::new(columns, rows) }
    }
}

/// The rates of all steps and the longest response times. What each step did is for wider pages.
pub(super) fn insert_bench(bench: &InsertBench, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let open = bench.summaries.iter().chain(&bench.longest);
    let mut blocks: Vec<Block> = open.map(|shown| Block::Table(shown.titled(wish))).collect();
    if !wish.is_terminal() {
        blocks.extend(folded("Metrics", &bench.metrics));
        blocks.extend(folded("Response times", &bench.responses));
    }
    blocks
}

/// Tables with the same note, behind a title.
fn folded(title: &str, tables: &[ShadedTable]) -> Vec<Block<'static>> {
    let mut blocks = Block::notes(tables.first().map(|first| first.note.clone()));
    blocks.extend(tables.iter().map(|shown| {
        let mut table = shown.table();
        table.caption.iter_mut().for_each(|caption| caption.note.clear());
        Block::Table(table)
    }));
    Block::folded(title, Fold::Closed, blocks)
}

/// Throughput and response times by client count; in a terminal, the most important ones if there are many counts.
pub(super) fn sweep(sweep: &Sweep, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if wish.is_terminal() {
        let tables = sweep.few_tables().filter(|_| sweep.is_wide);
        return tables.map(|shown| Block::Table(shown.table())).collect();
    }
    let folded = |shown: &ShadedTable| {
        let table = Block::Table(shown.table().untitled());
        Block::folded(capital(&shown.title), Fold::Closed, vec![table])
    };
    sweep.tables.iter().flat_map(folded).collect()
}

/// The published statistics of relative QPS by group. A narrow terminal has headings in place of a column of systems.
pub(super) fn groups<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    if report.groups.is_empty() {
        return Vec::new();
    }
    if !wish.is_terminal() {
        return Block::section("Relative QPS by group", vec![Block::Table(wide_groups(report))]);
    }
    vec![Block::Fitted(Box::new(move |number| match number {
        0 => Some(vec![Block::Table(narrow_groups(report, report.several_systems(), false))]),
        1 if report.several_systems() => {
            Some(vec![Block::Table(narrow_groups(report, false, true))])
        }
        _ => None,
    }))]
}

const STATISTICS: [&str; 4] = ["n", "min", "max", "avg"];

fn wide_groups(report: &Report) -> Table {
    let (several_setups, several_systems) = (report.several_setups, report.several_systems());
    let mut columns = vec![Column::words("group")];
    columns.extend(several_setups.then(|| Column::words("clients × tables × rows")));
    columns.extend(several_systems.then(|| Column::words("system")));
    columns.extend(STATISTICS.into_iter().chain(["median [95%]", "stddev"]).map(Column::numbers));
    let rows = report.groups.iter().map(|row| {
        let mut cells = vec![row.group.word.clone()];
        cells.extend(several_setups.then(|| row.setup.to_string()));
        cells.extend(several_systems.then(|| row.system.to_owned()));
        cells.extend(statistics(row));
        Row::new(cells)
    });
    Table::new(columns, rows)
}

fn statistics(row: &GroupRow) -> [String; 6] {
    let GroupRow { n, min, max, avg, median, stddev, .. } = row;
    [n.clone(), min.clone(), max.clone(), avg.clone(), median.to_string(), stddev.clone()]
}

fn narrow_groups(report: &Report, has_column: bool, has_headings: bool) -> Table {
    let mut rows: Vec<&GroupRow> = report.groups.iter().collect();
    if has_headings {
        rows.sort_by_key(|row| (row.setup, row.system_number));
    }
    let mut columns = vec![Column::words("rQPS by group")];
    columns.extend(has_column.then(|| Column::words("system")));
    columns.extend(STATISTICS.map(Column::numbers));
    columns.extend([Column::words("median [95%]"), Column::numbers("stddev")]);
    let heading = |row: &GroupRow| {
        let setup = report.several_setups.then(|| row.setup.to_string());
        let system = has_headings.then(|| row.system.to_owned());
        [setup, system].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let groups = rows.chunk_by(|one, next| heading(one) == heading(next)).map(|rows| Group {
        heading: rows.first().map(|row| heading(row)).unwrap_or_default(),
        images: Vec::new(),
        rows: rows
            .iter()
            .map(|row| {
                let system = has_column.then(|| row.system.to_owned());
                let cells = std::iter::once(row.group.word.clone()).chain(system);
                Row::new(cells.chain(statistics(row)))
            })
            .collect(),
    });
    Table { columns, groups: groups.collect(), indent: Indent::Close, caption: None }
}
