//! The way on from undecided tests: more time or, if they are many, what helps most on this machine.

use assay_model::{Experiment, JudgedFigures, Preset, StudyRecord, Verdict};
use assay_verdict::{CellJudgement, JudgedFigure, REPEATS_MIN, VerdictDoubt};

use super::doubts::{TIMES_MAX, takes_more_time};
use super::study::JudgedStudy;
use super::trouble::{busiest, or_realtime};
use crate::number::confidence;

/// Fewest undecided tests that are many, which are also at least one of this many.
const MANY: usize = 6;
const MANY_OF: usize = 4;

/// Share of the slices of undecided tests from which on those who disturbed them are the main obstacle.
const DISTURBED: f64 = 0.5;

/// More time up to this, seconds, is simpler than anything else.
const SOON_S: f64 = 600.0;

/// `None` for a study that assay cannot continue or repeat.
pub(super) fn way_on(study: &JudgedStudy) -> Option<String> {
    Some(format!("undecided tests: {}", remedy(study)?))
}

/// `a longer --budget decides more`
pub(super) fn remedy(study: &JudgedStudy) -> Option<String> {
    let (record, plan) = (study.record, &study.record.study);
    Some(match plan.experiment {
        Experiment::Sequential | Experiment::Counted => return None,
        // Imported, or still running.
        _ if plan.recipe.is_empty() || !record.finished => return None,
        Experiment::Stepwise | Experiment::Consecutive => {
            format!("`--repeats {REPEATS_MIN}` carries all steps out several times")
        }
        Experiment::Interleaved if plan.preset == Preset::Smoke => {
            "`--preset quick` decides more".to_owned()
        }
        Experiment::Interleaved if record.runs.iter().any(|run| run.shard.is_some()) => {
            "shards with a longer `--budget` decide more".to_owned()
        }
        Experiment::Interleaved if !takes_more_time(plan) => {
            "a longer `--budget` decides more".to_owned()
        }
        Experiment::Interleaved => helps_most(study).unwrap_or_else(|| {
            format!("`assay resume {} --more 10m` measures them longer", plan.id)
        }),
    })
}

/// What decides most of many undecided tests; `None` for a few.
fn helps_most(study: &JudgedStudy) -> Option<String> {
    let figures = figures(study.record.study.judge);
    let is_compared = |cell: &&CellJudgement| study.compared.contains(&cell.system);
    let is_open = |cell: &&CellJudgement| {
        figures.iter().all(|figure| cell.verdict_by(*figure) == Verdict::Undecided)
    };
    let compared = study.judgement.cells.iter().filter(is_compared);
    let all = compared.clone().count();
    let open: Vec<&CellJudgement> = compared.filter(is_open).collect();
    if open.len() < MANY || MANY_OF * open.len() < all {
        return None;
    }
    let outlook = UndecidedOutlook::new(study.record, &open, all);
    let ways = outlook.ways().into_iter().map(|way| way.in_words(study.record, outlook));
    let words: Vec<String> = ways.collect();
    (!words.is_empty()).then(|| format!("the most helpful step here is {}", words.join("; or ")))
}

fn figures(judge: JudgedFigures) -> &'static [JudgedFigure] {
    match judge {
        JudgedFigures::Time => &[JudgedFigure::Time],
        JudgedFigures::Cpu => &[JudgedFigure::Cpu],
        JudgedFigures::Both => &[JudgedFigure::Time, JudgedFigure::Cpu],
    }
}

/// What a record says about its undecided tests.
#[derive(Debug, Clone, Copy, PartialEq)]
struct UndecidedOutlook {
    /// Shares of their slices that other programs disturbed, and other guests of the host.
    by_programs: f64,
    by_guests: f64,
    /// Seconds in which about half of them would be decided, if the machine stays as it is; `None` if none suffice.
    more_s: Option<f64>,
    /// Seconds of a count; `None` if they cannot be counted, or are counted already.
    count_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum WayOn {
    Longer { seconds: f64 },
    Count { seconds: f64 },
    QuietHour,
}

impl UndecidedOutlook {
    fn new(record: &StudyRecord, open: &[&CellJudgement], all: usize) -> Self {
        let slices: u32 = open.iter().map(|cell| cell.slices.max(cell.troubled)).sum();
        let share = |count: fn(&CellJudgement) -> u32| {
            let disturbed: u32 = open.iter().map(|cell| count(cell)).sum();
            (f64::from(disturbed) / f64::from(slices.max(1))).min(1.0)
        };
        let mut times: Vec<f64> = open.iter().map(|cell| times(cell, record.study.judge)).collect();
        times.sort_unstable_by(f64::total_cmp);
        let usual = times.get((times.len().max(1) - 1) / 2).copied();
        let usual = usual.filter(|times| *times <= TIMES_MAX);
        // What is decided takes no more of the time.
        let part = open.len() as f64 / all.max(1) as f64;
        let is_counted = open.iter().any(|cell| cell.count.is_some());
        let can_count = record.study.count_command.is_some() && !is_counted;
        Self {
            by_programs: share(|cell| cell.troubled_by.other_process),
            by_guests: share(|cell| cell.troubled_by.steal),
            more_s: usual.map(|times| (times - 1.0).max(0.1) * part * record.elapsed_s()),
            count_s: can_count.then(|| record.study.counting_s(record.systems.len())),
        }
    }

    /// The most helpful one first.
    fn ways(self) -> Vec<WayOn> {
        let longer = self.more_s.map(|seconds| WayOn::Longer { seconds });
        let count = self.count_s.map(|seconds| WayOn::Count { seconds });
        let is_disturbed = self.by_programs.max(self.by_guests) >= DISTURBED;
        let quiet = is_disturbed.then_some(WayOn::QuietHour);
        let is_soon = self.more_s.is_some_and(|more_s| more_s <= SOON_S);
        let ways = if is_soon { [longer, count, quiet] } else { [count, quiet, longer] };
        ways.into_iter().flatten().collect()
    }
}

/// About how many times as long a study would decide a test by one of its figures.
fn times(cell: &CellJudgement, judge: JudgedFigures) -> f64 {
    let by = |figure: &JudgedFigure| match cell.doubt_by(*figure) {
        Some(VerdictDoubt::Wide { times, .. }) => times,
        Some(VerdictDoubt::FewBlocks { blocks, needed }) => {
            f64::from(needed) / f64::from(blocks.max(1))
        }
        Some(VerdictDoubt::Unmeasured | VerdictDoubt::OneBusyBlock) => 2.0,
        _ => f64::INFINITY,
    };
    figures(judge).iter().map(by).fold(f64::INFINITY, f64::min)
}

impl WayOn {
    fn in_words(self, record: &StudyRecord, outlook: UndecidedOutlook) -> String {
        match self {
            Self::Longer { seconds } => format!(
                "more time: `assay resume {} --more {}m` decides about half of them, if the machine stays as it is",
                record.study.id,
                minutes(seconds)
            ),
            Self::Count { seconds } => format!(
                "counting: `{}` takes about {} min, is exact on a busy machine, and says nothing about waiting",
                record.study.count_command.as_deref().unwrap_or("assay count"),
                minutes(seconds)
            ),
            Self::QuietHour if outlook.by_guests > outlook.by_programs => format!(
                "a quiet hour: other guests of the host used the CPU in {} of their slices",
                confidence(outlook.by_guests)
            ),
            Self::QuietHour => format!(
                "a quiet hour: other programs used the CPU in {} of their slices{}{}",
                confidence(outlook.by_programs),
                busiest(record),
                or_realtime(record)
            ),
        }
    }
}

/// Whole minutes, rounded up to round numbers.
fn minutes(seconds: f64) -> u32 {
    let minutes = (seconds / 60.0).ceil().max(1.0);
    let step = match minutes {
        few if few <= 10.0 => 1.0,
        some if some <= 60.0 => 5.0,
        _ => 30.0,
    };
    ((minutes / step).ceil() * step) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: UndecidedOutlook = UndecidedOutlook {
        by_programs: 0.0,
        by_guests: 0.0,
        more_s: Some(300.0),
        count_s: Some(480.0),
    };

    const LONGER: WayOn = WayOn::Longer { seconds: 300.0 };
    const COUNT: WayOn = WayOn::Count { seconds: 480.0 };

    #[test]
    fn a_few_more_minutes_are_simplest() {
        assert_eq!(OPEN.ways(), [LONGER, COUNT]);
        let alone = UndecidedOutlook { count_s: None, ..OPEN };
        assert_eq!(alone.ways(), [LONGER]);
        let busy = UndecidedOutlook { by_programs: 0.9, ..OPEN };
        assert_eq!(busy.ways(), [LONGER, COUNT, WayOn::QuietHour]);
    }

    #[test]
    fn a_count_is_better_than_hours_and_a_quiet_machine_than_nothing() {
        let seconds = 7200.0;
        let long = UndecidedOutlook { more_s: Some(seconds), by_programs: 0.9, ..OPEN };
        assert_eq!(long.ways(), [COUNT, WayOn::QuietHour, WayOn::Longer { seconds }]);
        let hopeless = UndecidedOutlook { more_s: None, by_guests: 0.6, ..OPEN };
        assert_eq!(hopeless.ways(), [COUNT, WayOn::QuietHour]);
        let running = UndecidedOutlook { count_s: None, ..hopeless };
        assert_eq!(running.ways(), [WayOn::QuietHour]);
        let calm = UndecidedOutlook { by_guests: 0.1, ..running };
        assert!(calm.ways().is_empty());
    }

    #[test]
    fn times_are_round() {
        let all = [0.0, 61.0, 599.0, 601.0, 3000.0, 3601.0, 7200.0];
        assert_eq!(all.map(minutes), [1, 2, 10, 15, 50, 90, 120]);
    }
}
