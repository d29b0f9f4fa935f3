//! The command line of `upgrade`.

use std::path::PathBuf;

use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use crate::logs::OfLogs;
use assay_command::args::{Asked, ExplainTerms, Measuring, SYSTEMS};
use assay_command::candidates;

const UPGRADE: &str = "\
Statements and values of the log run on copies of the dump's data in each version. Their answers are
compared first, then their time.
  assay upgrade mysql@8.0 mysql@8.4 --queries slow.log --schema dump.sql.gz --config my.cnf

SYSTEM is PRODUCT@VERSION; `assay upgrade --help` has more forms and options.";

/// `assay upgrade`.
#[derive(Debug, Args)]
#[command(after_help = UPGRADE, after_long_help = SYSTEMS)]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(of_upgrades))]
pub struct Upgrade {
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
    pub queries: Vec<PathBuf>,

    #[command(flatten)]
    pub of_logs: OfLogs,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub explain: ExplainTerms,

    #[command(flatten)]
    pub measuring: Measuring,
}

/// Options of `compare` that have no meaning for the statements of a log.
const HIDDEN: [&str; 8] =
    ["suite", "set", "tables", "rows", "check", "scale", "define", "allow_script_io"];

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
    pub fn request(&self) -> Request {
        self.asked.request(&self.systems, &self.measuring)
    }
}
