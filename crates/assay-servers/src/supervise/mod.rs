//! Supervisors: small processes that end their server and remove its directories when assay is gone.
//!
//! Each server has one: assay re-executed, with a socket as its standard input. It serves one request at a time. At the
//! end of its input, for whatever reason, it kills all its descendants, frozen or not, removes its directories, and
//! exits. It holds a lock in its run directory while it lives, so [`collect_garbage`] finds the remains of a killed
//! supervisor, and a lock file beside each of those directories, for other assays that share the cache but not the run
//! directories: see [`collect_unheld`].
//!
//! If a server is to outlive the command that started it, its supervisor stays: it listens on a socket in its run
//! directory, and ends on request.

mod children;
mod claim;
mod file_size;
pub(crate) mod namespace;
mod priority;
pub(crate) mod process;
mod program;
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
pub use program::keep_program;
pub use protocol::{Ending, Supervisor};
pub(crate) use protocol::{Job, RunAs, StopBy};
pub use run_dir::{collect_garbage, narrow_umask};
pub(crate) use run_dir::{create_private, create_user_data, is_own, prepare_root};
pub(crate) use sandbox::{Sandbox, unique_name};
pub(crate) use unprivileged::{hand_over, is_called_for};
