//! Reasons why tests are undecided, remedies, and the main source of their noise.

use std::borrow::Cow;

use assay_model::{Experiment, Study, StudyRecord, Verdict, counted};
use assay_verdict::{CellJudgement, PerOp, REPEATS_MIN, VerdictDoubt, threshold};

use super::study::JudgedStudy;
use super::trouble::or_realtime;
use crate::document::{Block, Fold, Wish};
use crate::number::share;
use crate::ratio::Ratio;
use crate::words::{Symbol as _, shortened};

const NAMES: usize = 5;

/// Beyond this factor, measuring longer is not useful advice.
pub(super) const TIMES_MAX: f64 = 20.0;

/// A server on another machine has no known CPU time.
const NO_CPU: &str = "CPU time was not measured on both systems: judge by time (`--judge time`)";

/// Why a test is undecided. Tests with the same reason share a line, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UndecidedReason {
    Slices,
    Blocks,
    Hopeless,
    AtThreshold,
    PerhapsUneven,
    OneBusyBlock,
    SharedTurns,
    FewBlocks,
    Smoke,
    SinglePair,
    Paced,
    AlsoSlow,
    NoCpu,
    Unmeasured,
}

impl UndecidedReason {
    fn from_doubt(doubt: VerdictDoubt) -> Self {
        match doubt {
            VerdictDoubt::Unmeasured => Self::Unmeasured,
            VerdictDoubt::NoCpu => Self::NoCpu,
            VerdictDoubt::SinglePair => Self::SinglePair,
            VerdictDoubt::Paced => Self::Paced,
            VerdictDoubt::AlsoSlow => Self::AlsoSlow,
            VerdictDoubt::OneBusyBlock => Self::OneBusyBlock,
            VerdictDoubt::SharedTurns => Self::SharedTurns,
            VerdictDoubt::FewBlocks { .. } => Self::FewBlocks,
            VerdictDoubt::Smoke => Self::Smoke,
            VerdictDoubt::AtThreshold => Self::AtThreshold,
            VerdictDoubt::PerhapsUneven { .. } => Self::PerhapsUneven,
            VerdictDoubt::Wide { times, .. } if times > TIMES_MAX => Self::Hopeless,
            VerdictDoubt::Wide { is_between_blocks: true, .. } => Self::Blocks,
            VerdictDoubt::Wide { .. } => Self::Slices,
        }
    }

    fn sentence(self, doubts: &[VerdictDoubt], record: &StudyRecord) -> String {
        let threshold = share(threshold(&record.study));
        match self {
            Self::Slices | Self::Blocks | Self::Hopeless | Self::FewBlocks
                if record.is_reported() =>
            {
                "the interval of so few repeats is too wide: import more of each run".to_owned()
            }
            Self::Slices => format!(
                "the interval is too wide: use a quieter machine, or measure {} as long ({})",
                times(doubts),
                longer(record)
            ),
            Self::Blocks => format!(
                "the interval is too wide because the blocks differ: measure {} as many blocks ({})",
                times(doubts),
                longer(record)
            ),
            Self::Hopeless => format!(
                "the interval is too wide, and a verdict would take over {TIMES_MAX} times as long: use a quieter \
                 machine or a larger `--threshold`"
            ),
            Self::AtThreshold => format!(
                "the change is about as large as the threshold ({threshold}): measuring longer hardly helps, another \
                 `--threshold` does"
            ),
            Self::PerhapsUneven => format!(
                "usual turns are the same, but some are so slow that the totals differ by more than {threshold}, \
                 perhaps by chance: measure longer ({})",
                longer(record)
            ),
            Self::OneBusyBlock => format!(
                "other processes kept the machine busy, and the change in the single block is mostly waits for a \
                 CPU, which may be the machine's: measure a second block ({})",
                longer(record)
            ),
            Self::SharedTurns => {
                "its statements start threads, which at real-time priority keep the CPU from each other for 100 ms \
                 at a time: measure it with `--priority normal`"
                    .to_owned()
            }
            Self::FewBlocks => format!(
                "measured in {} blocks that a verdict needs ({})",
                blocks_of_needed(doubts),
                longer(record)
            ),
            Self::Smoke => format!(
                "preset smoke calls no changes below {threshold} and few larger ones: `--preset quick` decides more"
            ),
            Self::SinglePair => single_pair(record),
            Self::AlsoSlow => "one side did not answer in time, the other is as slow".to_owned(),
            Self::NoCpu => NO_CPU.to_owned(),
            Self::Paced => {
                "rates were limited, so they do not say what systems are able to do".to_owned()
            }
            Self::Unmeasured
                if record.finished && record.study.experiment == Experiment::Interleaved =>
            {
                format!(
                    "the budget ended before they were measured on both systems ({})",
                    longer(record)
                )
            }
            Self::Unmeasured => "no round was measured on both systems".to_owned(),
        }
    }
}

fn single_pair(record: &StudyRecord) -> String {
    if record.is_reported() {
        return "a single published run has no interval, and so no verdict".to_owned();
    }
    let remedy = match record.study.experiment {
        Experiment::Stepwise | Experiment::Consecutive => {
            format!(": repeat it (`--repeats {REPEATS_MIN}`)")
        }
        Experiment::Interleaved | Experiment::Sequential | Experiment::Counted => String::new(),
    };
    format!("the uncertainty of a single measurement is unknown{remedy}")
}

/// Whether a finished study can get more time: unless it has limits or runs each test once.
pub(super) fn takes_more_time(study: &Study) -> bool {
    study.experiment == Experiment::Interleaved && study.limits.is_none()
}

/// How to measure longer.
fn longer(record: &StudyRecord) -> String {
    match record.finished {
        true if takes_more_time(&record.study) => {
            format!("`assay resume {} --more TIME`", record.study.id)
        }
        true if record.study.experiment.has_steps() => "`--repeats`".to_owned(),
        true => "`--budget`".to_owned(),
        false if record.running => "the study is still running".to_owned(),
        false => format!("`assay resume {}`", record.study.id),
    }
}

/// `about 3 times`, `3 to 12 times`.
fn times(doubts: &[VerdictDoubt]) -> String {
    // A factor below 1.5 is not worth a number.
    let times = doubts.iter().filter_map(|doubt| match doubt {
        VerdictDoubt::Wide { times, .. } => Some(times.ceil().max(2.0)),
        _ => None,
    });
    let (least, most) =
        times.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
    if least < most { format!("{least} to {most} times") } else { format!("about {most} times") }
}

/// `2 of the 4`, `1 to 3 of the 4`.
fn blocks_of_needed(doubts: &[VerdictDoubt]) -> String {
    let few = doubts.iter().filter_map(|doubt| match doubt {
        VerdictDoubt::FewBlocks { blocks, needed } => Some((*blocks, *needed)),
        _ => None,
    });
    let (least, needed) = few.clone().min().unwrap_or_default();
    let (most, _) = few.max().unwrap_or_default();
    if least < most {
        format!("{least} to {most} of the {needed}")
    } else {
        format!("{most} of the {needed}")
    }
}

/// Why a test is undecided although its interval excludes 1 and the band, in a few words.
pub(super) fn beyond_band(study: &JudgedStudy, cell: &CellJudgement) -> Option<&'static str> {
    let (threshold, rqps) = (study.threshold(), cell.rqps.filter(|rqps| rqps.has_interval())?);
    if rqps.low <= 1.0 + threshold && rqps.high >= 1.0 / (1.0 + threshold) {
        return None;
    }
    match UndecidedReason::from_doubt(cell.doubt.filter(|_| study.has_verdicts())?) {
        UndecidedReason::FewBlocks => Some("too few blocks"),
        UndecidedReason::Smoke => Some("preset smoke"),
        UndecidedReason::OneBusyBlock => Some("one busy block"),
        UndecidedReason::SharedTurns => Some("needs normal priority"),
        UndecidedReason::Paced => Some("limited rates"),
        UndecidedReason::PerhapsUneven => Some("slow turns"),
        UndecidedReason::Slices
        | UndecidedReason::Blocks
        | UndecidedReason::Hopeless
        | UndecidedReason::AtThreshold => Some("not certain enough"),
        UndecidedReason::SinglePair
        | UndecidedReason::AlsoSlow
        | UndecidedReason::NoCpu
        | UndecidedReason::Unmeasured => None,
    }
}

/// `None` if the test is decided.
fn of_cell(record: &StudyRecord, cell: &CellJudgement) -> Option<String> {
    Some(of_doubt(record, cell.doubt?))
}

pub(crate) fn of_doubt(record: &StudyRecord, doubt: VerdictDoubt) -> String {
    UndecidedReason::from_doubt(doubt).sentence(&[doubt], record)
}

/// An event that took too long, and the consequence: `no answer to … within 30 s; at least 150 times slower`. `None` if
/// all were answered, or none on either side.
pub(crate) fn silence(record: &StudyRecord, cell: &CellJudgement) -> Option<String> {
    let silence = cell.silence.as_ref().filter(|_| cell.failure.is_none())?;
    let of_other = record.systems.get(silence.system).filter(|_| silence.system != cell.system);
    let of_other = of_other.map_or_else(String::new, |other| format!("{}: ", other.name));
    let follows = match cell.rqps {
        Some(bound) if bound.is_bound() => format!("; {}", Ratio(Some(bound))),
        _ if of_other.is_empty() => String::new(),
        _ => "; here, nothing was measured".to_owned(),
    };
    Some(format!("{of_other}{}{follows}", silence.what))
}

/// Why a cell failed, changed or is undecided.
pub(crate) fn why<'a>(record: &StudyRecord, cell: &'a CellJudgement) -> Option<Cow<'a, str>> {
    if let Some(silence) = silence(record, cell) {
        return Some(Cow::Owned(silence));
    }
    let known = cell.failure.as_deref().or(cell.why.as_deref());
    match (known, of_cell(record, cell)) {
        (Some(known), Some(doubt)) => Some(Cow::Owned(format!("{known}; {doubt}"))),
        (known, doubt) => known.map(Cow::Borrowed).or(doubt.map(Cow::Owned)),
    }
}

/// A page has them in its table of tests.
pub(super) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    if wish.is_page() {
        return Vec::new();
    }
    let mark = Verdict::Undecided.symbol();
    let lines = Block::list(lines(study).into_iter().map(|line| format!("{mark} {line}")));
    Block::folded(wish.heading("undecided, and what would help"), Fold::Closed, lines)
}

/// A line for the tests of a system that are undecided for the same reason: `3 tests: why (names)`.
pub(super) fn lines(study: &JudgedStudy) -> Vec<String> {
    // A note explains why no single published result has a verdict.
    if !study.has_verdicts() {
        return Vec::new();
    }
    let figure = study.figure();
    let is_undecided = |cell: &&CellJudgement| {
        cell.verdict_by(figure) == Verdict::Undecided && study.compared.contains(&cell.system)
    };
    let undecided = study.judgement.cells.iter().filter(is_undecided);
    let mut doubted: Vec<(usize, UndecidedReason, VerdictDoubt, &CellJudgement)> = undecided
        .filter_map(|cell| {
            let doubt = cell.doubt_by(figure)?;
            Some((cell.system, UndecidedReason::from_doubt(doubt), doubt, cell))
        })
        .collect();
    // A stable sort keeps the tests in the order in which they run.
    doubted.sort_by_key(|(system, reason, ..)| (*system, *reason));
    let line = |cells: &[(usize, UndecidedReason, VerdictDoubt, &CellJudgement)]| {
        let (system, reason, ..) = *cells.first()?;
        let doubts: Vec<VerdictDoubt> = cells.iter().map(|(_, _, doubt, _)| *doubt).collect();
        let of_line: Vec<&CellJudgement> = cells.iter().map(|(.., cell)| *cell).collect();
        let names: Vec<String> = of_line.iter().map(|cell| study.cell_name(cell.cell)).collect();
        let is_noise = matches!(
            reason,
            UndecidedReason::Slices | UndecidedReason::Blocks | UndecidedReason::Hopeless
        ) && !study.record.is_reported();
        let source = is_noise.then(|| main_source(study.record, &of_line)).flatten();
        let source = source.map_or_else(String::new, |source| format!("; {source}"));
        Some(format!(
            "{}{}: {}{source} ({})",
            counted(cells.len() as u64, "test"),
            study.of_system(system),
            reason.sentence(&doubts, study.record),
            shortened(&names, NAMES)
        ))
    };
    doubted.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter_map(line).collect()
}

/// Minimum share of slices in trouble, or of time spent waiting, to be called the main source of noise.
const MAIN: f64 = 0.5;

/// With its remedy; `None` if no source stands out.
fn main_source(record: &StudyRecord, cells: &[&CellJudgement]) -> Option<String> {
    let slices: u32 = cells.iter().map(|cell| cell.slices).sum();
    let of_slices = |count: fn(&CellJudgement) -> u32| {
        let troubled: u32 = cells.iter().map(|cell| count(cell)).sum();
        f64::from(troubled) / f64::from(slices.max(1))
    };
    let others = of_slices(|cell| cell.troubled_by.other_process);
    let stolen = of_slices(|cell| cell.troubled_by.steal);
    if others.max(stolen) >= MAIN {
        let (who, part, remedy) = match others >= stolen {
            true => ("other programs", others, format!("stop them{}", or_realtime(record))),
            false => ("other guests of the host", stolen, "use dedicated CPUs".to_owned()),
        };
        let part = share(part.min(1.0));
        return Some(format!(
            "the main noise is {who}, which used the CPU in {part} of these slices: {remedy}"
        ));
    }
    let waiting: Vec<(f64, f64)> =
        cells.iter().filter_map(|cell| waiting_us(cell.per_op.as_ref()?)).collect();
    let (waited, time) = waiting.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (time > 0.0 && waited / time >= MAIN).then(|| {
        format!(
            "{} of their time is waiting, for the disk or for other threads, and that varies: a faster disk, or terms \
             that flush less (`--terms lean`), narrows it",
            share(waited / time)
        )
    })
}

/// Time per operation of waiting for anything but a CPU, and total time, microseconds.
fn waiting_us(per_op: &PerOp) -> Option<(f64, f64)> {
    Some((per_op.get("wait_us")?, per_op.time_us()))
}
