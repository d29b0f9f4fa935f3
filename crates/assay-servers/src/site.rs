//! Where servers run.

use std::path::PathBuf;

use assay_wire::Stop;

use crate::supervise::Supervisor;

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
