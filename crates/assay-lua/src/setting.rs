//! Settings of one thread of a script.

use std::sync::Arc;

use assay_model::Distribution;

use crate::leash::Leash;

/// The random distributions of a script.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScriptDraws {
    /// The one that scripts call the default.
    pub usual: Distribution,
    /// The parameter of all draws of a Pareto distribution.
    pub pareto_h: f64,
    /// The exponent of all draws of a Zipf distribution.
    pub zipfian_exp: f64,
}

impl Default for ScriptDraws {
    /// Those of sysbench 1.0.20.
    fn default() -> Self {
        Self { usual: Distribution::Special, pareto_h: 0.2, zipfian_exp: 0.8 }
    }
}

/// Settings of one thread of a script.
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
    /// How it draws.
    pub draw: ScriptDraws,
    /// Whether the script may use files outside of its directory, and run programs.
    pub may_use_all: bool,
    /// What others know of the script while it runs.
    pub leash: Arc<Leash>,
}
