//! Derives workloads from statement logs. No files, no clocks: bytes in, text out.
//!
//! [`probe`] recognizes the format of a file, [`Capture`] reads files into fingerprints, values and transactions, and
//! [`workload`] writes them as a workload file with files of values.

mod capture;
mod counts;
mod entry;
mod escape;
mod fingerprints;
mod formats;
mod generated;
mod lines;
mod name;
mod plan;
mod probe;
mod reader;
mod sample;
mod schema;
mod server_version;
mod sessions;
mod settings;
mod sql;
mod summary;
mod template;
mod time;
mod toml;

pub use capture::{Capture, Captured};
pub use counts::{Counts, FileRead, Unreadable};
pub use entry::Skip;
pub use formats::{FORMATS, Foreign};
pub use plan::{LeftOut, Options, Plan, Work, plan};
pub use probe::{HEAD_BYTES, Probe, ProbeError, format_named, probe};
pub use reader::{Format, Given, Reader};
pub use schema::{SCHEMA_BYTES, Schema, schema};
pub use server_version::{ServerVersion, server_version};
pub use summary::summary;
pub use toml::{Target, ValuesFile, Written, workload};
