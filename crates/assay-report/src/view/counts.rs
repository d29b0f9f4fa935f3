//! Instructions per operation, of systems that were counted.

use assay_model::{CountVerdict, Estimate, thousands};
use assay_verdict::{COUNT_THRESHOLD, CellJudgement, CountJudgement};

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
    let percent = 100.0 * COUNT_THRESHOLD;
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
