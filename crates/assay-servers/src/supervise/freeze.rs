//! Stops and continues the processes of a server. Postgres has one for each connection.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fs_err as fs;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity, sched_yield};

/// Maximum number of lists to compare: on a server with many short connections, no two may be equal.
const LISTS: usize = 16;

/// All descendants of a process that may run; empty if it has ended. If one of them ends while the kernel lists them,
/// it may leave out others (proc_pid_children(5)), so they are listed until two lists are equal.
pub(crate) fn below(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let mut last = listed_below(ancestor)?;
    for _ in 1..LISTS {
        let again = listed_below(ancestor)?;
        if again == last {
            break;
        }
        last = again;
    }
    Ok(last)
}

/// All descendants of a process, as the kernel lists them. No child is left out while the process is stopped.
fn listed_below(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        // Servers with many processes have one thread in each.
        let list = match fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
            Err(error) if is_gone(&error) && !fs::exists(format!("/proc/{parent}"))? => {
                String::new()
            }
            list => list?,
        };
        let pids = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(Pid::from_raw));
        next += 1;
    }
    found.remove(0);
    Ok(found)
}

/// Stops every descendant of a stopped process. Returns when all of them have stopped.
pub(super) fn freeze_children(
    ancestor: Pid,
    wanted: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let pids = listed_below(ancestor)?;
    let send = |wanted: Signal| pids.iter().try_for_each(|pid| signal(*pid, wanted));
    stop(send, || {
        wanted()?;
        pids.iter().try_fold(true, |all, pid| Ok(all && has_stopped(*pid)?))
    })
}

pub(super) fn thaw_children(ancestor: Pid) -> io::Result<()> {
    listed_below(ancestor)?.into_iter().try_for_each(|pid| signal(pid, Signal::CONT))
}

fn signal(pid: Pid, signal: Signal) -> io::Result<()> {
    match kill_process(pid, signal) {
        // It has ended meanwhile.
        Err(Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

fn has_stopped(pid: Pid) -> io::Result<bool> {
    let line = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Err(error) if is_gone(&error) => return Ok(true),
        line => line?,
    };
    // `pid (name) state ...`; a name may contain anything.
    let state = line.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    Ok(matches!(state, Some('T' | 't' | 'Z' | 'X')))
}

fn is_gone(error: &io::Error) -> bool {
    let gone = Errno::SRCH.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(gone)
}

/// Time limit for a process to stop. At most it waits for the disk.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of one attempt. Nearly all take a fraction of a millisecond.
const ATTEMPT: Duration = Duration::from_millis(500);

/// How long a process that could not stop may run before the next attempt.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// How long to yield the CPU between two checks before sleeping instead.
const YIELD_FOR: Duration = Duration::from_millis(5);

/// Stops the processes that `send` signals. Returns when `has_stopped` is true, or with its error. A thread that ends
/// waits in the kernel for the workers of its `io_uring`. If those are stopped, they never end, and the thread and its
/// process never count as stopped. So a process that takes long is resumed briefly and stopped again.
pub(super) fn stop(
    send: impl Fn(Signal) -> io::Result<()>,
    mut has_stopped: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let deadline = Instant::now() + STOP_LIMIT;
    loop {
        send(Signal::STOP)?;
        let attempt = Instant::now();
        while attempt.elapsed() < ATTEMPT {
            if has_stopped()? {
                return Ok(());
            }
            if attempt.elapsed() < YIELD_FOR {
                give_way();
            } else {
                sleep(Duration::from_millis(1));
            }
        }
        send(Signal::CONT)?;
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("it did not stop within {STOP_LIMIT:?}")));
        }
        sleep(RETRY_AFTER);
    }
}

/// A pause in which a thread of lower real-time priority can run. Such a pause ends on time.
const PAUSE: Duration = Duration::from_micros(20);

/// Lets other threads run. Yielding lets no thread of a lower real-time priority run, and the process to be stopped has
/// one.
pub(super) fn give_way() {
    if is_realtime() { sleep(PAUSE) } else { sched_yield() }
}

#[expect(unsafe_code, reason = "no crate wraps this system call")]
pub(super) fn is_realtime() -> bool {
    // SAFETY: it has no argument but the thread, which is the calling one.
    let policy = unsafe { libc::sched_getscheduler(0) };
    // A failure is negative, and one bit says that children get another policy.
    policy >= 0 && policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_RR
}

/// Runs on any CPU at normal priority from now on. A thread that reaps a process at real-time priority may wait in the
/// kernel for another thread of the same CPU, which then cannot run: the kernel spins until all have released the
/// process's entries in `/proc`.
#[expect(unsafe_code, reason = "no crate wraps this system call")]
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
    use std::cell::RefCell;

    use super::*;

    /// A real server does this now and then, when it is frozen while it shuts down.
    #[test]
    fn unstoppable_threads_may_continue_briefly() {
        let sent = RefCell::new(Vec::new());
        let send = |signal| {
            sent.borrow_mut().push(signal);
            Ok(())
        };
        stop(send, || Ok(sent.borrow().len() == 5)).unwrap();
        let [stop, go_on] = [Signal::STOP, Signal::CONT];
        assert_eq!(sent.into_inner(), [stop, go_on, stop, go_on, stop]);
    }

    #[test]
    fn an_error_ends_the_wait() {
        let gone = || Err(io::ErrorKind::BrokenPipe.into());
        assert_eq!(stop(|_| Ok(()), gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_thread_without_real_time_priority_has_nothing_to_leave() {
        assert!(!is_realtime());
        give_way();
        leave_realtime();
        assert!(!is_realtime());
    }
}
