//! Whether the systems keep their limits, in words.

use std::collections::BTreeMap;

use assay_model::{Estimate, LIMITED_STUDY, counted};
use assay_verdict::{JudgedFigure, LimitVerdict, LimitedCell, LimitsJudgement, VerdictDoubt};

use super::doubts::{TIMES_MAX, of_doubt, silence};
use super::study::JudgedStudy;
use crate::document::{Block, Column, Indent, Row, Table, Wish};
use crate::number::{duration, share};
use crate::ratio::{Quotient, Ratio, change_with_bounds};
use crate::words::{Symbol, sentence};

/// More tests without a value for the same reason are not listed one by one.
const ALIKE_MAX: u64 = 4;

/// More systems are counted, not named.
const SYSTEMS_MAX: usize = 3;

impl Symbol for LimitVerdict {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Passed => "=",
            Self::Exceeded => "▼",
            Self::Undecided => "?",
            Self::Failed => "✗",
        }
    }
}

/// `None` if the study has no limits.
pub(crate) fn headline(study: &JudgedStudy) -> Option<String> {
    let allows = study.record.study.limits.as_ref().is_some_and(|limits| limits.allow_undecided);
    study.judgement.limits.as_ref().map(|judged| headline_of(study, judged, allows))
}

/// Tests that did not pass: exceeded, failed and undecided ones, in this order. Empty if the study has no limits.
pub(crate) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let Some((judged, headline)) = study.judgement.limits.as_ref().zip(headline(study)) else {
        return Vec::new();
    };
    let has_stopped = has_stopped(study);
    let mut listed = vec![LimitVerdict::Exceeded, LimitVerdict::Failed];
    // A study stops at the first excess, so its undecided tests need no advice.
    listed.extend((!has_stopped).then_some(LimitVerdict::Undecided));
    let cells: Vec<&LimitedCell> =
        listed.into_iter().flat_map(|verdict| judged.cells_with(verdict)).collect();
    let (cells, mut rest) = apart(study, cells);
    rest.extend(self::rest(study, judged, has_stopped));
    let basis = basis(study);
    let table = (!cells.is_empty()).then(|| Block::Table(table(study, &cells, wish)));
    if wish.is_page() {
        let lines = Block::prose("", rest.iter().map(|line| sentence(line)));
        let basis = Block::prose("basis", [sentence(&basis)]);
        let blocks = table.into_iter().chain(lines).chain(basis).collect();
        return Block::place(LIMITED_STUDY, "", sentence(&headline), blocks);
    }
    rest.push(basis);
    let lines = Block::Lines(rest);
    if wish.is_terminal() {
        let table = table.unwrap_or(Block::Break);
        return vec![Block::Lines(vec![headline]), table, lines, Block::Break];
    }
    Block::section(format!("assay {headline}"), table.into_iter().chain([lines]).collect())
}

/// Tests beyond their limits, and those without a result, in a line each.
pub(super) fn findings(study: &JudgedStudy) -> Vec<String> {
    let Some(judged) = &study.judgement.limits else { return Vec::new() };
    let listed = [LimitVerdict::Exceeded, LimitVerdict::Failed];
    let cells = listed.into_iter().flat_map(|verdict| judged.cells_with(verdict));
    let line = |cell: &LimitedCell| {
        let name = format!("{}{}", study.cell_name(cell.cell), study.of_system(cell.system));
        let (symbol, change, limit) =
            (cell.verdict.symbol(), change(study, cell), limit(study, cell));
        let why = why(study, cell).map_or_else(String::new, |why| format!("; {why}"));
        format!("{symbol} {name}: {} {change}, limit {limit}{why}", limited(study))
    };
    cells.map(line).collect()
}

/// In a terminal, each test has its reason below it.
fn table(study: &JudgedStudy, cells: &[&LimitedCell], wish: &Wish<'_>) -> Table {
    let several_systems = study.compared.len() > 1;
    let mut columns = vec![Column::words("result"), Column::words("test")];
    columns.extend(several_systems.then(|| Column::words("system")));
    columns.push(Column::numbers(format!("{} against the base [bounds]", limited(study))));
    columns.push(Column::numbers("limit"));
    columns.push(Column::words("why"));
    let row = |cell: &&LimitedCell| {
        let mut texts = vec![format!("{} {}", cell.verdict.symbol(), cell.verdict.word())];
        texts.push(study.cell_name(cell.cell));
        texts.extend(several_systems.then(|| study.label(cell.system).to_owned()));
        texts.push(change(study, cell));
        let (limit, why) = (limit(study, cell), why(study, cell));
        if wish.is_terminal() {
            texts.push(format!("limit {limit}"));
            let below = why.map(|why| format!("      {why}"));
            return Row::new(texts).below(below);
        }
        texts.extend([limit, why.unwrap_or_default()]);
        Row::new(texts)
    };
    let table = Table::new(columns, cells.iter().map(row)).indented(Indent::Little);
    if wish.is_terminal() { table.without_headings() } else { table }
}

/// Many tests without a value for the same reason, such as those of a published study, share one line.
fn apart<'g>(
    study: &JudgedStudy,
    mut cells: Vec<&'g LimitedCell>,
) -> (Vec<&'g LimitedCell>, Vec<String>) {
    let reason = |cell: &LimitedCell| {
        let is_unknown = cell.verdict == LimitVerdict::Undecided && cell.ratio.is_none();
        is_unknown.then(|| why(study, cell)).flatten()
    };
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    let reasons = cells.iter().filter_map(|cell| reason(cell));
    reasons.for_each(|why| *alike.entry(why).or_default() += 1);
    alike.retain(|_, tests| *tests > ALIKE_MAX);
    cells.retain(|cell| reason(cell).is_none_or(|why| !alike.contains_key(&why)));
    let line = |(why, tests): (&String, &u64)| format!("{}: {why}", counted(*tests, "test"));
    (cells, alike.iter().map(line).collect())
}

/// Whether the study ended before all tests were decided, because one exceeded its limit.
fn has_stopped(study: &JudgedStudy) -> bool {
    let judged = study.judgement.limits.as_ref().filter(|_| !study.counts_only());
    judged.is_some_and(|limits| limits.verdict() == LimitVerdict::Exceeded)
}

fn answer(verdict: LimitVerdict, allows_undecided: bool) -> &'static str {
    match verdict {
        LimitVerdict::Exceeded => "failed",
        LimitVerdict::Undecided if !allows_undecided => "undecided",
        LimitVerdict::Failed => "undecided",
        LimitVerdict::Passed | LimitVerdict::Undecided => "passed",
    }
}

fn headline_of(study: &JudgedStudy, judged: &LimitsJudgement, allows_undecided: bool) -> String {
    let verdict = judged.verdict();
    let systems: Vec<String> = study.compared.iter().map(|&it| study.titled(it)).collect();
    let systems = match systems.len() {
        ..=SYSTEMS_MAX => systems.join(" and "),
        many => format!("{many} systems"),
    };
    let tests = counted(judged.cells.len() as u64, "test");
    let answer = answer(verdict, allows_undecided);
    let of_tests = format!("{} of {tests} of {systems}", judged.count(verdict));
    let (none, some, done) = match limited_figure(study) {
        LimitedFigure::Instructions => {
            ("none with more instructions than its limit", "with more instructions than", "counted")
        }
        LimitedFigure::Cpu => (
            "none with more CPU per operation than its limit",
            "with more CPU per operation than",
            "measured",
        ),
        LimitedFigure::Time => ("none slower than its limit", "slower than", "measured"),
    };
    match verdict {
        LimitVerdict::Passed => {
            format!("{LIMITED_STUDY} {answer}: {tests} of {systems}, {none}")
        }
        LimitVerdict::Exceeded => format!("{LIMITED_STUDY} {answer}: {of_tests} {some} the limit"),
        LimitVerdict::Failed => format!("{LIMITED_STUDY} {answer}: {of_tests} could not be {done}"),
        LimitVerdict::Undecided if allows_undecided => {
            format!(
                "{LIMITED_STUDY} {answer}: {of_tests} undecided, which `--allow-undecided` permits"
            )
        }
        LimitVerdict::Undecided => format!("{LIMITED_STUDY} {answer}: {of_tests} undecided"),
    }
}

pub(crate) fn change(study: &JudgedStudy, cell: &LimitedCell) -> String {
    let shown = |ratio: Estimate| match limited_figure(study) {
        LimitedFigure::Instructions => super::counts::change(ratio),
        // More CPU is not faster.
        LimitedFigure::Cpu if Ratio(Some(ratio)).is_far() => {
            Quotient(Some(ratio)).value_with_interval()
        }
        LimitedFigure::Time | LimitedFigure::Cpu => change_with_bounds(ratio),
    };
    cell.ratio.map_or_else(|| "not known".to_owned(), shown)
}

pub(crate) fn limit(study: &JudgedStudy, cell: &LimitedCell) -> String {
    let sign = if limited_figure(study) == LimitedFigure::Time { "−" } else { "+" };
    format!("{sign}{}", share(cell.margin))
}

pub(crate) fn limited(study: &JudgedStudy) -> &'static str {
    match limited_figure(study) {
        LimitedFigure::Time => "QPS",
        LimitedFigure::Cpu => "CPU per operation",
        LimitedFigure::Instructions => "instructions",
    }
}

/// The figure that has the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitedFigure {
    Time,
    /// CPU time per operation of the threads that serve connections.
    Cpu,
    Instructions,
}

impl LimitedFigure {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cpu => "cpu",
            Self::Instructions => "instructions",
        }
    }
}

pub(crate) fn limited_figure(study: &JudgedStudy) -> LimitedFigure {
    match study.figure() {
        _ if study.counts_only() => LimitedFigure::Instructions,
        JudgedFigure::Cpu => LimitedFigure::Cpu,
        JudgedFigure::Time => LimitedFigure::Time,
    }
}

/// The cause of an excess or a failure, or what would decide the test.
pub(crate) fn why(study: &JudgedStudy, cell: &LimitedCell) -> Option<String> {
    let judged = study.cell(cell.cell, cell.system);
    match (cell.verdict, cell.doubt) {
        (LimitVerdict::Passed, _) => None,
        (LimitVerdict::Exceeded, _) if study.counts_only() => super::counts::causes(judged?),
        (LimitVerdict::Undecided, _) if study.counts_only() => Some(match cell.ratio {
            None => "not counted yet".to_owned(),
            Some(_) if !study.record.finished => "not counted to the end".to_owned(),
            Some(_) => "the counts vary too much for this limit; a larger limit helps".to_owned(),
        }),
        (LimitVerdict::Exceeded, _) => {
            silence(study.record, judged?).or_else(|| judged?.why.clone())
        }
        (LimitVerdict::Failed, _) => {
            judged.and_then(|it| it.failure.clone().or_else(|| it.why.clone()))
        }
        (LimitVerdict::Undecided, _) if has_stopped(study) => {
            Some("the study stopped once a limit was exceeded".to_owned())
        }
        (_, Some(VerdictDoubt::AtThreshold)) => {
            let is_timed = limited_figure(study) == LimitedFigure::Time;
            let change = if is_timed { "slowdown" } else { "increase" };
            Some(format!(
                "the {change} is about as large as the limit: measuring longer hardly helps, another limit does"
            ))
        }
        (_, Some(VerdictDoubt::Wide { times, .. })) if times > TIMES_MAX => Some(format!(
            "the bounds are too wide, and a verdict would take over {TIMES_MAX} times as long: use a quieter machine \
             or a larger limit"
        )),
        (_, doubt) => doubt.map(|doubt| of_doubt(study.record, doubt)),
    }
}

fn rest(study: &JudgedStudy, judged: &LimitsJudgement, has_stopped: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let undecided = judged.count(LimitVerdict::Undecided) as u64;
    if has_stopped && undecided > 0 {
        let tests = counted(undecided, "test");
        lines.push(format!("{tests} undecided: the study stopped once a limit was exceeded"));
    }
    let room = |cell: &LimitedCell| {
        let distance = |ratio: Estimate| match limited_figure(study) {
            LimitedFigure::Time => ratio.low - (1.0 - cell.margin),
            LimitedFigure::Cpu | LimitedFigure::Instructions => 1.0 + cell.margin - ratio.high,
        };
        cell.ratio.map_or(f64::INFINITY, distance)
    };
    let closest =
        judged.cells_with(LimitVerdict::Passed).min_by(|a, b| room(a).total_cmp(&room(b)));
    if let Some(cell) = closest {
        lines.push(format!(
            "{} passed; closest to its limit: {}{}, {}, limit {}",
            counted(judged.count(LimitVerdict::Passed) as u64, "test"),
            study.cell_name(cell.cell),
            study.of_system(cell.system),
            change(study, cell),
            limit(study, cell)
        ));
    }
    lines
}

fn basis(study: &JudgedStudy) -> String {
    let record = study.record;
    if study.counts_only() {
        return format!(
            "{}; if all tests keep their limits, the {LIMITED_STUDY} fails with a probability of at most 0.5%",
            super::counts::basis(study)
        );
    }
    let mut blocks: Vec<u32> = record.slices.iter().map(|slice| slice.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let (judged, what) = match limited_figure(study) {
        LimitedFigure::Cpu => ("judged by CPU per operation, ", "is exactly at its limit"),
        LimitedFigure::Time | LimitedFigure::Instructions => ("", "is as slow as its limit"),
    };
    format!(
        "{judged}measured in {} of fresh servers, {}; a test that {what} passes with a probability of about \
         2.5%; if all tests keep their limits, the {LIMITED_STUDY} fails with a probability of at most 2.5%",
        counted(blocks.len() as u64, "block"),
        duration(record.elapsed_s())
    )
}
