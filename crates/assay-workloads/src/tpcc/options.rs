//! The workload as a test, and its options.

use assay_model::limits::tpcc::WAREHOUSES;
use assay_model::{Definition, StartFrom, Test, Tpcc};
use assay_options::{count, on_off};
use clap::ArgAction::Set;
use clap::Args;
use serde::{Deserialize, Serialize};

use super::draw::TPCC;
use crate::steps::{define, group, statementless};

pub const TPCC_HEADING: &str = "TPC-C-like workload";

/// The options of the workload in the manner of TPC-C.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TpccOptions {
    /// Number of warehouses, each with about 500,000 rows
    #[arg(long, value_name = "N", value_parser = count(WAREHOUSES), default_value_t = 1)]
    #[arg(allow_negative_numbers = true, help_heading = TPCC_HEADING, hide_short_help = true)]
    pub warehouses: u32,

    /// Whether a transaction is one call of a stored procedure or function, instead of statements of the client
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off")]
    #[arg(action = Set, num_args = 0..=1, default_missing_value = "on")]
    #[arg(help_heading = TPCC_HEADING, hide_short_help = true)]
    pub procedures: bool,

    /// Whether clients pause before and after transactions, for as long as people at terminals key and think
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off")]
    #[arg(action = Set, num_args = 0..=1, default_missing_value = "on")]
    #[arg(help_heading = TPCC_HEADING, hide_short_help = true)]
    pub think_times: bool,
}

impl Default for TpccOptions {
    fn default() -> Self {
        Self { warehouses: 1, procedures: false, think_times: false }
    }
}

impl TpccOptions {
    pub fn tpcc(&self) -> Tpcc {
        let &Self { warehouses, procedures, think_times: thinks } = self;
        Tpcc { warehouses, procedures, thinks }
    }
}

pub fn tpcc_tests(options: &TpccOptions) -> Vec<Test> {
    let tpcc = options.tpcc();
    let by = if tpcc.procedures { "stored procedures" } else { "statements of the client" };
    let does = format!("one of five transactions with the mix of TPC-C, as {by}");
    let group = group(0, TPCC, "TPC-C-like");
    vec![define(Definition {
        start_from: StartFrom::Fresh,
        ..statementless(TPCC, &does, group, tpcc.into())
    })]
}
