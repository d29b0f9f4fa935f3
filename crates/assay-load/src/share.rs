//! Works on several tables in parallel, with one connection per CPU.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, available_parallelism, scope};
use std::time::Duration;

use assay_wire::ConnectOptions;

use crate::error::{LoadError, Result};

/// Minimum timeout of statements on whole tables: indexes and checksums of many rows take long.
const WHOLE_TABLE_TIMEOUT: Duration = Duration::from_secs(3600);

pub(crate) fn for_whole_tables(options: &ConnectOptions) -> ConnectOptions {
    ConnectOptions { timeout: options.timeout.max(WHOLE_TABLE_TIMEOUT), ..options.clone() }
}

/// Rows per second that the slowest server reads, with a margin.
const ROWS_PER_SECOND: u64 = 20_000;

/// Sets a timeout that allows reading this many rows. A study must not wait much longer for a server that hangs.
pub(crate) fn for_rows(options: &ConnectOptions, rows: u64) -> ConnectOptions {
    let more = Duration::from_secs(rows / ROWS_PER_SECOND);
    ConnectOptions { timeout: options.timeout + more, ..options.clone() }
}

pub(crate) struct Reports<T>(Sender<Result<T>>);

impl<T> Reports<T> {
    pub(crate) fn send(&self, part: T) -> Result<()> {
        self.0.send(Ok(part)).map_err(|_| LoadError::ClientLost)
    }
}

/// Calls `work` for tables 1 to `tables` in several threads, with one connection each, and `take` with every part they
/// report.
pub(crate) fn share_tables<C, T: Send>(
    tables: u32,
    connect: impl Fn(u32) -> Result<C> + Sync,
    work: impl Fn(&mut C, u32, &Reports<T>) -> Result<()> + Sync,
    mut take: impl FnMut(T),
) -> Result<()> {
    let cpus = available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    let next = AtomicU32::new(1);
    let take_tables = |client, reports: &Reports<T>| {
        let mut connection = connect(client)?;
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                table if table <= tables => work(&mut connection, table, reports)?,
                _ => return Ok(()),
            }
        }
    };
    let (sender, parts) = channel();
    scope(|scope| {
        for client in 0..tables.min(cpus) {
            let (reports, take_tables) = (Reports(sender.clone()), &take_tables);
            let body = move || {
                if let Err(error) = take_tables(client, &reports) {
                    // If another thread failed before, the receiver is gone.
                    drop(reports.0.send(Err(error)));
                }
            };
            let thread = Builder::new().name(format!("assay-tables-{client}"));
            thread.spawn_scoped(scope, body).map_err(LoadError::Thread)?;
        }
        drop(sender);
        parts.into_iter().try_for_each(|part| part.map(&mut take))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_taken_once() {
        for tables in [0, 1, 7] {
            let mut taken = Vec::new();
            let report = |(): &mut (), table, reports: &Reports<u32>| reports.send(table);
            share_tables(tables, |_| Ok(()), report, |table| taken.push(table)).unwrap();
            taken.sort_unstable();
            assert_eq!(taken, (1..=tables).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_it() {
        let fail_at_3 = |(): &mut (), table, reports: &Reports<u32>| match table {
            3 => Err(LoadError::Histogram("of table 3".to_owned())),
            _ => reports.send(table),
        };
        let error = share_tables(1000, |_| Ok(()), fail_at_3, |_| ()).unwrap_err();
        assert!(matches!(error, LoadError::Histogram(_)), "{error}");
    }
}
