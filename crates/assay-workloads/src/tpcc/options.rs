//! The options of the workload.

use assay_model::Tpcc;
use assay_model::limits::tpcc::WAREHOUSES;
use assay_options::{count, on_off};
use clap::ArgAction::Set;
use clap::Args;
use serde::{Deserialize, Serialize};

pub const HEADING: &str = "TPC-C-like workload";

/// The options of the workload in the manner of TPC-C.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TpccOptions {
    /// Number of warehouses, each with about 500,000 rows
    #[arg(long, value_name = "N", value_parser = count(WAREHOUSES), default_value_t = 1)]
    #[arg(allow_negative_numbers = true, help_heading = HEADING, hide_short_help = true)]
    pub warehouses: u32,

    /// Whether a transaction is one call of a stored procedure or function, instead of statements of the client
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off")]
    #[arg(action = Set, num_args = 0..=1, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub procedures: bool,

    /// Whether clients pause before and after transactions, for as long as people at terminals key and think
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off")]
    #[arg(action = Set, num_args = 0..=1, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub think_times: bool,
}

impl Default for TpccOptions {
    fn default() -> Self {
        Self { warehouses: 1, procedures: false, think_times: false }
    }
}

impl TpccOptions {
    #[must_use]
    pub fn tpcc(&self) -> Tpcc {
        let &Self { warehouses, procedures, think_times: thinks } = self;
        Tpcc { warehouses, procedures, thinks }
    }
}
