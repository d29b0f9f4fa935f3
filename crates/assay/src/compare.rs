//! `assay compare`.

use std::path::Path;

use anyhow::Result;
use assay_command::args::{
    ExplainTerms, MeasureArgs, SYSTEMS, StudyArgs, TestOptions, main_options_first,
};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_command::measurement::measured;
use assay_command::verb::{Arguments, CommandGroup};
use assay_plan::Request;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

const EXAMPLE: &str = "\
Example: your own tables and statements on two versions, for at most 20 minutes
  assay compare mariadb@10.11 mariadb@11.8 --workload shop.toml --budget 20m -o shop.html";

/// `assay compare`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLE}\n\n{SYSTEMS}"))]
#[command(next_display_order = 6, mut_args(main_options_first))]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
pub(crate) struct Compare {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    #[command(flatten)]
    asked: StudyArgs,

    /// Omit the twin that the preset includes
    #[arg(long, hide = true, overrides_with = "twin")]
    no_twin: bool,

    #[command(flatten)]
    pub(crate) explain: ExplainTerms,

    #[command(flatten)]
    pub(crate) measuring: MeasureArgs,

    #[command(flatten)]
    test_options: TestOptions,
}

impl Compare {
    /// The words as the plan takes them.
    pub(crate) fn request(&self) -> Result<Request> {
        let request =
            self.test_options.in_request(self.asked.request(&self.systems, &self.measuring))?;
        Ok(Request { twin: if self.no_twin { Some(false) } else { request.twin }, ..request })
    }
}

impl Arguments for Compare {
    const NAME: &'static str = "compare";
    const ABOUT: &'static str =
        "Get, start and load systems, measure them in turn, and say which is slower";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        measured(self.request()?, &self.measuring, self.explain.explain_terms, cache_dir)
    }
}
