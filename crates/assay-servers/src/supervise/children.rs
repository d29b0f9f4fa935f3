//! Child processes of a server: Postgres has one for each connection.

use std::io;

use fs_err as fs;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::stop::stop;

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
pub(super) fn freeze(ancestor: Pid, wanted: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let pids = listed_below(ancestor)?;
    let send = |wanted: Signal| pids.iter().try_for_each(|pid| signal(*pid, wanted));
    stop(send, || {
        wanted()?;
        pids.iter().try_fold(true, |all, pid| Ok(all && has_stopped(*pid)?))
    })
}

pub(super) fn thaw(ancestor: Pid) -> io::Result<()> {
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
