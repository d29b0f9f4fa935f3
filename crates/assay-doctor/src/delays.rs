//! Delays of reading the clock, sleeping, waking another thread, and flushing to the disk.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_model::{Delays, Quantiles};

use crate::realtime::{on_cpu, pin};
use crate::{DoctorError, kernel_file};

/// Number of clock readings per series, of series, of sleeps, and of round trips of a message.
const READINGS: u32 = 1000;
const SERIES: u32 = 100;
const SLEEPS: usize = 200;
const ROUND_TRIPS: usize = 2000;

const SLEEP: Duration = Duration::from_millis(1);

/// Maximum number of flushes, and the time after which no further one begins.
const FLUSHES: usize = 200;
const FLUSHING: Duration = Duration::from_millis(1500);

const RECORD: [u8; 512] = [0; 512];

/// Takes at most two seconds, unless a single flush takes longer.
pub(crate) fn measure(cpus: &[usize], data_dir: &Path) -> Result<Delays, DoctorError> {
    let (first, last) = (cpus.first().copied(), cpus.last().copied());
    let wake = |waits_on: Option<usize>| match (waits_on, last) {
        (Some(waits_on), Some(last)) => on_cpu(last, || wake_us(waits_on)),
        _ => Ok(None),
    };
    Ok(Delays {
        clock: kernel_file::line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        clock_read_ns: clock_read_ns(),
        sleep_late_us: sleep_late_us(),
        timer_slack_ns: kernel_file::number("/proc/self/timerslack_ns"),
        wake_one_cpu_us: wake(last)?,
        wake_two_cpus_us: if first == last { None } else { wake(first)? },
        flush_us: flush_us(data_dir)?,
    })
}

/// The median over series, some of which may be interrupted.
fn clock_read_ns() -> f64 {
    let series = |_| {
        let began = Instant::now();
        for _ in 0..READINGS {
            std::hint::black_box(Instant::now());
        }
        began.elapsed().as_nanos() as f64 / f64::from(READINGS)
    };
    quantiles((0..SERIES).map(series).collect()).unwrap_or_default().median
}

fn sleep_late_us() -> Option<Quantiles> {
    let late = || {
        let began = Instant::now();
        std::thread::sleep(SLEEP);
        microseconds(began.elapsed().saturating_sub(SLEEP))
    };
    quantiles((0..SLEEPS).map(|_| late()).collect())
}

/// Half of a message's round trip between this thread and one that waits on the given CPU.
fn wake_us(waits_on: usize) -> Result<Option<f64>, DoctorError> {
    let (mut here, mut there) = UnixStream::pair().map_err(DoctorError::Socket)?;
    std::thread::scope(|scope| {
        let echo = scope.spawn(move || {
            pin(waits_on)?;
            let mut byte = [0];
            // The other end closes after all round trips.
            while there.read(&mut byte).map_err(DoctorError::Socket)? == 1 {
                there.write_all(&byte).map_err(DoctorError::Socket)?;
            }
            Ok(())
        });
        let mut trips = Vec::with_capacity(ROUND_TRIPS);
        let mut byte = [0];
        let mut trip = || {
            let began = Instant::now();
            here.write_all(&byte).and_then(|()| here.read_exact(&mut byte))?;
            Ok::<_, std::io::Error>(microseconds(began.elapsed()) / 2.0)
        };
        let sent = (0..ROUND_TRIPS).try_for_each(|_| {
            trips.push(trip()?);
            Ok(())
        });
        drop(here);
        let echoed = echo.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        echoed.and(sent.map_err(DoctorError::Socket))?;
        Ok(quantiles(trips).map(|trips| trips.median))
    })
}

fn flush_us(data_dir: &Path) -> Result<Option<Quantiles>, DoctorError> {
    let cannot = |source| DoctorError::Flush { directory: data_dir.to_owned(), source };
    // It has no name, so it is gone however assay ends.
    let mut file = tempfile::tempfile_in(data_dir).map_err(cannot)?;
    let (began, mut flushes) = (Instant::now(), Vec::with_capacity(FLUSHES));
    while flushes.len() < FLUSHES && began.elapsed() < FLUSHING {
        let began = Instant::now();
        file.write_all(&RECORD).and_then(|()| file.sync_data()).map_err(cannot)?;
        flushes.push(microseconds(began.elapsed()));
    }
    Ok(quantiles(flushes))
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn quantiles(mut values: Vec<f64>) -> Option<Quantiles> {
    values.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| values[values.len() * percent / 100];
    (!values.is_empty()).then(|| Quantiles { median: at(50), p99: at(99) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_values() {
        assert_eq!(quantiles(Vec::new()), None);
        assert_eq!(quantiles(vec![7.0]), Some(Quantiles { median: 7.0, p99: 7.0 }));
        let hundred = (0..100).rev().map(f64::from).collect();
        assert_eq!(quantiles(hundred), Some(Quantiles { median: 50.0, p99: 99.0 }));
    }

    #[test]
    fn delays_of_this_machine_are_positive() {
        let allowed: Vec<usize> = (0..1024).filter(|cpu| on_cpu(*cpu, || Ok(())).is_ok()).collect();
        let delays = measure(&allowed, &std::env::temp_dir()).unwrap();
        assert!(delays.clock_read_ns > 0.0 && delays.wake_one_cpu_us > Some(0.0), "{delays:?}");
        assert!(delays.flush_us.is_some() && delays.sleep_late_us.is_some(), "{delays:?}");
        let missing = flush_us(Path::new("/no/such/directory")).unwrap_err();
        assert!(missing.to_string().contains("/no/such/directory"), "{missing}");
    }
}
