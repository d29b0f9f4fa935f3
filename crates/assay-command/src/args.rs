//! Arguments that several commands have.

use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::Result;
use assay_model::limits::user::SCALE;
use assay_model::{Preset, TableForm};
use assay_options::{parse_budget_s, whole};
use assay_plan::{
    Request, ScriptOptions, SetupRequest, SuiteOptions, SystemRequest, script_variable,
    suite_facts, usual_terms,
};
use assay_report::{FEEDS, FORMATS, Feed, Format};
use assay_run::advice::HintedError;
use assay_terms::Terms;
use assay_workloads::OltpOptions;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, Error};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use crate::candidates;
use crate::sysbench::option_hint;

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

/// Arguments of commands that plan a study.
#[derive(Debug, Args)]
pub struct StudyArgs {
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

impl StudyArgs {
    pub fn request(&self, systems: &[String], measuring: &MeasureArgs) -> Request {
        Request {
            systems: systems.iter().map(|words| SystemRequest::parse(words)).collect(),
            setups: vec![self.setup.clone()],
            terms: self.terms.or_usual(self.request.preset),
            source: self.from.source.clone(),
            offline: measuring.offline,
            accept_expired_index: measuring.accept_expired_index,
            ..self.request.clone()
        }
    }
}

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// The study: its name, a unique prefix of it, or `latest` [default: the latest unfinished one]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Measure this much longer, such as `10m`, also in a finished study: what is undecided or imprecise
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    pub more: Option<f64>,

    #[command(flatten)]
    pub measuring: MeasureArgs,
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
    /// Server settings: `lean` (equal), `published` or `shipped` [default: lean; with preset published, published]
    ///
    /// `lean` sets the same values on all systems. `published` sets those of Mark Callaghan's published studies, scaled
    /// to the data. `shipped` leaves each version its own defaults, apart from places, caches and logs.
    #[arg(long, value_name = "TERMS", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Terms::names()))]
    #[arg(help_heading = SERVERS)]
    pub terms: Option<String>,
}

impl TermsArg {
    pub fn or_usual(&self, preset: Preset) -> String {
        self.terms.clone().unwrap_or_else(|| usual_terms(preset).to_owned())
    }
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
pub struct MeasureArgs {
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

/// Options of the tools that get servers.
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    pub shape: ShapeArg,

    /// Use only what is in the cache
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub offline: bool,

    /// Accept expired package indexes
    #[arg(long)]
    #[arg(help_heading = SERVERS)]
    pub accept_expired_index: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

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

/// Text or JSON.
#[derive(Debug, Args)]
pub struct ShapeArg {
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub format: ShapeWord,
}

impl ShapeArg {
    pub fn is_text(&self) -> bool {
        self.format == ShapeWord::Text
    }
}

/// `--format` of commands that are no reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShapeWord {
    /// For people
    Text,
    /// For scripts
    Json,
}

/// The place of the ledger.
#[derive(Debug, Args)]
pub struct LedgerArg {
    /// The ledger file, which stores every study [default: `ledger.db` in the user's data directory]
    #[arg(long = "ledger", value_name = "FILE", env = "ASSAY_LEDGER")]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub file: Option<PathBuf>,
}

/// The shape and the place of the result.
#[derive(Debug, Args)]
pub struct Output {
    /// Format of the result [default: by the extension of `-o`]
    ///
    /// Without `-o`, it is text.
    #[arg(long, value_enum)]
    #[arg(help_heading = OUTPUT)]
    pub format: Option<FormatWord>,

    /// Write the result to a file instead of stdout
    ///
    /// The formats `svg`, `png` and `folded` take a directory.
    #[arg(long, short, value_name = "FILE")]
    #[arg(help_heading = OUTPUT)]
    pub output: Option<PathBuf>,

    /// With text: every section of the report
    ///
    /// Also the groups, what the columns mean, the conditions, and how to reproduce the study.
    #[arg(long)]
    #[arg(help_heading = OUTPUT, hide_short_help = true)]
    pub verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatWord {
    Of(Format),
    Svg,
    Png,
    Folded,
    For(&'static Feed),
}

/// All formats: assay's own, then those of other programs.
static WORDS: LazyLock<Vec<FormatWord>> = LazyLock::new(|| {
    let own = FormatWord::without_stacks().into_iter().chain([FormatWord::Folded]);
    own.chain(FEEDS.into_iter().map(FormatWord::For)).collect()
});

impl ValueEnum for FormatWord {
    fn value_variants<'a>() -> &'a [Self] {
        &WORDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (word, about) = match self {
            Self::Of(format) => (format.word, format.about),
            Self::Svg => ("svg", "Every chart as a file, and the Markdown report that shows them"),
            Self::Png => ("png", "The same charts as pictures"),
            Self::Folded => (
                "folded",
                "Profiles and counts as files of stacks, for tools that draw flame graphs",
            ),
            Self::For(feed) => (feed.word, feed.about),
        };
        Some(PossibleValue::new(word).help(about))
    }
}

impl FormatWord {
    pub fn pages() -> impl Iterator<Item = Self> {
        FORMATS.into_iter().map(Self::Of)
    }

    /// assay's own, without those that need profiles.
    pub fn without_stacks() -> Vec<Self> {
        Self::pages().chain([Self::Svg, Self::Png]).collect()
    }

    pub fn only(words: impl IntoIterator<Item = Self>) -> impl FnOnce(Arg) -> Arg {
        let values = words.into_iter().filter_map(|word| word.to_possible_value());
        let values: Vec<PossibleValue> = values.collect();
        let parser = PossibleValuesParser::new(values).try_map(|word| Self::from_str(&word, false));
        |format| format.value_parser(parser)
    }
}

/// The options in [`OltpOptions`] that describe tables.
#[derive(Debug, Clone)]
pub struct TableFormArgs(OltpOptions);

impl TableFormArgs {
    /// Their fields.
    pub const FIELDS: [&str; 3] = ["auto_inc", "create_secondary", "create_table_options"];

    pub fn form(&self) -> TableForm {
        self.0.table_form()
    }
}

impl Args for TableFormArgs {
    fn augment_args(command: Command) -> Command {
        let all = OltpOptions::augment_args(Command::new("scripts"));
        command.args(all.get_arguments().filter(|it| Self::FIELDS.contains(&it.get_id().as_str())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TableFormArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, Error> {
        let mut form = Self(OltpOptions::default());
        form.update_from_arg_matches(found)?;
        Ok(form)
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), Error> {
        fn given<T: Clone + Send + Sync + 'static>(found: &ArgMatches, id: &str, to: &mut T) {
            if let Some(value) = found.get_one::<T>(id) {
                *to = value.clone();
            }
        }
        let options = &mut self.0;
        given(found, "auto_inc", &mut options.auto_inc);
        given(found, "create_secondary", &mut options.create_secondary);
        given(found, "create_table_options", &mut options.create_table_options);
        Ok(())
    }
}

/// The options of the tests, as sysbench takes those of its scripts.
#[derive(Debug, Args)]
pub struct TestOptions {
    /// Options of the tests: of the Lua script of `--workload`, such as `--tables=4`, of `--suite oltp` or of `--suite
    /// tpcc`, such as `--warehouses=10`
    #[arg(last = true, value_name = "TEST OPTION", hide_short_help = true)]
    words: Vec<String>,
}

impl TestOptions {
    /// A request with these options as well.
    pub fn in_request(&self, mut request: Request) -> Result<Request> {
        match &suite_facts(request.suite).options {
            Some(options) => read(options, &self.words, &mut request)?,
            None => request.script_options.clone_from(&self.words),
        }
        Ok(request)
    }
}

/// Reads the options of a suite. Prints them and ends if their help is asked for.
fn read(options: &SuiteOptions, words: &[String], request: &mut Request) -> Result<()> {
    let words_before = format!("--suite {} --", request.suite.word());
    let command = (options.add_to)(Command::new("options").no_binary_name(true))
        .override_usage(format!("assay compare SYSTEM SYSTEM... {words_before} [OPTIONS]"));
    let found = command.try_get_matches_from(words);
    found.and_then(|found| (options.read)(&found, request)).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        let what = text.split("\n\n").next().unwrap_or_default();
        let listed = || format!("`{words_before} --help` lists the options");
        HintedError::new(what.trim_start_matches("error: "), hint(&error).unwrap_or_else(listed))
            .into()
    })
}

fn hint(error: &Error) -> Option<String> {
    let word = |kind| error.get(kind).map(ToString::to_string);
    let known = option_hint(&word(ContextKind::InvalidArg)?, "").map(str::to_owned);
    known.or_else(|| Some(format!("did you mean `{}`", word(ContextKind::SuggestedArg)?)))
}

#[cfg(test)]
mod tests {
    use assay_model::{Hint as _, Suite};

    use super::*;

    fn refused(suite: Suite, words: &str) -> (String, String) {
        let options = TestOptions { words: words.split(' ').map(str::to_owned).collect() };
        let error = options.in_request(Request { suite, ..Request::default() }).unwrap_err();
        let hints = error.downcast_ref::<HintedError>().unwrap().hints();
        (error.to_string(), hints.concat())
    }

    #[test]
    fn mistakes_are_told_with_advice() {
        for (words, what, hint) in [
            (
                "--rang-size=10",
                "unexpected argument '--rang-size' found",
                "did you mean `--range-size`",
            ),
            ("--range-size=0", "'--range-size <N>'", "`--suite oltp -- --help` lists the options"),
            ("--skip-trx on", "unexpected argument 'on' found", "with `=`, as in `--auto-inc=off`"),
            ("--mysql-host=x", "unexpected argument '--mysql-host' found", "by its URL"),
            ("--warehouses=2", "unexpected argument '--warehouses' found", "lists the options"),
        ] {
            let (text, advice) = refused(Suite::Oltp, words);
            assert!(text.contains(what) && advice.contains(hint), "{text}\n{advice}");
        }
        let (text, _) = refused(Suite::Tpcc, "--warehouses 0");
        assert!(text.starts_with("invalid value '0' for '--warehouses <N>'"), "{text}");
    }
}
