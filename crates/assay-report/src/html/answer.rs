//! The answer in words: what a reader must know first.

use assay_model::{StudyRecord, Verdict, counted};
use assay_verdict::{CellJudgement, Judgement, SystemSummary};

use super::chart::{Dots, Scale};
use super::figure::{Ratio, setup_words};
use crate::label::label;
use crate::words::{base_index, origin, symbol};
use crate::{findings, headline};

/// How many of the largest changes are told at the top.
const LARGEST: usize = 4;

/// The top of the page.
pub(crate) struct Answer {
    /// What matters and differs without having been asked for.
    pub(crate) suspicious: Vec<String>,
    /// Other reasons for caution.
    pub(crate) warnings: Vec<String>,
    /// One per system other than base and twin.
    pub(crate) systems: Vec<SystemAnswer>,
    /// What the A/A twin says.
    pub(crate) twins: Vec<String>,
    /// What differs and is part of what is compared.
    pub(crate) notes: Vec<String>,
    /// On how much it rests.
    pub(crate) basis: String,
}

/// One system against the base.
pub(crate) struct SystemAnswer {
    pub(crate) name: String,
    /// Class of the card: the verdict that weighs most.
    pub(crate) class: &'static str,
    pub(crate) sentence: String,
    pub(crate) counts: Vec<Count>,
    pub(crate) dots: Dots,
    pub(crate) largest: Vec<Change>,
}

/// Tests of one verdict.
pub(crate) struct Count {
    pub(crate) verdict: &'static str,
    pub(crate) symbol: &'static str,
    pub(crate) count: u32,
}

/// A large change.
pub(crate) struct Change {
    pub(crate) anchor: String,
    pub(crate) class: &'static str,
    pub(crate) symbol: &'static str,
    pub(crate) test: String,
    /// Clients, tables and rows, where they differ between tests.
    pub(crate) setup: Option<String>,
    pub(crate) ratio: Ratio,
    pub(crate) why: Option<String>,
}

impl Answer {
    pub(crate) fn new(record: &StudyRecord, judgement: &Judgement, scale: Scale) -> Self {
        let (twins, others): (Vec<_>, Vec<_>) = judgement
            .systems
            .iter()
            .partition(|it| record.systems.get(it.system).is_some_and(|system| system.is_twin));
        Self {
            suspicious: findings::suspicious(&record.audit),
            warnings: warnings(record, judgement),
            systems: others.into_iter().map(|s| system(record, judgement, s, scale)).collect(),
            twins: twins
                .into_iter()
                .map(|summary| {
                    unbroken(&sentence_of(&headline::twin_line(record, judgement, summary)))
                })
                .collect(),
            notes: headline::notes(record).iter().map(|note| sentence_of(note)).collect(),
            basis: unbroken(&sentence_of(&headline::basis(record, judgement))),
        }
    }
}

/// Keeps numbers and their unit on one line.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// The name under which a row of the table can be linked to.
pub(crate) fn anchor(record: &StudyRecord, judged: &CellJudgement) -> String {
    let index = record.study.cells.iter().position(|cell| cell.id == judged.cell);
    format!("test-{}", index.unwrap_or(0) + 1)
}

fn warnings(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let mut warnings: Vec<String> = headline::warnings(record, judgement);
    let systems = record.systems.iter().enumerate();
    for (index, system) in systems.filter(|(_, it)| !it.is_twin && !it.artifact.is_released()) {
        let name = label(record, index);
        warnings.push(format!("{name} is from {}, no released channel", origin(system)));
    }
    warnings.into_iter().map(|warning| sentence_of(&warning)).collect()
}

/// A line as a sentence: with a capital letter and a full stop.
fn sentence_of(line: &str) -> String {
    let mut letters = line.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn system(
    record: &StudyRecord,
    judgement: &Judgement,
    summary: &SystemSummary,
    scale: Scale,
) -> SystemAnswer {
    let cells: Vec<&CellJudgement> =
        judgement.cells.iter().filter(|cell| cell.system == summary.system).collect();
    let dots = cells
        .iter()
        .filter_map(|cell| Some((cell.cell.test.name.clone(), cell.rqps?.value, cell.verdict)))
        .collect();
    let counts = counts(summary);
    SystemAnswer {
        name: label(record, summary.system),
        class: match summary.slower.cmp(&summary.faster) {
            std::cmp::Ordering::Greater => Verdict::Slower.word(),
            std::cmp::Ordering::Less => Verdict::Faster.word(),
            std::cmp::Ordering::Equal => Verdict::Same.word(),
        },
        sentence: unbroken(&sentence(record, summary)),
        counts: counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| Count {
                verdict: verdict.word(),
                symbol: symbol(verdict),
                count,
            })
            .collect(),
        dots: Dots { scale, dots },
        largest: largest(record, &cells),
    }
}

fn counts(summary: &SystemSummary) -> [(Verdict, u32); 5] {
    [
        (Verdict::Slower, summary.slower),
        (Verdict::Same, summary.same),
        (Verdict::Faster, summary.faster),
        (Verdict::Undecided, summary.undecided),
        (Verdict::Failed, summary.failed),
    ]
}

/// What most tests say first.
fn sentence(record: &StudyRecord, summary: &SystemSummary) -> String {
    let base = label(record, base_index(record));
    let cells = summary.cells();
    let mut told: Vec<(Verdict, u32)> = counts(summary).into_iter().filter(|c| c.1 > 0).collect();
    // Called changes before the rest, the more frequent first; a stable sort keeps the order of equals.
    told.sort_by_key(|(verdict, count)| {
        let is_called = matches!(verdict, Verdict::Slower | Verdict::Faster);
        (!is_called, if is_called { u32::MAX - count } else { 0 })
    });
    let mut told = told.into_iter();
    let Some((verdict, number)) = told.next() else {
        return format!("Not compared with {base}.");
    };
    let word = verdict.word();
    let tests = counted(cells, "test");
    let first = match verdict {
        Verdict::Slower | Verdict::Faster => {
            format!("{} than {base} in {number} of {tests}", capital(word))
        }
        Verdict::Same => format!("The same as {base} in {number} of {tests}"),
        _ => format!("{} against {base} in {number} of {tests}", capital(word)),
    };
    let rest: String =
        told.map(|(verdict, count)| format!(", {} in {count}", verdict.word())).collect();
    let median = headline::median(summary).map_or_else(String::new, |it| format!("; {it}"));
    format!("{first}{rest}{median}.")
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

fn largest(record: &StudyRecord, cells: &[&CellJudgement]) -> Vec<Change> {
    let size = |cell: &CellJudgement| cell.rqps.map_or(0.0, |ratio| ratio.value.ln().abs());
    let mut called: Vec<&CellJudgement> = cells
        .iter()
        .copied()
        .filter(|cell| matches!(cell.verdict, Verdict::Slower | Verdict::Faster))
        .collect();
    called.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let several_setups = record.study.setups.len() > 1;
    called
        .into_iter()
        .take(LARGEST)
        .map(|cell| Change {
            anchor: anchor(record, cell),
            class: cell.verdict.word(),
            symbol: symbol(cell.verdict),
            test: cell.cell.test.name.clone(),
            setup: several_setups.then(|| setup_words(cell.cell.setup)),
            ratio: Ratio::new(cell.rqps),
            why: cell.why.clone(),
        })
        .collect()
}
