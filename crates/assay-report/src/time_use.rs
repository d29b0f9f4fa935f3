//! How a study used its time. Pure.

use assay_model::{Experiment, SliceOutcome, StudyRecord};

use crate::number::{duration, share};

/// Seconds of a study, without pauses between its runs. They are times that passed, so they have no uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeUse {
    /// In the measured parts of turns.
    pub(crate) measured_s: f64,
    /// In the warm parts of turns.
    pub(crate) warming_s: f64,
    /// From the start of the servers of a block to their first slice: copying data, filling caches, connecting, and
    /// finding the length of turns.
    pub(crate) starting_s: f64,
    /// Until the first servers start: loading and aging the data of servers that were already running.
    pub(crate) preparing_s: f64,
    /// The rest: counters, stopping and continuing servers, the ledger, and work after the study.
    pub(crate) other_s: f64,
    all_s: f64,
}

/// A moment of a run, in the order of those at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RunMoment {
    Run,
    Server,
    Slice,
}

impl TimeUse {
    /// `None` if systems take no turns, or if nothing was measured here.
    pub(crate) fn new(record: &StudyRecord) -> Option<Self> {
        let has_turns = record.study.experiment == Experiment::Interleaved;
        if !has_turns || record.is_reported() || record.slices.is_empty() {
            return None;
        }
        let is_whole =
            |outcome: &SliceOutcome| matches!(outcome, SliceOutcome::Good | SliceOutcome::Troubled);
        let seconds = |ns: u64| ns as f64 / 1e9;
        let slices = || record.slices.iter().filter(|slice| is_whole(&slice.outcome));
        let measured_s: f64 = slices().map(|slice| seconds(slice.work.elapsed_ns)).sum();
        let turns = slices().flat_map(|slice| &slice.turns);
        let warming_s: f64 = turns.map(|turn| seconds(turn.warm_ns)).sum();
        let (preparing_s, starting_s) = waits_s(moments(record));
        let all_s = record.elapsed_s();
        let other_s = (all_s - measured_s - warming_s - starting_s - preparing_s).max(0.0);
        Some(Self { measured_s, warming_s, starting_s, preparing_s, other_s, all_s })
    }

    /// `measuring 3 min 3 s (61%), warming 1 min 13 s, starting servers 20 s, other work 24 s`.
    pub(crate) fn in_words(&self) -> String {
        let part = if self.all_s > 0.0 { self.measured_s / self.all_s } else { 0.0 };
        let parts = [
            ("preparing data", self.preparing_s),
            ("starting servers", self.starting_s),
            ("warming", self.warming_s),
            ("other work", self.other_s),
        ];
        let parts = parts.iter().filter(|(_, seconds)| *seconds >= 0.5);
        let parts = parts.map(|(what, seconds)| format!(", {what} {}", duration(*seconds)));
        let measured = format!("measuring {} ({})", duration(self.measured_s), share(part));
        parts.fold(measured, |text, part| text + &part)
    }
}

/// Begins of runs, of starts of servers and of slices, with the number of their run and in milliseconds.
fn moments(record: &StudyRecord) -> Vec<(usize, i64, RunMoment)> {
    let runs = record.runs.iter().enumerate();
    let runs = runs.map(|(number, run)| (number, run.started_ms, RunMoment::Run));
    let servers = record.instances.iter().map(|instance| {
        let took_ms = i64::try_from(instance.start_took_ms).unwrap_or(i64::MAX);
        (instance.run, instance.started_ms.saturating_sub(took_ms), RunMoment::Server)
    });
    let slices = record.slices.iter();
    let slices = slices.map(|slice| (slice.run, slice.started_ms, RunMoment::Slice));
    runs.chain(servers).chain(slices).collect()
}

/// Seconds from the beginning of runs to their first server, and from the first server of a block to its first slice.
fn waits_s(mut moments: Vec<(usize, i64, RunMoment)>) -> (f64, f64) {
    moments.sort_unstable();
    let (mut preparing_s, mut starting_s) = (0.0, 0.0);
    let mut since: Option<(i64, RunMoment)> = None;
    for (_, at_ms, moment) in moments {
        let passed_s = |began_ms: i64| at_ms.saturating_sub(began_ms) as f64 / 1e3;
        since = match (since, moment) {
            (Some((began_ms, RunMoment::Run)), RunMoment::Server) => {
                preparing_s += passed_s(began_ms);
                Some((at_ms, moment))
            }
            (Some((began_ms, RunMoment::Server)), RunMoment::Slice) => {
                starting_s += passed_s(began_ms);
                None
            }
            // The second server of a block.
            (Some((_, RunMoment::Server)), RunMoment::Server) => since,
            (_, RunMoment::Slice) => None,
            (_, RunMoment::Run | RunMoment::Server) => Some((at_ms, moment)),
        };
    }
    (preparing_s, starting_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_start_until_the_first_slice_of_their_block() {
        let at = |run: usize, moment, times_ms: &[i64]| {
            times_ms.iter().map(|at_ms| (run, *at_ms, moment)).collect::<Vec<_>>()
        };
        let all = [
            at(0, RunMoment::Run, &[1000]),
            at(0, RunMoment::Server, &[3000, 3500, 20_000, 20_000]),
            at(0, RunMoment::Slice, &[5000, 6000, 7000, 20_500, 21_000]),
            // A resumed run, whose servers have no slice.
            at(1, RunMoment::Run, &[90_000]),
            at(1, RunMoment::Server, &[90_500]),
        ];
        assert_eq!(waits_s(all.concat()), (2.5, 2.5));
        assert_eq!(waits_s(Vec::new()), (0.0, 0.0));
    }

    #[test]
    fn the_words_give_the_share_of_the_measured_parts() {
        let time = TimeUse {
            measured_s: 195.0,
            warming_s: 73.0,
            starting_s: 20.0,
            preparing_s: 0.0,
            other_s: 12.0,
            all_s: 300.0,
        };
        assert_eq!(
            time.in_words(),
            "measuring 3 min 15 s (65%), starting servers 20 s, warming 1 min 13 s, other work 12 s"
        );
    }
}
