//! Where systems answer a user's statements otherwise than the base, and what they told of a dump.

use assay_model::{AnswerDifference, AnswerPart, EventKind, Restored, RestoredKind, StudyRecord};

use super::shaded::{Shade, ShadedCell, ShadedRow, ShadedTable};
use super::study::JudgedStudy;

/// Texts in tables are cut after so many characters.
const SHOWN: usize = 80;

/// Rows of a table.
const ROWS: usize = 100;

/// The differences of answers, with their systems.
pub(crate) fn differences(
    record: &StudyRecord,
) -> impl Iterator<Item = (usize, &AnswerDifference)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::AnswerDiffers(difference), Some(system)) => Some((system, difference)),
        _ => None,
    })
}

/// What systems told of a dump.
pub(crate) fn restored(record: &StudyRecord) -> impl Iterator<Item = (usize, &Restored)> {
    record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::Restored(restored), Some(system)) => Some((system, restored)),
        _ => None,
    })
}

/// Sentences for those who read no further.
pub(crate) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let record = study.record;
    let mut warnings = Vec::new();
    for system in 0..record.systems.len() {
        let name = study.label(system);
        let refused = restored(record)
            .filter(|(of, it)| *of == system && it.what == RestoredKind::Error)
            .map(|(_, it)| it.count)
            .sum::<u64>();
        if refused > 0 {
            let statements = assay_model::counted(refused, "statement");
            warnings.push(format!("{name} refused {statements} of the dump"));
        }
        if let Some((_, empty)) =
            restored(record).find(|(of, it)| *of == system && it.what == RestoredKind::Empty)
        {
            warnings.push(format!("the dump left {name} with {}", empty.message));
        }
        let differs = differences(record)
            .filter(|(of, it)| *of == system && it.what != AnswerPart::Undetermined);
        let mut statements: Vec<(&str, &str)> =
            differs.map(|(_, it)| (it.test.as_str(), it.statement.as_str())).collect();
        statements.sort_unstable();
        statements.dedup();
        if !statements.is_empty() {
            let count = assay_model::counted(statements.len() as u64, "statement");
            let base = study.label(study.base);
            warnings.push(format!("{name} answers {count} otherwise than {base}"));
        }
    }
    warnings
}

/// A table of answers that differ, and one of what systems told of a dump.
pub(crate) fn tables(study: &JudgedStudy) -> Vec<ShadedTable> {
    let record = study.record;
    let answers = differences(record).map(|(system, it)| ShadedRow {
        name: format!("{}: {}", it.test, shown(&it.sent)),
        cells: vec![
            cell(study.label(system), Shade::None),
            cell(it.what.in_words(), shade_of(it.what)),
            cell(&it.base, Shade::None),
            cell(&it.here, Shade::None),
        ],
    });
    let answers = ShadedTable {
        title: "answers that differ".to_owned(),
        note: "before anything was measured, each statement that only reads was carried out with the same values on \
               all systems"
            .to_owned(),
        corner: "statement",
        columns: ["system", "what differs", study.label(study.base), "instead"]
            .map(str::to_owned)
            .to_vec(),
        rows: answers.take(ROWS).collect(),
    };
    let told = restored(record).map(|(system, it)| ShadedRow {
        name: match it.line {
            0 => it.file.clone(),
            line => format!("{}, line {line}", it.file),
        },
        cells: vec![
            cell(study.label(system), Shade::None),
            match it.what {
                RestoredKind::Error => cell("error", Shade::Worse),
                RestoredKind::Warning => cell("warning", Shade::None),
                RestoredKind::LeftOut => cell("left out", Shade::None),
                RestoredKind::Empty => cell("empty", Shade::None),
            },
            cell(&it.statement, Shade::None),
            cell(&it.message, Shade::None),
            cell(&it.count.to_string(), Shade::None),
        ],
    });
    let told = ShadedTable {
        title: "restoring the dump".to_owned(),
        note: "what each system refused, what it warned of, and what is for another place"
            .to_owned(),
        corner: "place",
        columns: ["system", "what", "statement", "message", "times"].map(str::to_owned).to_vec(),
        rows: told.take(ROWS).collect(),
    };
    [answers, told].into_iter().filter(|table| !table.rows.is_empty()).collect()
}

fn shade_of(what: AnswerPart) -> Shade {
    if what == AnswerPart::Undetermined { Shade::None } else { Shade::Worse }
}

fn cell(text: &str, shade: Shade) -> ShadedCell {
    ShadedCell { text: shown(text), shade }
}

/// A text in one line that is cut where it is long.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(SHOWN).collect();
    if cut.len() < line.len() {
        cut.push('…');
    }
    cut
}
