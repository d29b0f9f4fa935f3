//! The options of sysbench's scripts, with sysbench's names.

use std::ops::RangeInclusive;

use assay_model::limits::oltp::{DELETE_INSERTS, DELTA, LISTED, RANGE, TIMES};
use assay_model::limits::own::{PARETO_H, ZIPF_S};
use assay_model::{OltpOptions, PgsqlVariant, RandType, TableForm};
use clap::{Args, ValueEnum};

use super::number::counted_within;

/// The heading of these options in the help.
pub(super) const HEADING: &str = "Scripts of sysbench";

/// Options of the scripts.
#[derive(Debug, Clone, Args)]
pub(crate) struct OltpArgs {
    /// Rows in a range [default: 100]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, &RANGE))]
    range_size: Option<u32>,

    /// Point selects per transaction [default: 10]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    point_selects: Option<u32>,

    /// Whether transactions select ranges [default: on]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "on|off", value_parser = on_off, require_equals = true)]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    range_selects: Option<bool>,

    /// Simple range selects per transaction [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    simple_ranges: Option<u32>,

    /// SUM range selects per transaction [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    sum_ranges: Option<u32>,

    /// ORDER BY range selects per transaction [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    order_ranges: Option<u32>,

    /// DISTINCT range selects per transaction [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    distinct_ranges: Option<u32>,

    /// Updates of the indexed column per event [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    index_updates: Option<u32>,

    /// Updates of an unindexed column per event [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = times)]
    non_index_updates: Option<u32>,

    /// Rows deleted and inserted again per event [default: 1]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, &DELETE_INSERTS))]
    delete_inserts: Option<u32>,

    #[command(flatten)]
    form: TableFormArgs,

    /// Leave out BEGIN and COMMIT
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "on|off", value_parser = on_off, require_equals = true)]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    skip_trx: Option<bool>,

    /// Values in the list of `select_random_points` [default: 10]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, &LISTED))]
    random_points: Option<u32>,

    /// Ranges in a statement of `select_random_ranges` [default: 10]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, &LISTED))]
    number_of_ranges: Option<u32>,

    /// Difference between the ends of each range of `select_random_ranges` [default: 5]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "N", value_parser = |text: &str| number(text, &DELTA))]
    delta: Option<u32>,

    /// Random distribution of rows [default: uniform]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_enum, value_name = "NAME")]
    rand_type: Option<RandTypeWord>,

    /// Shape of the distribution `pareto` [default: 0.2]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "H", value_parser = |text: &str| fraction(text, &PARETO_H))]
    rand_pareto_h: Option<f64>,

    /// Exponent of the distribution `zipfian` [default: 0.8]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "S", value_parser = |text: &str| fraction(text, &ZIPF_S))]
    rand_zipfian_exp: Option<f64>,
}

/// Options of the tables.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableFormArgs {
    /// Whether the server numbers the rows; otherwise the client sends their ids, and `oltp_insert` first deletes the
    /// rows with negative ids, which an earlier run inserted [default: on]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "on|off", value_parser = on_off, require_equals = true)]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    auto_inc: Option<bool>,

    /// Whether the tables have an index on `k` [default: on]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "on|off", value_parser = on_off, require_equals = true)]
    #[arg(num_args = 0..=1, default_missing_value = "on")]
    create_secondary: Option<bool>,

    /// Text that follows the columns in `CREATE TABLE`, such as `ROW_FORMAT=COMPRESSED`
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "SQL", value_parser = table_options)]
    create_table_options: Option<String>,

    /// Variant of Postgres; `redshift` also creates no index on `k` and replaces no rows [default: none]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_enum, value_name = "NAME")]
    pgsql_variant: Option<PgsqlVariantWord>,
}

/// `--pgsql-variant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PgsqlVariantWord {
    /// Postgres itself
    None,
    /// Amazon Redshift
    Redshift,
}

impl TableFormArgs {
    /// How the tables are created.
    pub(crate) fn form(&self) -> TableForm {
        self.change(OltpOptions::default()).table_form()
    }

    /// The options with those that are given in their places.
    fn change(&self, options: OltpOptions) -> OltpOptions {
        OltpOptions {
            auto_inc: self.auto_inc.unwrap_or(options.auto_inc),
            create_secondary: self.create_secondary.unwrap_or(options.create_secondary),
            create_table_options: self
                .create_table_options
                .clone()
                .unwrap_or_else(|| options.create_table_options.clone()),
            pgsql_variant: self.pgsql_variant.map_or(options.pgsql_variant, |word| match word {
                PgsqlVariantWord::None => PgsqlVariant::None,
                PgsqlVariantWord::Redshift => PgsqlVariant::Redshift,
            }),
            ..options
        }
    }
}

fn table_options(text: &str) -> Result<String, &'static str> {
    TableForm::check_options(text).map(|()| text.to_owned())
}

/// `--rand-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RandTypeWord {
    /// All ids are equally likely
    Uniform,
    /// Bell curve around the middle
    Gaussian,
    /// The default of sysbench 1.0: three quarters in the central hundredth, the rest in a bell
    Special,
    /// Low ids are more likely (Pareto)
    Pareto,
    /// Low ids are more likely: the probability falls as a power of the id
    Zipfian,
}

fn times(text: &str) -> Result<u32, String> {
    number(text, &TIMES)
}

fn number(text: &str, range: &RangeInclusive<u32>) -> Result<u32, String> {
    counted_within(text, range)
}

fn fraction(text: &str, range: &RangeInclusive<f64>) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()))
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("must be `on` or `off`".to_owned()),
    }
}

impl OltpArgs {
    /// The options as tests take them.
    pub(crate) fn options(&self) -> OltpOptions {
        let usual = self.form.change(OltpOptions::default());
        OltpOptions {
            range_size: self.range_size.unwrap_or(usual.range_size),
            point_selects: self.point_selects.unwrap_or(usual.point_selects),
            range_selects: self.range_selects.unwrap_or(usual.range_selects),
            simple_ranges: self.simple_ranges.unwrap_or(usual.simple_ranges),
            sum_ranges: self.sum_ranges.unwrap_or(usual.sum_ranges),
            order_ranges: self.order_ranges.unwrap_or(usual.order_ranges),
            distinct_ranges: self.distinct_ranges.unwrap_or(usual.distinct_ranges),
            index_updates: self.index_updates.unwrap_or(usual.index_updates),
            non_index_updates: self.non_index_updates.unwrap_or(usual.non_index_updates),
            delete_inserts: self.delete_inserts.unwrap_or(usual.delete_inserts),
            skip_trx: self.skip_trx.unwrap_or(usual.skip_trx),
            random_points: self.random_points.unwrap_or(usual.random_points),
            number_of_ranges: self.number_of_ranges.unwrap_or(usual.number_of_ranges),
            delta: self.delta.unwrap_or(usual.delta),
            rand_type: self.rand_type.map_or(usual.rand_type, |word| match word {
                RandTypeWord::Uniform => RandType::Uniform,
                RandTypeWord::Gaussian => RandType::Gaussian,
                RandTypeWord::Special => RandType::Special,
                RandTypeWord::Pareto => RandType::Pareto,
                RandTypeWord::Zipfian => RandType::Zipfian,
            }),
            rand_pareto_h: self.rand_pareto_h.unwrap_or(usual.rand_pareto_h),
            rand_zipfian_exp: self.rand_zipfian_exp.unwrap_or(usual.rand_zipfian_exp),
            ..usual
        }
    }
}
