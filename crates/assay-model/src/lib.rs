//! Types and units shared by all stages of assay. No input or output, no clock, no randomness.
//!
//! Units are in the names: `_us` microseconds, `_ns` nanoseconds, `_kb` kibibytes, `_per_op` divided by operations.
//! An *operation* is one query as sysbench counts it (every executed statement, `BEGIN` and `COMMIT` included),
//! except in `scan`, where it is a thousand rows read by one scanning client.

mod artifact;
mod build_flags;
mod captured_values;
mod conclusion;
mod count;
mod count_text;
mod counters;
mod cpu_lists;
mod data;
mod dialect;
mod distribution;
mod documents;
mod dump_findings;
mod engine;
mod estimate;
mod event;
mod examination;
mod expression;
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
mod published_group;
mod reach;
mod regression_limits;
mod reserved_options;
mod same_systems;
mod script;
mod search;
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
mod user_workload;
mod words;
mod workload;

pub use artifact::{Artifact, ReportedServer, RunningServer};
pub use build_flags::{BUILD_PREFIX, BuildFlag, BuildFlags, flags_in_words};
pub use captured_values::{CapturedDraw, CapturedKind, CapturedValues};
pub use conclusion::{Conclusion, Conclusions};
pub use count::{
    CALLS_PART, COUNT_THRESHOLD, CellCount, Count, CountBatch, CountSource, CountVerdict, Counting,
    MatchedNames,
};
pub use count_text::{counted, thousands};
pub use counters::{Counters, STATEMENT, STATUS, STATUS_LEVELS};
pub use cpu_lists::{CpuLists, check_ascending, cpus_in_words, cpus_text, read_cpus};
pub use data::{DataContent, DataSet, StatementMode, TableForm, may_equal};
pub use dialect::Dialect;
pub use distribution::Distribution;
pub use documents::{CellDocument, StudyDocument, StudyDocuments, UnreadableDocument};
pub use dump_findings::{
    AnswerCounts, AnswerDifference, AnswerPart, DumpFinding, DumpFindingKind, Severity,
};
pub use engine::Engine;
pub use estimate::{CpuVerdict, Estimate, JudgedFigures, Verdict};
pub use event::{
    BusyProcess, EventKind, MachineFact, ScaledSize, ScaledSizes, SettingCause, SettingsTrial,
    UntakenOption,
};
pub use examination::{
    Correlation, CpuFacts, Delays, Examination, LoadFacts, MemoryFacts, Noise, Quantiles, TurnError,
};
pub use expression::{Function, Term};
pub use generator::{Generator, Range, Scalar};
pub use growing_tree::GrowingTree;
pub use hint::Hint;
pub use histogram::{HISTOGRAM_VALUE_MAX, recorded_values};
pub use host::Host;
pub use ibench::{
    IbenchQueries, IbenchQuery, IbenchStep, IbenchTables, LowestQueries, Partitions, Preparation,
    RESPONSE_BOUNDS_US, RateLoss, SLA, Statements, StepSegment, StepWork,
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
    CallNode, CallTree, CellProfile, KERNEL, ProcessorPart, Profile, ProfileLimits, Profiling,
    SMALL_CALLS, StackFrame, Waits,
};
pub use published_group::PublishedGroup;
pub use reach::{Reach, changes_plans, reach};
pub use regression_limits::{LIMITED_STUDY, RegressionLimits};
pub use reserved_options::{Refusal, is_option, refusal};
pub use same_systems::{SameOption, SameReason, SameSystems};
pub use script::{Fill, Renewal, Scratch, ScratchStatement, Script, Step, TableChoice};
pub use search::{FollowedRange, NamedVersion, SearchMeasure, SearchPart, UnusableVersion};
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
    AuditClass, AuditFinding, BlockCell, CpuPlacement, Experiment, InstanceRecord, PlannedBlock,
    PlannedCell, Run, StatementPlans, Study, StudyEvent, StudyRecord, StudySummary, System,
};
pub use suite::{RandType, Suite};
pub use system::{AUTOCOMMIT_OFF, Origin, SystemSpec};
pub use test::{
    Class, Definition, Group, Pacing, PlanningFacts, Role, Schema, StartFrom, Test, TestSet, Unit,
};
pub use test_name::{is_test_name, test_name};
pub use tpcc::{RESPONSE_CLASSES, Tpcc, TpccKind, response_bound_us};
pub use user::{
    LogShare, PerDialect, PipelineMark, Sending, Sql, Transaction, UserColumn, UserData, UserDump,
    UserRows, UserStep, UserTable, Variable,
};
pub use user_file::UserRowsFile;
pub use words::Words;
pub(crate) use words::words;
pub use workload::{Sbtest, WorkloadFacts};

/// Version of the workload definition (statements, parameters, data, order, counting). Slices of different versions
/// measure different work and never share a verdict.
pub const WORKLOAD_VERSION: u32 = 1;
