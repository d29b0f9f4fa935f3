//! Tables that need no layout: groups, the Insert Benchmark, client counts.

use crate::charts::curves::inline;
use crate::charts::marks;
use crate::document::{
    Block, Caption, Column, Figure, Fold, Frame, Indent, Look, Row, RowGroup, Section, Table,
    TableCell, Wish,
};
use crate::scale::RatioScale;
use crate::text::{Text, bold, drawing, interval, of_class, words};
use crate::view::Report;
use crate::view::groups::GroupRow;
use crate::view::insert_bench::{InsertBenchTables, StepBars};
use crate::view::shaded::ShadedTable;
use crate::view::sweep::TestCurves;
use crate::words::capital;

/// The rates of all steps and the longest response times. Details of steps need wider pages.
pub(super) fn insert_bench(bench: &InsertBenchTables, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let open = bench.summaries.iter().chain(&bench.longest);
    if wish.is_page() {
        let mut blocks = tables(open);
        blocks.extend(Block::folded("Average rates of every step", Fold::Open, bars(bench)));
        blocks.extend(seconds(bench));
        for (heading, tables) in [
            ("Metrics of every step", &bench.metrics),
            ("Response times of every step", &bench.responses),
        ] {
            blocks.extend(Block::folded(heading, Fold::Closed, self::tables(tables)));
        }
        return Block::place("insert-bench", "", "Insert Benchmark", blocks);
    }
    let mut blocks: Vec<Block> = open.map(|shown| shown.block(wish)).collect();
    if wish.is_post() {
        blocks.extend(folded("Metrics", &bench.metrics));
        blocks.extend(folded("Response times", &bench.responses));
    }
    blocks
}

fn tables<'t>(tables: impl IntoIterator<Item = &'t ShadedTable>) -> Vec<Block<'static>> {
    tables.into_iter().map(|shown| Block::Table(shown.table())).collect()
}

fn bars(bench: &InsertBenchTables) -> Vec<Block<'static>> {
    let table = |step: &StepBars| {
        let columns = vec![Column::words(""), Column::numbers(""), Column::words("")];
        let rows = step.bars.iter().map(|bar| {
            let drawn = drawing(marks::bar(bar.system, bar.share));
            Row::new([bar.name.as_str().into(), bar.text.as_str().into(), Text::from(drawn)])
        });
        Block::Table(Table::new(columns, rows).small("rates", step.title.as_str()))
    };
    Block::part(Frame::Plain, "charts", bench.bars.iter().map(table).collect())
}

/// The charts of each step second by second; those of queries are open.
fn seconds(bench: &InsertBenchTables) -> Vec<Block<'static>> {
    let mut blocks = Vec::new();
    for step in &bench.charts {
        let fold = if step.step.starts_with('q') { Fold::Open } else { Fold::Closed };
        let figures = step.charts.iter().map(marks::small).collect();
        blocks.push(Block::Section(Section {
            class: "seconds",
            blocks: vec![Block::Figures("charts", figures)],
            ..Section::new(step.step, fold)
        }));
    }
    if !blocks.is_empty() {
        blocks.insert(0, key(&bench.systems));
    }
    Block::section("Second by second", blocks)
}

pub(super) fn key(systems: &[String]) -> Block<'static> {
    let name = |(number, system): (usize, &String)| {
        [of_class(format!("line{}", number % 6), system), words(" ")]
    };
    Block::Prose("key", vec![systems.iter().enumerate().flat_map(name).collect()])
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
pub(super) fn sweep(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some(sweep) = &report.sweep else { return Vec::new() };
    if wish.is_page() {
        let mut blocks = vec![key(&sweep.systems)];
        blocks.extend(sweep.tests.iter().map(|test| Block::Section(curves(report, test))));
        blocks.extend(self::tables(&sweep.tables));
        return Block::place("clients", "Clients", "By number of clients", blocks);
    }
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

fn curves(report: &Report, test: &TestCurves) -> Section<'static> {
    let drawn = inline(report, test).into_iter();
    let drawn = drawn.map(|(caption, svg)| Figure { caption, svg, ..Figure::default() });
    let mut blocks = vec![Block::Figures("curves", drawn.collect())];
    if !test.seconds.is_empty() {
        let message = "Each second is made of one system's own turns. The other systems' turns are left out, and the \
            blocks are joined.";
        let charts = test.seconds.iter().map(marks::small).collect();
        let mut seconds = Block::prose("", [message]);
        seconds.push(Block::Figures("charts", charts));
        let section = Section::new("Second by second", Fold::Closed);
        blocks.push(Block::Section(Section { class: "seconds", blocks: seconds, ..section }));
    }
    let of_data = test.data.as_ref().map_or_else(String::new, |data| format!(" on {data}"));
    let section = Section::new(format!("{}{of_data}", test.test), Fold::Open);
    Section { class: "seconds", blocks, ..section }
}

/// The published statistics of relative QPS by group. A narrow terminal has headings instead of a column of systems.
pub(super) fn groups<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    if wish.is_page() {
        return Block::place("groups", "Groups", "Groups", drawn_groups(report));
    }
    if report.groups.is_empty() {
        return Vec::new();
    }
    if wish.is_post() {
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

fn drawn_groups(report: &Report) -> Vec<Block<'static>> {
    let shown: Vec<&GroupRow> = report.groups.iter().filter(|row| !row.is_twin).collect();
    if shown.is_empty() {
        return Block::prose("", ["No group has a relative QPS."]);
    }
    let scale = RatioScale::fitting(&report.ratios, report.threshold);
    let several = report.several_setups;
    let mut columns = vec![Column::words("Group")];
    columns.extend(several.then(|| Column::words(capital(report.setup_column())).class("nowrap")));
    columns.push(Column::words("System").class("name"));
    columns.push(Column::numbers("Median [95%]"));
    columns.push(Column { scale: scale.axis(25.0), ..Column::words("Chart").class("scale") });
    columns.extend(["n", "Min", "Max", "Avg", "Stddev"].map(Column::numbers));
    let row = |row: &&GroupRow| {
        let mut cells =
            vec![TableCell::from(row.group.word.as_str()).titled(row.group.title.as_str())];
        cells.extend(several.then(|| report.setup(row.setup).into()));
        let (median, spread) = (row.median.value(), row.median.interval());
        let spread = interval(Some(spread.unwrap_or_else(|| "no interval".to_owned())));
        cells.push(row.system.into());
        cells.push(Text::from(bold(median)).and(spread).into());
        cells.push(drawing(scale.group(row)).into());
        let [min, max, avg] = &row.extent;
        cells.extend(
            [&row.n, min, max, avg, &row.stddev].map(|text| TableCell::from(text.as_str())),
        );
        Row::new(cells)
    };
    let note = "Relative QPS over the tests of a group. Thick line and dot: median with 95% interval; thin line: \
        smallest to largest.";
    let caption = Some(Caption { note: note.to_owned(), ..Caption::default() });
    let look = Look { class: "groups stack".to_owned(), label: "Groups", ..Look::default() };
    let table = Table { caption, ..Table::new(columns, shown.iter().map(row)).look(look) };
    let reason = |row: &&GroupRow| {
        let setup = if several { format!(", {}", report.setup(row.setup)) } else { String::new() };
        let why = format!("{setup}, {}: {}", row.system, row.why.as_ref()?);
        Some(Text::from(bold(&row.group.word)).and([words(why)]))
    };
    let reasons = Block::list(shown.iter().filter_map(reason));
    std::iter::once(Block::Table(table)).chain(reasons).collect()
}

const STATISTICS: [&str; 4] = ["n", "min", "max", "avg"];

fn wide_groups(report: &Report) -> Table {
    let (several_setups, several_systems) = (report.several_setups, report.several_systems());
    let mut columns = vec![Column::words("group")];
    columns.extend(several_setups.then(|| Column::words(report.setup_column())));
    columns.extend(several_systems.then(|| Column::words("system")));
    columns.extend(STATISTICS.into_iter().chain(["median [95%]", "stddev"]).map(Column::numbers));
    let rows = report.groups.iter().map(|row| {
        let mut cells = vec![row.group.word.clone()];
        cells.extend(several_setups.then(|| report.plain_setup(row.setup)));
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
        let setup = report.several_setups.then(|| report.plain_setup(row.setup));
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
