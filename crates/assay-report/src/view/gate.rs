//! The result of a gate in words.

use std::collections::BTreeMap;

use assay_model::{Estimate, counted};
use assay_verdict::{Doubt, GateCell, GateJudgement, GateVerdict};

use super::study::JudgedStudy;
use super::undecided::{TIMES_MAX, of_doubt, silence};
use crate::number::{duration, share};
use crate::ratio::change_with_bounds;

/// More tests without a value for the same reason are not listed one by one.
const ALIKE_MAX: u64 = 4;

/// More systems are counted, not named.
const SYSTEMS_MAX: usize = 3;

pub(crate) struct Gate<'a> {
    pub(crate) headline: String,
    /// Tests that did not pass: exceeded, failed and undecided ones, in this order.
    pub(crate) rows: Vec<GateRow<'a>>,
    pub(crate) rest: Vec<String>,
    /// Basis of the answer, and its error rate.
    pub(crate) basis: String,
    pub(crate) several_systems: bool,
    pub(crate) limited: &'static str,
}

pub(crate) struct GateRow<'a> {
    pub(crate) verdict: GateVerdict,
    pub(crate) test: String,
    pub(crate) system: &'a str,
    /// With its bounds: `−6.2% [−7.0%, −5.4%]`.
    pub(crate) change: String,
    /// The change that the limit allows: `−3%`.
    pub(crate) limit: String,
    pub(crate) why: Option<String>,
}

impl<'a> Gate<'a> {
    /// `None` if the study is not a gate.
    pub(crate) fn new(study: &'a JudgedStudy<'a>) -> Option<Self> {
        let judged = study.judgement.gate.as_ref()?;
        let allows = study.record.study.gate.as_ref().is_some_and(|gate| gate.allow_undecided);
        let has_stopped = has_stopped(study);
        let mut listed = vec![GateVerdict::Exceeded, GateVerdict::Failed];
        // A study stops at the first excess, so its undecided tests need no advice.
        listed.extend((!has_stopped).then_some(GateVerdict::Undecided));
        let cells: Vec<&GateCell> =
            listed.into_iter().flat_map(|verdict| judged.of(verdict)).collect();
        let (rows, alike) = rows(study, &cells);
        Some(Self {
            headline: headline(study, judged, allows),
            rows,
            rest: alike.into_iter().chain(rest(study, judged, has_stopped)).collect(),
            basis: basis(study),
            several_systems: study.compared.len() > 1,
            limited: limited(study),
        })
    }
}

/// Many tests without a value for the same reason, such as those of a published study, share one line.
fn rows<'a>(study: &'a JudgedStudy<'a>, cells: &[&GateCell]) -> (Vec<GateRow<'a>>, Vec<String>) {
    let reason = |cell: &GateCell| {
        let is_unknown = cell.verdict == GateVerdict::Undecided && cell.ratio.is_none();
        is_unknown.then(|| why(study, cell)).flatten()
    };
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    let reasons = cells.iter().filter_map(|cell| reason(cell));
    reasons.for_each(|why| *alike.entry(why).or_default() += 1);
    alike.retain(|_, tests| *tests > ALIKE_MAX);
    let is_alone = |cell: &GateCell| reason(cell).is_none_or(|why| !alike.contains_key(&why));
    let rows = cells.iter().filter(|cell| is_alone(cell)).map(|cell| row(study, cell)).collect();
    let line = |(why, tests): (&String, &u64)| format!("{}: {why}", counted(*tests, "test"));
    (rows, alike.iter().map(line).collect())
}

/// Whether the study ended before all tests were decided, because one exceeded its limit.
fn has_stopped(study: &JudgedStudy) -> bool {
    let judged = study.judgement.gate.as_ref().filter(|_| !study.counts_only());
    judged.is_some_and(|gate| gate.verdict() == GateVerdict::Exceeded)
}

fn answer(verdict: GateVerdict, allows_undecided: bool) -> &'static str {
    match verdict {
        GateVerdict::Exceeded => "failed",
        GateVerdict::Undecided if !allows_undecided => "undecided",
        GateVerdict::Failed => "undecided",
        GateVerdict::Passed | GateVerdict::Undecided => "passed",
    }
}

fn headline(study: &JudgedStudy, judged: &GateJudgement, allows_undecided: bool) -> String {
    let verdict = judged.verdict();
    let systems: Vec<String> = study.compared.iter().map(|&it| study.titled(it)).collect();
    let systems = match systems.len() {
        ..=SYSTEMS_MAX => systems.join(" and "),
        many => format!("{many} systems"),
    };
    let tests = counted(judged.cells.len() as u64, "test");
    let answer = answer(verdict, allows_undecided);
    let of_tests = format!("{} of {tests} of {systems}", judged.count(verdict));
    let (none, some, done) = match study.counts_only() {
        true => {
            ("none with more instructions than its limit", "with more instructions than", "counted")
        }
        false => ("none slower than its limit", "slower than", "measured"),
    };
    match verdict {
        GateVerdict::Passed => {
            format!("gate {answer}: {tests} of {systems}, {none}")
        }
        GateVerdict::Exceeded => format!("gate {answer}: {of_tests} {some} the limit"),
        GateVerdict::Failed => format!("gate {answer}: {of_tests} could not be {done}"),
        GateVerdict::Undecided if allows_undecided => {
            format!("gate {answer}: {of_tests} undecided, which `--allow-undecided` permits")
        }
        GateVerdict::Undecided => format!("gate {answer}: {of_tests} undecided"),
    }
}

fn row<'a>(study: &'a JudgedStudy<'a>, cell: &GateCell) -> GateRow<'a> {
    GateRow {
        verdict: cell.verdict,
        test: study.cell_name(cell.cell),
        system: study.label(cell.system),
        change: change(study, cell),
        limit: limit(study, cell),
        why: why(study, cell),
    }
}

pub(crate) fn change(study: &JudgedStudy, cell: &GateCell) -> String {
    let shown = if study.counts_only() { super::counted::change } else { change_with_bounds };
    cell.ratio.map_or_else(|| "not known".to_owned(), shown)
}

pub(crate) fn limit(study: &JudgedStudy, cell: &GateCell) -> String {
    let sign = if study.counts_only() { "+" } else { "−" };
    format!("{sign}{}", share(cell.margin))
}

pub(crate) fn limited(study: &JudgedStudy) -> &'static str {
    if study.counts_only() { "instructions" } else { "QPS" }
}

/// The cause of an excess or a failure, or what would decide the test.
pub(crate) fn why(study: &JudgedStudy, cell: &GateCell) -> Option<String> {
    let judged = study.cell(cell.cell, cell.system);
    match (cell.verdict, cell.doubt) {
        (GateVerdict::Passed, _) => None,
        (GateVerdict::Exceeded, _) if study.counts_only() => super::counted::causes(judged?),
        (GateVerdict::Undecided, _) if study.counts_only() => Some(match cell.ratio {
            None => "not counted yet".to_owned(),
            Some(_) if !study.record.finished => "not counted to the end".to_owned(),
            Some(_) => "the counts vary too much for this limit; a larger limit helps".to_owned(),
        }),
        (GateVerdict::Exceeded, _) => {
            silence(study.record, judged?).or_else(|| judged?.why.clone())
        }
        (GateVerdict::Failed, _) => {
            judged.and_then(|it| it.failure.clone().or_else(|| it.why.clone()))
        }
        (GateVerdict::Undecided, _) if has_stopped(study) => {
            Some("the study stopped once a limit was exceeded".to_owned())
        }
        (_, Some(Doubt::AtThreshold)) => Some(
            "the slowdown is about as large as the limit: measuring longer hardly helps, another limit does"
                .to_owned(),
        ),
        (_, Some(Doubt::Wide { times, .. })) if times > TIMES_MAX => Some(format!(
            "the bounds are too wide, and a verdict would take over {TIMES_MAX} times as long: use a quieter machine \
             or a larger limit"
        )),
        (_, doubt) => doubt.map(|doubt| of_doubt(study.record, doubt)),
    }
}

fn rest(study: &JudgedStudy, judged: &GateJudgement, has_stopped: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let undecided = judged.count(GateVerdict::Undecided) as u64;
    if has_stopped && undecided > 0 {
        let tests = counted(undecided, "test");
        lines.push(format!("{tests} undecided: the study stopped once a limit was exceeded"));
    }
    let room = |cell: &GateCell| {
        let of = |ratio: Estimate| match study.counts_only() {
            true => 1.0 + cell.margin - ratio.high,
            false => ratio.low - (1.0 - cell.margin),
        };
        cell.ratio.map_or(f64::INFINITY, of)
    };
    let closest = judged.of(GateVerdict::Passed).min_by(|a, b| room(a).total_cmp(&room(b)));
    if let Some(cell) = closest {
        let of = match study.compared.len() {
            1 => String::new(),
            _ => format!(" of {}", study.label(cell.system)),
        };
        lines.push(format!(
            "{} passed; closest to its limit: {}{of}, {}, limit {}",
            counted(judged.count(GateVerdict::Passed) as u64, "test"),
            study.cell_name(cell.cell),
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
            "{}; if all tests keep their limits, the gate fails with a probability of at most 0.5%",
            super::counted::basis(study)
        );
    }
    let mut blocks: Vec<u32> = record.slices.iter().map(|slice| slice.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    format!(
        "measured in {} of fresh servers, {}; a test that is as slow as its limit passes with a probability of about \
         2.5%; if all tests keep their limits, the gate fails with a probability of at most 2.5%",
        counted(blocks.len() as u64, "block"),
        duration(record.elapsed_s())
    )
}
