//! `assay insert-bench`.

use assay_model::Preset;
use assay_plan::{InsertBench as Asked, Request, SystemRequest, parse_duration_s};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use super::number::{parse_number, parse_rows, parse_seed, parse_step_rows};
use super::{Measuring, SourceArg, TermsArg, help};
use crate::candidates;

/// `--preset` of `insert-bench`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AmountWord {
    /// Checks that everything works: 20,000 rows, query steps of 3 s, about a minute for two systems
    Smoke,
    /// 1,000,000 rows, query steps of 30 s, less than ten minutes for two systems
    Quick,
    /// 10,000,000 rows, query steps of 5 minutes
    Standard,
    /// As the published studies ran: 30,000,000 rows, query steps of 30 minutes
    Published,
}

/// `assay insert-bench`.
#[derive(Debug, Args)]
#[command(after_help = help::SYSTEMS_SHORT, after_long_help = help::SYSTEMS)]
pub(crate) struct InsertBench {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mysql@9.7`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    /// Level of effort
    #[arg(long, value_enum, default_value = "quick")]
    preset: AmountWord,

    /// Use tables that are larger than the servers' cache
    #[arg(long)]
    io_bound: bool,

    /// Rows that each client inserts in l.i0, l.i1 and l.i2, such as `10M,4M,400k` [default: by preset]
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = parse_step_rows)]
    rows: Vec<u32>,

    /// Number of clients, each with a table of its own [default: 1]
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = parse_number)]
    #[arg(allow_negative_numbers = true)]
    clients: Option<u32>,

    /// Duration of each query step, seconds [default: by preset]
    #[arg(long, value_name = "S", value_parser = seconds, allow_hyphen_values = true)]
    query_seconds: Option<u32>,

    /// How often to carry out all steps, each time on fresh instances [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_number, allow_negative_numbers = true)]
    repeats: Option<u32>,

    /// Let all clients share one table; nothing is deleted then
    #[arg(long, help_heading = "Tables", hide_short_help = true)]
    shared_table: bool,

    /// Number of secondary indexes, 0 to 3 [default: 3]
    #[arg(long, value_name = "N", value_parser = parse_number, allow_negative_numbers = true)]
    #[arg(help_heading = "Tables", hide_short_help = true)]
    indexes: Option<u32>,

    /// Create the secondary indexes with the tables, not after l.i0
    #[arg(long, help_heading = "Tables", hide_short_help = true)]
    indexes_first: bool,

    /// Number of range partitions of each table [default: none]
    #[arg(long, value_name = "N", value_parser = parse_number, allow_negative_numbers = true)]
    #[arg(help_heading = "Tables", hide_short_help = true)]
    partitions: Option<u32>,

    /// Rows of each partition [default: all rows that are ever inserted, divided evenly]
    #[arg(long, value_name = "N", value_parser = parse_rows, allow_negative_numbers = true)]
    #[arg(help_heading = "Tables", hide_short_help = true)]
    partition_rows: Option<u32>,

    /// Run transactions on another connection of each client, and keep each of them open for this time
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    open_transaction: Option<u32>,

    /// Send queries to Postgres as text instead of preparing them
    #[arg(long)]
    #[arg(hide_short_help = true)]
    unprepared: bool,

    /// Seed for every random choice
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    #[arg(allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    seed: u64,

    #[command(flatten)]
    from: SourceArg,

    #[command(flatten)]
    terms: TermsArg,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// A duration in whole seconds, at least one.
fn seconds(text: &str) -> Result<u32, String> {
    let seconds = parse_duration_s(text).map_err(|error| error.to_string())?;
    if seconds.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&seconds) {
        return Ok(seconds as u32);
    }
    Err("it must be a whole number of seconds".to_owned())
}

impl InsertBench {
    /// The words as the plan takes them.
    pub(crate) fn request(&self) -> Request {
        Request {
            source: self.from.source.clone(),
            offline: self.measuring.offline,
            accept_expired_index: self.measuring.accept_expired_index,
            terms: self.terms.terms.clone(),
            preset: match self.preset {
                AmountWord::Smoke => Preset::Smoke,
                AmountWord::Quick => Preset::Quick,
                AmountWord::Standard => Preset::Standard,
                AmountWord::Published => Preset::Published,
            },
            seed: self.seed,
            insert_bench: Some(Asked {
                rows: self.rows.clone(),
                clients: self.clients,
                query_seconds: self.query_seconds,
                io_bound: self.io_bound,
                shared_table: self.shared_table,
                indexes: self.indexes,
                indexes_first: self.indexes_first,
                partitions: self.partitions,
                partition_rows: self.partition_rows,
                open_transaction: self.open_transaction,
                unprepared: self.unprepared,
                repeats: self.repeats,
            }),
            systems: self.systems.iter().map(|words| SystemRequest::of(words)).collect(),
            ..Request::of_systems(&[])
        }
    }
}
