//! The command line of `count`.

use assay_model::{COUNT_THRESHOLD, Counting};
use assay_options::percent_text;
use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use super::{Asked, Measuring, ScriptWords, help};
use crate::candidates;

/// `assay count`.
#[derive(Debug, Args)]
#[command(after_help = help::COUNT, after_long_help = help::SYSTEMS)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(of_counts))]
pub(crate) struct Count {
    /// The base and the systems to compare with it, such as `mysql@8.0 mysql@9.7`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    script: ScriptWords,
}

/// Options of `compare` that a count does not need. The plan refuses those on measuring time, and more than one client;
/// a preset still sets tables and rows.
const HIDDEN: [&str; 12] = [
    "budget_s",
    "slice_s",
    "write_slice_s",
    "turn_s",
    "blocks",
    "rounds",
    "twin",
    "placement",
    "profile",
    "count",
    "clients",
    "preset",
];

fn of_counts(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "threshold" => option.default_value(percent_text(COUNT_THRESHOLD)),
        // Instead of `by preset`.
        "tables" => option.help("Number of tables [default: 1]"),
        "rows" => option.help("Rows in each table, such as `1M` [default: 100,000]"),
        name if HIDDEN.contains(&name) => option.hide(true),
        _ => option,
    }
}

impl Count {
    pub(crate) fn request(&self) -> Request {
        let request = self.script.of(self.asked.request(&self.systems, &self.measuring));
        Request { count: Counting::Only, ..request }
    }
}
