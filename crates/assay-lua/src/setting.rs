//! What a thread of a script is told.

use assay_model::Distribution;

/// What a thread of a script is told.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Number of threads.
    pub threads: u32,
    /// The driver that sysbench would use: `mysql` or `pgsql`.
    pub driver: &'static str,
    /// The command, such as `run`.
    pub command: String,
    /// The options of the script: name and value.
    pub options: Vec<(String, String)>,
    /// The database, the user and so on, as options of sysbench: name and value.
    pub connection: Vec<(String, String)>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// The usual random distribution.
    pub draw: Distribution,
    /// Whether the script may use files outside of its directory, and run programs.
    pub may_use_all: bool,
}
