//! A system's part of a round, with its counters.

use serde::{Deserialize, Serialize};

use crate::{Counters, SLA, Setup, StepSegment, StepWork, Test, Unit};

/// A test in a setup. Every system is measured in every cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CellId {
    pub test: Test,
    pub setup: Setup,
}

/// Identity of a slice, unique within a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SliceId {
    pub system: usize,
    pub cell: CellId,
    pub block: u32,
    pub round: u32,
}

/// Work and latencies of the clients in the measured part of a slice, without warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkCounters {
    pub events: u64,
    /// Statements that returned a result set.
    pub read: u64,
    /// Statements that changed at least one row.
    pub write: u64,
    /// All other statements (`BEGIN`, `COMMIT`, a `DELETE` that found nothing).
    pub other: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Retried errors by server error code (events restarted).
    pub errors: Vec<(u32, u64)>,
    pub elapsed_ns: u64,
    pub event_ns_sum: u64,
    /// Event latencies in nanoseconds: an HDR histogram, V2 encoding.
    pub latency_hdr: Vec<u8>,
}

impl WorkCounters {
    /// As sysbench counts them.
    pub fn queries(&self) -> u64 {
        self.read + self.write + self.other
    }

    pub fn add_statements(&mut self, others: &Self) {
        self.read += others.read;
        self.write += others.write;
        self.other += others.other;
        self.rows += others.rows;
        self.bytes_sent += others.bytes_sent;
        self.bytes_received += others.bytes_received;
    }

    pub fn error_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }
}

/// A turn of a system on the machine: a warm part that is discarded, then a measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct Turn {
    /// Work of the measured part in the test's [`Unit`]: queries or events.
    pub units: u64,
    /// Time of the measured part: wall time, or the sum of event latencies, depending on the unit.
    pub ns: u64,
    pub warm_units: u64,
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

/// Machine interference that makes a slice unfit for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    Steal,
    OtherProcess,
    /// The clock and the kernel's clock disagree: the machine was suspended.
    ClockJump,
    /// Real-time threads had to wait because they had used up their share of a CPU.
    Throttled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SliceOutcome {
    Good,
    /// Finished despite machine trouble: shown, not judged, and its round repeated within limits.
    Troubled,
    Failed(String),
    /// Ended because an event took too long, with a description. [`Slice::work`] has the events that ended and the
    /// clients' working time, which bound its rate from above.
    Unanswered(String),
}

/// One system, one cell, one round: measured in one turn, or in several that alternate with those of other systems.
///
/// The counters of client and server cover whole turns, those of the machine the round, except disk counters, which
/// cover the turns; [`Slice::work`] covers the measured parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    pub system: usize,
    pub cell: CellId,
    /// Index into [`crate::StudyRecord::runs`]: when and where it was measured.
    pub run: usize,
    pub block: u32,
    /// Number of the round within block and cell, from 0. Slices of one round form a pair (or tuple).
    pub round: u32,
    pub position: u32,
    pub started_ms: i64,
    pub outcome: SliceOutcome,
    /// Empty when good.
    pub trouble: Vec<Trouble>,
    pub work: WorkCounters,
    /// In order. Empty for a single turn whose counters cover only the measured part.
    pub turns: Vec<Turn>,
    /// Work of the clients in a step of the Insert Benchmark; `None` for other tests.
    pub step: Option<Box<StepWork>>,
    /// Figures published with its rate, by their published names, such as `cpu/o`. Empty for a slice measured by assay.
    pub published: Vec<(String, f64)>,
    pub counters: Counters,
}

impl Slice {
    pub fn new(system: usize, cell: CellId) -> Self {
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

    pub fn id(&self) -> SliceId {
        SliceId { system: self.system, cell: self.cell, block: self.block, round: self.round }
    }

    /// `None` if it was not read.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name)
    }

    pub fn figure(&self, name: &str) -> Option<f64> {
        self.published.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Whether its rate was limited, as by `sysbench --rate`: it does not show the system's capacity.
    pub fn is_paced(&self) -> bool {
        ["target_tps", "schedule_lag_us"].into_iter().any(|name| self.figure(name).is_some())
    }

    /// Operations, as defined by the test's [`Unit`], per second of the measured part; `None` if nothing was measured.
    pub fn ops_per_second(&self) -> Option<f64> {
        let ns = match self.cell.test.unit {
            Unit::ThousandRows => self.work.event_ns_sum,
            Unit::Query | Unit::InsertedRow | Unit::IndexedRow => self.work.elapsed_ns,
        };
        let ops = self.ops();
        (ns > 0 && ops > 0.0).then(|| ops / (ns as f64 / 1e9))
    }

    pub fn ops(&self) -> f64 {
        let units = match self.cell.test.unit {
            Unit::ThousandRows => self.work.events,
            Unit::Query => self.work.queries(),
            Unit::InsertedRow | Unit::IndexedRow => self.inserted_rows(),
        };
        units as f64 * self.ops_per_unit()
    }

    /// Operations of all clients while counters of client, server and machine ran.
    pub fn counted_ops(&self) -> f64 {
        let warm: u64 = self.turns.iter().map(|turn| turn.warm_units).sum();
        self.ops() + warm as f64 * self.ops_per_unit()
    }

    /// Wall time of client work while counters of client, server and machine ran, nanoseconds.
    pub fn counted_ns(&self) -> u64 {
        let warm: u64 = self.turns.iter().map(|turn| turn.warm_ns).sum();
        self.work.elapsed_ns.saturating_add(warm)
    }

    fn ops_per_unit(&self) -> f64 {
        match self.cell.test.unit {
            Unit::ThousandRows => f64::from(self.cell.setup.rows) / 1000.0,
            Unit::Query | Unit::InsertedRow => 1.0,
            // Rows that the tables had before plus those of one statement, as published.
            Unit::IndexedRow => {
                let rows = f64::from(self.cell.setup.rows) * f64::from(self.cell.setup.clients);
                (rows + 100.0) / (self.inserted_rows().max(1) as f64)
            }
        }
    }

    /// The part of a step that it measured; `None` for a whole step and for other tests.
    pub fn segment(&self) -> Option<StepSegment> {
        self.step.as_ref()?.segment
    }

    /// Rows per second inserted in the segments of a step of the Insert Benchmark, and its background rate; `None`
    /// without a rate.
    pub fn background_rate(segments: &[&Self]) -> Option<(f64, f64)> {
        let first = segments.first()?;
        let per_second = first.cell.test.ibench()?.per_second?;
        let target = f64::from(per_second) * f64::from(first.cell.setup.clients);
        let measured = || segments.iter().filter(|slice| slice.work.elapsed_ns > 0);
        let rows: f64 = measured().map(|slice| slice.inserted_rows() as f64).sum();
        let seconds: f64 = measured().map(|slice| slice.rate_s()).sum();
        (seconds > 0.0).then(|| (rows / seconds, target))
    }

    /// Seconds by which inserted and deleted rows are divided. With a background rate, whole seconds, as in the
    /// author's reports: the last burst, like any other, may take up to a second without being late.
    pub fn rate_s(&self) -> f64 {
        let seconds = self.work.elapsed_ns as f64 / 1e9;
        let is_paced = self.cell.test.ibench().is_some_and(|step| step.per_second.is_some());
        if is_paced { seconds.floor().max(1.0) } else { seconds }
    }

    /// Whether they are the segments of a step that lost its background rate, so its queries had less to compete with.
    pub fn misses_sla(segments: &[&Self]) -> bool {
        Self::background_rate(segments).is_some_and(|(rate, target)| rate < SLA * target)
    }

    /// Those of counted events have a fixed number for each event.
    fn inserted_rows(&self) -> u64 {
        match (&self.step, self.cell.test.ibench()) {
            (Some(step), _) => step.insert.rows,
            (None, Some(step)) => self.work.events.saturating_mul(step.rows_per_statement().into()),
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Definition, Group, PlanningFacts, Schema, StartFrom};

    fn slice(unit: Unit, clients: u32, work: WorkCounters) -> Slice {
        let setup = Setup { clients, tables: 1, rows: 100_000 };
        let group = Group { rank: 0, word: "g".to_owned(), title: "g".to_owned() };
        let test = Test::intern(Definition {
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
        Slice { work, ..Slice::new(0, CellId { test, setup }) }
    }

    #[test]
    fn scan_is_the_rate_of_one_client_whatever_their_number() {
        // Each scan takes half a second. The last of three clients ends long after the others.
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
