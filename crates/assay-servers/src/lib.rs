//! Runs servers on equal terms: configures, starts, freezes, drains, audits and stops them.
//!
//! [`initialize`] creates an empty data directory, [`Server::start`] runs an instance on a copy of one, and
//! [`Server::stop_and_keep`] makes an instance's data the next template.

mod attached;
pub mod audit;
mod binary;
mod builds;
mod callgrind;
mod connected;
mod copy;
mod drained;
mod error;
mod explained;
mod initialize;
mod interpreter;
mod kept;
mod listen;
mod name_value;
mod nearest;
mod products;
mod refused;
mod replaced;
mod run_root;
mod server;
mod server_log;
mod server_paths;
mod site;
mod sparse;
mod spent_log;
mod status;
pub mod supervise;
mod threads;

pub use attached::Attached;
pub use builds::{build_facts, mapped_files};
pub use callgrind::{Counting, ThreadCounts, Valgrind, shows_waits, wait_for_thread};
pub use connected::{
    answers, drain, effective_settings, explain, maintain, remove_binary_logs, take_statistics,
};
pub use copy::copy_tree;
pub use drained::Drained;
pub use error::Error;
pub use explained::Explained;
pub use initialize::{UNFINISHED, initialize};
pub use kept::{FoundServer, KeptServer, collect_kept_data, kept};
pub use listen::Listen;
pub use refused::{
    CheckedOptions, DeprecatedOption, RefusedOption, checked_options, refused_options,
};
pub use run_root::run_root;
pub use server::Server;
pub use site::Site;
pub use sparse::missing_room;
pub use status::Status;
pub use supervise::{
    Claim, Ending, Supervisor, collect_garbage, collect_unheld, is_at, leave_root_where_needed,
    narrow_umask,
};
