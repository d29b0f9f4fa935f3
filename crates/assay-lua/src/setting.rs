//! Settings of one thread of a script.

use std::sync::Arc;

use assay_model::Distribution;

use crate::leash::Leash;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScriptDraws {
    pub usual: Distribution,
    /// Parameter of all draws of a Pareto distribution.
    pub pareto_h: f64,
    /// Exponent of all draws of a Zipf distribution.
    pub zipfian_exp: f64,
}

impl Default for ScriptDraws {
    /// Defaults of sysbench 1.0.20.
    fn default() -> Self {
        Self { usual: Distribution::Special, pareto_h: 0.2, zipfian_exp: 0.8 }
    }
}

#[derive(Debug, Clone)]
pub struct Setting {
    pub thread: u32,
    pub threads: u32,
    /// The driver that sysbench would use: `mysql` or `pgsql`.
    pub driver: &'static str,
    pub command: String,
    pub options: Vec<(String, String)>,
    /// The database, the user and so on, as options of sysbench: name and value.
    pub connection: Vec<(String, String)>,
    pub seed: u64,
    pub draw: ScriptDraws,
    /// The script may use files outside its directory, and run programs.
    pub may_use_all: bool,
    pub leash: Arc<Leash>,
}
