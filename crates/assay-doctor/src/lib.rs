//! The state of a machine and the noise of its speed, which decide how small a change it can show.

mod delays;
mod facts;
mod kernel_file;
mod pinned;
mod quota;
mod spectrum;
mod work;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::{Examination, Hint, LoadFacts, Noise};

pub use spectrum::noise;

use crate::facts::CpuTimes;
use crate::work::Work;

/// Steps before the first one that is recorded: caches fill, and the clock frequency rises.
const WARM_STEPS: usize = 500;

/// Why a machine cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A pair of sockets in this process failed.
    #[error("cannot send a message between two sockets")]
    Socket(#[source] io::Error),
    /// A thread could not be bound to a CPU.
    #[error("cannot pin a thread to CPU {cpu}")]
    Pin {
        /// The number of the CPU.
        cpu: usize,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The kernel does not say which CPUs this process may use.
    #[error("cannot ask the kernel for the CPUs that this process may use")]
    Cpus(#[source] io::Error),
    /// The directory for data does not take files.
    #[error("cannot write a file in `{}`", directory.display())]
    Flush {
        /// The directory.
        directory: PathBuf,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Flush { .. } => vec![
                "`--cache-dir` or `ASSAY_CACHE` selects another directory for the data of servers"
                    .to_owned(),
            ],
            _ => Vec::new(),
        }
    }
}

/// Examines this machine, and records the noise of its speed for this long. `data_dir` exists and will hold the data of
/// servers. The recording ends early once it `should_stop`. The busiest processes are left to the caller.
///
/// # Errors
/// The machine cannot be measured. Facts that it does not state are `None` instead.
pub fn examine(
    data_dir: &Path,
    record_for: Duration,
    should_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Examination, Error> {
    let began = Instant::now();
    let before = CpuTimes::now();
    let cpus = facts::allowed_cpus()?;
    let noise = record_noise(&cpus, record_for, should_stop)?;
    let delays = delays::measure(&cpus, data_dir)?;
    let seconds = began.elapsed().as_secs_f64();
    let used = before.zip(CpuTimes::now()).map(|(before, after)| after.since(before));
    let per_second = |of: fn(&CpuTimes) -> f64| used.as_ref().map(|used| of(used) / seconds);
    Ok(Examination {
        cpus: facts::cpus(&cpus),
        load: LoadFacts {
            seconds,
            steal_cpus: per_second(|used| used.steal_s),
            other_cpus: per_second(|used| (used.busy_s - used.own_s).max(0.0)),
            busiest: Vec::new(),
        },
        memory: facts::memory(),
        delays,
        noise,
    })
}

/// The noise of a fixed piece of work on the CPU that a client shares with its server.
fn record_noise(
    cpus: &[usize],
    record_for: Duration,
    should_stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Noise>, Error> {
    let Some(&cpu) = cpus.last() else { return Ok(None) };
    let series = pinned::on_cpu(cpu, || record(record_for, should_stop))?;
    Ok(noise(&series))
}

/// The durations of steps of equal work, one after the other, nanoseconds.
fn record(record_for: Duration, should_stop: &dyn Fn() -> bool) -> Result<Vec<u32>, Error> {
    let mut work = Work::new()?;
    for _ in 0..WARM_STEPS {
        work.step()?;
    }
    let began = Instant::now();
    let (mut series, mut last) = (Vec::new(), began);
    while last.duration_since(began) < record_for && !should_stop() {
        work.step()?;
        let now = Instant::now();
        series.push(u32::try_from(now.duration_since(last).as_nanos()).unwrap_or(u32::MAX));
        last = now;
    }
    Ok(series)
}
