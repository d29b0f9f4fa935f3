//! The place where servers run.

use std::path::PathBuf;

use assay_wire::Stop;

use crate::supervise::Supervisor;

#[derive(Debug, Clone)]
pub struct Site {
    pub supervisor: Supervisor,
    /// Directory for sockets: short, private, and created if missing. See [`crate::run_root()`].
    pub run_root: PathBuf,
    /// Directory for the data of instances, best on the file system of the templates. Created if missing.
    pub data_root: PathBuf,
    /// Ends everything that runs here at once, and removes it.
    pub stop: Stop,
}
