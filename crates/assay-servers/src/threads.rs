//! Which thread of a server serves a connection, told by what the threads do.
//!
//! Without its performance schema MySQL does not say it. But the thread of a connection runs once in every round trip and
//! never while its client is silent; a thread that works in the background does not care.

use std::collections::BTreeMap;
use std::time::Instant;

use procfs::process::Process;

use crate::Error;

/// Round trips that a connection is asked for.
const ROUND_TRIPS: u32 = 32;

/// Runs that the thread of a connection has at least meanwhile; it may find a request before it has gone to sleep.
const ANSWERS: u64 = 16;

/// How often it is tried: another thread may be busy just then.
const ATTEMPTS: u32 = 20;

/// The thread that serves a connection; `round_trips` makes it answer as many empty requests as it is told.
pub(crate) fn serving<E: From<Error>>(
    pid: i32,
    connection: u64,
    mut round_trips: impl FnMut(u32) -> Result<(), E>,
) -> Result<i32, E> {
    for _ in 0..ATTEMPTS {
        let before = switches(pid)?;
        let began = Instant::now();
        round_trips(ROUND_TRIPS)?;
        let after = switches(pid)?;
        std::thread::sleep(began.elapsed());
        let silent = switches(pid)?;
        let grown = |tid: &i32, from: &BTreeMap<i32, u64>, to: &BTreeMap<i32, u64>| {
            let count = |of: &BTreeMap<i32, u64>| of.get(tid).copied().unwrap_or(0);
            count(to).saturating_sub(count(from))
        };
        let mut answering = after.keys().filter(|tid| {
            grown(tid, &before, &after) >= ANSWERS && grown(tid, &after, &silent) == 0
        });
        if let (Some(tid), None) = (answering.next(), answering.next()) {
            return Ok(*tid);
        }
    }
    Err(Error::NoThread(connection).into())
}

/// How often each thread of a process has left its CPU so far: to wait, or because another one was to run, such as the
/// client that the answer had woken.
fn switches(pid: i32) -> Result<BTreeMap<i32, u64>, Error> {
    let mut found = BTreeMap::new();
    for task in Process::new(pid).and_then(|it| it.tasks()).map_err(gone)? {
        // One that has ended meanwhile serves nobody.
        let status = task.ok().and_then(|it| Some((it.tid, it.status().ok()?)));
        let Some((tid, status)) = status else { continue };
        let counts = [status.voluntary_ctxt_switches, status.nonvoluntary_ctxt_switches];
        found.insert(tid, counts.into_iter().flatten().sum());
    }
    Ok(found)
}

fn gone(error: procfs::ProcError) -> Error {
    Error::Io(std::io::Error::other(error))
}
