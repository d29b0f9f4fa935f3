//! Threads that run on one CPU only, and real-time priority: permission to use it, setting it on threads, and detecting
//! when such threads must wait all the same.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use assay_model::RealtimeAccess;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{DoctorError, facts, kernel_file};

/// The threads over which a thread takes precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityLevel {
    /// None: it shares the CPUs with all others.
    Normal,
    /// All ordinary threads: for servers and clients.
    Measured,
    /// Those as well, so that no server that spins can keep assay and its supervisors from ending it.
    Above,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heirs {
    /// For the threads and processes of a server.
    Alike,
    /// Started threads and processes have normal priority.
    Normal,
}

/// Sets the level of a thread; 0 is the calling thread.
#[expect(unsafe_code, reason = "no crate wraps this system call")]
pub fn set_level(tid: i32, level: PriorityLevel, heirs: Heirs) -> io::Result<()> {
    // Threads of one level share a CPU in turns (`SCHED_RR`).
    let (policy, priority) = match level {
        PriorityLevel::Normal => (libc::SCHED_OTHER, 0),
        PriorityLevel::Measured => (libc::SCHED_RR, 1),
        PriorityLevel::Above => (libc::SCHED_RR, 2),
    };
    // Once set, only root can clear it, so it is set at all levels.
    let reset = if heirs == Heirs::Normal { libc::SCHED_RESET_ON_FORK } else { 0 };
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel only reads the parameters, which live until it returns.
    match unsafe { libc::sched_setscheduler(tid, policy | reset, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(crate) fn on_cpu<T: Send>(
    cpu: usize,
    work: impl FnOnce() -> Result<T, DoctorError> + Send,
) -> Result<T, DoctorError> {
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            pin(cpu)?;
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) fn pin(cpu: usize) -> Result<(), DoctorError> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(DoctorError::Pin { cpu, source: Errno::INVAL.into() });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| DoctorError::Pin { cpu, source: source.into() })
}

/// Whether this user may use real-time priority, or else the limiting factor. `is_slurm`: whether a Slurm job runs
/// this.
pub fn realtime_access(is_slurm: bool) -> RealtimeAccess {
    let attempt = || set_level(0, PriorityLevel::Above, Heirs::Normal);
    // The thread ends with the level.
    let tried = Builder::new().spawn(attempt).map(JoinHandle::join);
    if matches!(tried, Ok(Ok(Ok(())))) {
        return RealtimeAccess::Permitted;
    }
    let groups = kernel_file::text("/proc/self/cgroup").unwrap_or_default();
    let is_container =
        ["/.dockerenv", "/run/.containerenv"].into_iter().any(|path| Path::new(path).exists());
    if facts::realtime_us().is_some_and(|us| us == 0) {
        RealtimeAccess::ControlGroup
    } else if is_container || rustix::process::geteuid().is_root() {
        // Outside of containers, root has the capability.
        RealtimeAccess::Container
    } else if is_slurm {
        RealtimeAccess::Slurm
    } else if is_in_service(&groups) {
        RealtimeAccess::Service
    } else {
        RealtimeAccess::Limit
    }
}

/// From the content of `/proc/self/cgroup`: whether a process belongs to a system service, not to a session.
fn is_in_service(groups: &str) -> bool {
    groups.lines().any(|line| line.contains(":/system.slice/") && line.ends_with(".service"))
}

/// The kernel's limit on real-time threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttling {
    /// Threads of real-time priority may use a CPU for this part of the period.
    pub runtime: Duration,
    pub period: Duration,
}

impl Throttling {
    /// This kernel's limit; the default one if the kernel does not report it.
    pub fn here() -> Self {
        let us = |name| {
            let number = kernel_file::number(format!("/proc/sys/kernel/{name}"));
            number.filter(|us| *us > 0).map(Duration::from_micros)
        };
        let usual = Self { runtime: Duration::from_millis(950), period: Duration::from_secs(1) };
        us("sched_rt_runtime_us")
            .zip(us("sched_rt_period_us"))
            .filter(|(runtime, period)| runtime <= period)
            .map_or(usual, |(runtime, period)| Self { runtime, period })
    }

    /// The rest that real-time threads need in each period, with a margin for wake-up latency.
    pub fn rest(self) -> Duration {
        self.period.saturating_sub(self.runtime).max(LEAST_REST) + REST_MARGIN
    }

    /// How long they may run between two rests. Every period then contains a whole rest, wherever it begins.
    pub fn stretch(self) -> Duration {
        self.period.saturating_sub(self.rest() * 2)
    }
}

/// Ordinary threads of the same CPU get this part of a second in any case.
const LEAST_REST: Duration = Duration::from_millis(50);
const REST_MARGIN: Duration = Duration::from_millis(10);

const WAKE_EVERY: Duration = Duration::from_millis(10);

/// Shortest delay that counts. A throttled CPU stands still for longer.
const DELAY_MIN: Duration = Duration::from_millis(20);

/// Detects when threads of real-time priority must wait for others: when the kernel has used up their share of a CPU,
/// or something with precedence takes it. On each CPU, a thread above everything measured wakes up regularly. Nothing
/// measured can delay it, so a server never causes a delay.
#[derive(Debug)]
pub struct DelayMonitor {
    each: Vec<CpuMonitor>,
}

#[derive(Debug)]
struct CpuMonitor {
    /// Dropping this end stops the thread.
    end: Option<Sender<()>>,
    delayed_ns: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl DelayMonitor {
    /// Fails if real-time priority or one of the CPUs is not permitted.
    pub fn on(cpus: &[usize]) -> io::Result<Self> {
        let each = cpus.iter().map(|cpu| CpuMonitor::on(*cpu)).collect::<io::Result<_>>()?;
        Ok(Self { each })
    }

    /// The delays so far on the CPU with the longest, nanoseconds.
    pub fn delayed_ns(&self) -> u64 {
        let each = self.each.iter().map(|cpu| cpu.delayed_ns.load(Ordering::Relaxed));
        each.max().unwrap_or(0)
    }
}

impl CpuMonitor {
    fn on(cpu: usize) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let delayed_ns = Arc::new(AtomicU64::new(0));
        let sum = Arc::clone(&delayed_ns);
        let prepare = move || {
            pin(cpu).map_err(io::Error::other)?;
            set_level(0, PriorityLevel::Above, Heirs::Normal)
        };
        let body = move || {
            if ready.send(prepare()).is_err() {
                return;
            }
            let mut slept = Instant::now();
            while ended.recv_timeout(WAKE_EVERY) == Err(RecvTimeoutError::Timeout) {
                let woke = Instant::now();
                sum.fetch_add(delay_ns(woke.duration_since(slept)), Ordering::Relaxed);
                slept = woke;
            }
            // The end of a thread may make the kernel wait for others, which must be able to run.
            drop(set_level(0, PriorityLevel::Normal, Heirs::Normal));
        };
        let thread = Builder::new().name(format!("assay-watch-{cpu}")).spawn(body)?;
        is_ready.recv().unwrap_or_else(|_| Err(io::Error::other("a thread ended")))?;
        Ok(Self { end: Some(end), delayed_ns, thread: Some(thread) })
    }
}

/// The delay that counts, if a thread slept for this time instead of [`WAKE_EVERY`].
fn delay_ns(slept: Duration) -> u64 {
    let delay = slept.saturating_sub(WAKE_EVERY);
    if delay < DELAY_MIN { 0 } else { u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX) }
}

impl Drop for CpuMonitor {
    fn drop(&mut self) {
        drop(self.end.take());
        drop(self.thread.take().map(JoinHandle::join));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_services_of_the_system_are_services() {
        assert!(is_in_service("0::/system.slice/actions.runner.service\n"));
        assert!(is_in_service("4:memory:/\n1:name=systemd:/system.slice/slurmd.service\n"));
        for session in [
            "0::/user.slice/user-1000.slice/session-3.scope\n",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n",
            "",
        ] {
            assert!(!is_in_service(session), "{session}");
        }
    }

    /// A period that begins at any moment has a whole rest.
    #[test]
    fn rests_keep_the_kernel_from_throttling() {
        for runtime_ms in [600, 950, 990, 1000] {
            let period = Duration::from_secs(1);
            let throttling = Throttling { runtime: Duration::from_millis(runtime_ms), period };
            let (rest, stretch) = (throttling.rest(), throttling.stretch());
            assert!(stretch + 2 * rest <= period, "{throttling:?}");
            assert!(period - rest < throttling.runtime, "{throttling:?}");
            assert!(stretch > Duration::ZERO, "{throttling:?}");
        }
        let here = Throttling::here();
        assert!(here.runtime <= here.period && here.rest() > Duration::ZERO, "{here:?}");
    }

    #[test]
    fn a_delay_counts_from_its_limit_on() {
        assert_eq!(delay_ns(WAKE_EVERY), 0);
        assert_eq!(delay_ns(WAKE_EVERY + DELAY_MIN / 2), 0);
        assert_eq!(delay_ns(WAKE_EVERY + 2 * DELAY_MIN), 40_000_000);
        assert_eq!(delay_ns(Duration::ZERO), 0);
    }

    /// Works for root, and is refused like the rest for a user without permission.
    #[test]
    fn a_thread_gets_its_level_where_that_is_permitted() {
        let access = realtime_access(false);
        let tried = Builder::new().spawn(|| {
            set_level(0, PriorityLevel::Measured, Heirs::Normal)?;
            set_level(0, PriorityLevel::Normal, Heirs::Normal)
        });
        let tried = tried.unwrap().join().unwrap();
        let cpu = (0..1024).find(|cpu| on_cpu(*cpu, || Ok(())).is_ok()).unwrap();
        let monitor = DelayMonitor::on(&[cpu]);
        if access == RealtimeAccess::Permitted {
            tried.unwrap();
            drop(monitor.unwrap());
        } else {
            assert_eq!(tried.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(monitor.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        let none = set_level(i32::MAX, PriorityLevel::Normal, Heirs::Alike).unwrap_err();
        assert_eq!(none.raw_os_error(), Some(libc::ESRCH));
    }
}
