//! A system's part of a round, and everything counted during it.

use serde::{Deserialize, Serialize};

use crate::{Counters, SLA, Setup, StepWork, Test, Unit};

/// One test under one setup. Every system is measured in every cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CellId {
    /// The test.
    pub test: Test,
    /// Clients, tables, rows.
    pub setup: Setup,
}

/// The identity of a slice: no two slices of a study have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SliceId {
    /// Index into [`crate::StudyRecord::systems`].
    pub system: usize,
    /// The cell that was measured.
    pub cell: CellId,
    /// Number of the set of fresh instances, from 0.
    pub block: u32,
    /// Number of the round within the block and cell, from 0.
    pub round: u32,
}

/// Work and latencies of the clients in the measured part of a slice (the warm-up is discarded).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkCounters {
    /// Completed events.
    pub events: u64,
    /// Statements that returned a result set.
    pub read: u64,
    /// Statements that changed at least one row.
    pub write: u64,
    /// Statements that did neither (`BEGIN`, `COMMIT`, a `DELETE` that found nothing).
    pub other: u64,
    /// Rows received.
    pub rows: u64,
    /// Bytes sent, protocol headers included.
    pub bytes_sent: u64,
    /// Bytes received, protocol headers included.
    pub bytes_received: u64,
    /// Retried errors by server error code (events restarted).
    pub errors: Vec<(u32, u64)>,
    /// Wall time of the measured part, nanoseconds.
    pub elapsed_ns: u64,
    /// Sum of the latencies of all events, nanoseconds.
    pub event_ns_sum: u64,
    /// Event latencies: an HDR histogram in nanoseconds, V2 encoding.
    pub latency_hdr: Vec<u8>,
}

impl WorkCounters {
    /// Queries as sysbench counts them: read + write + other.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }

    /// Adds the statements of others, with their rows and bytes.
    pub fn add_statements(&mut self, others: &Self) {
        self.read += others.read;
        self.write += others.write;
        self.other += others.other;
        self.rows += others.rows;
        self.bytes_sent += others.bytes_sent;
        self.bytes_received += others.bytes_received;
    }

    /// All retried errors.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }
}

/// A turn: the system had the machine and its clients worked, first in a warm part that is discarded, then in a
/// measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct Turn {
    /// Work of the measured part: what the test's [`Unit`] counts, queries or events.
    pub units: u64,
    /// Time of the measured part that the unit divides by, nanoseconds: wall time, or the sum of the events' latencies.
    pub ns: u64,
    /// Work of the warm part, in the same unit.
    pub warm_units: u64,
    /// Wall time of the warm part, nanoseconds.
    pub warm_ns: u64,
}

impl From<[u64; 4]> for Turn {
    fn from([units, ns, warm_units, warm_ns]: [u64; 4]) -> Self {
        Self { units, ns, warm_units, warm_ns }
    }
}

impl From<Turn> for [u64; 4] {
    fn from(turn: Turn) -> Self {
        [turn.units, turn.ns, turn.warm_units, turn.warm_ns]
    }
}

/// Interference from the machine that makes a slice unfit for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// The hypervisor took CPU time.
    Steal,
    /// Another process used CPU time.
    OtherProcess,
    /// The clock and the kernel's clock disagree: the machine was suspended.
    ClockJump,
    /// Threads of real-time priority had to wait: the kernel had used up their share of a CPU.
    Throttled,
}

/// Outcome of a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SliceOutcome {
    /// Fit for a verdict.
    Good,
    /// Finished, but in machine trouble: shown, not judged, and its round repeated within limits.
    Troubled,
    /// Cut off, with the reason.
    Failed(String),
    /// Ended because an event took too long, with the words for it. [`Slice::work`] has the events that ended, and for
    /// how long the clients worked: they bound its rate from above.
    Unanswered(String),
}

/// One system, one cell, one round: measured in one turn, or in several that alternate with those of the other systems.
///
/// The counters of client and server cover the whole turns, those of the machine the round, except those of the disk,
/// which cover the turns; [`Slice::work`] covers their measured parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    /// Index into [`crate::StudyRecord::systems`].
    pub system: usize,
    /// The cell that was measured.
    pub cell: CellId,
    /// Index into [`crate::StudyRecord::runs`]: when and where it was measured.
    pub run: usize,
    /// Number of the set of fresh instances, from 0.
    pub block: u32,
    /// Number of the round within the block and cell, from 0. Slices of one round are one pair (or tuple).
    pub round: u32,
    /// Place within the round, from 0: the order in which the systems took their turn.
    pub position: u32,
    /// When it began, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Its outcome.
    pub outcome: SliceOutcome,
    /// Why it is troubled; empty when good.
    pub trouble: Vec<Trouble>,
    /// The clients' counters of the measured parts.
    pub work: WorkCounters,
    /// Its turns, in order. Empty where it has one, and its counters cover the measured part only.
    pub turns: Vec<Turn>,
    /// All that the clients of a step of the Insert Benchmark did; `None` for all other tests.
    pub step: Option<Box<StepWork>>,
    /// Figures that were published with its rate, by their published names, such as `cpu/o`. Empty for a slice that
    /// assay measured.
    pub published: Vec<(String, f64)>,
    /// What client, server, machine and the server's own status counted.
    pub counters: Counters,
}

impl Slice {
    /// One of which nothing is known yet.
    #[must_use]
    pub fn of(system: usize, cell: CellId) -> Self {
        Self {
            system,
            cell,
            run: 0,
            block: 0,
            round: 0,
            position: 0,
            started_ms: 0,
            outcome: SliceOutcome::Good,
            trouble: Vec::new(),
            work: WorkCounters::default(),
            turns: Vec::new(),
            step: None,
            published: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Its identity, which no other slice of the study has.
    #[must_use]
    pub fn id(&self) -> SliceId {
        SliceId { system: self.system, cell: self.cell, block: self.block, round: self.round }
    }

    /// A counter; `None` if it was not read.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name)
    }

    /// A figure that was published with it.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.published.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Whether its rate was limited, as by `sysbench --rate`: it does not say what the system is able to do.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        ["target_tps", "schedule_lag_us"].into_iter().any(|name| self.figure(name).is_some())
    }

    /// Operations per second of the measured part; `None` if nothing was measured.
    ///
    /// The test's [`Unit`] defines an operation.
    #[must_use]
    pub fn ops_per_second(&self) -> Option<f64> {
        let ns = match self.cell.test.unit {
            Unit::ThousandRows => self.work.event_ns_sum,
            Unit::Query | Unit::InsertedRow | Unit::IndexedRow => self.work.elapsed_ns,
        };
        let ops = self.ops();
        (ns > 0 && ops > 0.0).then(|| ops / (ns as f64 / 1e9))
    }

    /// Operations of all clients in the measured part.
    #[must_use]
    pub fn ops(&self) -> f64 {
        let units = match self.cell.test.unit {
            Unit::ThousandRows => self.work.events,
            Unit::Query => self.work.queries(),
            Unit::InsertedRow | Unit::IndexedRow => self.inserted_rows(),
        };
        units as f64 * self.ops_per_unit()
    }

    /// Operations of all clients while the counters of client, server and machine ran.
    #[must_use]
    pub fn counted_ops(&self) -> f64 {
        let warm: u64 = self.turns.iter().map(|turn| turn.warm_units).sum();
        self.ops() + warm as f64 * self.ops_per_unit()
    }

    /// Wall time for which clients worked while the counters of client, server and machine ran, nanoseconds.
    #[must_use]
    pub fn counted_ns(&self) -> u64 {
        let warm: u64 = self.turns.iter().map(|turn| turn.warm_ns).sum();
        self.work.elapsed_ns.saturating_add(warm)
    }

    fn ops_per_unit(&self) -> f64 {
        match self.cell.test.unit {
            Unit::ThousandRows => f64::from(self.cell.setup.rows) / 1000.0,
            Unit::Query | Unit::InsertedRow => 1.0,
            // The rows that the tables had before, and those of one statement, as published.
            Unit::IndexedRow => {
                let rows = f64::from(self.cell.setup.rows) * f64::from(self.cell.setup.clients);
                (rows + 100.0) / (self.inserted_rows().max(1) as f64)
            }
        }
    }

    /// Rows per second that a step of the Insert Benchmark inserted, and its background rate; `None` if it has none.
    #[must_use]
    pub fn background_rate(&self) -> Option<(f64, f64)> {
        let per_second = self.cell.test.ibench()?.per_second?;
        let target = f64::from(per_second) * f64::from(self.cell.setup.clients);
        (self.work.elapsed_ns > 0).then(|| (self.inserted_rows() as f64 / self.rate_s(), target))
    }

    /// The seconds by which its inserted and deleted rows are divided. With a background rate, these are whole seconds,
    /// as in the author's reports: the last burst, like any other, may take up to a second without being late.
    #[must_use]
    pub fn rate_s(&self) -> f64 {
        let seconds = self.work.elapsed_ns as f64 / 1e9;
        let is_paced = self.cell.test.ibench().is_some_and(|step| step.per_second.is_some());
        if is_paced { seconds.floor().max(1.0) } else { seconds }
    }

    /// Whether it is a step that did not keep its background rate, so that its queries had less to compete with.
    #[must_use]
    pub fn misses_sla(&self) -> bool {
        self.background_rate().is_some_and(|(rate, target)| rate < SLA * target)
    }

    fn inserted_rows(&self) -> u64 {
        self.step.as_ref().map_or(0, |step| step.insert.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Definition, Group, PlanningFacts, Schema, StartFrom};

    fn slice(unit: Unit, clients: u32, work: WorkCounters) -> Slice {
        let setup = Setup { clients, tables: 1, rows: 100_000 };
        let group = Group { rank: 0, word: "g".to_owned(), title: "g".to_owned() };
        let test = Test::of(Definition {
            name: format!("{unit:?}"),
            group,
            groups: Vec::new(),
            does: String::new(),
            class: Class::Read,
            start_from: StartFrom::Fresh,
            unit,
            schema: Schema::Sbtest,
            roles: Vec::new(),
            planning: PlanningFacts::default(),
            digest: String::new(),
        });
        Slice { work, ..Slice::of(0, CellId { test, setup }) }
    }

    #[test]
    fn scan_is_the_rate_of_one_client_whatever_their_number() {
        // Each scan takes half a second. Of three clients, the last one ends long after the others.
        let work = |events, elapsed_ms: u64| WorkCounters {
            events,
            read: events,
            elapsed_ns: elapsed_ms * 1_000_000,
            event_ns_sum: events * 500_000_000,
            ..WorkCounters::default()
        };
        let one = slice(Unit::ThousandRows, 1, work(2, 1000));
        let three = slice(Unit::ThousandRows, 3, work(4, 1000));
        assert_eq!((one.ops(), one.ops_per_second()), (200.0, Some(200.0)));
        assert_eq!((three.ops(), three.ops_per_second()), (400.0, Some(200.0)));
    }

    #[test]
    fn other_tests_count_the_queries_of_all_clients() {
        let work = WorkCounters {
            events: 10,
            read: 30,
            other: 10,
            elapsed_ns: 500_000_000,
            event_ns_sum: 1_000_000_000,
            ..WorkCounters::default()
        };
        assert_eq!(slice(Unit::Query, 2, work).ops_per_second(), Some(80.0));
        assert_eq!(slice(Unit::ThousandRows, 1, WorkCounters::default()).ops_per_second(), None);
    }
}
