//! Derives workloads from statement logs. No files, no clocks: bytes in, text out.
//!
//! [`probe`] recognizes the format of a file, [`Capture`] reads files into fingerprints, values and transactions, and
//! [`workload`] writes them as a workload file with files of values.

mod capture;
mod fingerprints;
mod formats;
mod name;
mod plan;
mod probe;
mod reader;
mod render;
mod row_numbers;
mod schema;
mod sessions;
mod settings;
mod sql;
mod statistics;
mod summary;
mod time;
mod toml;

pub use capture::{Capture, CapturedLogs, FileRead, LogCounts, UnreadableLine};
pub use formats::{FORMATS, ForeignFile};
pub use plan::{CapturePlan, CapturedWork, OmissionCounts, PlanOptions, plan};
pub use probe::{
    HEAD_BYTES, LogProbe, ProbeError, ServerVersion, format_named, probe, server_version,
};
pub use reader::{LogFormat, LogHints, LogReader, Skip};
pub use schema::{DumpSchema, SCHEMA_BYTES, schema};
pub use statistics::{
    PlannerStatistics, StatisticsEntry, StatisticsError, planner_statistics, statistics_type,
};
pub use summary::summary;
pub use toml::{ValuesFile, WorkloadFiles, WorkloadTarget, workload};
