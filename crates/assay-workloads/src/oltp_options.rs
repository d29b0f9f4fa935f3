//! The options of sysbench's scripts.

use std::sync::LazyLock;

use assay_model::limits::oltp::{DELETE_INSERTS, DELTA, LISTED, RANGE, TIMES};
use assay_model::limits::user::{PARETO_H, ZIPF_S};
use assay_model::{Distribution, RandType, TableForm};
use assay_options::{count, fraction, on_off, word};
use clap::ArgAction::Set;
use clap::{Args, Command, FromArgMatches as _};
use serde::{Deserialize, Serialize};

pub const HEADING: &str = "Scripts of sysbench";

/// The options of sysbench's scripts, with sysbench's names and defaults. A script ignores options that do not
/// apply to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OltpOptions {
    /// Rows in a range
    #[arg(long, value_name = "N", value_parser = count(RANGE), default_value_t = 100)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub range_size: u32,

    /// Point selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 10)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub point_selects: u32,

    /// Whether transactions select ranges
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub range_selects: bool,

    /// Simple range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub simple_ranges: u32,

    /// SUM range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub sum_ranges: u32,

    /// ORDER BY range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub order_ranges: u32,

    /// DISTINCT range selects per transaction
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub distinct_ranges: u32,

    /// Updates of the indexed column per event
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub index_updates: u32,

    /// Updates of an unindexed column per event
    #[arg(long, value_name = "N", value_parser = count(TIMES), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub non_index_updates: u32,

    /// Rows deleted and inserted again per event
    #[arg(long, value_name = "N", value_parser = count(DELETE_INSERTS), default_value_t = 1)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub delete_inserts: u32,

    /// Whether the server numbers the rows; otherwise the client sends their ids, and `oltp_insert` first deletes the
    /// rows with negative ids, which an earlier run inserted
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub auto_inc: bool,

    /// Whether the tables have an index on `k`
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "on")]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub create_secondary: bool,

    /// Text that follows the columns in `CREATE TABLE`, such as `ROW_FORMAT=COMPRESSED`
    #[arg(long, value_name = "SQL", value_parser = table_options)]
    #[arg(default_value = "", hide_default_value = true, help_heading = HEADING, hide_short_help = true)]
    pub create_table_options: String,

    /// Leave out BEGIN and COMMIT
    #[arg(long, value_name = "on|off", value_parser = on_off, default_value = "off", hide_default_value = true)]
    #[arg(action = Set, num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub skip_trx: bool,

    /// Values in the list of `select_random_points`
    #[arg(long, value_name = "N", value_parser = count(LISTED), default_value_t = 10)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub random_points: u32,

    /// Ranges in a statement of `select_random_ranges`
    #[arg(long, value_name = "N", value_parser = count(LISTED), default_value_t = 10)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub number_of_ranges: u32,

    /// Difference between the ends of each range of `select_random_ranges`
    #[arg(long, value_name = "N", value_parser = count(DELTA), default_value_t = 5)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub delta: u32,

    /// Random distribution of rows
    #[arg(long, value_name = "NAME", value_parser = word::<RandType>(), default_value = RandType::default().word())]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub rand_type: RandType,

    /// Shape of the distribution `pareto`
    #[arg(long, value_name = "H", value_parser = fraction(PARETO_H), default_value_t = 0.2)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub rand_pareto_h: f64,

    /// Exponent of the distribution `zipfian`
    #[arg(long, value_name = "S", value_parser = fraction(ZIPF_S), default_value_t = 0.8)]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    pub rand_zipfian_exp: f64,
}

fn table_options(text: &str) -> Result<String, &'static str> {
    TableForm::check_options(text).map(|()| text.to_owned())
}

static USUAL: LazyLock<OltpOptions> = LazyLock::new(|| {
    let command = OltpOptions::augment_args(Command::new("scripts"));
    let found = command.get_matches_from([""]);
    OltpOptions::from_arg_matches(&found).expect("every option has a default")
});

impl Default for OltpOptions {
    fn default() -> Self {
        USUAL.clone()
    }
}

impl OltpOptions {
    #[must_use]
    pub fn table_form(&self) -> TableForm {
        TableForm {
            auto_inc: self.auto_inc,
            create_secondary: self.create_secondary,
            create_table_options: self.create_table_options.clone(),
        }
    }

    #[must_use]
    pub fn distribution(&self) -> Distribution {
        match self.rand_type {
            RandType::Uniform => Distribution::Uniform,
            RandType::Gaussian => Distribution::Gaussian,
            RandType::Special => Distribution::Special,
            RandType::Pareto => Distribution::Pareto { h: self.rand_pareto_h },
            RandType::Zipfian => Distribution::Zipfian { s: self.rand_zipfian_exp },
        }
    }
}
