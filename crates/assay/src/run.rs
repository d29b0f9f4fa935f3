//! `assay run`: measures the study of a file, or a shard of it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_command::args::{MeasureArgs, ShardNumber, SourceArg};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_command::measurement::{measured, read_study, resolved};
use assay_command::verb::{Arguments, CommandGroup};
use assay_model::{JudgedFigures, TestSet};
use assay_options::{parse_budget_s, word};
use assay_plan::{Request, SizeOverrides};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// The study file, TOML; `-` reads it from stdin
    #[arg(value_name = "STUDY.toml")]
    pub(crate) study_file: PathBuf,

    /// Measure only this part of the study, such as `2/6`; `assay collect` puts the parts together
    ///
    /// A shard that was begun in the ledger, or in another one of its directory, is continued.
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<ShardNumber>,

    #[command(flatten)]
    pub(crate) instead: StudyOverrides,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) measuring: MeasureArgs,
}

/// Options that replace a part of a study file.
#[derive(Debug, Args)]
pub(crate) struct StudyOverrides {
    /// Run only the tests whose names match, instead of those in the file
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    tests: Vec<String>,

    /// Published selection of tests, or every one (`all`), instead of the one in the file
    #[arg(long, value_parser = word::<TestSet>())]
    set: Option<TestSet>,

    /// Time limit of the study, such as `10m`, instead of the one in the file
    ///
    /// Fetching servers and preparing data do not count, except for servers that already run. Tests that do not fit are
    /// not measured.
    #[arg(long, value_name = "TIME", value_parser = parse_budget_s, allow_hyphen_values = true)]
    budget: Option<f64>,

    /// Figures that decide the answer, a gate, and when the study has measured enough, instead of those in the file
    #[arg(long, value_parser = word::<JudgedFigures>())]
    judge: Option<JudgedFigures>,

    #[command(flatten)]
    sizes: SizeOverrides,
}

impl StudyOverrides {
    pub(crate) fn is_any(&self) -> bool {
        let is_other = self.set.is_some() || self.budget.is_some() || self.judge.is_some();
        !self.tests.is_empty() || is_other
    }

    pub(crate) fn in_request(&self, request: Request) -> Request {
        Request {
            tests: if self.tests.is_empty() { request.tests } else { self.tests.clone() },
            set: self.set.unwrap_or(request.set),
            budget_s: self.budget.or(request.budget_s),
            judge: self.judge.unwrap_or(request.judge),
            ..request
        }
    }
}

impl Arguments for RunFile {
    const NAME: &'static str = "run";
    const ABOUT: &'static str = "Run the study that a file describes";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let request = read_study(&self.study_file)?;
        if request.insert_bench.is_some() && self.instead.is_any() {
            bail!(HintedError::new(
                "`--tests`, `--set`, `--budget` and `--judge` do not apply to the Insert Benchmark",
                "leave them out, or change `[insert-bench]` in the file"
            ));
        }
        let (request, notes) = self.instead.sizes.in_request(self.instead.in_request(request))?;
        if !self.measuring.quiet {
            notes.iter().for_each(|note| print(&format!("note: `--scale`: {note}")));
        }
        let mut request = resolved(request, &self.study_file, &[], self.measuring.quiet)?;
        request.source = self.from.source.clone().or(request.source);
        request.offline |= self.measuring.offline;
        request.accept_expired_index |= self.measuring.accept_expired_index;
        let directory = self.study_file.parent().unwrap_or(Path::new(""));
        match self.shard {
            Some(shard) => {
                assay_farm::measure_shard(request, &self.measuring, shard, directory, cache_dir)
            }
            None => measured(request, &self.measuring, false, cache_dir),
        }
    }
}
