//! Identifies the thread of a server that serves a connection by what the threads do.
//!
//! Without its performance schema MySQL does not report it. But the thread of a connection runs once in every round
//! trip and never while its client is silent; background threads run independently of both.

use std::collections::BTreeMap;
use std::time::Instant;

use assay_model::Product;
use assay_wire::{ConnectOptions, Connection};
use procfs::process::Process;
use rustix::process::Pid;

use crate::error::Error;
use crate::supervise::below;

/// Round trips requested of a connection.
const ROUND_TRIPS: u32 = 32;

/// Fewest runs of the connection's thread meanwhile. It may find a request before it has gone to sleep.
const ANSWERS: u64 = 16;

/// Most runs after that: it may not have gone to sleep yet.
const LAST: u64 = 1;

/// Number of attempts: another thread may be busy at the moment.
const ATTEMPTS: u32 = 20;

/// See [`crate::Server::connection_tids`].
pub(crate) fn of_connections<E: From<Error>>(
    product: Product,
    pid: i32,
    options: &ConnectOptions,
    connections: &[u64],
    mut round_trips: impl FnMut(usize, u32) -> Result<(), E>,
) -> Result<Option<Vec<i32>>, E> {
    let said = match product {
        Product::MariaDb | Product::MySql => {
            let mut control = Connection::connect(options).map_err(Error::from)?;
            if are_shared(&mut control)? {
                return Ok(None);
            }
            if product == Product::MySql {
                drop(control);
                let serving =
                    |(at, id): (usize, &u64)| serving(pid, *id, |count| round_trips(at, count));
                let tids = connections.iter().enumerate().map(serving);
                return tids.collect::<Result<_, _>>().map(Some);
            }
            of_process_list(&mut control)?
        }
        // The connection id is the id of its process, which has one thread.
        Product::Postgres => {
            let pids = Pid::from_raw(pid).map(below).transpose().map_err(Error::from)?;
            let pids = pids.into_iter().flatten().map(|it| it.as_raw_nonzero().get());
            pids.filter_map(|pid| Some((u64::try_from(pid).ok()?, pid))).collect()
        }
    };
    let tid = |id: &u64| said.get(id).copied().ok_or(Error::NoThread(*id).into());
    connections.iter().map(tid).collect::<Result<_, _>>().map(Some)
}

/// Whether a pool of threads serves all connections together.
fn are_shared(control: &mut Connection) -> Result<bool, Error> {
    let handling = control.query("SELECT @@thread_handling")?.first_string().unwrap_or_default();
    Ok(handling != "one-thread-per-connection")
}

/// Threads by the connections that they serve, as MariaDB reports them.
fn of_process_list(control: &mut Connection) -> Result<BTreeMap<u64, i32>, Error> {
    let found = control.query("SELECT ID, TID FROM information_schema.PROCESSLIST")?;
    let pair = |row| Some((found.text(row, 0)?.parse().ok()?, found.text(row, 1)?.parse().ok()?));
    Ok((0..found.rows.len()).filter_map(pair).collect())
}

/// The thread that serves a connection. `round_trips` makes the connection answer so many empty requests.
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

/// Context switches of each thread of a process so far, voluntary or not. An answer may wake the client, which then
/// takes the CPU.
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
