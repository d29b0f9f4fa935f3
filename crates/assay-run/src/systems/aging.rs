//! Aging of data: which writes, how many, and how long with the server's own durability.

use std::time::Instant;

use anyhow::Result;
use assay_model::{Class, DataSet, PlannedCell, StartFrom, Test, TestSet};
use assay_wire::{Connection, Protocol};

use super::clients::Clients;
use super::instance::Instance;
use crate::progress::minutes;

/// Divisor of all rows: rows changed by each aging test.
const AGED_SHARE: u64 = 10;

/// More rows would cost time and age no further.
const AGED_ROWS_MAX: u64 = 50_000;

/// Enough for a meaningful rate.
const AGED_EVENTS_MIN: u64 = 100;

/// The eight write tests that precede the reads of the published sequence.
pub(super) fn aging_tests() -> impl Iterator<Item = Test> {
    assay_workloads::tests_of(TestSet::Set32)
        .into_iter()
        .filter(|test| test.class == Class::Write && test.start_from == StartFrom::Fresh)
}

pub(super) fn aging_events(test: Test, data: DataSet) -> u64 {
    let rows_per_event = u64::from(test.planning.rows_per_event.max(1));
    let rows = u64::from(data.tables) * u64::from(data.rows) / AGED_SHARE;
    (rows.min(AGED_ROWS_MAX) / rows_per_event).max(AGED_EVENTS_MIN)
}

/// Assumed before a server has run an aging test.
const AGING_PER_S: f64 = 12_000.0;

/// Seconds to start and stop a server and to let it write its pages.
const AROUND_S: f64 = 2.0;

pub(super) fn aging_s(data: DataSet) -> f64 {
    let events: u64 = aging_tests().map(|test| aging_events(test, data)).sum();
    AROUND_S + events as f64 / AGING_PER_S
}

/// Seconds with the server's own durability. With durable commits on a slow disk, all events would take minutes, and
/// they change the same rows either way.
const DURABLE_S: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgingPart {
    Own(u64),
    Relaxed(u64),
}

/// The part after this many events, which took this time: durability is relaxed only if all events would take much
/// longer than [`DURABLE_S`].
fn next_part(done: u64, seconds: f64, events: u64) -> Option<AgingPart> {
    let left = events.saturating_sub(done);
    if left == 0 {
        return None;
    }
    if done == 0 {
        return Some(AgingPart::Own(left.min(AGED_EVENTS_MIN)));
    }
    let per_s = done as f64 / seconds.max(1e-9);
    if left as f64 / per_s <= DURABLE_S {
        return Some(AgingPart::Own(left));
    }
    if seconds >= DURABLE_S {
        return Some(AgingPart::Relaxed(left));
    }
    let within = ((DURABLE_S - seconds) * per_s).ceil() as u64;
    Some(AgingPart::Own(within.max(AGED_EVENTS_MIN).min(left)))
}

/// Runs this many events of an aging test; returns events per second with the server's own durability.
pub(super) fn run_aging(
    clients: &mut Clients,
    cell: &PlannedCell,
    events: u64,
    server: &Instance,
) -> Result<f64> {
    let (mut done, mut seconds) = (0, 0.0);
    loop {
        match next_part(done, seconds, events) {
            None => return Ok(done as f64 / seconds.max(1e-9)),
            Some(AgingPart::Own(part)) => {
                seconds += clients.run_apart(cell, done, part)?;
                done += part;
            }
            Some(AgingPart::Relaxed(part)) => {
                let relaxed = RelaxedDurability::begin(clients, server)?;
                let run = clients.run_apart(cell, done, part);
                relaxed.end()?;
                run?;
                return Ok(done as f64 / seconds.max(1e-9));
            }
        }
    }
}

/// Settings of MySQL and MariaDB that make a commit wait for the disk, with values that do not.
const DURABILITY: [(&str, &str); 3] = [
    ("innodb_flush_log_at_trx_commit", "2"),
    ("sync_binlog", "0"),
    ("rocksdb_flush_log_at_trx_commit", "2"),
];

struct RelaxedDurability {
    back: Option<(Connection, Vec<String>)>,
}

impl RelaxedDurability {
    /// Settings of a server that assay did not start stay unchanged; those of its own sessions end with them.
    fn begin(clients: &mut Clients, server: &Instance) -> Result<Self> {
        let options = server.connect_options();
        if options.protocol == Protocol::Postgres {
            clients.session.execute_on_all("SET synchronous_commit = off")?;
            return Ok(Self { back: None });
        }
        if !server.is_ours() {
            return Ok(Self { back: None });
        }
        let mut control = Connection::connect(&options)?;
        let mut back = Vec::new();
        for (name, value) in DURABILITY {
            // A version or engine without such a setting returns an error.
            let asked = control.query(&format!("SELECT @@GLOBAL.{name}"));
            let own = asked.ok().and_then(|rows| rows.first_string()?.parse::<u64>().ok());
            if let Some(own) = own {
                control.query(&format!("SET GLOBAL {name} = {value}"))?;
                back.push(format!("SET GLOBAL {name} = {own}"));
            }
        }
        Ok(Self { back: Some((control, back)) })
    }

    fn end(self) -> Result<()> {
        if let Some((mut control, back)) = self.back {
            for statement in back {
                control.query(&statement)?;
            }
        }
        Ok(())
    }
}

const MATTERS: f64 = 0.5;

pub(super) struct AgingPace {
    began: Instant,
    data: DataSet,
    budget_s: f64,
    events: u64,
    is_told: bool,
}

impl AgingPace {
    pub(super) fn new(data: DataSet, budget_s: f64) -> Self {
        Self { began: Instant::now(), data, budget_s, events: 0, is_told: false }
    }

    /// Message after a test, once it is known that aging takes a large share of the budget.
    pub(super) fn after(&mut self, test: Test) -> Option<String> {
        self.events += aging_events(test, self.data);
        let all: u64 = aging_tests().map(|test| aging_events(test, self.data)).sum();
        let so_far_s = self.began.elapsed().as_secs_f64();
        let seconds = so_far_s * all as f64 / self.events.max(1) as f64;
        if self.is_told || self.events >= all || seconds < MATTERS * self.budget_s {
            return None;
        }
        self.is_told = true;
        Some(slow_aging(seconds, self.budget_s))
    }
}

fn slow_aging(seconds: f64, budget_s: f64) -> String {
    let [aging, budget] = [seconds, budget_s].map(minutes);
    format!(
        "aging the data takes about {aging} of a budget of {budget} (minutes:seconds); the rest of the budget, or a \
         quarter of it, is for measuring"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aging_that_takes_a_large_part_of_the_budget_is_told() {
        let message = slow_aging(200.4, 60.0);
        assert!(
            message.starts_with(
                "aging the data takes about 3:20 of a budget of 1:00 (minutes:seconds)"
            ),
            "{message}"
        );
    }

    #[test]
    fn an_aging_test_commits_durably_for_about_a_second() {
        // Fast: a sample, then the rest.
        assert_eq!(next_part(0, 0.0, 10_000), Some(AgingPart::Own(100)));
        assert_eq!(next_part(100, 0.01, 10_000), Some(AgingPart::Own(9_900)));
        assert_eq!(next_part(10_000, 1.0, 10_000), None);
        // 500 events per second: as many as fit the second, then the rest without waiting.
        assert_eq!(next_part(100, 0.2, 10_000), Some(AgingPart::Own(400)));
        assert_eq!(next_part(500, 1.0, 10_000), Some(AgingPart::Relaxed(9_500)));
        // A little more than a second is no reason.
        assert_eq!(next_part(500, 1.0, 900), Some(AgingPart::Own(400)));
        // Very slow: the sample took longer than the second.
        assert_eq!(next_part(100, 6.0, 10_000), Some(AgingPart::Relaxed(9_900)));
        assert_eq!(next_part(0, 0.0, 0), None);
    }

    #[test]
    fn aging_works_on_tables_whose_ids_the_client_sends() {
        assert_eq!(aging_tests().count(), 8);
        assert!(!aging_tests().any(assay_workloads::needs_numbering));
    }
}
