//! The real-time priority that assay gives a supervisor while its server has one.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity, sched_yield};

/// A pause in which a thread of lower real-time priority can run. Such a pause ends on time.
const PAUSE: Duration = Duration::from_micros(20);

/// Lets other threads run. Yielding lets no thread of a lower real-time priority run, and the process to be stopped has
/// one.
pub(super) fn give_way() {
    if is_realtime() { sleep(PAUSE) } else { sched_yield() }
}

#[expect(unsafe_code, reason = "nobody wraps this system call")]
pub(super) fn is_realtime() -> bool {
    // SAFETY: it has no argument but the thread, which is the calling one.
    let policy = unsafe { libc::sched_getscheduler(0) };
    // A failure is negative, and one bit says that children get another policy.
    policy >= 0 && policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_RR
}

/// Runs on any CPU at normal priority from now on. Whoever reaps a process at real-time priority may wait in the kernel
/// for another thread of the same CPU, which then cannot run: the kernel spins until all have released the process's
/// entries in `/proc`.
#[expect(unsafe_code, reason = "nobody wraps this system call")]
pub(super) fn leave_realtime() {
    if !is_realtime() {
        return;
    }
    let parameters = libc::sched_param { sched_priority: 0 };
    let policy = libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel only reads the parameters, which live until it returns.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } != 0 {
        log::warn!("cannot leave real-time priority: {}", io::Error::last_os_error());
    }
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
    // The kernel ignores CPUs that are not permitted. A failure only costs time.
    let _ = sched_setaffinity(None, &all);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_real_time_priority_has_nothing_to_leave() {
        assert!(!is_realtime());
        give_way();
        leave_realtime();
        assert!(!is_realtime());
    }
}
