//! `assay count` and `--count`: counts the instructions of operations.

mod counter;
mod counts;
mod instrument;
mod naming;
mod pace;
mod servers;
mod work;

use std::path::Path;

use anyhow::Result;
use assay_model::{COUNT_THRESHOLD, Counting};
use assay_options::percent_text;
use assay_plan::{LONGER_LOOK, Request};
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{MeasureArgs, SYSTEMS, StudyArgs, TestOptions};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_command::keys::refused;
use assay_command::measurement::measured;
use assay_command::verb::{Arguments, CommandGroup};

pub use work::InstructionCounts;

const COUNT: &str = "\
Where the processor does not let users count, servers run under valgrind, which is fetched like
them. Counts do not depend on how busy the machine is, so nothing waits for other studies, there is
no budget, and a change of 0.5% shows. They say nothing about waiting and caches: `assay compare`
measures time.";

/// `assay count`.
#[derive(Debug, Args)]
#[command(after_help = format!("{COUNT}\n\n{SYSTEMS}"))]
#[command(mut_arg("tests", |tests| tests.add(ArgValueCompleter::new(candidates::tests))))]
#[command(mut_args(of_counts))]
pub struct CountArgs {
    /// The base and the systems to compare with it, such as `mysql@8.0 mysql@9.7`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    #[command(flatten)]
    asked: StudyArgs,

    #[command(flatten)]
    pub measuring: MeasureArgs,

    #[command(flatten)]
    test_options: TestOptions,
}

/// Options of `compare` on measuring time, which the plan refuses, like more than one client.
const TIMED: &str =
    "budget_s judge twin placement server_cpus client_cpus priority profile count clients";

fn of_counts(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "threshold" => option
            .default_value(percent_text(COUNT_THRESHOLD))
            .help("Smallest change of practical interest"),
        "preset" => option.hide_short_help(true),
        // Instead of `by preset`.
        "tables" => option.help("Number of tables [default: 1]"),
        "rows" => option.help("Rows in each table, such as `1M` [default: 100,000]"),
        LONGER_LOOK => refused(option),
        name if TIMED.split(' ').any(|timed| timed == name) => refused(option),
        _ => option,
    }
}

impl Arguments for CountArgs {
    const NAME: &'static str = "count";
    const ABOUT: &'static str =
        "Count the instructions that operations take, by function; the machine may be busy";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let request = self.asked.request(&self.systems, &self.measuring);
        let request = Request { count: Counting::Only, ..self.test_options.in_request(request)? };
        measured(request, &self.measuring, false, cache_dir)
    }
}
