//! Arguments that several commands have.

use assay_model::limits::user::SCALE;
use assay_options::{parse_budget_s, whole};
use assay_plan::{Request, ScriptOptions, SetupRequest, SystemRequest, script_variable};
use assay_terms::Terms;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::engine::ArgValueCompleter;

pub use crate::oltp::TableFormArgs;
pub use crate::output::{FormatWord, LedgerArg, Output, ShapeArg, ShapeWord};
pub use crate::test_options::TestOptions;

use crate::candidates;

/// Headings of options.
pub const SERVERS: &str = "Servers";
pub const OUTPUT: &str = "Output";

pub const SYSTEMS: &str = "\
SYSTEM is one of
  PRODUCT@VERSION          mariadb@11.8 (its newest patch release), mysql@8.0.40, postgres@17
  PRODUCT@VERSION/ENGINE   mariadb@10.11/rocksdb
  PRODUCT@dir:PATH         binaries in a directory, such as mariadb@dir:/opt/mariadb
  PRODUCT@git:REPO#REF     built from source, such as postgres@git:../postgres#master
  URL                      a running server: mysql://user@host/db, postgres://user@host/db
each but a URL followed by +OPTION=VALUE for options of the server, such as
  mysql@8.0+innodb_flush_log_at_trx_commit=1";

/// For screens that must also fit other text.
pub const SYSTEMS_SHORT: &str = "\
SYSTEM is PRODUCT@VERSION[/ENGINE][+OPTION=VALUE], such as mariadb@11.8 or mysql@8.0+sync_binlog=1,
PRODUCT@dir:PATH, PRODUCT@git:REPO#REF, or the URL of a running server.
`--help` describes it, and has more options: the workload, the procedure, the ledger.";

/// What `compare` and `gate` ask for.
#[derive(Debug, Args)]
pub struct Asked {
    #[command(flatten)]
    pub request: Request,

    #[command(flatten)]
    pub setup: SetupRequest,

    #[arg(long = "time", hide = true, value_parser = no_time)]
    _time: Option<NoTime>,

    #[command(flatten)]
    pub from: SourceArg,

    #[command(flatten)]
    pub terms: TermsArg,
}

impl Asked {
    pub fn request(&self, systems: &[String], measuring: &Measuring) -> Request {
        Request {
            systems: systems.iter().map(|words| SystemRequest::of(words)).collect(),
            setups: vec![self.setup.clone()],
            terms: self.terms.terms.clone(),
            source: self.from.source.clone(),
            offline: measuring.offline,
            accept_expired_index: measuring.accept_expired_index,
            ..self.request.clone()
        }
    }
}

/// `assay resume`.
#[derive(Debug, Args)]
pub struct Resume {
    /// The study: its name, a unique prefix of it, or `latest` [default: the latest unfinished one]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Measure this much longer, such as `10m`, also in a finished study: what is undecided or imprecise
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    pub more: Option<f64>,

    #[command(flatten)]
    pub measuring: Measuring,
}

/// The workload of a command that is no study.
#[derive(Debug, Clone, Default, Args)]
pub struct OwnArgs {
    /// Use your own workload: a workload file, TOML, pgbench scripts such as `a.sql@3,b.sql`, or one that comes with
    /// pgbench, such as `tpcb-like`
    #[arg(long, value_name = "FILE,...", value_delimiter = ',')]
    pub workload: Vec<String>,

    /// Scale factor of the tables of pgbench scripts [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(SCALE), requires = "workload")]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub scale: Option<u32>,

    /// Define a variable for pgbench scripts
    #[arg(long, short = 'D', value_name = "NAME=VALUE", value_parser = script_variable)]
    #[arg(requires = "workload", hide_short_help = true)]
    pub define: Vec<String>,
}

impl OwnArgs {
    pub fn script_options(&self) -> ScriptOptions {
        ScriptOptions { scale: self.scale, define: self.define.clone() }
    }

    pub fn in_request(&self, request: Request) -> Request {
        let (workload, define) = (self.workload.clone(), self.define.clone());
        Request { workload, scale: self.scale, define, ..request }
    }
}

/// The source of servers.
#[derive(Debug, Args)]
pub struct SourceArg {
    /// Use servers only from this source, such as `apt` or `maven`
    ///
    /// A source is `apt`, `maven`, `npm`, `pip`, `tarball`, or a vendor, such as `mysql.com`. [default: one source with
    /// all versions of a product, otherwise the best source for each]
    #[arg(long, value_name = "SOURCE")]
    #[arg(help_heading = SERVERS)]
    pub source: Option<String>,
}

/// The terms of servers.
#[derive(Debug, Args)]
pub struct TermsArg {
    /// Server settings: `lean` (equal), `published` or `shipped`
    ///
    /// `lean` sets the same values on all systems. `published` sets those of Mark Callaghan's published studies, scaled
    /// to the data. `shipped` leaves each version its own defaults, apart from places, caches and logs.
    #[arg(long, value_name = "TERMS", default_value = assay_terms::DEFAULT)]
    #[arg(value_parser = PossibleValuesParser::new(Terms::names()), hide_possible_values = true)]
    #[arg(help_heading = SERVERS)]
    pub terms: String,
}

/// The config file of servers that are not part of a study.
#[derive(Debug, Args)]
pub struct ConfigArg {
    /// Start servers from your own `my.cnf` or `postgresql.conf`
    ///
    /// Where products differ: `mysql=my.cnf,postgres=postgresql.conf`.
    #[arg(long, value_name = "FILE", value_delimiter = ',', help_heading = SERVERS)]
    pub config: Vec<String>,

    /// Divide the sizes of `--config` by one number, so that the servers of a study would fit into the memory of this
    /// machine, or into a share of it
    #[arg(long, value_name = "PERCENT", value_parser = assay_plan::parse_share)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "100%")]
    #[arg(help_heading = SERVERS, requires = "config")]
    pub scale_memory: Option<f64>,
}

impl ConfigArg {
    pub fn in_request(&self, request: Request) -> Request {
        Request { config: self.config.clone(), scale_memory: self.scale_memory, ..request }
    }
}

/// Options of all commands that measure.
#[derive(Debug, Args)]
pub struct Measuring {
    /// Use only what is in the cache
    #[arg(long)]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub offline: bool,

    /// Accept expired package indexes; the report says so
    #[arg(long)]
    #[arg(help_heading = SERVERS, hide_short_help = true)]
    pub accept_expired_index: bool,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,

    /// Print no progress on stderr
    #[arg(long, short)]
    #[arg(help_heading = OUTPUT)]
    pub quiet: bool,
}

/// `--explain-terms`.
#[derive(Debug, Clone, Copy, Args)]
pub struct ExplainTerms {
    /// After the study, find out which of the differing settings made the changes
    ///
    /// A second study, which takes as long again, measures the tests that changed on the new system, with one setting
    /// as the base has it at a time. It tries up to eight settings that both versions have, and names the others.
    #[arg(long, help_heading = "Experiment", hide_short_help = true, conflicts_with = "count")]
    pub explain_terms: bool,
}

/// Uninhabited: assay has no time limit per test.
#[derive(Debug, Clone)]
pub enum NoTime {}

fn no_time(_: &str) -> Result<NoTime, &'static str> {
    Err(
        "a study has no time limit per test: limit the study with `--budget 10m`, or a slice with `--slice 100ms`",
    )
}
