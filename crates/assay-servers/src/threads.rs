//! Which thread of a server serves a connection, told by what the threads do.
//!
//! Without its performance schema MySQL does not say it. But the thread of a connection is woken in every round trip,
//! and no other thread of a server that is otherwise idle is woken so often in that time.

use std::collections::BTreeMap;

use assay_model::Product;
use assay_wire::{ConnectOptions, Control};
use procfs::process::Process;
use rustix::process::Pid;

use crate::Error;
use crate::supervise::below;

/// Round trips that a connection is asked for.
const ROUND_TRIPS: u32 = 32;

/// How often it is tried: a background thread may be busy once.
const ATTEMPTS: u32 = 5;

/// Threads that serve connections, by connection id and in that order; see [`crate::Server::connection_tids`].
pub(crate) fn of_connections<E: From<Error>>(
    product: Product,
    pid: i32,
    options: &ConnectOptions,
    connections: &[u64],
    mut round_trips: impl FnMut(usize, u32) -> Result<(), E>,
) -> Result<Vec<i32>, E> {
    let said = match product {
        Product::MariaDb => of_process_list(options)?,
        Product::MySql => {
            let serving =
                |(at, id): (usize, &u64)| serving(pid, *id, |count| round_trips(at, count));
            return connections.iter().enumerate().map(serving).collect();
        }
        // The id is that of the process, which has one thread.
        Product::Postgres => {
            let pids = Pid::from_raw(pid).map(below).transpose().map_err(Error::from)?;
            let pids = pids.into_iter().flatten().map(|it| it.as_raw_nonzero().get());
            pids.filter_map(|pid| Some((u64::try_from(pid).ok()?, pid))).collect()
        }
    };
    let tid = |id: &u64| said.get(id).copied().ok_or(Error::NoThread(*id).into());
    connections.iter().map(tid).collect()
}

/// Threads by the connections that they serve, as MariaDB says.
fn of_process_list(options: &ConnectOptions) -> Result<BTreeMap<u64, i32>, Error> {
    let mut control = Control::connect(options)?;
    let found = control.query("SELECT ID, TID FROM information_schema.PROCESSLIST")?;
    let pair = |row| Some((found.text(row, 0)?.parse().ok()?, found.text(row, 1)?.parse().ok()?));
    Ok((0..found.rows.len()).filter_map(pair).collect())
}

/// The thread that serves a connection; `round_trips` makes it answer as many empty requests as it is told.
fn serving<E: From<Error>>(
    pid: i32,
    connection: u64,
    mut round_trips: impl FnMut(u32) -> Result<(), E>,
) -> Result<i32, E> {
    for _ in 0..ATTEMPTS {
        let before = switches(pid)?;
        round_trips(ROUND_TRIPS)?;
        let mut grown: Vec<_> = switches(pid)?
            .into_iter()
            .map(|(tid, count)| (count - before.get(&tid).copied().unwrap_or(0).min(count), tid))
            .collect();
        grown.sort_unstable();
        let second = grown.iter().rev().nth(1).map_or(0, |(count, _)| *count);
        match grown.last() {
            Some((most, tid)) if *most >= u64::from(ROUND_TRIPS) / 2 && second < most / 2 => {
                return Ok(*tid);
            }
            _ => {}
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
