//! The command line of `upgrade`.

use std::path::PathBuf;

use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use super::{Asked, Measuring, OfLogs, help};
use crate::candidates;

/// `assay upgrade`.
#[derive(Debug, Args)]
#[command(after_help = help::UPGRADE, after_long_help = help::SYSTEMS)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(of_upgrades))]
pub(crate) struct Upgrade {
    /// The version in use and those to upgrade to, such as `mysql@8.0 mysql@8.4`
    #[arg(required = true, num_args = 2.., value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    /// Log of your queries, such as a slow query log; may be given several times
    #[arg(
        long,
        value_name = "LOG",
        required_unless_present = "workload",
        conflicts_with = "workload"
    )]
    pub(crate) queries: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) of_logs: OfLogs,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub(crate) explain: ExplainTerms,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `--explain-terms`.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ExplainTerms {
    /// After the study, find out which of the differing settings made the changes
    ///
    /// A second study, which takes as long again, measures the tests that changed on the new system, with one setting
    /// as the base has it at a time. It tries up to eight settings that both versions have, and names the others.
    #[arg(long, help_heading = "Experiment", hide_short_help = true, conflicts_with = "count")]
    pub(crate) explain_terms: bool,
}

/// Options of `compare` that have no meaning for the statements of a log.
const HIDDEN: [&str; 10] = [
    "suite",
    "set",
    "tables",
    "rows",
    "id_key",
    "check",
    "scale",
    "define",
    "script_options",
    "allow_script_io",
];

const BUDGET: &str = "15m";

/// Only in the long help.
const RARE: [&str; 10] = [
    "limit",
    "database",
    "log_format",
    "log_line_prefix",
    "preset",
    "threshold",
    "twin",
    "profile",
    "count",
    "source",
];

fn of_upgrades(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "terms" => option.default_value("shipped"),
        "budget_s" => option.default_value(BUDGET).help("Time limit of the study"),
        "workload" => {
            option.help("Use this workload file, such as one that `assay workload from` wrote")
        }
        name if HIDDEN.contains(&name) => option.hide(true),
        name if RARE.contains(&name) => option.hide_short_help(true),
        _ => option,
    }
}

impl Upgrade {
    /// The request, without the parts that follow from the logs.
    pub(crate) fn request(&self) -> Request {
        self.asked.request(&self.systems, &self.measuring)
    }
}
