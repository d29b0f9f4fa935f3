//! The command line of `bisect`.

use assay_model::{BisectMeasure, Counting};
use assay_options::word;
use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use super::{Asked, FormatWord, Measuring, ScriptWords, help};
use crate::candidates;

/// `assay bisect`.
#[derive(Debug, Args)]
#[command(after_help = help::BISECT)]
#[command(mut_arg("test", |test| test.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
#[command(mut_args(of_searches))]
pub(crate) struct Bisect {
    /// The releases to search, such as `mariadb@10.6..11.8`, or a repository: `postgres@git:../postgres`
    #[arg(value_name = "PRODUCT@A..B", required_unless_present = "study")]
    pub(crate) range: Option<String>,

    /// The commits of the repository to search, the older end first, such as `REL_17_0..master`
    #[arg(value_name = "GOOD..BAD")]
    pub(crate) commits: Option<String>,

    /// The test that changed
    #[arg(long, value_name = "TEST")]
    pub(crate) test: String,

    /// Search between two systems of a study, with its data and settings
    #[arg(long, value_name = "STUDY", conflicts_with = "range")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub(crate) study: Option<String>,

    /// Consider only commits that change one of these files or directories
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', requires = "commits")]
    pub(crate) paths: Vec<String>,

    /// What versions are compared by; `--count` stands for `instructions`
    #[arg(long, value_parser = word::<BisectMeasure>(), default_value = BisectMeasure::default().word())]
    by: BisectMeasure,

    /// Run a program once the version is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the answer in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) run_on_found: Option<String>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub(crate) measuring: Measuring,

    #[command(flatten)]
    script: ScriptWords,
}

/// Options of `compare` that a search decides itself.
const DECIDED: [&str; 7] = ["tests", "set", "twin", "blocks", "rounds", "threshold", "check"];

/// Only in the long help.
const RARE: [&str; 4] = ["preset", "clients", "terms", "profile"];

fn of_searches(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "budget_s" => option
            .help("Time limit of all comparisons together, such as `30m` [default: 1h]")
            .long_help(None),
        "count" => {
            option.help("Compare by counted instructions; the machine may be busy").long_help(None)
        }
        name if DECIDED.contains(&name) => option.hide(true),
        name if RARE.contains(&name) => option.hide_short_help(true),
        _ => option,
    }
}

impl Bisect {
    pub(crate) fn measure(&self) -> BisectMeasure {
        match self.asked.request.count {
            Counting::None => self.by,
            _ => BisectMeasure::Instructions,
        }
    }

    pub(crate) fn request(&self) -> Request {
        let request = self.script.of(self.asked.request(&[], &self.measuring));
        Request { tests: vec![self.test.clone()], ..request }
    }
}
