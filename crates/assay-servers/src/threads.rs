//! Which thread of a server serves a connection, told by what the threads do.
//!
//! Without its performance schema MySQL does not say it. But the thread of a connection sleeps once in every round
//! trip, and no other thread of a server that is otherwise idle sleeps so often in that time.

use procfs::process::Process;

use crate::Error;

/// Round trips that a connection is asked for.
const ROUND_TRIPS: u32 = 32;

/// Sleeps that a connection's thread has at least, and other threads have not.
const SLEEPS: u64 = 24;

/// How often it is tried: a background thread may be busy once.
const ATTEMPTS: u32 = 5;

/// The thread that serves a connection; `round_trips` makes it answer as many empty requests as it is told.
pub(crate) fn serving<E: From<Error>>(
    pid: i32,
    connection: u64,
    mut round_trips: impl FnMut(u32) -> Result<(), E>,
) -> Result<i32, E> {
    for _ in 0..ATTEMPTS {
        let before = sleeps(pid)?;
        round_trips(ROUND_TRIPS)?;
        let after = sleeps(pid)?;
        let slept = |tid: i32, sleeps: u64| {
            let before = before.iter().find(|(it, _)| *it == tid).map_or(0, |(_, sleeps)| *sleeps);
            sleeps.saturating_sub(before) >= SLEEPS
        };
        let mut busy = after.iter().filter(|(tid, sleeps)| slept(*tid, *sleeps));
        if let (Some((tid, _)), None) = (busy.next(), busy.next()) {
            return Ok(*tid);
        }
    }
    Err(Error::NoThread(connection).into())
}

/// Threads of a process, and how often each has slept so far.
fn sleeps(pid: i32) -> Result<Vec<(i32, u64)>, Error> {
    let mut found = Vec::new();
    for task in Process::new(pid).and_then(|it| it.tasks()).map_err(gone)? {
        // One that has ended meanwhile serves nobody.
        let Ok(task) = task else { continue };
        let slept = task.status().ok().and_then(|it| it.voluntary_ctxt_switches);
        found.extend(slept.map(|sleeps| (task.tid, sleeps)));
    }
    Ok(found)
}

fn gone(error: procfs::ProcError) -> Error {
    Error::Io(std::io::Error::other(error))
}
