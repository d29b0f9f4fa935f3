//! A study: the question and everything measured for it, as the ledger stores it and verdict and report read it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits::BLOCKS;
use crate::{
    Artifact, BisectPart, CellCount, CellId, CellProfile, CellSoak, DataContent, DataSet,
    EventKind, Gate, Host, IdKey, Preset, Priority, Schema, Series, Setup, ShardRun, Slice,
    SliceId, SliceOutcome, StartFrom, StatementMode, SystemSpec, TableForm, TestSet, UserData,
    WatchPart, words,
};

words! {
    /// The CPUs that clients and server may use, chosen per study and shown in the report.
    pub enum CpuPlacement {
        /// Client and whole server on one CPU.
        OneCpu = "one-cpu",
        /// Client and the threads that serve it on one CPU, background threads anywhere.
        ConnectionsOnOneCpu = "connections-on-one-cpu",
        /// Each client and the thread that serves it on one of the CPUs, background threads anywhere.
        Pairs = "pairs",
        /// Nothing pinned.
        Free = "free",
    }
}

words! {
    /// The order in which systems take turns.
    pub enum Experiment (default: Interleaved) {
        /// In short slices, round by round, on fresh instances block by block: noise and drift of the machine cancel
        /// out.
        Interleaved = "interleaved",
        /// One system after the other, each test once and long, on one instance, as in the published posts (preset
        /// published).
        Sequential = "sequential",
        /// In alternation, step by step, on one instance of each system: for steps that build on each other, as those
        /// of the Insert Benchmark do.
        Stepwise = "stepwise",
        /// Nothing is timed: each test's instructions are counted, on instances of its own.
        Counted = "counted",
    }
}

/// A system taking part in a study, resolved to one build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Name in every report: as typed, ` #2` when given twice, ` (twin)` for the A/A twin.
    pub name: String,
    /// The system as the user named it.
    pub spec: SystemSpec,
    /// Its kind.
    pub artifact: Artifact,
    /// Whether it is the base, by which the others are divided.
    pub is_base: bool,
    /// Whether it is the twin: the base a second time, to count false alarms.
    pub is_twin: bool,
    /// Server options as rendered for this version, in order.
    pub options: Vec<String>,
}

/// A cell of the plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedCell {
    /// The cell.
    pub id: CellId,
    /// Planned warm part of each turn, which is discarded, milliseconds. Write tests: part of the events, see `events`.
    pub warm_ms: u32,
    /// Warm part of each turn in its place, microseconds. `None` before it is chosen, together with `turn_ms`.
    pub warm_us: Option<u32>,
    /// Measured part of each turn, milliseconds. A slice that is not longer has one turn.
    pub turn_ms: u32,
    /// Measured part of each slice, milliseconds. It bounds reads; the calibration of writes aims at it.
    pub slice_ms: u32,
    /// Events of a write slice, the same for all systems; `None` for reads, and for writes before the calibration.
    pub events: Option<u64>,
    /// CPUs of clients and server.
    pub placement: CpuPlacement,
    /// Priority of clients and server in turns.
    pub priority: Priority,
}

impl PlannedCell {
    /// One that takes no time.
    #[must_use]
    pub fn of(id: CellId) -> Self {
        Self {
            id,
            warm_ms: 0,
            warm_us: None,
            turn_ms: 0,
            slice_ms: 0,
            events: None,
            placement: CpuPlacement::Free,
            priority: Priority::Normal,
        }
    }

    /// Warm part of each turn, microseconds.
    #[must_use]
    pub fn warm_time_us(&self) -> u64 {
        self.warm_us.map_or(u64::from(self.warm_ms) * 1000, u64::from)
    }

    /// Turns of each system in a round: an even number, so that they can be balanced, or one.
    #[must_use]
    pub fn turns(&self) -> u32 {
        match self.slice_ms / self.turn_ms.max(1) {
            0 | 1 => 1,
            turns => turns.next_multiple_of(2),
        }
    }
}

/// The question of a study, fixed before the first measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Short unique name.
    pub id: String,
    /// When it began, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Level of effort.
    pub preset: Preset,
    /// The selection of tests, which decides the grouping.
    pub set: TestSet,
    /// Seed of every random choice: order, parameters, data.
    pub seed: u64,
    /// Smallest relative change of practical interest, such as 0.02.
    pub threshold: f64,
    /// Time the study may take, seconds.
    pub budget_s: f64,
    /// Maximum number of blocks, among which the budget is divided.
    pub blocks: u32,
    /// Maximum number of rounds of every cell per block.
    pub rounds: u32,
    /// Cells in the order in which they run.
    pub cells: Vec<PlannedCell>,
    /// Every combination of clients, tables and rows that is measured, in order.
    pub setups: Vec<Setup>,
    /// The order in which systems take turns.
    pub experiment: Experiment,
    /// The key of the column `id` in all tables.
    pub id_key: IdKey,
    /// How sysbench's tables are created beside that.
    pub table_form: TableForm,
    /// The way in which statements are sent.
    pub statements: StatementMode,
    /// Name of the terms on which servers are started; `None` for published results.
    pub terms: Option<String>,
    /// The limits that its systems must keep within; `None` if the study is no gate.
    pub gate: Option<Gate>,
    /// The search that it is a part of, if it is one.
    pub bisect: Option<BisectPart>,
    /// The watch that it belongs to, if it does.
    pub watch: Option<WatchPart>,
    /// The study file that asks for this again, TOML.
    pub recipe: String,
    /// Version of the workload definition.
    pub workload_version: u32,
    /// Version of the assay that planned it.
    pub assay_version: String,
}

impl Study {
    /// One in which each cell was measured once, as in published results.
    #[must_use]
    pub fn of(id: String, started_ms: i64, cells: &[CellId]) -> Self {
        let setups: BTreeSet<Setup> = cells.iter().map(|cell| cell.setup).collect();
        Self {
            id,
            started_ms,
            preset: Preset::Published,
            set: TestSet::Set47,
            seed: 0,
            threshold: 0.05,
            budget_s: 0.0,
            blocks: 1,
            rounds: 1,
            cells: cells.iter().copied().map(PlannedCell::of).collect(),
            setups: setups.into_iter().collect(),
            experiment: Experiment::Sequential,
            id_key: IdKey::Primary,
            table_form: TableForm::default(),
            statements: StatementMode::Prepared,
            terms: None,
            gate: None,
            bisect: None,
            watch: None,
            recipe: String::new(),
            workload_version: 0,
            assay_version: String::new(),
        }
    }

    /// The tables that its tests work on, which all share them. Those of a study without tests are sysbench's.
    #[must_use]
    pub fn schema(&self) -> &'static Schema {
        let test = self.cells.first().map(|cell| cell.id.test.definition());
        test.map_or(&Schema::Sbtest, |test| &test.schema)
    }

    /// The tables of the user's workload that it measures; `None` if it measures sysbench's tests.
    #[must_use]
    pub fn user_data(&self) -> Option<&'static UserData> {
        self.cells.iter().find_map(|cell| cell.id.test.user_data())
    }

    /// The name of the user's workload that it measures, if it does.
    #[must_use]
    pub fn workload(&self) -> Option<&'static str> {
        self.cells.iter().find_map(|cell| cell.id.test.workload())
    }

    /// Whether its setups say how many tables and rows there are. The tables of a user's workload or script are
    /// whatever they are: a setup counts them as one table, and their rows may be a guess.
    #[must_use]
    pub fn has_known_tables(&self) -> bool {
        !matches!(self.schema(), Schema::User(_) | Schema::Lua(_))
    }

    /// Whether it measures the steps of the Insert Benchmark.
    #[must_use]
    pub fn is_insert_benchmark(&self) -> bool {
        self.cells.iter().any(|cell| cell.id.test.ibench().is_some())
    }
}

/// A server process that took part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Index into the systems.
    pub system: usize,
    /// Index into [`StudyRecord::runs`].
    pub run: usize,
    /// The block it served.
    pub block: u32,
    /// The data set it held.
    pub data: DataSet,
    /// The state of the data that it started from.
    pub start_from: StartFrom,
    /// When it answered its first query, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Start to first answered query, milliseconds.
    pub start_took_ms: u64,
}

/// A block as it was planned, from which an interrupted study continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// Its number, from 0.
    pub number: u32,
    /// Index into [`StudyRecord::runs`]: the run in which it began.
    pub run: usize,
    /// Blocks that were expected to fit the time that was left, this one included. With those before, they say what
    /// share of the study's information it brings.
    pub left: u32,
    /// The cells that take part, in order.
    pub cells: Vec<BlockCell>,
}

/// A cell's part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockCell {
    /// The cell.
    pub id: CellId,
    /// The number of good rounds that it should get.
    pub rounds: u32,
}

/// A period on one machine in which a study was measured: the first one, and another for each time it was resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// When it began, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// When its last row was written, milliseconds since the Unix epoch.
    pub updated_ms: i64,
    /// The machine.
    pub host: Host,
    /// Version of the assay that measured.
    pub assay_version: String,
    /// The shard that it measured; `None` if it measured a whole study.
    pub shard: Option<ShardRun>,
}

impl Run {
    /// Its duration, seconds.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.updated_ms.saturating_sub(self.started_ms) as f64 / 1e3
    }
}

/// Something worth reporting that is not a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyEvent {
    /// When, milliseconds since the Unix epoch.
    pub when_ms: i64,
    /// Index into the systems, when it concerns one.
    pub system: Option<usize>,
    /// Description of the event.
    pub what: EventKind,
}

/// Classification of a difference in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditClass {
    /// Asked for, or inherent in the versions.
    Expected,
    /// Known not to matter, or not known to matter.
    Harmless,
    /// Known to decide comparisons by itself, and not asked for.
    Suspicious,
}

/// One setting that differs between systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFinding {
    /// The setting.
    pub setting: String,
    /// Its value by system index; `None` if the system has no such setting.
    pub values: Vec<Option<String>>,
    /// Its class.
    pub class: AuditClass,
    /// Why it matters, or why it does not.
    pub why: String,
    /// Whether a user asked for the difference, by a system's name, options or engine.
    pub is_asked: bool,
    /// The statements of a user's test whose plans differ. Empty where a differing plan has no place in the test, and
    /// where it is not about plans.
    pub statements: Vec<StatementPlans>,
}

/// A statement of a user's test whose plans differ between systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementPlans {
    /// Its place: the kind of events.
    pub kind: u32,
    /// Its place: the step of the kind.
    pub step: u32,
    /// The plan by system index: equal numbers stand for equal plans. `None` if the plan is not known.
    pub plans: Vec<Option<u32>>,
}

/// Everything the ledger holds about one study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyRecord {
    /// The study.
    pub study: Study,
    /// The systems, base first.
    pub systems: Vec<System>,
    /// Content of the data that instances started from.
    pub data: Vec<DataContent>,
    /// The periods in which it was measured; at least one.
    pub runs: Vec<Run>,
    /// Blocks that were started.
    pub blocks: Vec<Block>,
    /// Server processes that took part.
    pub instances: Vec<Instance>,
    /// Every slice, in the order measured.
    pub slices: Vec<Slice>,
    /// Series of slices, if they were read.
    #[serde(skip)]
    pub series: Vec<(SliceId, Series)>,
    /// Profiles of servers, if they were read.
    #[serde(skip)]
    pub profiles: Vec<CellProfile>,
    /// Its counts of instructions, by cell and system. They are read separately from the rest.
    pub counts: Vec<CellCount>,
    /// Longer looks at its tests, by cell and system. They are read separately from the rest.
    #[serde(skip)]
    pub soaks: Vec<CellSoak>,
    /// Everything else that happened.
    pub events: Vec<StudyEvent>,
    /// Settings that differ.
    pub audit: Vec<AuditFinding>,
    /// Whether the study ran to its end.
    pub finished: bool,
    /// Whether it is being measured at this moment. The ledger does not know and leaves it unset.
    pub running: bool,
    /// Whether it came from elsewhere: imported, or collected without a job of this user. It is read, never run.
    #[serde(skip)]
    pub foreign: bool,
}

impl StudyRecord {
    /// Whether others have measured the systems: assay knows what they published.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.systems.iter().any(|system| matches!(system.artifact, Artifact::Reported(_)))
    }

    /// Whether nothing was timed, and only instructions were counted.
    #[must_use]
    pub fn counts_only(&self) -> bool {
        self.study.experiment == Experiment::Counted
    }

    /// When it began, milliseconds since the Unix epoch; `None` for published results, whose `started_ms` is the moment
    /// of their import.
    #[must_use]
    pub fn began_ms(&self) -> Option<i64> {
        (!self.is_reported()).then_some(self.study.started_ms)
    }

    /// Time spent on it, seconds; `None` for published results, because only their import took time.
    #[must_use]
    pub fn spent_s(&self) -> Option<f64> {
        (!self.is_reported()).then(|| self.elapsed_s())
    }

    /// Whether the counts of a slice were counted. A published rate becomes a slice of which only the rate is true.
    #[must_use]
    pub fn is_counted(&self, slice: &Slice) -> bool {
        let is_report_of_sysbench = slice.work.events > 0 && slice.work.elapsed_ns > 0;
        let is_run_of_steps = slice.step.is_some() && slice.published.is_empty();
        !self.is_reported() || is_report_of_sysbench || is_run_of_steps
    }

    /// A study without any measurement yet.
    #[must_use]
    pub fn new(study: Study, host: Host, systems: Vec<System>) -> Self {
        let run = Run {
            started_ms: study.started_ms,
            updated_ms: study.started_ms,
            host,
            assay_version: study.assay_version.clone(),
            shard: None,
        };
        Self {
            runs: vec![run],
            study,
            systems,
            data: Vec::new(),
            blocks: Vec::new(),
            instances: Vec::new(),
            slices: Vec::new(),
            series: Vec::new(),
            profiles: Vec::new(),
            counts: Vec::new(),
            soaks: Vec::new(),
            events: Vec::new(),
            audit: Vec::new(),
            finished: false,
            running: false,
            foreign: false,
        }
    }

    /// The machine that the study was begun on.
    #[must_use]
    pub fn host(&self) -> &Host {
        static UNKNOWN: Host = Host::unknown();
        self.runs.first().map_or(&UNKNOWN, |run| &run.host)
    }

    /// The shard that it is; `None` if it is a whole study, measured as such or collected from its shards.
    #[must_use]
    pub fn shard(&self) -> Option<&ShardRun> {
        let shard = self.runs.last().and_then(|run| run.shard.as_ref());
        shard.filter(|shard| shard.study != self.study.id)
    }

    /// The slices that count: all but failed attempts at a step of the Insert Benchmark that was tried again.
    pub fn slices_that_count(&self) -> impl Iterator<Item = &Slice> {
        self.slices.iter().filter(|slice| !self.was_tried_again(slice))
    }

    fn was_tried_again(&self, slice: &Slice) -> bool {
        let place = |it: &Slice| (it.system, it.cell, it.block);
        matches!(slice.outcome, SliceOutcome::Failed(_))
            && slice.cell.test.ibench().is_some()
            && self.slices.iter().any(|it| place(it) == place(slice) && it.round > slice.round)
    }

    /// Seconds and blocks that the user added to the plan.
    fn added(&self) -> impl Iterator<Item = (u32, u32)> {
        self.events.iter().filter_map(|event| match event.what {
            EventKind::Extended { seconds, blocks, .. } => Some((seconds, blocks)),
            _ => None,
        })
    }

    /// Time that the study may take, seconds: as planned, and what the user added.
    #[must_use]
    pub fn budget_s(&self) -> f64 {
        self.study.budget_s + self.added().map(|(seconds, _)| f64::from(seconds)).sum::<f64>()
    }

    /// Maximum number of blocks: as planned, and what the user added, as far as a study may have so many.
    #[must_use]
    pub fn blocks_max(&self) -> u32 {
        let all =
            self.added().fold(self.study.blocks, |sum, (_, blocks)| sum.saturating_add(blocks));
        all.min(*BLOCKS.end())
    }

    /// Time spent on the study, seconds; pauses between runs are not part of it.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.runs.iter().map(Run::elapsed_s).sum()
    }
}

/// A study in one line.
#[derive(Debug, Clone, PartialEq)]
pub struct StudySummary {
    /// Its id.
    pub id: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// When it began, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Level of effort.
    pub preset: Preset,
    /// The selection of tests.
    pub set: TestSet,
    /// Names of the systems; the base first.
    pub systems: Vec<String>,
    /// Cells in the plan.
    pub cells: u64,
    /// Slices measured, whatever their outcome.
    pub slices: u64,
    /// Counts of instructions, of a cell on a system each.
    pub counts: u64,
    /// Whether it ran to its end.
    pub finished: bool,
    /// Time spent on it, seconds; pauses between runs are not part of it.
    pub elapsed_s: f64,
    /// Whether others have measured it. Its beginning is then that of the import, and its time is none.
    pub is_reported: bool,
    /// Whether it came from elsewhere, as its ledger says.
    pub foreign: bool,
}
