//! Half a page for readers who decide: the answer, the gravest findings, what is open, and where the numbers are.

use assay_model::{Verdict, counted};
use assay_verdict::{CellJudgement, JudgedFigure, LimitVerdict};

use super::caveats::Caveats;
use super::outcomes::{self, StatementOutcome};
use super::study::JudgedStudy;
use super::to_do::is_of_statements;
use super::{answer, counts, limits, way_on};
use crate::document::{Block, Heading, and_more};
use crate::ratio::{Quotient, Ratio};
use crate::section;
use crate::words::{Symbol as _, minute, one_line, shortened};

/// Most lines of the answer, and most open questions.
const ANSWERS: usize = 4;
const OPEN: usize = 2;

/// Most failed tests that are named.
const FAILED: usize = 3;

/// Columns of a line that certainly fits half a page, which has 80 of them, whatever its indent.
const COLUMNS: usize = 74;

/// With so many findings at most.
pub(super) fn blocks(study: &JudgedStudy, most: usize) -> Vec<Block<'static>> {
    let caveats = Caveats::new(study);
    let others: Vec<String> = study.others().map(|system| study.titled(system)).collect();
    let heading = Heading::for_comparison(&study.titled(study.base), &others).line();
    let mut answers = answers(study);
    let more = answers.len().saturating_sub(ANSWERS);
    if more > 0 {
        answers.truncate(ANSWERS - 1);
        answers.extend(and_more(more + 1));
    }
    let findings = findings(study);
    let title = match findings.len() {
        more if more > most => format!("findings, {most} of {more}"),
        _ => "findings".to_owned(),
    };
    let mut shown: Vec<String> = findings.iter().take(most).map(|line| two_lines(line)).collect();
    if shown.is_empty() {
        shown.push("none".to_owned());
    }
    let open: Vec<String> =
        open(study, &caveats).iter().take(OPEN).map(|line| two_lines(line)).collect();
    let mut blocks = vec![Block::Lines(vec![two_lines(&heading)])];
    blocks.push(Block::Answer(answers.iter().map(|line| two_lines(line)).collect()));
    blocks.extend(Block::section(title, Block::list(shown)));
    blocks.extend(Block::section("open", Block::list(open)));
    blocks.extend(Block::section("where the numbers are", Block::list(numbers(study, &caveats))));
    blocks
}

/// With several systems, each has a short line.
fn answers(study: &JudgedStudy) -> Vec<String> {
    let systems: Vec<usize> = study.others().collect();
    let lines = if systems.len() < 2 || study.counts_only() || !study.has_verdicts() {
        answer::lines(study)
    } else {
        let of_statements = outcomes::headlines(study);
        let speeds = systems
            .iter()
            .map(|system| format!("{}: {}", study.label(*system), outcomes::speed(study, *system)));
        let each: Vec<String> =
            if of_statements.is_empty() { speeds.collect() } else { of_statements };
        answer::fastest(study).into_iter().chain(each).collect()
    };
    limits::headline(study).into_iter().chain(lines).collect()
}

/// The gravest first: what happens to a user's statements, exceeded limits, the work after the study, failures, and the
/// largest changes.
fn findings(study: &JudgedStudy) -> Vec<String> {
    let outcomes = study.compared.iter().flat_map(|system| {
        let found = outcomes::outcomes(study, *system).into_iter();
        // Slower tests follow one by one.
        let found = found.filter(|outcome| outcome.has_findings && outcome.name != outcomes::SPEED);
        found.map(|StatementOutcome { name, message, .. }| {
            format!("{name}{}: {message}", study.of_system(*system))
        })
    });
    let of_limits = limits::findings(study);
    let has_limits = !of_limits.is_empty();
    let mut found: Vec<String> = outcomes.chain(of_limits).collect();
    found.extend(section::sections(study).into_iter().flat_map(|shown| shown.content.findings));
    if !has_limits {
        found.extend(failures(study));
        found.extend(changes(study));
    }
    found
}

/// Failed tests in one line; those of a user's statements are refusals.
fn failures(study: &JudgedStudy) -> Option<String> {
    let cells = study.judgement.cells.iter();
    let failed: Vec<&CellJudgement> = cells
        .filter(|cell| study.compared.contains(&cell.system) && cell.verdict == Verdict::Failed)
        .collect();
    let first = failed.first().filter(|_| !is_of_statements(study))?;
    let name = |cell: &&CellJudgement| {
        format!("{}{}", study.cell_name(cell.cell), study.of_system(cell.system))
    };
    let names: Vec<String> = failed.iter().map(name).collect();
    let why = first.failure.as_deref().map_or_else(String::new, |why| format!("; {why}"));
    let tests = counted(failed.len() as u64, "test");
    Some(format!("✗ {tests} failed: {}{why}", shortened(&names, FAILED)))
}

/// Called changes, slower ones first, then by their size.
fn changes(study: &JudgedStudy) -> Vec<String> {
    let of_others = study
        .judgement
        .cells
        .iter()
        .filter(|cell| study.compared.contains(&cell.system) && !study.is_twin(cell.system));
    let mut found: Vec<(bool, f64, String)> =
        of_others.filter_map(|cell| change(study, cell)).collect();
    found.sort_by(|(one_better, one, _), (other_better, other, _)| {
        one_better.cmp(other_better).then(other.total_cmp(one))
    });
    found.into_iter().map(|(.., line)| line).collect()
}

/// Whether it is an improvement, its size, and `▼ scan: rQPS 0.87 [0.86, 0.88] −13%; ...`.
fn change(study: &JudgedStudy, cell: &CellJudgement) -> Option<(bool, f64, String)> {
    let figure = study.figure();
    let (ratio, verdict) = answer::judged_ratio(study, cell)?;
    if !matches!(verdict, Verdict::Slower | Verdict::Faster) {
        return None;
    }
    let (what, why) = match figure {
        _ if study.counts_only() => {
            (format!("instructions ×{}", counts::exact(ratio)), counts::causes(cell))
        }
        JudgedFigure::Time => {
            (format!("rQPS {}", Ratio(Some(ratio)).value_with_interval()), cell.why.clone())
        }
        JudgedFigure::Cpu => {
            let ratio = Quotient(Some(ratio)).value_with_interval();
            (format!("CPU per operation ×{ratio}"), None)
        }
    };
    let why = why.map_or_else(String::new, |why| format!("; {why}"));
    let name = format!("{}{}", study.cell_name(cell.cell), study.of_system(cell.system));
    let line = format!("{} {name}: {what}{why}", verdict.symbol());
    Some((verdict == Verdict::Faster, ratio.value.ln().abs(), line))
}

/// What makes the answer doubtful, and what it leaves open.
fn open(study: &JudgedStudy, caveats: &Caveats) -> Vec<String> {
    let figure = study.figure();
    let cells = study.judgement.cells.iter().filter(|cell| study.compared.contains(&cell.system));
    let is_open = |cell: &&CellJudgement| cell.verdict_by(figure) == Verdict::Undecided;
    let by_verdict = || [cells.clone().filter(is_open).count(), cells.clone().count()];
    let of_limits = study.judgement.limits.as_ref();
    let of_limits =
        of_limits.map(|judged| [judged.count(LimitVerdict::Undecided), judged.cells.len()]);
    let [undecided, all] = of_limits.unwrap_or_else(by_verdict);
    let has_verdicts = study.has_verdicts() && !study.counts_only();
    let undecided = (undecided > 0 && has_verdicts).then(|| {
        let remedy = way_on::remedy(study).map_or_else(String::new, |how| format!("; {how}"));
        format!("{undecided} of {} undecided{remedy}", counted(all as u64, "test"))
    });
    let suspicious = (!caveats.suspicious.is_empty())
        .then(|| format!("differences that matter: {}", caveats.suspicious.join(", ")));
    let warning = caveats.warnings.first().map(|first| match caveats.warnings.len() - 1 {
        0 => first.clone(),
        more => format!("({} in the report) {first}", counted(more as u64, "more warning")),
    });
    let unmeasured = caveats.unmeasured.as_ref().map(|what| format!("not measured: {what}"));
    let all = [suspicious, undecided, warning, unmeasured];
    all.into_iter().flatten().collect()
}

/// The study, its size, and the command for all of it.
fn numbers(study: &JudgedStudy, caveats: &Caveats) -> Vec<String> {
    let (record, id) = (study.record, &study.record.study.id);
    let began = record.began_ms().and_then(minute);
    let began = began.map_or_else(String::new, |began| format!(" of {began} UTC"));
    let basis = caveats.basis.as_str();
    let basis = basis.split_once(';').map_or(basis, |(size, _)| size);
    let size = two_lines(&format!("study {id}{began}: {basis}"));
    vec![size, format!("`assay report {id} -o report.html`: every test")]
}

/// The words that fill two lines of half a page at most.
fn two_lines(text: &str) -> String {
    let (mut lines, mut columns) = (1, 0);
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = one_line(word, COLUMNS - 1, "…");
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > COLUMNS {
            (lines, columns) = (lines + 1, 0);
        }
        if lines > 2 {
            words.push("…".to_owned());
            break;
        }
        columns += length + usize::from(columns > 0);
        words.push(word);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_has_more_than_two_lines_of_80_columns() {
        let long = format!("{} {} end", "a bc ".repeat(30), "x".repeat(500));
        let cut = two_lines(&long);
        assert!(cut.ends_with(" …") && cut.chars().count() <= 2 * COLUMNS + 3, "{cut}");
        assert_eq!(two_lines("short  enough"), "short enough");
        assert_eq!(two_lines(&"y".repeat(90)).chars().count(), COLUMNS);
        assert_eq!(two_lines(""), "");
    }
}
