//! `assay tests`: lists tests, and tries those of a user.

use std::path::Path;

use anyhow::Result;
use assay_command::args::{OwnArgs, ShapeArg, ShapeWord};
use assay_command::candidates;
use assay_command::exit::Exit;
use assay_command::report::{options, write_stdout};
use assay_command::verb::{Arguments, CommandGroup};
use assay_model::{Suite, Test, TestSet};
use assay_options::word;
use assay_report::{ListedFrom, ListedTest};
use assay_run::workload::{self, OfLua};
use assay_workloads::{OltpOptions, TpccOptions};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::rehearsal;

#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| it.conflicts_with_all(["set", "suite"])))]
pub(crate) struct TestsArgs {
    /// List only the tests whose names match, such as `'point*'` [default: all of the set]
    #[arg(value_name = "PATTERN", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub(crate) patterns: Vec<String>,

    #[command(flatten)]
    pub(crate) own: OwnArgs,

    /// Let a Lua script use files outside of its directory and run programs
    #[arg(long, requires = "workload", hide_short_help = true)]
    pub(crate) allow_script_io: bool,

    /// Collection of tests
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(conflicts_with = "set")]
    pub(crate) suite: Suite,

    /// Published selection of microbenchmarks, or every one (`all`)
    #[arg(long, value_parser = word::<TestSet>(), default_value = TestSet::default().word())]
    pub(crate) set: TestSet,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

impl Arguments for TestsArgs {
    const NAME: &'static str = "tests";
    const ABOUT: &'static str = "List the tests that `--tests` can name";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let own = (!self.own.workload.is_empty()).then_some(&self.own);
        let of_lua = OfLua { may_use_all: self.allow_script_io, ..OfLua::default() };
        let read = own.map(|own| workload::read(&own.workload, &own.script_options(), of_lua));
        let read = read.transpose()?;
        let from = match &read {
            Some(workload) => ListedFrom::Workload(&workload.name),
            None if self.suite == Suite::Oltp => ListedFrom::Oltp,
            None if self.suite == Suite::Tpcc => ListedFrom::Tpcc,
            None => ListedFrom::Set(self.set),
        };
        let suite = match &read {
            Some(workload) => workload.tests.clone(),
            None if self.suite == Suite::Oltp => {
                assay_workloads::oltp_tests(&OltpOptions::default())
            }
            None if self.suite == Suite::Tpcc => {
                assay_workloads::tpcc_tests(&TpccOptions::default())
            }
            None => assay_workloads::tests_of(self.set),
        };
        let list: Vec<ListedTest> = assay_plan::select_of(suite, &self.patterns)?
            .into_iter()
            .map(|test| ListedTest {
                test,
                does: test.does.clone(),
                statements: assay_workloads::outline(test.definition()),
            })
            .collect();
        write_stdout(&match self.shape.format {
            ShapeWord::Text => assay_report::tests_text(from, &list, &options(true)),
            ShapeWord::Json => assay_report::tests_json(from, &list),
        })?;
        let Some(own) = own else { return Ok(Exit::Done) };
        let tests: Vec<Test> = list.iter().map(|it| it.test).collect();
        Ok(rehearsal::rehearse(&own.workload, &tests, cache_dir)?.tell())
    }
}
