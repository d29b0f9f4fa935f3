//! Identifies the thread of a server that serves a connection by its activity.
//!
//! Without its performance schema MySQL does not report it. But the thread of a connection runs once in every round
//! trip and never while its client is silent; background threads run independently of both.

use std::collections::BTreeMap;
use std::time::Instant;

use assay_wire::ConnectOptions;
use procfs::process::Process;

use crate::error::Error;
use crate::products::kind::{Servers, Threads};

const ROUND_TRIPS: u32 = 32;

/// Fewest runs of the connection's thread meanwhile. It may find a request before it has gone to sleep.
const ANSWERS: u64 = 16;

/// Most runs after that: it may not have gone to sleep yet.
const LAST: u64 = 1;

/// Number of attempts: another thread may be busy at the moment.
const ATTEMPTS: u32 = 20;

pub(crate) fn of_connections<E: From<Error>>(
    servers: &dyn Servers,
    pid: i32,
    options: &ConnectOptions,
    connections: &[u64],
    mut round_trips: impl FnMut(usize, u32) -> Result<(), E>,
) -> Result<Option<Vec<i32>>, E> {
    let message = match servers.threads(pid, options)? {
        Threads::Known(message) => message,
        Threads::Shared => return Ok(None),
        Threads::Untold => {
            let serving =
                |(at, id): (usize, &u64)| serving(pid, *id, |count| round_trips(at, count));
            return connections.iter().enumerate().map(serving).collect::<Result<_, _>>().map(Some);
        }
    };
    let tid = |id: &u64| message.get(id).copied().ok_or(Error::NoThread(*id).into());
    connections.iter().map(tid).collect::<Result<_, _>>().map(Some)
}

/// The thread that serves a connection. `round_trips` makes the connection answer that many empty requests.
fn serving<E: From<Error>>(
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
            grown(tid, &before, &after) >= ANSWERS && grown(tid, &after, &silent) <= LAST
        });
        if let (Some(tid), None) = (answering.next(), answering.next()) {
            return Ok(*tid);
        }
    }
    Err(Error::NoThread(connection).into())
}

/// Context switches of each thread so far, voluntary or not. An answer may wake the client, which then takes the CPU.
fn switches(pid: i32) -> Result<BTreeMap<i32, u64>, Error> {
    let mut found = BTreeMap::new();
    for task in Process::new(pid).and_then(|it| it.tasks()).map_err(gone)? {
        // A thread that has ended meanwhile serves no connection.
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
