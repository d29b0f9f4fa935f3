//! The answer for each system, in words and counts.

use assay_model::{Estimate, Setup, Verdict, counted};
use assay_verdict::{CellJudgement, SystemSummary, WeightedTotal, weighted_totals};

use super::study::JudgedStudy;
use super::{counts, reasons};
use crate::number::{change, figure};
use crate::ratio::{Ratio, change_in_words, short};

const LARGEST: usize = 4;

pub(crate) struct SystemAnswer<'a> {
    pub(crate) system: &'a str,
    /// A standalone line: `B is slower than A in 3 of 5 tests, same in 2`.
    pub(crate) sentence: String,
    /// For use below the system's name: `Slower than A in 3 of 5 tests, same in 2.`
    pub(crate) sentence_below_name: String,
    /// Common causes of its changes.
    pub(crate) reasons: Vec<String>,
    /// Direction of most called changes; `same` on a tie.
    pub(crate) tendency: Verdict,
    /// Tests by verdict, from slower to failed; verdicts without tests are omitted.
    pub(crate) counts: Vec<(Verdict, u32)>,
    pub(crate) tests: Vec<TestRatio<'a>>,
    pub(crate) largest: Vec<LargestChange<'a>>,
}

impl SystemAnswer<'_> {
    /// Common causes of its changes, as lines that may name the system.
    pub(crate) fn reasons(&self, is_named: bool) -> impl Iterator<Item = String> {
        self.reasons.iter().map(move |reason| match is_named {
            true => format!("{}: {reason}", self.system),
            false => reason.clone(),
        })
    }
}

pub(crate) struct TestRatio<'a> {
    pub(crate) test: &'a str,
    pub(crate) ratio: Estimate,
    pub(crate) verdict: Verdict,
}

pub(crate) struct LargestChange<'a> {
    /// Number of the cell in the study, from 1.
    pub(crate) cell: usize,
    pub(crate) test: &'a str,
    pub(crate) setup: Setup,
    pub(crate) verdict: Verdict,
    pub(crate) ratio: Ratio,
    pub(crate) why: Option<&'a str>,
}

/// One for each system but the base and its twin.
pub(crate) fn answers<'a>(study: &'a JudgedStudy<'a>) -> Vec<SystemAnswer<'a>> {
    let others = study.judgement.systems.iter().filter(|other| !study.is_twin(other.system));
    others.map(|summary| answer(study, summary)).collect()
}

fn answer<'a>(study: &'a JudgedStudy<'a>, summary: &SystemSummary) -> SystemAnswer<'a> {
    let cells: Vec<&CellJudgement> =
        study.judgement.cells.iter().filter(|cell| cell.system == summary.system).collect();
    let tests = cells.iter().filter_map(|cell| {
        let (test, ratio) = (cell.cell.test.name.as_str(), cell.rqps?);
        Some(TestRatio { test, ratio, verdict: cell.verdict })
    });
    let counts = verdicts(summary);
    let of_base = cells.first().and_then(|it| study.cell(it.cell, study.base));
    let (name, base) = (study.titled(summary.system), study.titled(study.base));
    let (name, base) = (name.as_str(), base.as_str());
    let instructions = counts::of_undecided(&cells);
    let instructions = instructions.as_deref();
    SystemAnswer {
        system: study.label(summary.system),
        sentence: match study.has_verdicts() {
            false => format!("{name} against {base}: {}", published(summary, of_base, &cells)),
            true => sentence(name, base, summary, instructions),
        },
        sentence_below_name: match study.has_verdicts() {
            false => format!("Against {base}: {}.", published(summary, of_base, &cells)),
            true => sentence_below_name(base, summary, instructions),
        },
        reasons: weighted(study, summary.system)
            .chain(reasons::reasons(study, summary.system))
            .collect(),
        tendency: match summary.slower.cmp(&summary.faster) {
            std::cmp::Ordering::Greater => Verdict::Slower,
            std::cmp::Ordering::Less => Verdict::Faster,
            std::cmp::Ordering::Equal => Verdict::Same,
        },
        counts: counts
            .into_iter()
            .filter(|(verdict, count)| *count > 0 && study.says(*verdict))
            .collect(),
        tests: tests.collect(),
        largest: largest(study, &cells),
    }
}

fn verdicts(summary: &SystemSummary) -> [(Verdict, u32); 6] {
    [
        (Verdict::Slower, summary.slower),
        (Verdict::Same, summary.same),
        (Verdict::Faster, summary.faster),
        (Verdict::Uneven, summary.uneven),
        (Verdict::Undecided, summary.undecided),
        (Verdict::Failed, summary.failed),
    ]
}

/// Verdicts that occur, in the order of a sentence: called changes first, the more frequent before the other.
/// `instructions` is a remark on undecided tests, which then come next.
fn in_order(
    summary: &SystemSummary,
    instructions: Option<&str>,
) -> impl Iterator<Item = (Verdict, u32)> {
    let mut found: Vec<(Verdict, u32)> =
        verdicts(summary).into_iter().filter(|it| it.1 > 0).collect();
    found.sort_by_key(|(verdict, count)| {
        let is_called = matches!(verdict, Verdict::Slower | Verdict::Faster);
        let is_counted = *verdict == Verdict::Undecided && instructions.is_some();
        (!is_called, !is_counted, if is_called { u32::MAX - count } else { 0 })
    });
    found.into_iter()
}

fn rest(verdicts: impl Iterator<Item = (Verdict, u32)>, instructions: Option<&str>) -> String {
    let message = |(verdict, number): (Verdict, u32)| {
        format!(", {} in {number}{}", verdict.word(), but(verdict, instructions))
    };
    verdicts.map(message).collect()
}

fn but(verdict: Verdict, instructions: Option<&str>) -> String {
    let instructions = instructions.filter(|_| verdict == Verdict::Undecided);
    instructions.map_or_else(String::new, |instructions| format!(", but {instructions}"))
}

/// For single runs without intervals, which have no verdict.
fn published(
    summary: &SystemSummary,
    base: Option<&CellJudgement>,
    cells: &[&CellJudgement],
) -> String {
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.rqps?.value)).collect();
    let Some(median) = summary.median.filter(|_| !ratios.is_empty()) else {
        return format!("no test has a relative QPS{}", response_time(base, cells));
    };
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let tests = counted(ratios.len() as u64, "test");
    let failed = match summary.failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let median = median.value;
    let [median, least, most] = [median, least, most].map(short);
    format!("median relative QPS {median} over {tests}, from {least} to {most}{failed}")
}

/// 95th percentile of the response time against that of the base, if there is a single test.
fn response_time(base: Option<&CellJudgement>, cells: &[&CellJudgement]) -> String {
    let [cell] = cells else { return String::new() };
    let p95 = |cell: &CellJudgement| Some(figure(Some(cell.latency?.p95? / 1000.0)));
    match base.and_then(p95).zip(p95(cell)) {
        Some((base, other)) => {
            format!("; 95th percentile of the response time {other} ms against {base} ms")
        }
        None => String::new(),
    }
}

fn sentence(name: &str, base: &str, summary: &SystemSummary, instructions: Option<&str>) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, instructions);
    let Some((verdict, number)) = found.next() else {
        return format!("{name} was not compared with {base}");
    };
    let word = verdict.word();
    let first = match verdict {
        Verdict::Slower | Verdict::Faster => {
            format!("{name} is {word} than {base} in {number} of {tests}")
        }
        Verdict::Same => format!("{name} is the same as {base} in {number} of {tests}"),
        _ => {
            let in_qps = if instructions.is_some() { " in QPS" } else { "" };
            let but = but(verdict, instructions);
            format!("{name} against {base}: {word}{in_qps} in {number} of {tests}{but}")
        }
    };
    let median = median(summary).map_or_else(String::new, |it| format!(" ({it})"));
    format!("{first}{}{median}", rest(found, instructions))
}

fn sentence_below_name(base: &str, summary: &SystemSummary, instructions: Option<&str>) -> String {
    let tests = counted(summary.cells(), "test");
    let mut found = in_order(summary, instructions);
    let Some((verdict, number)) = found.next() else {
        return format!("Not compared with {base}.");
    };
    let first = match verdict {
        Verdict::Slower => "Slower than",
        Verdict::Faster => "Faster than",
        Verdict::Same => "The same as",
        Verdict::Uneven => "Uneven against",
        Verdict::Undecided => "Undecided against",
        Verdict::Failed => "Failed against",
    };
    let median = median(summary).map_or_else(String::new, |it| format!("; {it}"));
    let but = but(verdict, instructions);
    format!("{first} {base} in {number} of {tests}{but}{}{median}.", rest(found, instructions))
}

/// Median over tests; `None` for a single test, or if its uncertainty is unknown.
fn median(summary: &SystemSummary) -> Option<String> {
    let median = change_in_words(summary.median.filter(|_| summary.cells() > 1)?)?;
    Some(match summary.bounded {
        0 => format!("median over tests: {median}"),
        bounded => format!("median over tests, without {bounded} not answered: {median}"),
    })
}

fn largest<'a>(study: &JudgedStudy, cells: &[&'a CellJudgement]) -> Vec<LargestChange<'a>> {
    let size = |cell: &CellJudgement| cell.rqps.map_or(0.0, |ratio| ratio.value.ln().abs());
    let is_called =
        |cell: &&&CellJudgement| matches!(cell.verdict, Verdict::Slower | Verdict::Faster);
    let mut called: Vec<&CellJudgement> = cells.iter().filter(is_called).copied().collect();
    called.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let change = |cell: &'a CellJudgement| LargestChange {
        cell: study.number_of(cell.cell),
        test: &cell.cell.test.name,
        setup: cell.cell.setup,
        verdict: cell.verdict,
        ratio: Ratio(cell.rqps),
        why: cell.why.as_deref(),
    };
    called.into_iter().take(LARGEST).map(change).collect()
}

/// From this factor on, a change is written as a factor.
const FACTOR: f64 = 2.0;

fn weighted(study: &JudgedStudy, system: usize) -> impl Iterator<Item = String> {
    let totals = weighted_totals(study.record, &study.judgement.cells);
    let of_system = totals.into_iter().filter(move |total| total.system == system);
    let message: Vec<String> = of_system.map(|total| weighted_sentence(study, &total)).collect();
    message.into_iter()
}

/// `Time of 12 tests, weighted as in everything: +12.1% [+10.3%, +13.9%].`
fn weighted_sentence(study: &JudgedStudy, total: &WeightedTotal) -> String {
    let WeightedTotal { mix, time, measured, kinds, .. } = *total;
    let mix = study.cell_name(mix);
    let tests = match kinds - measured {
        0 => counted(measured as u64, "test"),
        _ => format!("{measured} of {}", counted(kinds as u64, "test")),
    };
    let written = |ratio: f64| match ratio {
        far if far >= FACTOR => format!("×{}", short(far)),
        near => change(near, 1),
    };
    let by = match (time.is_bound(), time.has_interval()) {
        (true, _) => format!("at least ×{}", short(time.value)),
        (_, true) => {
            let [value, low, high] = [time.value, time.low, time.high].map(written);
            format!("{value} [{low}, {high}]")
        }
        _ => format!("{}, without an interval", written(time.value)),
    };
    format!("Time of {tests}, weighted as in {mix}: {by}.")
}
