//! Shared by the commands: arguments, study files, the ledger, results, exit codes.

pub mod afterward;
pub mod args;
pub mod base;
pub mod candidates;
pub mod charts;
pub mod config_file;
pub mod errors;
pub mod exit;
pub mod feeds;
pub mod form;
pub mod keys;
pub mod known;
pub mod ledger_files;
pub mod measurement;
pub mod number;
mod raster;
pub mod report;
pub mod server_url;
pub mod stacks;
pub mod study_id;
pub mod sysbench;
pub mod verb;
mod which_default;
