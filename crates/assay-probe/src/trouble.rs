//! Decides whether the machine disturbed a slice. Pure: counters in, judgement out.

use assay_model::{Counters, Trouble};

/// Share of the elapsed time from which CPU time taken by the hypervisor is trouble.
pub(crate) const STEAL_SHARE: f64 = 0.02;

/// Unit in which the kernel reports stolen time. One unit may have been taken before the slice began, so only more than
/// one counts.
pub(crate) const STEAL_TICK_NS: u64 = 10_000_000;

/// Share of one CPU from which CPU time of other processes is trouble.
pub(crate) const OTHER_PROCESS_SHARE: f64 = 0.2;

/// Kernel ticks per counter by which the CPU time of others may be wrong: one at either end.
pub(crate) const OTHER_PROCESS_TICKS: u64 = 2;

/// Standard deviations of the sampling error that the CPU time of others must also exceed, where the machine's CPU time
/// is only sampled.
pub(crate) const SAMPLING_SIGMAS: f64 = 3.0;

/// Deviation of the clocks from which a slice is troubled: far above the effects of slewing and of preemption between
/// two clock readings, far below any suspension.
pub(crate) const CLOCK_JUMP_NS: u64 = 50_000_000;

/// How long threads of real-time priority had to wait for others, nanoseconds. Counted only if clients and server have
/// that priority.
pub(crate) const THROTTLED: &str = "host_throttled_ns";

/// How the kernel counts the CPU time of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// The scheduler's sum, updated at least every tick.
    Exact { tick_ns: u64 },
    /// Every tick goes whole to whatever runs at that moment.
    Sampled { tick_ns: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceInterval {
    /// By the monotonic clock, nanoseconds.
    pub elapsed_ns: u64,
    /// Deviation of the wall clock, or of the clock that includes suspension, from the monotonic clock.
    pub clock_jump_ns: u64,
    pub cpus: u32,
    pub accounting: Accounting,
}

impl SliceInterval {
    /// Possible error of a sum over the machine, given the CPU time used, nanoseconds.
    fn uncertainty_ns(&self, busy_ns: u64) -> f64 {
        match self.accounting {
            Accounting::Exact { tick_ns } => (OTHER_PROCESS_TICKS * tick_ns) as f64,
            Accounting::Sampled { tick_ns } => {
                let tick = tick_ns as f64;
                let samples = self.elapsed_ns as f64 * f64::from(self.cpus) / tick;
                let busy = (busy_ns as f64 / tick / samples.max(1.0)).min(1.0);
                let sigma = tick * (samples * busy * (1.0 - busy)).sqrt();
                let rounding = (OTHER_PROCESS_TICKS * tick_ns.max(STEAL_TICK_NS)) as f64;
                rounding + SAMPLING_SIGMAS * sigma
            }
        }
    }
}

/// Empty if the machine did not disturb the slice.
pub(crate) fn trouble(counters: &Counters, interval: &SliceInterval) -> Vec<Trouble> {
    let elapsed = interval.elapsed_ns as f64;
    let [steal_ns, other_ns, busy_ns] = ["host_steal_ns", "host_other_ns", "host_busy_ns"]
        .map(|name| counters.get(name).unwrap_or(0));
    let steal = steal_ns > STEAL_TICK_NS && steal_ns as f64 > STEAL_SHARE * elapsed;
    let other = other_ns as f64;
    let throttled_ns = counters.get(THROTTLED);
    // Threads of real-time priority run before other processes, which have the rest of the machine.
    let other_process = throttled_ns.is_none()
        && other > OTHER_PROCESS_SHARE * elapsed
        && other > interval.uncertainty_ns(busy_ns);
    let clock_jump = interval.clock_jump_ns > CLOCK_JUMP_NS;
    [
        (steal, Trouble::Steal),
        (other_process, Trouble::OtherProcess),
        (clock_jump, Trouble::ClockJump),
        (throttled_ns.is_some_and(|ns| ns > 0), Trouble::Throttled),
    ]
    .into_iter()
    .filter_map(|(is_so, trouble)| is_so.then_some(trouble))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn interval(elapsed_ms: u64, accounting: Accounting) -> SliceInterval {
        SliceInterval { elapsed_ns: elapsed_ms * MS, clock_jump_ns: 0, cpus: 2, accounting }
    }

    const EXACT: Accounting = Accounting::Exact { tick_ns: 4 * MS };
    const SAMPLED: Accounting = Accounting::Sampled { tick_ns: 4 * MS };

    fn host(busy_ms: u64, other_ms: u64, steal_ms: u64) -> Counters {
        let ms = [("busy", busy_ms), ("other", other_ms), ("steal", steal_ms)];
        ms.iter().map(|(name, ms)| (format!("host_{name}_ns"), ms * MS)).collect()
    }

    #[test]
    fn a_quiet_machine_has_no_trouble() {
        for accounting in [EXACT, SAMPLED] {
            assert_eq!(trouble(&host(50, 1, 0), &interval(50, accounting)), []);
            assert_eq!(trouble(&Counters::default(), &interval(0, accounting)), []);
        }
    }

    #[test]
    fn one_tick_of_steal_is_within_the_resolution() {
        assert_eq!(trouble(&host(50, 0, 10), &interval(50, EXACT)), []);
        assert_eq!(trouble(&host(50, 0, 20), &interval(50, EXACT)), [Trouble::Steal]);
        assert_eq!(trouble(&host(2000, 0, 20), &interval(2000, EXACT)), []);
    }

    #[test]
    fn other_processes_count_from_a_fifth_of_a_cpu() {
        assert_eq!(trouble(&host(70, 9, 0), &interval(50, EXACT)), []);
        assert_eq!(trouble(&host(70, 11, 0), &interval(50, EXACT)), [Trouble::OtherProcess]);
        assert_eq!(trouble(&host(1200, 199, 0), &interval(1000, SAMPLED)), []);
        assert_eq!(trouble(&host(1900, 900, 0), &interval(1000, SAMPLED)), [Trouble::OtherProcess]);
    }

    #[test]
    fn at_real_time_priority_only_waiting_is_trouble() {
        let realtime = |throttled_ns: u64| {
            let mut counters = host(1900, 900, 0);
            counters.set(THROTTLED, Some(throttled_ns));
            trouble(&counters, &interval(1000, EXACT))
        };
        assert_eq!(realtime(0), []);
        assert_eq!(realtime(50 * MS), [Trouble::Throttled]);
        assert_eq!(trouble(&host(1900, 900, 0), &interval(1000, EXACT)), [Trouble::OtherProcess]);
    }

    #[test]
    fn sampling_error_is_not_taken_for_another_process() {
        assert_eq!(trouble(&host(70, 20, 0), &interval(50, SAMPLED)), []);
    }

    #[test]
    fn a_suspended_machine_is_noticed() {
        let jumped = SliceInterval { clock_jump_ns: 60 * MS, ..interval(50, EXACT) };
        assert_eq!(trouble(&host(50, 0, 0), &jumped), [Trouble::ClockJump]);
    }
}
