//! Judges soaks: steady rate, decay and stalls of each system, and whether steady rates agree with the verdict of short
//! turns.
//!
//! Systems take long turns, one per round, in the order A B, B A, A B. The rate of a turn is the median of its seconds,
//! unaffected by stalls, which are reported separately. The last third of the rounds gives the steady rate and as many
//! first rounds the early one. Ratios are those of turns of the same round: machine effects in a round hit all systems,
//! and because their order alternates, a steady drift cancels.

use assay_model::{Estimate, StudyRecord};
use assay_verdict::{CellJudgement, median, threshold, upper_quantile};

use crate::turns::{Soak, SoakTurn};

/// A second with less than this share of the median second's events is a stall.
pub(crate) const SOAK_STALL: f64 = 0.1;

/// With fewer events in the median second, an empty second is no stall, and a rate is the mean of its turn.
const EVENTS_MIN: f64 = 20.0;

const TAIL: f64 = 0.025;

const LONG_TURN_S: f64 = 2.0;
const ROUNDS: [u32; 2] = [4, 12];

/// Duration from which a soak has the larger number of rounds: with fewer, figures have no intervals.
pub(crate) const SOAK_INTERVALS_S: f64 = LONG_TURN_S * ROUNDS[1] as f64;

/// Fewest turns for an interval. That of two would exceed every change.
const TURNS_MIN: usize = 3;

pub(crate) fn soak_rounds(seconds: f64) -> u32 {
    let [few, many] = ROUNDS;
    if seconds / f64::from(many) >= LONG_TURN_S { many } else { few }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SoakStalls {
    pub(crate) seconds: u32,
    pub(crate) longest_s: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SoakJudgement {
    pub(crate) qps: Estimate,
    /// Steady rate relative to the early one; `None` with a single turn.
    pub(crate) decay: Option<Estimate>,
    /// Steady rate relative to the base's; `None` for the base.
    pub(crate) ratio: Option<Estimate>,
    /// Decay relative to the base's, free of the machine's own drift; `None` for the base.
    pub(crate) decay_ratio: Option<Estimate>,
    /// `None` if too few events end in a second to tell.
    pub(crate) stalls: Option<SoakStalls>,
    /// Whether the steady ratio agrees with that of short turns: their intervals overlap, or are apart by at most the
    /// threshold. `None` if one has no interval.
    pub(crate) agrees: Option<bool>,
    pub(crate) events: u64,
    pub(crate) seconds: f64,
    /// Rounds with a turn of every system, and planned rounds.
    pub(crate) rounds: [u32; 2],
    /// Server processes: after an interruption, a new one continues without the history of the previous one.
    pub(crate) instances: u32,
    /// Operations per second, second by second, turn after turn.
    pub(crate) series: Vec<f64>,
}

/// `None` without data.
pub(crate) fn soak(record: &StudyRecord, judged: &CellJudgement) -> Option<SoakJudgement> {
    let base = record.systems.iter().position(|system| system.is_base)?;
    // Documents were checked when the ledger was read.
    let found = |system: usize| record.documents.get::<Soak>(system, judged.cell).ok().flatten();
    let mine = found(judged.system)?;
    let of_base = if judged.system == base { None } else { found(base) };
    let mut judgement = judge(&mine, of_base.as_ref())?;
    let ratios = judgement.ratio.zip(judged.rqps);
    let threshold = threshold(&record.study);
    judgement.agrees = ratios.and_then(|(long, short)| agree(long, short, threshold));
    Some(judgement)
}

/// Whether two ratios agree: neither interval is beyond the other by more than the threshold.
fn agree(long: Estimate, short: Estimate, threshold: f64) -> Option<bool> {
    let apart = (long.low / short.high).max(short.low / long.high);
    (long.has_interval() && short.has_interval()).then_some(apart <= 1.0 + threshold)
}

struct TurnRate {
    round: u32,
    log: f64,
}

fn judge(mine: &Soak, base: Option<&Soak>) -> Option<SoakJudgement> {
    let each = ops_per_event(mine)?;
    let rated = rated(mine)?;
    let of_base = base.and_then(self::rated);
    let ratios = |part: &[TurnRate]| -> Vec<f64> {
        let of_base = of_base.as_deref().unwrap_or_default();
        let partner = |turn: &TurnRate| of_base.iter().find(|it| it.round == turn.round);
        part.iter().filter_map(|turn| Some(turn.log - partner(turn)?.log)).collect()
    };
    let logs = |part: &[TurnRate]| -> Vec<f64> { part.iter().map(|turn| turn.log).collect() };
    let part = part_of(rated.len());
    let (early, late) = (rated.get(..part)?, rated.get(rated.len() - part..)?);
    let is_several = rated.len() > 1;
    let seconds = || mine.turns.iter().flat_map(|turn| turn.seconds.iter().copied());
    let mut instances: Vec<u32> = mine.turns.iter().map(|turn| turn.instance).collect();
    instances.dedup();
    Some(SoakJudgement {
        qps: mean(&logs(late))?,
        decay: difference(&logs(late), &logs(early)).filter(|_| is_several),
        ratio: mean(&ratios(late)),
        decay_ratio: difference(&ratios(late), &ratios(early)).filter(|_| is_several),
        stalls: stalls(&mine.turns),
        agrees: None,
        events: mine.turns.iter().map(|turn| turn.events).sum(),
        seconds: mine.turns.iter().map(|turn| turn.elapsed_ms as f64 / 1e3).sum(),
        rounds: [rated.len() as u32, mine.rounds],
        instances: instances.len() as u32,
        series: seconds().map(|events| events as f64 * each).collect(),
    })
}

/// Number of late rounds: a third, at least two of four. As many are early.
fn part_of(rounds: usize) -> usize {
    match rounds {
        0..=3 => rounds.min(1),
        _ => (rounds / 3).max(2),
    }
}

fn ops_per_event(soak: &Soak) -> Option<f64> {
    let events: u64 = soak.turns.iter().map(|turn| turn.events).sum();
    let ops: f64 = soak.turns.iter().map(|turn| turn.ops).sum();
    (events > 0 && ops > 0.0).then_some(ops / events as f64)
}

/// Rates of turns, in order; `None` if nothing was ever done. A turn without events counts half an event, so that a
/// standstill does not look as fast as other turns.
fn rated(soak: &Soak) -> Option<Vec<TurnRate>> {
    let each = ops_per_event(soak)?;
    let rated = soak.turns.iter().map(|turn| {
        let rate = usual(&turn.seconds).filter(|usual| *usual >= EVENTS_MIN);
        let events = (turn.events as f64).max(0.5);
        let rate = rate.unwrap_or(events * 1e3 / (turn.elapsed_ms.max(1) as f64));
        TurnRate { round: turn.round, log: (rate * each).ln() }
    });
    Some(rated.collect::<Vec<_>>()).filter(|rated| !rated.is_empty())
}

fn usual(seconds: &[u64]) -> Option<f64> {
    median(&seconds.iter().map(|events| *events as f64).collect::<Vec<_>>())
}

fn stalls(turns: &[SoakTurn]) -> Option<SoakStalls> {
    let all: Vec<u64> = turns.iter().flat_map(|turn| turn.seconds.iter().copied()).collect();
    let least = SOAK_STALL * usual(&all).filter(|usual| *usual >= EVENTS_MIN)?;
    let mut found = SoakStalls { seconds: 0, longest_s: 0 };
    for turn in turns {
        let mut length = 0;
        for events in &turn.seconds {
            length = if (*events as f64) < least { length + 1 } else { 0 };
            found.seconds += u32::from(length > 0);
            found.longest_s = found.longest_s.max(length);
        }
    }
    Some(found)
}

fn moments(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let is_known = values.len() >= TURNS_MIN;
    (!values.is_empty()).then(|| (mean, is_known.then(|| squares / (count - 1.0))))
}

fn mean(logs: &[f64]) -> Option<Estimate> {
    let (mean, variance) = moments(logs)?;
    let count = logs.len() as f64;
    Some(estimate(mean, variance.map(|variance| (variance / count, count - 1.0))))
}

/// Difference of two means of logs (Welch 1947).
fn difference(late: &[f64], early: &[f64]) -> Option<Estimate> {
    let ((late_mean, of_late), (early_mean, of_early)) = (moments(late)?, moments(early)?);
    let error = of_late.zip(of_early).map(|(of_late, of_early)| {
        let (of_late, of_early) = (of_late / late.len() as f64, of_early / early.len() as f64);
        let square = (of_late + of_early).powi(2);
        let parts = of_late.powi(2) / (late.len() as f64 - 1.0)
            + of_early.powi(2) / (early.len() as f64 - 1.0);
        (of_late + of_early, if parts > 0.0 { square / parts } else { f64::INFINITY })
    });
    Some(estimate(late_mean - early_mean, error))
}

fn estimate(log: f64, error: Option<(f64, f64)>) -> Estimate {
    let Some((square, freedom)) = error else { return Estimate::without_interval(log.exp()) };
    let half = upper_quantile(TAIL, freedom) * square.sqrt();
    Estimate { value: log.exp(), low: (log - half).exp(), high: (log + half).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDS: u32 = 12;
    const SECONDS: u32 = 50;

    /// A system whose events per second are a function of wall time and of its own time, both in seconds. `is_first`:
    /// whether its turn comes first in even rounds.
    fn soaked(is_first: bool, rate: impl Fn(f64, f64) -> f64) -> Soak {
        let turn = |round: u32| {
            let is_first = is_first == round.is_multiple_of(2);
            let began = SECONDS * (2 * round + u32::from(!is_first));
            let second = |at: u32| {
                let (wall, own) = (f64::from(began + at), f64::from(SECONDS * round + at));
                // Small, deterministic noise.
                let noise = 1.0 + 0.004 * f64::from((7 * (began + at)) % 11) / 10.0;
                (rate(wall, own) * noise) as u64
            };
            let seconds: Vec<u64> = (0..SECONDS).map(second).collect();
            let events = seconds.iter().sum::<u64>();
            SoakTurn {
                round,
                instance: 0,
                started_ms: 0,
                elapsed_ms: 1000 * u64::from(SECONDS),
                events,
                ops: 2.0 * events as f64,
                seconds,
            }
        };
        Soak { rounds: ROUNDS, turns: (0..ROUNDS).map(turn).collect() }
    }

    fn judged(base: &Soak, other: &Soak) -> SoakJudgement {
        judge(other, Some(base)).unwrap()
    }

    fn is_near(estimate: Estimate, value: f64) -> bool {
        (estimate.value / value - 1.0).abs() < 0.01 && estimate.low < value && value < estimate.high
    }

    #[test]
    fn a_decay_that_short_turns_do_not_see_is_found() {
        let base = soaked(true, |_, _| 10_000.0);
        let other = soaked(false, |_, own| if own < 350.0 { 9_000.0 } else { 3_000.0 });
        let found = judged(&base, &other);
        assert!((found.ratio.unwrap().value / 0.3 - 1.0).abs() < 0.01, "{found:?}");
        let decay = found.decay_ratio.unwrap();
        assert!((0.32..0.35).contains(&decay.value) && decay.high < 0.35, "{decay:?}");
        assert!((found.qps.value / 6000.0 - 1.0).abs() < 0.01, "{:?}", found.qps);
        let short = Estimate { value: 0.9, low: 0.89, high: 0.91 };
        assert_eq!(agree(found.ratio.unwrap(), short, 0.02), Some(false));
        assert_eq!(found.stalls, Some(SoakStalls { seconds: 0, longest_s: 0 }));
    }

    #[test]
    fn a_drift_of_the_machine_is_no_decay_of_a_system() {
        // The machine loses a tenth while both have their turns.
        let drift = |wall: f64| 1.0 - 0.1 * wall / f64::from(2 * ROUNDS * SECONDS);
        let base = soaked(true, |wall, _| 10_000.0 * drift(wall));
        let other = soaked(false, |wall, _| 9_000.0 * drift(wall));
        let found = judged(&base, &other);
        assert!(is_near(found.ratio.unwrap(), 0.9), "{found:?}");
        assert!(is_near(found.decay_ratio.unwrap(), 1.0), "{found:?}");
        // A system alone does not separate machine effects from its own.
        assert!(found.decay.unwrap().high < 0.96, "{found:?}");
        let short = Estimate { value: 0.91, low: 0.90, high: 0.92 };
        assert_eq!(agree(found.ratio.unwrap(), short, 0.02), Some(true));
    }

    #[test]
    fn stalls_are_counted_and_leave_the_steady_rate_as_it_is() {
        let base = soaked(true, |_, _| 10_000.0);
        let is_stalled = |own: f64| (101.0..108.0).contains(&own) || own == 500.0;
        let other = soaked(false, |_, own| if is_stalled(own) { 900.0 } else { 10_000.0 });
        let found = judged(&base, &other);
        assert_eq!(found.stalls, Some(SoakStalls { seconds: 8, longest_s: 7 }));
        assert!((found.ratio.unwrap().value - 1.0).abs() < 0.01, "{found:?}");
        let slow = soaked(false, |_, own| if own % 10.0 == 0.0 { 3.0 } else { 0.0 });
        let found = judged(&base, &slow);
        assert_eq!(found.stalls, None, "seconds without an event are usual");
        assert!((found.qps.value / 0.6 - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn a_single_turn_has_no_interval_and_no_decay() {
        let mut both = [soaked(true, |_, _| 1000.0), soaked(false, |_, _| 500.0)];
        both.iter_mut().for_each(|it| it.turns.truncate(1));
        let [base, other] = both;
        let found = judged(&base, &other);
        let ratio = found.ratio.unwrap();
        assert!(!ratio.has_interval() && (ratio.value - 0.5).abs() < 0.01, "{ratio:?}");
        assert_eq!((found.decay, found.decay_ratio), (None, None));
        assert_eq!(found.rounds, [1, ROUNDS]);
        assert_eq!(agree(ratio, Estimate { value: 0.9, low: 0.89, high: 0.91 }, 0.02), None);
        assert!(judge(&Soak::default(), None).is_none());
    }

    /// Student's t of two values is 12.7.
    #[test]
    fn four_turns_have_no_interval() {
        let mut both = [soaked(true, |_, _| 1000.0), soaked(false, |_, own| 400.0 + own)];
        both.iter_mut().for_each(|it| it.turns.truncate(4));
        let [base, other] = both;
        let found = judged(&base, &other);
        let all = [found.ratio, found.decay, found.decay_ratio, Some(found.qps)];
        assert!(all.iter().all(|it| it.is_some_and(|it| !it.has_interval())), "{found:?}");
    }

    #[test]
    fn rounds_are_few_only_where_turns_would_be_short() {
        assert_eq!([4.0, 23.0, 24.0, 600.0].map(soak_rounds), [4, 4, 12, 12]);
        assert_eq!([1, 2, 3, 4, 7, 9, 12].map(part_of), [1, 1, 1, 2, 2, 3, 4]);
    }
}
