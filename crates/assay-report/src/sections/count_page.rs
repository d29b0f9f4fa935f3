//! The counted tests of a page: a row for each test with its ratio on a scale, and its functions and calls below it.

use assay_verdict::{CellJudgement, CountJudgement, count_threshold};

use super::counts::{
    self, as_time, both, calls, compared, exact, exact_parts, functions, instructions, largest,
    limits, scale, tests,
};
use super::study::{JudgedStudy, TestRow};
use crate::document::{Block, Caption, Column, Look, Row, Table, TableCell, Wish};
use crate::number::{NONE, share};
use crate::scale::RatioScale;
use crate::text::{Text, bold, drawing, interval, symbol, within, words};
use crate::words::Symbol as _;

/// The longest name of a function among the largest changes of a row, in characters.
const FUNCTION_SHOWN: usize = 70;

/// Counts as a table of a page, else as tables of text.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if !wish.is_page() || tests(study).next().is_none() {
        return counts::blocks(study, wish);
    }
    let mut blocks = vec![Block::Table(table(study))];
    blocks.extend(Block::prose("basis", [limits(study)]));
    Block::place("counts", "Instructions", "Instructions per operation", blocks)
}

fn table(study: &JudgedStudy) -> Table {
    let scale = scale(study);
    let is_pair = study.compared.len() < 2;
    let note = format!(
        "Instructions per operation divided by those of {}, with 95% interval. The band marks changes below {}, the \
         line marks 1.00, and an arrow marks a value beyond the scale. Background threads are part of the ratio with \
         background alone. Open a test for its functions and calls.",
        study.base_label(),
        share(count_threshold(&study.record.study)),
    );
    let class = if is_pair { "tests one" } else { "tests" }.to_owned();
    let scroll = if study.compared.len() <= 2 { "tall few" } else { "tall" };
    let look = Look { class, scroll, label: "Instructions", ..Look::default() };
    let rows = tests(study).map(|test| row(study, &test, scale));
    Table {
        caption: Some(Caption { note, ..Caption::default() }),
        ..Table::new(columns(study, scale), rows).look(look)
    }
}

fn columns(study: &JudgedStudy, scale: RatioScale) -> Vec<Column> {
    let base = Column::numbers("Base instructions/op").class("qps");
    let mut columns = vec![Column::words("Test"), base];
    for system in &study.compared {
        let ratio = Column { scale: scale.axis(25.0), ..Column::words("Ratio") };
        let of_system = [
            ratio.class("first ratio"),
            Column::words("Verdict"),
            Column::numbers("With background").class("cpu background"),
        ];
        columns.extend(of_system.map(|column| column.above(study.label(*system), "system")));
    }
    let is_pair = study.compared.len() == 1;
    columns.extend(is_pair.then(|| Column::words("Largest changes of functions")));
    columns
}

fn row(study: &JudgedStudy, test: &TestRow, scale: RatioScale) -> Row {
    let cell = test.base.cell;
    let base = instructions(test.base.count.as_ref());
    let mut cells = vec![TableCell::from(study.cell_name(cell)), TableCell::from(base)];
    for other in &test.others {
        cells.extend(of_system(other.and_then(|other| other.count.as_ref()), scale));
    }
    if let [other] = test.others[..] {
        let changes = other.map(|other| largest(other, FUNCTION_SHOWN)).unwrap_or_default();
        cells.push(changes.join("; ").into());
    }
    let number = study.number_of(cell);
    Row { id: format!("count-{number}"), more: details(study, test), ..Row::new(cells) }
}

/// Its ratio on the scale, its verdict, and the ratio with background threads.
fn of_system(count: Option<&CountJudgement>, scale: RatioScale) -> [TableCell; 3] {
    let judged = count.and_then(|count| Some((count, count.ratio?, count.verdict?)));
    let Some((count, ratio, verdict)) = judged else {
        return [NONE, "", NONE].map(TableCell::from);
    };
    let (word, verdict) = (verdict.word(), as_time(verdict));
    let [value, between] = exact_parts(ratio);
    let value = Text::from(bold(value)).and(interval(Some(between)));
    let strip = drawing(scale.strip(Some(ratio), None, verdict.word()));
    let drawn = Text::from_iter([strip, words(" "), within("value", value)]);
    let word = Text::from(symbol(verdict.symbol())).and([words(format!(" {word}"))]);
    let total = count.total.and_then(|total| total.ratio);
    let class = count.total.and_then(|total| total.verdict).map(as_time);
    let class = class.map_or("", |verdict| verdict.word());
    let total = total.map_or_else(|| NONE.to_owned(), |ratio| format!("{:.4}", ratio.value));
    [
        TableCell::from(drawn),
        TableCell::from(word).class(format!("v {}", verdict.word())),
        TableCell::from(total).class(class),
    ]
}

/// The figures of all systems, and the functions and calls of each.
fn details(study: &JudgedStudy, test: &TestRow) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Table(figures(study, test))];
    let others: Vec<&CellJudgement> = test.others.iter().copied().flatten().collect();
    // A system that is compared with none has calls too.
    let shown = if study.compared.is_empty() { vec![test.base] } else { others };
    for cell in shown.into_iter().filter(|cell| cell.count.is_some()) {
        blocks.extend(functions(study, cell).map(|table| {
            let caption = format!("{}: {}", table.title, table.note);
            Block::Table(table.table().small("figures account functions", caption))
        }));
        let calls = calls(study, cell).filter(|_| !study.is_large());
        blocks.extend(calls.map(|calls| {
            let heading = format!("Calls of {} by instructions", study.label(cell.system));
            calls.block(study, &heading, ["more instructions", "fewer"])
        }));
    }
    blocks
}

fn figures(study: &JudgedStudy, test: &TestRow) -> Table {
    let base = test.base.count.as_ref();
    let counted = std::iter::once(test.base).chain(test.others.iter().copied().flatten());
    let counted: Vec<(&CellJudgement, &CountJudgement)> =
        counted.filter_map(|cell| Some((cell, cell.count.as_ref()?))).collect();
    let has_kernel = counted.iter().any(|(_, count)| count.kernel.is_some());
    let mut columns =
        vec!["", "instructions/op", "ratio with background", "verdict", "background/op"];
    columns.extend(has_kernel.then_some("kernel/op"));
    let rows = counted.into_iter().map(|(cell, count)| {
        let total = count.total;
        let ratio = total.and_then(|total| total.ratio).map_or_else(|| NONE.to_owned(), exact);
        let mut texts = vec![study.label(cell.system).to_owned(), instructions(Some(count))];
        let verdict = total.and_then(|total| total.verdict);
        texts.extend(compared(ratio, verdict).map(|(text, _)| text));
        texts.push(both([base, Some(count)], |count| count.background));
        texts.extend(has_kernel.then(|| both([base, Some(count)], |count| count.kernel)));
        Row::new(texts)
    });
    Table::new(columns.into_iter().map(Column::words).collect(), rows).small("figures", "")
}
