//! Instructions per operation, of systems that were counted.

use assay_model::{CountVerdict, Estimate, thousands};
use assay_verdict::{
    CellJudgement, CountChange, CountJudgement, FunctionCounts, Instructions, Kind, count_threshold,
};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;
use crate::number::{NONE, figure};

/// A row for each test and system: instructions per operation, their ratio to the base's with the verdict, and those of
/// background threads. `None` unless instructions were counted.
pub(crate) fn table(study: &JudgedStudy) -> Option<ShadedTable> {
    let counted = |cell: &'_ CellJudgement| cell.count.is_some();
    let cells: Vec<&CellJudgement> =
        study.judgement.cells.iter().filter(|it| counted(it)).collect();
    let by = cells.first()?.count.as_ref()?.by.word();
    let percent = 100.0 * count_threshold(&study.record.study);
    let columns = ["instructions/op", "ratio to the base", "verdict", "background/op"];
    Some(ShadedTable {
        title: "instructions per operation".to_owned(),
        note: format!(
            "outside the kernel, by one client, counted by {by}; a ratio within {percent}% of 1 is the same; \
             background threads are not part of the ratio"
        ),
        corner: "test, system",
        columns: columns.map(str::to_owned).into(),
        rows: cells.into_iter().filter_map(|cell| row(study, cell)).collect(),
    })
}

fn row(study: &JudgedStudy, cell: &CellJudgement) -> Option<ShadedRow> {
    let CountJudgement { instructions, background, ratio, verdict, .. } = cell.count.as_ref()?;
    let shade = match verdict {
        Some(CountVerdict::More) => Shade::Worse,
        Some(CountVerdict::Fewer) => Shade::Better,
        _ => Shade::None,
    };
    let texts = [
        (thousands(instructions.value.round() as u64), Shade::None),
        (ratio.map_or_else(|| "base".to_owned(), exact), shade),
        (verdict.map_or(NONE, CountVerdict::word).to_owned(), Shade::None),
        (figure(background.map(f64::round)), Shade::None),
    ];
    let cells = texts.map(|(text, shade)| ShadedCell { text, shade });
    let name = format!("{}, {}", study.cell_name(cell.cell), study.label(cell.system));
    Some(ShadedRow { name, cells: cells.into() })
}

/// Counts are exact to a thousandth, so ratios have more digits than those of times.
fn exact(Estimate { value, low, high }: Estimate) -> String {
    format!("{value:.4} [{low:.4}, {high:.4}]")
}

/// Instructions per operation of a function, or of several that are told together.
pub(crate) struct FunctionLine {
    pub(crate) name: String,
    pub(crate) object: String,
    pub(crate) base: f64,
    pub(crate) other: f64,
    pub(crate) change: f64,
}

/// The functions that changed most, at most so many, and all others together.
pub(crate) fn lines(all: &Instructions, most: usize) -> (Vec<FunctionLine>, Option<FunctionLine>) {
    let (largest, rest) = all.largest(most);
    let line = |name: String, object: String, own: [u64; 2], by: i128| {
        let [base, other] = all.each_per_op(own);
        FunctionLine { name, object, base, other, change: all.per_op(by) }
    };
    let shown = largest.iter().map(|change| {
        let object = change.functions.first().map(|first| first.module.clone());
        line(name(change), object.unwrap_or_default(), change.own(), change.by)
    });
    let rest = rest.map(|rest| {
        let name = format!("other functions ({})", rest.functions);
        line(name, String::new(), rest.own, rest.by)
    });
    (shown.collect(), rest)
}

fn name(change: &CountChange) -> String {
    let name = |function: &FunctionCounts| {
        let unnamed = || format!("functions of {} without a name", function.module);
        function.function.clone().unwrap_or_else(unnamed)
    };
    let mut names = change.functions.iter().map(name);
    let first = names.next().unwrap_or_default();
    match change.kind {
        Kind::One => first,
        Kind::Renamed => format!("{first} → {}", names.collect::<Vec<_>>().join(", ")),
        Kind::Inlined => format!("{first} with {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// Functions of a table.
const SHOWN: usize = 10;

/// A table for each test and system with more or fewer instructions: the functions that make up the change.
pub(crate) fn functions(study: &JudgedStudy) -> Vec<ShadedTable> {
    let called = [Some(CountVerdict::More), Some(CountVerdict::Fewer)];
    let table = |cell: &CellJudgement| {
        let count = cell.count.as_ref().filter(|count| called.contains(&count.verdict))?;
        let (shown, rest) = lines(count.functions.as_ref()?, SHOWN);
        let row = |line: FunctionLine| {
            let FunctionLine { name, object, base, other, change } = line;
            let numbers = [figure(Some(base)), figure(Some(other)), signed(change)];
            let name = if object.is_empty() { name } else { format!("{name} ({object})") };
            let cells = numbers.map(|text| ShadedCell { text, shade: Shade::None });
            ShadedRow { name, cells: cells.into() }
        };
        let (test, system) = (study.cell_name(cell.cell), study.label(cell.system));
        Some(ShadedTable {
            title: format!("{test}: functions whose instructions changed in {system}"),
            note: "instructions per operation; the lines add up to the change".to_owned(),
            corner: "function",
            columns: ["base", "other", "change"].map(str::to_owned).into(),
            rows: shown.into_iter().chain(rest).map(row).collect(),
        })
    };
    study.judgement.cells.iter().filter_map(table).collect()
}

fn signed(change: f64) -> String {
    let sign = if change >= 0.0 { "+" } else { "−" };
    format!("{sign}{}", figure(Some(change.abs())))
}
