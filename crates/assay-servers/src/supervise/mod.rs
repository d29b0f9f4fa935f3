//! Supervisors: small processes that end their server and remove its directories when assay is gone.
//!
//! Each server has one: assay re-executed, connected by a socket that is its standard input. It does one
//! request at a time. At end-of-file, however it came about, it kills whatever runs below it, frozen or not,
//! removes the directories it was given, and exits. Its run directory holds a lock for as long as it lives,
//! so that what even a killed supervisor leaves is found by [`collect_garbage`]. It also holds a lock beside each of
//! those directories, for assays elsewhere that share the cache but not the run directories: see [`collect_unheld`].
//!
//! A server that is to outlive the command that started it has a supervisor that was asked to stay: it listens on a
//! socket in its run directory, and ends when it is told to.

mod children;
mod claim;
mod file_size;
pub(crate) mod namespace;
mod process;
pub(crate) mod protocol;
mod run_dir;
mod sandbox;
mod shared_memory;
mod stop;
mod unprivileged;

pub(crate) use children::below;
pub use claim::{Claim, collect_unheld, is_at};
pub use file_size::fail_at_the_limit_of_file_sizes;
pub use namespace::leave_root_where_needed;
pub use process::{kill_descendants, main};
pub use protocol::{Ending, Supervisor};
pub(crate) use protocol::{Job, RunAs, StopBy};
pub use run_dir::{collect_garbage, narrow_umask};
pub(crate) use run_dir::{create_own, prepare_root};
pub(crate) use sandbox::{Sandbox, unique_name};
pub(crate) use unprivileged::{hand_over, is_called_for};
