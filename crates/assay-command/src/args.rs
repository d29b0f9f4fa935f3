//! Arguments that several commands have.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use anyhow::Result;
use assay_model::Preset;
use assay_options::parse_budget_s;
use assay_plan::{
    NamedFile, Request, ScriptOptions, SetupRequest, SuiteOptions, SystemRequest, is_pgbench,
    suite_facts, usual_terms,
};
use assay_report::{FEEDS, FORMATS, Feed, FeedRender, Format};
use assay_run::advice::HintedError;
use assay_run::workload;
use assay_terms::Terms;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, Error};
use clap::{Arg, Args, Command, FromArgMatches, ValueEnum};
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
  mysql@8.0+innodb_flush_log_at_trx_commit=1
NAME=SYSTEM gives it a short name in reports: old=mysql@8.0+sync_binlog=1";

/// Places the most important options first, and keeps those with a heading out of the short help.
pub fn main_options_first(option: Arg) -> Arg {
    match MAIN.iter().position(|name| option.get_id() == *name) {
        Some(place) => option.display_order(place).help_heading(None).hide_short_help(false),
        None if option.get_help_heading().is_some() => option.hide_short_help(true),
        None => option,
    }
}

const MAIN: [&str; 6] = ["workload", "config", "tests", "clients", "budget_s", "output"];

/// Arguments of commands that plan a study.
#[derive(Debug, Args)]
pub struct StudyArgs {
    #[command(flatten)]
    pub request: Request,

    #[command(flatten)]
    pub setup: SetupRequest,

    /// Set a key of study files that is no option here, such as `blocks=2`
    ///
    /// It may be given several times. `docs/reference/study-files.md` has the keys.
    #[arg(long = "key", value_name = "KEY=VALUE,...", help_heading = "Experiment")]
    #[arg(hide_short_help = true)]
    _keys: Vec<String>,

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
#[command(mut_arg("scale", |scale| scale.requires("workload")))]
#[command(mut_arg("define", |define| define.requires("workload")))]
pub struct OwnArgs {
    /// Use your own workload: a workload file, TOML, pgbench scripts such as `a.sql@3,b.sql`, or one that comes with
    /// pgbench, such as `tpcb-like`
    #[arg(long, value_name = "FILE,...", value_delimiter = ',')]
    pub workload: Vec<String>,

    #[command(flatten)]
    pub options: ScriptOptions,
}

/// TLS with a running server.
#[derive(Debug, Clone, Default, Args)]
pub struct TlsArgs {
    /// How to encrypt the connections, in the words of the server's clients: `ssl-mode=verify-ca,ssl-ca=FILE`, for
    /// example, or `sslmode=require` for Postgres; the same words may be in the URL
    #[arg(long, value_name = "NAME=VALUE,...", hide_short_help = true)]
    pub tls: Option<String>,
}

impl OwnArgs {
    pub fn in_request(&self, request: Request) -> Request {
        let ScriptOptions { scale, define } = self.options.clone();
        Request { workload: self.workload.clone(), scale, define, ..request }
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
#[command(mut_arg("format", FormatWord::without_histories()))]
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

/// A part of work that several machines share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardNumber {
    /// From 1.
    pub number: u32,
    pub of: u32,
}

impl FromStr for ShardNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("a shard is its number and how many there are, such as `2/6`"),
        }
    }
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
    let of_studies = [FormatWord::Of(Format::BRIEF), FormatWord::Folded];
    let own = FormatWord::without_stacks().into_iter().chain(of_studies);
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
        Self::listed(words, |_| false)
    }

    /// A command that writes one study refuses histories with a hint, so its help lists none.
    pub fn without_histories() -> impl FnOnce(Arg) -> Arg {
        Self::listed(WORDS.iter().copied(), |word| match word {
            Self::For(feed) => matches!(feed.render, FeedRender::History(_)),
            _ => false,
        })
    }

    fn listed(
        words: impl IntoIterator<Item = Self>,
        is_hidden: impl Fn(&Self) -> bool,
    ) -> impl FnOnce(Arg) -> Arg {
        let value = |word: Self| Some(word.to_possible_value()?.hide(is_hidden(&word)));
        let values: Vec<PossibleValue> = words.into_iter().filter_map(value).collect();
        let parser = PossibleValuesParser::new(values).try_map(|word| Self::from_str(&word, false));
        |format| format.value_parser(parser)
    }
}

/// The options of the tests, as sysbench takes those of its scripts.
#[derive(Debug, Args)]
pub struct TestOptions {
    /// Options of the tests: of the script of `--workload`, such as `--tables=4` in Lua or `--scale=10 -D days=30` of
    /// pgbench, of `--suite oltp`, or of `--suite tpcc`, such as `--warehouses=10`
    #[arg(last = true, value_name = "TEST OPTION", hide_short_help = true)]
    words: Vec<String>,
}

impl TestOptions {
    /// A request with these options as well.
    pub fn in_request(&self, mut request: Request) -> Result<Request> {
        match &suite_facts(request.suite).options {
            Some(options) => {
                let suite = format!("--suite {} --", request.suite.word());
                read(options, &suite, &self.words, &mut request)?;
            }
            None if !self.words.is_empty() && is_of_pgbench(&request.workload) => {
                let workload = format!("--workload {} --", request.workload.join(","));
                read(&OF_PGBENCH, &workload, &self.words, &mut request)?;
            }
            None => request.script_options.clone_from(&self.words),
        }
        Ok(request)
    }
}

const OF_PGBENCH: SuiteOptions = SuiteOptions {
    add_to: ScriptOptions::augment_args,
    read: |found, request| {
        let options = ScriptOptions::from_arg_matches(found)?;
        // `--key` may have given them too.
        request.scale = options.scale.or(request.scale);
        request.define.extend(options.define);
        Ok(())
    },
};

/// Whether a script of pgbench is among the files. Whoever reads them later reports those that cannot be read.
fn is_of_pgbench(files: &[String]) -> bool {
    files.iter().any(|file| {
        let path = NamedFile::parse(file).path;
        workload::text(path).is_ok_and(|text| is_pgbench(path, &text))
    })
}

/// Reads the options of a suite or of scripts. Prints them and ends if their help is asked for.
fn read(
    options: &SuiteOptions,
    words_before: &str,
    words: &[String],
    request: &mut Request,
) -> Result<()> {
    let command = (options.add_to)(Command::new("options").no_binary_name(true))
        .override_usage(format!("assay COMMAND SYSTEM... {words_before} [OPTIONS]"));
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
