//! The command line of `bisect`.

use anyhow::Result;
use assay_model::{BisectMeasure, Counting};
use assay_options::word;
use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{Asked, FormatWord, Measuring, TestOptions};
use assay_command::candidates;

const BISECT: &str = "\
Each version is compared with the first one. The next version is the one that is expected to narrow
the search most for its time. Releases come from the catalog, one of each series first. Commits
are those of a local repository along first parents, which assay builds.

Exit codes: 0 found, 3 no change or not certain, 4 interrupted; `assay resume` continues.";

/// `assay bisect`.
#[derive(Debug, Args)]
#[command(after_help = BISECT)]
#[command(mut_arg("test", |test| test.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
#[command(mut_args(of_searches))]
pub struct Bisect {
    /// The releases to search, such as `mariadb@10.6..11.8`, or a repository: `postgres@git:../postgres`
    #[arg(value_name = "PRODUCT@A..B", required_unless_present = "study")]
    pub range: Option<String>,

    /// The commits of the repository to search, the older end first, such as `REL_17_0..master`
    #[arg(value_name = "GOOD..BAD")]
    pub commits: Option<String>,

    /// The test that changed
    #[arg(long, value_name = "TEST")]
    pub test: String,

    /// Search between two systems of a study, with its data and settings
    #[arg(long, value_name = "STUDY", conflicts_with = "range")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Consider only commits that change one of these files or directories
    #[arg(long, value_name = "PATH,...", value_delimiter = ',', requires = "commits")]
    pub paths: Vec<String>,

    /// What versions are compared by; `--count` stands for `instructions`
    #[arg(long, value_parser = word::<BisectMeasure>(), default_value = BisectMeasure::default().word())]
    by: BisectMeasure,

    /// Run a program once the version is found
    ///
    /// The words of the program are separated by spaces; there is no shell. It gets the answer in ASSAY_VERSION,
    /// ASSAY_AFTER, ASSAY_TITLE, ASSAY_TEST, ASSAY_RATIO, ASSAY_PROBABILITY and ASSAY_SEARCH.
    #[arg(long, value_name = "PROGRAM")]
    pub run_on_found: Option<String>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub measuring: Measuring,

    #[command(flatten)]
    test_options: TestOptions,
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
    pub fn measure(&self) -> BisectMeasure {
        match self.asked.request.count {
            Counting::None => self.by,
            _ => BisectMeasure::Instructions,
        }
    }

    /// What each comparison asks for, without its systems.
    pub fn request(&self) -> Result<Request> {
        let request = self.test_options.of(self.asked.request(&[], &self.measuring))?;
        Ok(Request { tests: vec![self.test.clone()], ..request })
    }
}
