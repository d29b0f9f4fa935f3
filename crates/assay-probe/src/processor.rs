//! Instructions and cycles counted by the processor.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter, ReadFormat};
use rustix::io::Errno;
use rustix::thread::gettid;

pub struct ProcessorCounters {
    /// By thread: instructions and cycles.
    counters: Vec<[Counter; 2]>,
}

impl ProcessorCounters {
    /// Without those in the kernel, if `shows_kernel` is false. `None` if the kernel does not permit it, or the
    /// processor, often a virtual one, does not count.
    pub fn open(threads: &[i32], shows_kernel: bool) -> Option<Self> {
        Self::open_events(threads, shows_kernel, [Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES])
    }

    fn open_events<E: Event + Copy>(
        threads: &[i32],
        shows_kernel: bool,
        [first, second]: [E; 2],
    ) -> Option<Self> {
        let open = |thread: i32, event: E| -> io::Result<Counter> {
            let counter = opened(thread, event, |builder| {
                builder.exclude_kernel(!shows_kernel);
            })?;
            counter.ok_or_else(|| Errno::SRCH.into())
        };
        let both = |thread: &i32| Ok([open(*thread, first)?, open(*thread, second)?]);
        match threads.iter().map(both).collect::<io::Result<Vec<_>>>() {
            Ok(counters) if !counters.is_empty() => Some(Self { counters }),
            Ok(_) => None,
            Err(error) => {
                log::debug!("instructions and cycles are not counted: {error}");
                None
            }
        }
    }

    pub fn read(&mut self) -> io::Result<[u64; 2]> {
        let mut sums = [0; 2];
        for counters in &mut self.counters {
            for (sum, counter) in sums.iter_mut().zip(counters) {
                *sum += whole(counter)?;
            }
        }
        Ok(sums)
    }
}

pub struct InstructionCounter {
    counters: Vec<Counter>,
    before: u64,
}

impl InstructionCounter {
    /// Counts the instructions of these threads outside the kernel. Fails if the kernel does not permit it, or the
    /// processor does not count.
    pub fn user(threads: &[i32]) -> io::Result<Self> {
        Self::open(threads, Hardware::INSTRUCTIONS, false)
    }

    /// Counts the instructions of these threads in the kernel. Fewer users may do this.
    pub fn kernel(threads: &[i32]) -> io::Result<Self> {
        Self::open(threads, Hardware::INSTRUCTIONS, true)
    }

    fn open<E: Event + Copy>(threads: &[i32], event: E, in_kernel: bool) -> io::Result<Self> {
        let exclude = |builder: &mut Builder| {
            builder.exclude_kernel(!in_kernel).exclude_user(in_kernel);
        };
        let counters =
            threads.iter().filter_map(|thread| opened(*thread, event, exclude).transpose());
        Ok(Self { counters: counters.collect::<io::Result<_>>()?, before: 0 })
    }

    /// The instructions since the last call. Fails if a counter did not count all the time.
    pub fn take(&mut self) -> io::Result<u64> {
        let counters = self.counters.iter_mut();
        let sum = counters.map(exact).sum::<io::Result<u64>>()?;
        Ok(sum.saturating_sub(std::mem::replace(&mut self.before, sum)))
    }
}

/// Whether the processor counts instructions of this user's threads. A virtual one often does not, and one with two
/// kinds of cores counts those of one kind. Tested once per process.
pub fn counts_instructions() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| {
        let counted = || -> io::Result<u64> {
            let mut counter = InstructionCounter::user(&[gettid().as_raw_nonzero().get()])?;
            black_box((0..10_000_u64).fold(0_u64, |sum, n| sum.wrapping_mul(31) ^ black_box(n)));
            counter.take()
        };
        let has_one_kind = !Path::new("/sys/devices/cpu_atom").exists();
        has_one_kind && counted().is_ok_and(|instructions| instructions > 10_000)
    })
}

/// `None` if the thread has ended meanwhile.
pub(crate) fn opened<E: Event>(
    thread: i32,
    event: E,
    set: impl Fn(&mut Builder),
) -> io::Result<Option<Counter>> {
    let mut builder = Builder::new(event);
    builder.observe_pid(thread).any_cpu().exclude_hv(true);
    builder.read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING);
    set(&mut builder);
    let mut counter = match builder.build() {
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => return Ok(None),
        counter => counter?,
    };
    counter.enable()?;
    Ok(Some(counter))
}

/// Fails unless the counter counted all the time.
fn exact(counter: &mut Counter) -> io::Result<u64> {
    let data = counter.read_full()?;
    let [enabled, running] = [data.time_enabled(), data.time_running()];
    if enabled == running { Ok(data.count()) } else { Err(io::Error::other(SHARED)) }
}

/// Why such a counter is rejected: its value would be an estimate.
const SHARED: &str = "the processor counted instructions for a part of the time only: it has too few counters, or \
    cores that do not count";

/// The value extrapolated to the whole time.
fn whole(counter: &mut Counter) -> io::Result<u64> {
    let data = counter.read_full()?;
    let [enabled, running] = [data.time_enabled(), data.time_running()]
        .map(|time| time.unwrap_or_default().as_secs_f64());
    // A processor with too few counters multiplexes them.
    let whole = if running > 0.0 { enabled / running } else { 1.0 };
    Ok((data.count() as f64 * whole) as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use perf_event::events::Software;
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    /// Uses CPU time, not elapsed time.
    fn burn(time: Duration) {
        let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let began = used();
        while used() - began < time {
            black_box((0..1000_u64).fold(0_u64, |sum, n| sum.wrapping_mul(31) ^ n));
        }
    }

    #[test]
    fn what_a_thread_does_is_counted() {
        let thread = gettid().as_raw_nonzero().get();
        let events = [Software::TASK_CLOCK, Software::CPU_CLOCK];
        let Some(mut counters) = ProcessorCounters::open_events(&[thread], false, events) else {
            eprintln!("not tested: performance events are not permitted");
            return;
        };
        let [before, _] = counters.read().unwrap();
        let time = Duration::from_millis(50);
        burn(time);
        let [after, _] = counters.read().unwrap();
        let used = Duration::from_nanos(after - before);
        assert!(used > time / 2 && used < 4 * time, "{used:?}");
    }

    #[test]
    fn each_look_at_a_counter_has_what_is_new() {
        let thread = gettid().as_raw_nonzero().get();
        let Ok(mut counter) = InstructionCounter::open(&[thread], Software::TASK_CLOCK, false)
        else {
            eprintln!("not tested: performance events are not permitted");
            return;
        };
        let time = Duration::from_millis(50);
        for _ in 0..2 {
            burn(time);
            let used = Duration::from_nanos(counter.take().unwrap());
            assert!(used > time / 2 && used < 4 * time, "{used:?}");
        }
    }

    #[test]
    fn a_processor_that_counts_executes_more_than_it_does_nothing() {
        let thread = gettid().as_raw_nonzero().get();
        let Some(mut counters) = ProcessorCounters::open(&[thread], false) else {
            eprintln!("not tested: this processor does not count instructions");
            return;
        };
        let before = counters.read().unwrap();
        burn(Duration::from_millis(20));
        let after = counters.read().unwrap();
        let [instructions, cycles] = [0, 1].map(|i| (after[i] - before[i]) as f64);
        let per_cycle = instructions / cycles;
        assert!(instructions > 1e5 && per_cycle > 0.1 && per_cycle < 10.0, "{per_cycle}");
    }
}
