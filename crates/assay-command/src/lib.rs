//! What commands of the program share: arguments, study files, the ledger, results, exit codes.

pub mod args;
pub mod base;
pub mod candidates;
pub mod charts;
pub mod config_file;
pub mod errors;
pub mod exit;
pub mod feeds;
pub mod form;
pub mod measured;
pub mod number;
mod oltp;
pub mod opened;
mod output;
pub mod report;
pub mod server_url;
pub mod stacks;
pub mod study_id;
pub mod sysbench;
mod test_options;
pub mod verb;
mod which_default;
