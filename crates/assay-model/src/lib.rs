//! Types and units shared by all stages of assay. No input or output, no clock, no randomness.
//!
//! Units are in the names: `_us` microseconds, `_ns` nanoseconds, `_kb` kibibytes, `_per_op` divided by operations.
//! An *operation* is one query as sysbench counts it (every executed statement, `BEGIN` and `COMMIT` included),
//! except in `scan`, where it is a thousand rows read by one scanning client.

mod artifact;
mod bisect;
mod captured;
mod claim;
mod conclusion;
mod count;
mod counted;
mod counters;
mod data;
mod dialect;
mod distribution;
mod documents;
mod engine;
mod estimate;
mod event;
mod examination;
mod expression;
mod gate;
mod generator;
mod growing_tree;
mod hint;
mod histogram;
mod host;
mod ibench;
mod instructions;
mod label;
pub mod limits;
mod lua;
mod old_release;
mod prefix;
mod printable;
mod priority;
mod products;
mod profile;
mod published;
mod reach;
mod reserved;
mod restored;
mod same_systems;
mod script;
mod secret;
mod series;
mod session;
mod setup;
mod shard;
mod short_name;
mod slice;
mod study;
mod suite;
mod system;
mod test;
mod test_name;
mod tpcc;
mod user;
mod user_file;
mod words;
mod workload;

pub use artifact::{Artifact, ReportedServer, RunningServer};
pub use bisect::{BisectMeasure, BisectPart, BisectVersion, Unusable, WatchPart};
pub use captured::{Captured, CapturedDraw, CapturedKind};
pub use claim::{Counted, Quantity, Region, Relation, Share, Statement, Summary};
pub use conclusion::{Conclusion, Conclusions};
pub use count::{
    CALLS_PART, COUNT_THRESHOLD, CellCount, Count, CountBatch, CountVerdict, CountedBy, Counting,
};
pub use counted::{counted, thousands};
pub use counters::{Counters, STATEMENT, STATUS, STATUS_LEVELS};
pub use data::{DataContent, DataSet, StatementMode, TableForm, may_equal};
pub use dialect::Dialect;
pub use distribution::Distribution;
pub use documents::{CellDocument, StudyDocument, StudyDocuments, UnreadableDocument};
pub use engine::Engine;
pub use estimate::{Estimate, Verdict};
pub use event::{
    BusyProcess, EventKind, MachineFact, ScaledSize, ScaledSizes, SettingsTried, UndoneBy,
    UntakenOption,
};
pub use examination::{
    Correlation, CpuFacts, Delays, Examination, LoadFacts, MemoryFacts, Noise, Quantiles, TurnError,
};
pub use expression::{Function, Term};
pub use gate::Gate;
pub use generator::{Generator, Range, Scalar};
pub use growing_tree::GrowingTree;
pub use hint::Hint;
pub use histogram::{HISTOGRAM_VALUE_MAX, recorded_values};
pub use host::Host;
pub use ibench::{
    Broke, IbenchQueries, IbenchQuery, IbenchStep, IbenchTables, LowestQueries, Partitions,
    Preparation, RESPONSE_BOUNDS_US, SLA, Statements, StepWork,
};
pub use instructions::FunctionCount;
pub use label::{exact_names, labels, versions};
pub use lua::{LuaFile, LuaScript};
pub use old_release::OldRelease;
pub use prefix::{Build, Layout, Package, Prefix};
pub use printable::{no_formula, printable, printable_json, printable_lines, shortened};
pub use priority::{Priority, RealtimeAccess};
pub use products::{Product, ProductFacts};
pub use profile::{
    CallNode, CallTree, CellProfile, Frame, KERNEL, ProcessorPart, Profile, ProfileLimits,
    Profiling, SMALL_CALLS, Waits,
};
pub use published::PublishedGroup;
pub use reach::{Reach, changes_plans, reach};
pub use reserved::{Refusal, is_option, refusal};
pub use restored::{
    AnswerDifference, AnswerPart, AnswersCompared, Restored, RestoredKind, Severity,
};
pub use same_systems::{SameBecause, SameOption, SameSystems};
pub use script::{Fill, Scratch, Script, Step, Table};
pub use secret::{
    Login, Secret, address_without_login, login, masked, may_be_secret, without_logins,
    without_secrets,
};
pub use series::{Attachment, Series};
pub use session::{SessionSetting, SettingError, SettingForm};
pub use setup::{Preset, Setup};
pub use shard::ShardRun;
pub use short_name::{NAME_LETTERS, SHORTENED, short_names};
pub use slice::{CellId, Slice, SliceId, SliceOutcome, Trouble, Turn, WorkCounters};
pub use study::{
    AuditClass, AuditFinding, Block, BlockCell, CpuPlacement, Experiment, Instance, PlannedCell,
    Run, StatementPlans, Study, StudyEvent, StudyRecord, StudySummary, System,
};
pub use suite::{RandType, Suite};
pub use system::{AUTOCOMMIT_OFF, Origin, SystemSpec};
pub use test::{
    Class, Definition, Group, Pacing, PlanningFacts, Role, Schema, StartFrom, Test, TestSet, Unit,
};
pub use test_name::{is_test_name, test_name};
pub use tpcc::{RESPONSE_CLASSES, Tpcc, TpccKind, response_bound_us};
pub use user::{
    Logged, PerDialect, PipelineMark, Sending, Sql, Transaction, UserColumn, UserData, UserDump,
    UserRows, UserStep, UserTable, Variable,
};
pub use user_file::UserRowsFile;
pub use words::Words;
pub(crate) use words::words;
pub use workload::WorkloadFacts;

/// Version of the workload definition (statements, parameters, data, order, counting). Slices of different versions
/// measure different work and never share a verdict.
pub const WORKLOAD_VERSION: u32 = 1;
