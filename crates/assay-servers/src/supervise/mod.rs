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

mod binding;
mod claim;
mod freeze;
mod nobody;
pub(crate) mod process;
pub(crate) mod protocol;
mod run_dir;
mod sandbox;

pub use binding::ServerBinding;
pub use claim::{DirectoryClaim, collect_unheld, is_at};
pub(crate) use freeze::below;
pub use nobody::leave_root_where_needed;
pub(crate) use nobody::{hand_over, is_called_for};
pub use process::{fail_at_the_limit_of_file_sizes, keep_program, kill_descendants, main};
pub use protocol::{Ending, Supervisor};
pub(crate) use protocol::{RunAs, ServerJob, StopBy};
pub use run_dir::{collect_garbage, narrow_umask};
pub(crate) use run_dir::{create_private, create_user_data, is_own, prepare_root};
pub(crate) use sandbox::{Sandbox, unique_name};
