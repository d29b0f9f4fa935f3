//! `assay insert-bench`: the Insert Benchmark.

use std::path::Path;

use anyhow::Result;
use assay_command::args::{MeasureArgs, SYSTEMS, SourceArg, TermsArg};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_command::measurement::measured;
use assay_command::verb::{Arguments, CommandGroup};
use assay_model::Preset;
use assay_options::{cpu_list, whole, word};
use assay_plan::{InsertBenchRequest as Steps, Request};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

#[derive(Debug, Args)]
#[command(after_help = SYSTEMS)]
pub struct InsertBench {
    /// The base and the systems to compare with it, such as `mariadb@10.11 mysql@9.7`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    systems: Vec<String>,

    /// Level of effort
    ///
    /// `smoke` loads 20,000 rows and has query steps of 3 s, `quick` 1,000,000 rows and 30 s (less than ten minutes for
    /// two systems), `standard` 10,000,000 rows and 5 minutes, `published` 30,000,000 rows and 30 minutes.
    #[arg(long, value_parser = word::<Preset>(), default_value = Preset::default().word())]
    #[arg(hide_possible_values = true)]
    preset: Preset,

    #[command(flatten)]
    asked: Steps,

    /// Seed for every random choice
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    #[arg(allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    seed: u64,

    /// CPUs of the servers, such as `0-11` [default: all]
    ///
    /// If the machine has several NUMA nodes, the memory of servers is bound to those of these CPUs.
    #[arg(long, value_name = "LIST", value_parser = cpu_list, hide_short_help = true)]
    server_cpus: Option<String>,

    /// CPUs of the clients, such as `12-15` [default: all]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, hide_short_help = true)]
    client_cpus: Option<String>,

    #[command(flatten)]
    from: SourceArg,

    #[command(flatten)]
    terms: TermsArg,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

impl InsertBench {
    pub fn request(&self) -> Request {
        Request {
            source: self.from.source.clone(),
            offline: self.measuring.offline,
            accept_expired_index: self.measuring.accept_expired_index,
            terms: self.terms.or_usual(self.preset),
            preset: self.preset,
            seed: self.seed,
            server_cpus: self.server_cpus.clone(),
            client_cpus: self.client_cpus.clone(),
            insert_bench: Some(self.asked.clone()),
            ..Request::of_systems(&self.systems)
        }
    }
}

impl Arguments for InsertBench {
    const NAME: &'static str = "insert-bench";
    const ABOUT: &'static str =
        "Run the Insert Benchmark: load, then query while rows come and go at a fixed rate";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        measured(self.request(), &self.measuring, false, cache_dir)
    }
}
