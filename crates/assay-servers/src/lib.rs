//! Runs servers on equal terms: configures, starts, freezes, drains, audits and stops them.
//!
//! [`initialize`] creates an empty data directory, [`ServerInstance::start`] runs an instance on a copy of one, and
//! [`ServerInstance::stop_and_keep`] makes an instance's data the next template.

pub mod audit;
mod builds;
mod callgrind;
mod connections;
mod copy;
mod error;
mod foreign;
mod keep;
mod option_check;
mod products;
mod server;
mod site;
mod sparse;
pub mod supervise;

pub use builds::{build_facts, flag_facts, mapped_files};
pub use callgrind::{CallgrindCounting, ThreadCounts, ValgrindTool, shows_waits, wait_for_thread};
pub use connections::{
    ServerStatus, answers, drain, effective_settings, explain, maintain, remove_binary_logs,
    take_statistics,
};
pub use copy::copy_tree;
pub use error::ServersError;
pub use foreign::AttachedServer;
pub use keep::{FoundServer, KeptServer, collect_kept_data, kept_servers};
pub use option_check::{
    CheckedOptions, DeprecatedOption, RefusedOption, checked_options, refused_options,
};
pub use products::kind::{DrainResult, Listen, StatementExplanation};
pub use server::{ServerInstance, UNFINISHED, initialize, run_root};
pub use site::Site;
pub use sparse::missing_room;
pub use supervise::{
    DirectoryClaim, Ending, ServerBinding, Supervisor, collect_garbage, collect_unheld, is_at,
    leave_root_where_needed, narrow_umask,
};
