//! Schedules a client's statements.

use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use assay_model::LowestQueries;
use assay_wire::Connection;
use assay_workloads::{IbenchTable, Pace};

use super::client::{Client, number};
use crate::error::Result;
use crate::tally::nanoseconds;

/// How many statements inserts and deletes may be ahead of each other, apart from the one in progress.
pub(super) const AHEAD: usize = 8;

/// Deletes after which the lowest key is read again, so that no row escapes through a gap.
const READ_AGAIN: u64 = 1000;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Produces statement numbers, an insert and a delete alternately, at the pace of the step.
pub(super) struct Generator {
    pub(super) client: Client,
    pub(super) wire: Connection,
    pub(super) table: IbenchTable,
    pub(super) inserts: SyncSender<u64>,
    /// Channel for the key at which each delete begins to look.
    pub(super) deletes: Option<SyncSender<u64>>,
    pub(super) lowest: LowestQueries,
}

impl Generator {
    pub(super) fn work(&mut self, start: Instant) -> Result<()> {
        let step = self.client.step;
        let rows = u64::from(step.rows_per_statement());
        let mut pace = step.statements_per_second().map(Pace::new);
        let mut lowest = 0;
        for statement in 0..step.statements() {
            if self.deletes.is_some() && statement % READ_AGAIN == 0 {
                lowest = self.read_lowest()?;
            }
            // The receiver has failed, and reports why.
            if self.inserts.send(statement).is_err() {
                break;
            }
            if let Some(deletes) = &self.deletes {
                self.client.shared.set_lowest(lowest);
                if deletes.send(lowest).is_err() {
                    break;
                }
                lowest += rows;
            }
            let until = pace.as_mut().and_then(|pace| pace.wait_until(statement, start.elapsed()));
            if until.is_some_and(|until| !self.sleep_until(start + until)) {
                break;
            }
        }
        Ok(())
    }

    /// Reads the lowest key. This query is part of the work: it is slow where deleted rows lie at the low end.
    fn read_lowest(&mut self) -> Result<u64> {
        let sent = Instant::now();
        let lowest = number(&mut self.wire, &self.table.lowest())?;
        let response = nanoseconds(sent.elapsed());
        self.lowest.count += 1;
        self.lowest.ns = self.lowest.ns.saturating_add(response);
        self.lowest.longest_ns = self.lowest.longest_ns.max(response);
        Ok(lowest)
    }

    /// Returns `false` if the step was stopped.
    fn sleep_until(&self, until: Instant) -> bool {
        loop {
            if self.client.shared.is_stopped() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }
}
