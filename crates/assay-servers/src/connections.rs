//! Operations over connections to a server of any product: maintenance, settings, plans, counters, and the threads that
//! serve them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use assay_model::{Product, STATUS_LEVELS, SystemSpec};
use assay_wire::{ConnectOptions, Connection, ResultSet};
use procfs::process::Process;

use crate::audit::ServerSettings;
use crate::error::{Result, ServersError};
use crate::products;
use crate::products::kind::{
    ConnectionThreads, CounterQueries, DrainResult, Servers, StatementExplanation,
};

fn servers(control: &Connection) -> Result<&'static dyn Servers> {
    products::servers_of(products::product_of(control))
}

/// Collects the statistics of `tables` (of the connection's database) and drains the server.
pub fn maintain(
    control: &mut Connection,
    tables: &[String],
    limit: Duration,
) -> Result<DrainResult> {
    servers(control)?.maintain(control, tables, limit)
}

/// Collects the statistics of `tables` (of the connection's database); on Postgres it also removes their dead rows. A
/// server in use by others should get no other maintenance.
pub fn take_statistics(control: &mut Connection, tables: &[String]) -> Result<()> {
    servers(control)?.take_statistics(control, tables)
}

/// Waits until old row versions are purged and changed pages are written, at most for `limit`. Then removes the binary
/// log.
pub fn drain(control: &mut Connection, limit: Duration) -> Result<DrainResult> {
    servers(control)?.drain(control, limit)
}

/// Removes all files of the binary log except the newest and those that the server still needs. Postgres has none: its
/// log is reused. Only for servers started by assay.
pub fn remove_binary_logs(control: &mut Connection) -> Result<()> {
    servers(control)?.remove_binary_logs(control)
}

/// Every setting in effect, by name: global variables under their own names, the state of this session below
/// `session.`, its database below `schema.`, and the properties of its tables below `table.`. The connection is set up
/// like those of the clients, so its session is like theirs.
pub fn effective_settings(control: &mut Connection) -> Result<ServerSettings> {
    let mut settings = servers(control)?.settings(control)?;
    settings.insert("session.auth_plugin".to_owned(), control.auth_method().to_owned());
    Ok(settings)
}

/// Answers by name ([`crate::audit::ANSWER`]). `log` is the server's log, if known.
pub fn answers(
    control: &mut Connection,
    spec: &SystemSpec,
    log: Option<&str>,
) -> Result<ServerSettings> {
    servers(control)?.answers(control, spec, log.unwrap_or_default())
}

/// The plan of a statement with its values. `None` if this version cannot explain it.
pub fn explain(control: &mut Connection, sql: &str) -> Result<Option<StatementExplanation>> {
    match servers(control)?.explain(control, sql) {
        // Some versions have no plan for an insert.
        Ok(explained) => Ok((!explained.plan.is_empty()).then_some(explained)),
        // Before MySQL 5.6 and MariaDB 10.0 only queries can be explained.
        Err(error) if error.server_code().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

const VALUE_MAX: u64 = 1 << 53;

pub struct ServerStatus {
    control: Connection,
    /// The known counters, since a proxy may send others, and how to read them.
    counters: CounterQueries,
    /// Increments caused by one read.
    own: BTreeMap<String, u64>,
}

impl ServerStatus {
    /// Connects to a server that is not frozen. `None` for a Postgres before version 15, whose processes publish their
    /// counters only now and then.
    pub fn open(options: &ConnectOptions, product: Product) -> Result<Option<Self>> {
        let mut control = Connection::control(options)?;
        let Some(counters) = products::servers_of(product)?.counters(&mut control)? else {
            return Ok(None);
        };
        let mut status = Self { control, counters, own: BTreeMap::new() };
        let (first, second) = (status.read()?, status.read()?);
        let own = status.grown(&first, &second).into_iter();
        let is_of_reading =
            |name: &str| status.counters.of_reading.iter().any(|start| name.starts_with(start));
        status.own = own.filter(|(name, _)| is_of_reading(name)).collect();
        Ok(Some(status))
    }

    pub fn publish(&self) -> Option<&'static str> {
        self.counters.publish
    }

    pub fn read(&mut self) -> Result<BTreeMap<String, u64>> {
        let mut all = BTreeMap::new();
        for query in &self.counters.queries {
            all.extend(known_counters(&self.control.query_catalog(query)?, &self.counters.known));
        }
        Ok(all)
    }

    /// Increases from one read to the next, without those caused by reading. A counter that was reset counts from 0. A
    /// level keeps its later value ([`STATUS_LEVELS`]).
    pub fn grown(
        &self,
        before: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
    ) -> Vec<(String, u64)> {
        let growth = after.iter().filter_map(|(name, after)| {
            if STATUS_LEVELS.contains(&name.as_str()) {
                return Some((name.clone(), *after));
            }
            let own = self.own.get(name).copied().unwrap_or(0);
            let grown = after.checked_sub(*before.get(name)?).unwrap_or(*after);
            Some((name.clone(), grown.saturating_sub(own)))
        });
        growth.collect()
    }
}

fn known_counters(found: &ResultSet, known: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let counter = |row: usize| {
        let name = found.text(row, 0).filter(|name| known.contains(*name))?;
        let value = found.text(row, 1)?.parse().ok().filter(|value| *value <= VALUE_MAX)?;
        Some((name.to_owned(), value))
    };
    (0..found.rows.len()).filter_map(counter).collect()
}

const ROUND_TRIPS: u32 = 32;

/// Fewest runs of the connection's thread meanwhile. It may find a request before it has gone to sleep.
const ANSWERS: u64 = 16;

/// Most runs after that: it may not have gone to sleep yet.
const LAST: u64 = 1;

/// Number of attempts: another thread may be busy at the moment.
const ATTEMPTS: u32 = 20;

pub(crate) fn threads_of<E: From<ServersError>>(
    servers: &dyn Servers,
    pid: i32,
    options: &ConnectOptions,
    connections: &[u64],
    mut round_trips: impl FnMut(usize, u32) -> Result<(), E>,
) -> Result<Option<Vec<i32>>, E> {
    let message = match servers.threads(pid, options)? {
        ConnectionThreads::Known(message) => message,
        ConnectionThreads::Shared => return Ok(None),
        ConnectionThreads::Unreported => {
            let serving =
                |(at, id): (usize, &u64)| serving(pid, *id, |count| round_trips(at, count));
            return connections.iter().enumerate().map(serving).collect::<Result<_, _>>().map(Some);
        }
    };
    let tid = |id: &u64| message.get(id).copied().ok_or(ServersError::NoThread(*id).into());
    connections.iter().map(tid).collect::<Result<_, _>>().map(Some)
}

/// The thread that serves a connection. `round_trips` makes the connection answer that many empty requests.
fn serving<E: From<ServersError>>(
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
            let count = |counts: &BTreeMap<i32, u64>| counts.get(tid).copied().unwrap_or(0);
            count(to).saturating_sub(count(from))
        };
        let mut answering = after.keys().filter(|tid| {
            grown(tid, &before, &after) >= ANSWERS && grown(tid, &after, &silent) <= LAST
        });
        if let (Some(tid), None) = (answering.next(), answering.next()) {
            return Ok(*tid);
        }
    }
    Err(ServersError::NoThread(connection).into())
}

/// Context switches of each thread so far, voluntary or not. An answer may wake the client, which then takes the CPU.
fn switches(pid: i32) -> Result<BTreeMap<i32, u64>> {
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

fn gone(error: procfs::ProcError) -> ServersError {
    ServersError::Io(std::io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_counters_with_sensible_values_are_told() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let row = |name, value| vec![text(name), text(value)];
        let found = ResultSet {
            rows: vec![
                row("Innodb_rows_read", "17"),
                row("Uptime", "5"),
                row("Sort_rows", "18446744073709551615"),
                row("Select_scan", "-1"),
                vec![None, None],
            ],
            ..ResultSet::default()
        };
        let known = ["Innodb_rows_read", "Sort_rows", "Select_scan"].map(str::to_owned).into();
        assert_eq!(
            known_counters(&found, &known),
            BTreeMap::from([("Innodb_rows_read".to_owned(), 17)])
        );
    }
}
