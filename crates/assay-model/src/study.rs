//! A study: its question and all measurements, as the ledger stores it and verdict and report read it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits::BLOCKS;
use crate::{
    Artifact, CellCount, CellId, CellProfile, CpuLists, DataContent, DataSet, EventKind,
    FollowedRange, Host, JudgedFigures, Preset, Priority, RegressionLimits, Schema, SearchPart,
    Series, Setup, ShardRun, Slice, SliceId, SliceOutcome, StartFrom, StatementMode,
    StudyDocuments, SystemSpec, TableForm, Test, TestSet, UserData, words,
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
        /// In alternation, segment by segment of each step or step by step, on one instance of each system: for steps
        /// that build on each other, as those of the Insert Benchmark do.
        Stepwise = "stepwise",
        /// All steps of one system after the other, as in the published posts (preset published).
        Consecutive = "consecutive",
        /// Nothing is timed: each test's instructions are counted, on instances of its own.
        Counted = "counted",
    }
}

impl Experiment {
    /// Whether one system runs at a time, so that memory and disk need to be large enough for one.
    pub fn runs_one_system(self) -> bool {
        matches!(self, Self::Sequential | Self::Consecutive)
    }

    /// Whether tests are steps that build on each other.
    pub fn has_steps(self) -> bool {
        matches!(self, Self::Stepwise | Self::Consecutive)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// Name in every report: as typed, ` #2` when given twice, ` (twin)` for the A/A twin.
    pub name: String,
    pub spec: SystemSpec,
    pub artifact: Artifact,
    pub is_base: bool,
    /// Whether it is the base repeated, to count false alarms.
    pub is_twin: bool,
    /// Server options as rendered for this version, in order.
    pub options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedCell {
    pub id: CellId,
    /// Planned warm part of each turn, which is discarded. For write tests: a part of the events, see `events`.
    pub warm_ms: u32,
    /// Warm part of each turn that replaces `warm_ms`. `None` until it is chosen, together with `turn_ms`.
    pub warm_us: Option<u32>,
    /// Measured part of each turn. A slice of no greater length has one turn.
    pub turn_ms: u32,
    /// Measured part of each slice. A bound for reads, a target for the calibration of writes.
    pub slice_ms: u32,
    /// Events of a write slice, equal for all systems; `None` for reads, and for writes before calibration.
    pub events: Option<u64>,
    pub placement: CpuPlacement,
    pub priority: Priority,
}

impl PlannedCell {
    pub fn new(id: CellId) -> Self {
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

    pub fn warm_time_us(&self) -> u64 {
        self.warm_us.map_or(u64::from(self.warm_ms) * 1000, u64::from)
    }

    /// Turns of each system in a round: one, or an even number for balance.
    pub fn turns(&self) -> u32 {
        match self.slice_ms / self.turn_ms.max(1) {
            0 | 1 => 1,
            turns => turns.next_multiple_of(2),
        }
    }
}

/// The question of a study, fixed before the first measurement.
///
/// A ledger keeps what is not skipped here as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Short unique name.
    #[serde(skip)]
    pub id: String,
    /// When it began, milliseconds since the Unix epoch.
    #[serde(skip)]
    pub started_ms: i64,
    pub preset: Preset,
    /// Selection of tests, which determines their grouping.
    pub set: TestSet,
    pub seed: u64,
    /// Smallest relative change of practical interest, such as 0.02.
    pub threshold: f64,
    pub budget_s: f64,
    pub blocks: u32,
    /// Maximum number of rounds of every cell per block.
    pub rounds: u32,
    /// Cells in the order in which they run.
    #[serde(skip)]
    pub cells: Vec<PlannedCell>,
    pub setups: Vec<Setup>,
    pub experiment: Experiment,
    /// Wanted segments of each step, by which systems take turns; 0 if they do so by whole steps, or have no steps.
    #[serde(default, skip_serializing_if = "is_default")]
    pub segments: u32,
    /// The CPUs that the user names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cpus: CpuLists,
    #[serde(default, skip_serializing_if = "is_default")]
    pub table_form: TableForm,
    pub statements: StatementMode,
    /// Name of the terms on which servers are started; `None` for published results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<String>,
    /// The limits that its systems must keep within, if it has any.
    #[serde(rename = "gate", default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RegressionLimits>,
    /// The figures that its answer and its limits are about, and that decide when it has measured enough.
    #[serde(default, skip_serializing_if = "is_default")]
    pub judge: JudgedFigures,
    /// Whether the machine was too noisy to decide by time when it began. Slices are then half as long, and a test has
    /// the rounds that its CPU time needs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_noisy: bool,
    /// The search that it is a part of, if it is one.
    #[serde(rename = "bisect", default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPart>,
    /// The followed range that it belongs to, if it does.
    #[serde(rename = "watch", default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<FollowedRange>,
    /// The request of the user, of which the crate `assay-plan` knows the shape; null for published results.
    #[serde(skip)]
    pub request: serde_json::Value,
    /// The study file that asks for this again, TOML. It is written from the request wherever it is needed.
    #[serde(skip)]
    pub recipe: String,
    /// The command that counts the instructions of the same tests, written where the recipe is; `None` if one cannot.
    #[serde(skip)]
    pub count_command: Option<String>,
    pub workload_version: u32,
    pub assay_version: String,
}

/// Seconds of a count under valgrind: to start the servers, and for each test of each system. From 20 reads of two
/// systems, which took seven to eight minutes at a load of 15 to 21 on two CPUs. Where the processor counts, a count
/// takes less.
const COUNT_START_S: f64 = 40.0;
const COUNT_EACH_S: f64 = 10.0;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Study {
    /// A study that measured each cell once, as in published results.
    pub fn published(id: String, started_ms: i64, cells: &[CellId]) -> Self {
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
            cells: cells.iter().copied().map(PlannedCell::new).collect(),
            setups: setups.into_iter().collect(),
            experiment: Experiment::Sequential,
            segments: 0,
            cpus: CpuLists::default(),
            table_form: TableForm::default(),
            statements: StatementMode::Prepared,
            terms: None,
            limits: None,
            judge: JudgedFigures::default(),
            is_noisy: false,
            search: None,
            followed: None,
            request: serde_json::Value::Null,
            recipe: String::new(),
            count_command: None,
            workload_version: 0,
            assay_version: String::new(),
        }
    }

    /// Whether CPU time cannot answer its question: the user asks for time, or limits are about time.
    pub fn answers_by_time_only(&self) -> bool {
        match self.judge {
            JudgedFigures::Time => true,
            JudgedFigures::Both => self.limits.is_some(),
            JudgedFigures::Cpu => false,
        }
    }

    /// About how many seconds it takes to count the instructions of its tests, each on its data once, on this many
    /// systems.
    pub fn counting_s(&self, systems: usize) -> f64 {
        let tests: BTreeSet<(Test, DataSet)> =
            self.cells.iter().map(|cell| (cell.id.test, cell.id.setup.data())).collect();
        COUNT_START_S + COUNT_EACH_S * (tests.len() * systems) as f64
    }

    /// See [`Schema::for_tests`].
    pub fn schema(&self) -> &'static Schema {
        Schema::for_tests(self.cells.first().map(|cell| cell.id.test))
    }

    /// Tables of the measured user workload; `None` for sysbench's tests.
    pub fn user_data(&self) -> Option<&'static UserData> {
        self.cells.iter().find_map(|cell| cell.id.test.user_data())
    }

    pub fn workload(&self) -> Option<&'static str> {
        self.cells.iter().find_map(|cell| cell.id.test.workload())
    }

    /// See [`crate::WorkloadFacts::has_known_tables`].
    pub fn has_known_tables(&self) -> bool {
        self.schema().facts().has_known_tables()
    }

    /// Segments of a test that is a step; 1 for other tests.
    pub fn segments_of(&self, test: Test) -> u32 {
        test.ibench().map_or(1, |step| step.segments(self.segments))
    }

    pub fn is_insert_benchmark(&self) -> bool {
        self.cells.iter().any(|cell| cell.id.test.ibench().is_some())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceRecord {
    pub system: usize,
    /// Index into [`StudyRecord::runs`].
    pub run: usize,
    pub block: u32,
    pub data: DataSet,
    pub start_from: StartFrom,
    /// Time of its first answered query, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// From start to first answered query.
    pub start_took_ms: u64,
}

/// A planned block, from which an interrupted study continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedBlock {
    pub number: u32,
    /// Index into [`StudyRecord::runs`]: the run in which it began.
    pub run: usize,
    /// Blocks, this one included, that were expected to fit the remaining time. With those before, they determine its
    /// share of the study's information.
    pub left: u32,
    pub cells: Vec<BlockCell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockCell {
    pub id: CellId,
    pub rounds: u32,
}

/// A measuring period on one machine: the first one, and one more per resumption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub started_ms: i64,
    pub updated_ms: i64,
    pub host: Host,
    pub assay_version: String,
    /// The measured shard; `None` for a whole study.
    pub shard: Option<ShardRun>,
}

impl Run {
    pub fn elapsed_s(&self) -> f64 {
        self.updated_ms.saturating_sub(self.started_ms) as f64 / 1e3
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyEvent {
    pub when_ms: i64,
    pub system: Option<usize>,
    pub what: EventKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditClass {
    /// Requested, or inherent in the versions.
    Expected,
    /// Known not to matter, or not known to matter.
    Harmless,
    /// Known to decide comparisons by itself, and not requested.
    Suspicious,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFinding {
    pub setting: String,
    /// Value by system index; `None` if the system has no such setting.
    pub values: Vec<Option<String>>,
    pub class: AuditClass,
    pub why: String,
    /// Whether a user requested the difference by a system's name, options or engine.
    pub is_asked: bool,
    /// Statements of a user's test whose plans differ. Empty if a differing plan has no position in the test, or if the
    /// finding is not about plans.
    pub statements: Vec<StatementPlans>,
}

/// A statement of a user's test whose plans differ between systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementPlans {
    /// Kind of events.
    pub kind: u32,
    /// Step of the kind.
    pub step: u32,
    /// Plan by system index: equal numbers mean equal plans. `None` if unknown.
    pub plans: Vec<Option<u32>>,
}

/// All data in the ledger about a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyRecord {
    pub study: Study,
    /// The base first.
    pub systems: Vec<System>,
    /// Content of the data that instances started from.
    pub data: Vec<DataContent>,
    /// Measuring periods; at least one.
    pub runs: Vec<Run>,
    pub blocks: Vec<PlannedBlock>,
    pub instances: Vec<InstanceRecord>,
    /// In the order measured.
    pub slices: Vec<Slice>,
    /// Empty unless read.
    #[serde(skip)]
    pub series: Vec<(SliceId, Series)>,
    /// Empty unless read.
    #[serde(skip)]
    pub profiles: Vec<CellProfile>,
    /// Instruction counts, by cell and system. Read separately.
    pub counts: Vec<CellCount>,
    /// Documents of the work after the study. Read separately.
    #[serde(skip)]
    pub documents: StudyDocuments,
    pub events: Vec<StudyEvent>,
    pub audit: Vec<AuditFinding>,
    /// Whether the study ran to completion.
    pub finished: bool,
    /// Whether it is being measured right now. The ledger does not know and leaves it unset.
    pub running: bool,
    /// Whether it came from elsewhere: imported, or collected without a job of this user. Read-only.
    #[serde(skip)]
    pub foreign: bool,
}

impl StudyRecord {
    /// Whether others measured the systems: assay knows only published results.
    pub fn is_reported(&self) -> bool {
        self.systems.iter().any(|system| matches!(system.artifact, Artifact::Reported(_)))
    }

    /// Whether nothing was timed, only instructions counted.
    pub fn counts_only(&self) -> bool {
        self.study.experiment == Experiment::Counted
    }

    /// Start; `None` for published results, whose `started_ms` is the time of their import.
    pub fn began_ms(&self) -> Option<i64> {
        (!self.is_reported()).then_some(self.study.started_ms)
    }

    /// Time spent on it, seconds; `None` for published results, as only their import took time.
    pub fn spent_s(&self) -> Option<f64> {
        (!self.is_reported()).then(|| self.elapsed_s())
    }

    /// A study without any measurement yet.
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
            documents: StudyDocuments::default(),
            events: Vec::new(),
            audit: Vec::new(),
            finished: false,
            running: false,
            foreign: false,
        }
    }

    /// The machine on which the study began.
    pub fn host(&self) -> &Host {
        static UNKNOWN: Host = Host::unknown();
        self.runs.first().map_or(&UNKNOWN, |run| &run.host)
    }

    /// `None` if it is a whole study, measured as such or collected from its shards.
    pub fn shard(&self) -> Option<&ShardRun> {
        let shard = self.runs.last().and_then(|run| run.shard.as_ref());
        shard.filter(|shard| shard.study != self.study.id)
    }

    /// All slices except failed attempts at a step of the Insert Benchmark that was repeated.
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

    /// Allowed time including extensions, seconds.
    pub fn budget_s(&self) -> f64 {
        self.study.budget_s + self.added().map(|(seconds, _)| f64::from(seconds)).sum::<f64>()
    }

    /// Maximum number of blocks including extensions, up to the limit of a study.
    pub fn blocks_max(&self) -> u32 {
        let all =
            self.added().fold(self.study.blocks, |sum, (_, blocks)| sum.saturating_add(blocks));
        all.min(*BLOCKS.end())
    }

    /// Time spent on the study without pauses between runs, seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.runs.iter().map(Run::elapsed_s).sum()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct StudySummary {
    pub id: String,
    /// Name given by the user.
    pub name: Option<String>,
    /// Start, milliseconds since the Unix epoch.
    pub started_ms: i64,
    pub preset: Preset,
    pub set: TestSet,
    /// Names; the base first.
    pub systems: Vec<String>,
    /// Planned cells.
    pub cells: u64,
    /// Slices measured, whatever their outcome.
    pub slices: u64,
    /// Instruction counts, one per cell and system.
    pub counts: u64,
    /// Whether it ran to completion.
    pub finished: bool,
    /// Time spent without pauses between runs, seconds.
    pub elapsed_s: f64,
    /// Whether others measured it. Its start is then that of the import, and its duration 0.
    pub is_reported: bool,
    /// Whether it came from elsewhere, according to its ledger.
    pub foreign: bool,
}
