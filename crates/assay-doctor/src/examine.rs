//! The whole examination: noise, delays and facts.

use std::path::Path;
use std::time::{Duration, Instant};

use assay_model::{Examination, LoadFacts, Noise, Priority};

use crate::facts::{self, CpuTimes};
use crate::realtime::{Heirs, PriorityLevel, Throttling, on_cpu, set_level};
use crate::spectrum::noise;
use crate::work::FixedWork;
use crate::{DoctorError, delays};

/// Steps before the first one that is recorded: caches fill, and the clock frequency rises.
const WARM_STEPS: usize = 500;

#[derive(Debug, Clone, Copy)]
pub struct Recording<'a> {
    /// The time for each of the priorities.
    pub time: Duration,
    /// Realtime must be permitted if it is among them.
    pub priorities: &'a [Priority],
}

/// Examines this machine, of which this process may use `cpus`, and records the noise of its speed. `data_dir` exists
/// and will hold the data of servers. The recording ends early once it `should_stop`. The caller has to find the
/// busiest processes.
pub fn examine(
    cpus: &[usize],
    data_dir: &Path,
    recording: Recording<'_>,
    should_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Examination, DoctorError> {
    let began = Instant::now();
    let before = CpuTimes::now();
    let recorded = |priority| {
        if !recording.priorities.contains(&priority) {
            return Ok(None);
        }
        record_noise(cpus, recording.time, priority, should_stop)
    };
    let noise = recorded(Priority::Normal)?;
    let noise_realtime = recorded(Priority::Realtime)?;
    let delays = delays::measure(cpus, data_dir)?;
    let seconds = began.elapsed().as_secs_f64();
    let used = before.zip(CpuTimes::now()).map(|(before, after)| after.since(before));
    let per_second = |time: fn(&CpuTimes) -> f64| used.as_ref().map(|used| time(used) / seconds);
    Ok(Examination {
        cpus: facts::cpus(cpus),
        load: LoadFacts {
            seconds,
            steal_cpus: per_second(|used| used.steal_s),
            other_cpus: per_second(|used| (used.busy_s - used.own_s).max(0.0)),
            busiest: Vec::new(),
        },
        memory: facts::memory(),
        delays,
        noise,
        noise_realtime,
    })
}

/// Runs a fixed piece of work on the CPU that a client shares with its server.
fn record_noise(
    cpus: &[usize],
    time: Duration,
    priority: Priority,
    should_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Noise>, DoctorError> {
    let Some(&cpu) = cpus.last() else { return Ok(None) };
    let series = on_cpu(cpu, || match priority {
        Priority::Normal => record(time, None, should_stop),
        Priority::Realtime => {
            set_level(0, PriorityLevel::Measured, Heirs::Normal).map_err(DoctorError::Realtime)?;
            record(time, Some(Throttling::here()), should_stop)
        }
    })?;
    Ok(noise(&series))
}

/// The durations of consecutive steps of equal work, nanoseconds. A thread that can be throttled rests in time.
fn record(
    time: Duration,
    throttling: Option<Throttling>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<u32>, DoctorError> {
    let mut work = FixedWork::new()?;
    for _ in 0..WARM_STEPS {
        work.step()?;
    }
    let began = Instant::now();
    let (mut series, mut last) = (Vec::new(), began);
    let mut rested = began;
    while last.duration_since(began) < time && !should_stop() {
        let is_due = |throttling: &Throttling| last.duration_since(rested) >= throttling.stretch();
        if let Some(throttling) = throttling.filter(is_due) {
            std::thread::sleep(throttling.rest());
            rested = Instant::now();
            last = rested;
        }
        work.step()?;
        let now = Instant::now();
        series.push(u32::try_from(now.duration_since(last).as_nanos()).unwrap_or(u32::MAX));
        last = now;
    }
    Ok(series)
}
