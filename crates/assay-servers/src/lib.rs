//! Servers on equal terms: configured from one intent, started, frozen, drained, audited and stopped.
//!
//! [`initialize`] makes an empty data directory, [`Server::start`] runs an instance on a copy of one, and
//! [`Server::stop_and_keep`] turns an instance's data into the next template.

mod attached;
pub mod audit;
mod binary;
mod builds;
mod copy;
mod error;
mod initialize;
mod intent;
mod kept;
mod listen;
mod maintain;
mod mysql;
mod options;
mod plans;
mod postgres;
mod refused;
mod server;
mod settings;
pub mod supervise;
mod threads;

use std::path::{Path, PathBuf};

use assay_wire::Stop;

pub use attached::Attached;
pub use builds::{build_facts, mapped_files};
pub use copy::copy_tree;
pub use error::Error;
pub use initialize::{UNFINISHED, initialize};
pub use intent::{Durability, Intent, LeftOut, Rendered, render};
pub use kept::{Found, Kept, collect_kept_data, kept};
pub use listen::Listen;
pub use maintain::{Drained, drain, maintain, take_statistics};
pub use plans::explain;
pub use server::Server;
pub use settings::effective_settings;
pub use supervise::{
    Claim, Ending, Supervisor, collect_garbage, collect_unheld, is_at, leave_root_where_needed,
    narrow_umask,
};

/// Where servers run.
#[derive(Debug, Clone)]
pub struct Site {
    /// Who watches over them.
    pub supervisor: Supervisor,
    /// Directory for sockets, short and private; made when missing. See [`run_root`].
    pub run_root: PathBuf,
    /// Directory for the data of instances, best on the file system of the templates; made when missing.
    pub data_root: PathBuf,
    /// Ends whatever runs here at once, and leaves nothing of it.
    pub stop: Stop,
}

/// The usual place for run directories: below `runtime_dir` (the value of `XDG_RUNTIME_DIR`) when there is
/// one and sockets in it have paths that the kernel takes, else below `/tmp`.
#[must_use]
pub fn run_root(runtime_dir: Option<&Path>) -> PathBuf {
    let usual = runtime_dir.filter(|path| path.is_absolute()).map(|path| path.join("assay"));
    usual.filter(|path| server::socket_fits(path)).unwrap_or_else(|| {
        PathBuf::from(format!("/tmp/assay-{}", rustix::process::geteuid().as_raw()))
    })
}
