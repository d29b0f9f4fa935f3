//! Sizes of write slices in events, limits on rounds of tests that use up their rows, and lengths of turns. They are
//! equal for all systems, so that the systems share one history.
//!
//! The length of a cell's turns and of their warm part comes from traces of a few turns. The first events of a turn are
//! slow: while another system had the CPU, the caches lost what this one needs. The warm part depends on the test, from
//! a fraction of a millisecond for a single row to several for a range of scattered rows.

use assay_model::{Class, PlannedCell, Setup, Study};
use assay_plan::ROUNDS_MIN;

/// Largest share of rows that `delete` slices of a block may remove. Beyond it, too many deletes would find nothing.
const DELETED_SHARE: f64 = 0.3;

const EVENTS_MIN: f64 = 10.0;

/// Factor that limits a cell's rounds when machine trouble spoils some.
const REPEATS: u32 = 2;

pub(crate) fn is_unsized(cell: &PlannedCell) -> bool {
    cell.id.test.class == Class::Write && cell.events.is_none()
}

/// Whether the turn length is undecided. A test that uses up its rows has none to spare for finding it.
pub(crate) fn is_untimed(cell: &PlannedCell) -> bool {
    cell.warm_us.is_none() && cell.turns() > 1 && !cell.id.test.planning.uses_up_rows
}

/// Events of a write slice of the planned duration at `rate` events per second: fewer if the test would use up too many
/// rows, and at least a minimum per client.
pub(crate) fn write_events(study: &Study, cell: &PlannedCell, rate: f64) -> u64 {
    let mut events = rate * f64::from(cell.slice_ms) / 1000.0;
    if cell.id.test.planning.uses_up_rows {
        let rounds = f64::from(ROUNDS_MIN);
        events = events.min(deletable(study, cell.id.setup) / (rounds * with_warm(cell)));
    }
    events.max(least(cell) * f64::from(cell.id.setup.clients)).ceil() as u64
}

/// Fewest events per client, fewer where an event takes long.
fn least(cell: &PlannedCell) -> f64 {
    if cell.id.test.planning.is_long { 1.0 } else { EVENTS_MIN }
}

pub fn mean_rate(rates: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = rates.filter(|rate| *rate > 0.0).map(f64::ln).collect();
    if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
}

/// Length of a slice with its warm parts, in slices.
fn with_warm(cell: &PlannedCell) -> f64 {
    let measured_us = f64::from(cell.slice_ms) * 1000.0 / f64::from(cell.turns());
    1.0 + cell.warm_time_us() as f64 / measured_us.max(1.0)
}

fn deletable(study: &Study, setup: Setup) -> f64 {
    let uses_them = |cell: &&PlannedCell| {
        cell.id.test.planning.uses_up_rows && cell.id.setup.data() == setup.data()
    };
    let cells = study.cells.iter().filter(uses_them).count();
    let rows = f64::from(setup.tables) * f64::from(setup.rows);
    rows * DELETED_SHARE / cells.max(1) as f64
}

/// Wanted good rounds and maximum rounds of a cell in a block with time for `affordable` rounds. A test that uses up
/// its rows takes few.
pub(crate) fn rounds_for(study: &Study, cell: &PlannedCell, affordable: u32) -> (u32, u32) {
    let most = match (cell.id.test.planning.uses_up_rows, cell.events) {
        (true, Some(events)) => {
            let once = events as f64 * with_warm(cell);
            (deletable(study, cell.id.setup) / once) as u32 / ROUNDS_MIN * ROUNDS_MIN
        }
        _ => u32::MAX,
    };
    let wanted = affordable.min(most).max(ROUNDS_MIN);
    (wanted, wanted.saturating_mul(REPEATS).min(most).max(ROUNDS_MIN))
}

/// End times of the events of a system's turn, microseconds from its start, ascending.
pub type TurnTrace = Vec<u32>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLength {
    pub turn_ms: u32,
    pub warm_us: u32,
}

/// Candidate lengths of the warm part, microseconds; the first after which events are no longer slow is chosen. After
/// the last, they were slower by 3% at most in every examined test.
const WARM_US: [u32; 5] = [500, 1000, 2000, 3000, 4000];

/// Events slower by less than this share count as settled.
const SLOW: f64 = 0.02;

/// Standard errors by which events must be slower.
const ERRORS: f64 = 2.0;

/// Chooses the length of a cell's turns: as planned, or the duration of an event if that is longer. Longer turns would
/// spend a smaller share of time on warm parts, but noise grows faster with the length of a turn than that saves. A
/// slice has at least two turns, so that the order of systems can be reversed.
pub fn turn_length(planned_ms: u32, slice_ms: u32, systems: &[Vec<TurnTrace>]) -> TurnLength {
    let settled: Vec<Vec<SettledTurn>> = systems
        .iter()
        .map(|turns| turns.iter().filter_map(|ends| SettledTurn::new(ends)).collect())
        .collect();
    // One system alone shows its peculiarities; all together show effects too small to be seen in one.
    let is_slow = |from, to| {
        settled.iter().any(|turns| is_slow_within(turns.iter(), from, to))
            || is_slow_within(settled.iter().flatten(), from, to)
    };
    let slow = WARM_US.windows(2).take_while(|window| is_slow(window[0], window[1]));
    let warm_us = slow.map(|window| window[1]).last().unwrap_or(WARM_US[0]);
    let event_us =
        (settled.iter()).filter_map(|turns| median(turns.iter().map(|turn| turn.event_us)));
    let event_us = event_us.fold(0.0, f64::max) as u32;
    let wanted_ms = event_us.div_ceil(1000);
    let longest_ms = (slice_ms / 2).max(planned_ms);
    TurnLength { turn_ms: wanted_ms.clamp(planned_ms, longest_ms), warm_us }
}

/// Factor by which slices may exceed the planned time where single events take much longer than others.
const LONGER: f64 = 3.0;

/// Events per second in traces: the geometric mean of the systems, of usual events; `None` if none took time. On a busy
/// machine, every turn loses its CPU once for as long as dozens of events take; sized by total time, a slice would have
/// a few events, and one loss would determine its rate.
pub(crate) fn event_rate(systems: &[Vec<TurnTrace>]) -> Option<f64> {
    let of_turn = |ends: &TurnTrace| {
        let us = ends.last().filter(|us| **us > 0)?;
        let whole = 1e6 * ends.len() as f64 / f64::from(*us);
        let begins = std::iter::once(&0).chain(ends);
        let events = begins.zip(ends).map(|(begin, end)| f64::from(end.saturating_sub(*begin)));
        let usual = 1e6 / median(events)?.max(1.0);
        Some(usual.clamp(whole, LONGER * whole))
    };
    let of_system = |turns: &Vec<TurnTrace>| median(turns.iter().filter_map(of_turn));
    Some(mean_rate(systems.iter().filter_map(of_system))).filter(|rate| *rate > 0.0)
}

/// Events of a turn compared with those of its second half.
struct SettledTurn {
    event_us: f64,
    /// Start of each event, microseconds, and the log of its duration relative to the median of the second half.
    events: Vec<(u32, f64)>,
}

impl SettledTurn {
    fn new(ends: &[u32]) -> Option<Self> {
        let begins = std::iter::once(&0).chain(ends);
        let events: Vec<(u32, u32)> =
            begins.zip(ends).map(|(begin, end)| (*begin, end.saturating_sub(*begin))).collect();
        let half = ends.last()? / 2;
        let late = events.iter().filter(|(begin, us)| begin.saturating_add(*us) > half);
        let event_us = median(late.map(|(_, us)| f64::from(*us)))?;
        if event_us <= 0.0 {
            return None;
        }
        let relative = |(begin, us): (u32, u32)| (begin, (f64::from(us.max(1)) / event_us).ln());
        Some(Self { event_us, events: events.into_iter().map(relative).collect() })
    }
}

fn is_slow_within<'a>(
    turns: impl Iterator<Item = &'a SettledTurn>,
    from_us: u32,
    to_us: u32,
) -> bool {
    // Medians: a turn interrupted by another process says nothing about caches.
    let of_turn = |turn: &SettledTurn| {
        let within = turn.events.iter().filter(|(begin, _)| (from_us..to_us).contains(begin));
        median(within.map(|(_, relative)| *relative))
    };
    let slower: Vec<f64> = turns.filter_map(of_turn).collect();
    let count = slower.len() as f64;
    let Some(middle) = median(slower.iter().copied()).filter(|_| count >= 3.0) else {
        return false;
    };
    // 1.4826 converts the median absolute deviation of a normal distribution to its standard deviation, and 1.2533 the
    // standard error of a mean to that of a median.
    let spread = median(slower.iter().map(|share| (share - middle).abs())).unwrap_or(0.0);
    let error = 1.2533 * 1.4826 * spread / count.sqrt();
    middle > SLOW.max(ERRORS * error)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(systems: &[Vec<TurnTrace>]) -> TurnLength {
        turn_length(5, 200, systems)
    }

    /// Eight turns of 20 ms with events of `event_us`, initially slower by a share that decays to 1/e per `decay_us`.
    /// In every third turn, the CPU is lost for 3 ms once.
    fn turns(event_us: f64, slower: f64, decay_us: f64) -> Vec<TurnTrace> {
        let turn = |number: u32| {
            let (mut now, mut ends) = (0.0_f64, Vec::new());
            let jitter = |event: usize| 1.0 + 0.04 * ((event * 7 + number as usize * 3) % 5) as f64;
            let mut is_lost = number.is_multiple_of(3);
            while now < 20_000.0 {
                let slowness = 1.0 + slower * (-now / decay_us).exp();
                now += event_us * jitter(ends.len()) * slowness;
                if is_lost && now > 1500.0 {
                    now += 3000.0;
                    is_lost = false;
                }
                ends.push(now as u32);
            }
            ends
        };
        (0..8).map(turn).collect()
    }

    #[test]
    fn short_events_that_settle_at_once_keep_the_planned_turn() {
        let length = chosen(&[turns(30.0, 4.0, 100.0), turns(28.0, 4.0, 100.0)]);
        assert_eq!(length, TurnLength { turn_ms: 5, warm_us: 500 });
    }

    #[test]
    fn the_system_that_settles_last_decides() {
        let [quick, slow] = [turns(250.0, 0.3, 300.0), turns(250.0, 0.4, 1200.0)];
        let length = chosen(&[quick.clone(), slow.clone()]);
        assert!((3000..=4000).contains(&length.warm_us), "{length:?}");
        assert_eq!(length.turn_ms, 5);
        assert_eq!(chosen(&[slow, quick]), length);
    }

    #[test]
    fn turns_hold_a_long_event_but_no_more_than_half_a_slice() {
        let length = chosen(&[turns(9000.0, 0.0, 1.0), turns(12_000.0, 0.0, 1.0)]);
        assert!((12..=14).contains(&length.turn_ms), "{length:?}");
        assert_eq!(length.warm_us, 500);
        let longest = chosen(&[turns(190_000.0, 0.0, 1.0)]);
        assert_eq!(longest.turn_ms, 100);
    }

    #[test]
    fn one_long_event_in_each_turn_does_not_make_slices_short() {
        // 20 events of 100 µs, one of which takes 3 ms or 20 ms.
        let rate = |lost: u32| {
            let ends: Vec<u32> = (1..=20).map(|n| 100 * n + if n > 7 { lost } else { 0 }).collect();
            event_rate(&[vec![ends; 5]]).unwrap()
        };
        assert!((rate(3000) - 10_000.0).abs() < 1.0, "{}", rate(3000));
        assert!((rate(20_000) - 3.0 * 1e6 * 20.0 / 22_000.0).abs() < 1.0, "{}", rate(20_000));
    }

    #[test]
    fn traces_show_the_rate_of_events() {
        let traces = |us: u32| vec![vec![us, 2 * us, 3 * us]; 5];
        let rate = event_rate(&[traces(100), traces(400)]).unwrap();
        assert!((rate - 5000.0).abs() < 1.0, "{rate}");
        assert_eq!(event_rate(&[Vec::new(), vec![Vec::new(), vec![0]]]), None);
    }

    #[test]
    fn without_traces_the_plan_holds() {
        let length = chosen(&[Vec::new(), vec![Vec::new()]]);
        assert_eq!(length, TurnLength { turn_ms: 5, warm_us: 500 });
    }
}
