//! `assay tests`: lists tests, and tries those of a user.

mod page;
mod rehearsal;

use std::path::Path;

use anyhow::Result;
use assay_command::args::{OwnArgs, ShapeArg};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_model::{Suite, Test, TestSet};
use assay_options::word;
use assay_plan::{Request, suite_facts};
use assay_run::workload::{self, LuaContext};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use page::{ListedFrom, ListedTest};

#[derive(Debug, Args)]
#[command(mut_arg("workload", |it| it.conflicts_with_all(["set", "suite"])))]
pub struct TestsArgs {
    /// List only the tests whose names match, such as `'point*'` [default: all of the set]
    #[arg(value_name = "PATTERN", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub patterns: Vec<String>,

    #[command(flatten)]
    pub own: OwnArgs,

    /// Let a Lua script use files outside of its directory and run programs
    #[arg(long, requires = "workload", hide_short_help = true)]
    pub allow_script_io: bool,

    /// Collection of tests
    #[arg(long, value_parser = word::<Suite>(), default_value = Suite::default().word())]
    #[arg(conflicts_with = "set")]
    pub suite: Suite,

    /// Published selection of microbenchmarks, or every one (`all`)
    #[arg(long, value_parser = word::<TestSet>(), default_value = TestSet::default().word())]
    pub set: TestSet,

    #[command(flatten)]
    pub shape: ShapeArg,
}

impl Arguments for TestsArgs {
    const NAME: &'static str = "tests";
    const ABOUT: &'static str = "List the tests that `--tests` can name";
    const GROUP: CommandGroup = CommandGroup::Read;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let own = (!self.own.workload.is_empty()).then_some(&self.own);
        let of_lua = LuaContext { may_use_all: self.allow_script_io, ..LuaContext::default() };
        let read = own.map(|own| workload::read(&own.workload, &own.options, of_lua));
        let read = read.transpose()?;
        let from = match (&read, suite_facts(self.suite).listed) {
            (Some(workload), _) => ListedFrom::Workload(&workload.name),
            (None, Some([noun, example])) => ListedFrom::Suite([self.suite.word(), noun, example]),
            (None, None) => ListedFrom::Set(self.set),
        };
        let request = Request { suite: self.suite, set: self.set, ..Request::default() };
        let suite = read.as_ref().map_or_else(|| request.shipped_tests(), |it| it.tests.clone());
        let list: Vec<ListedTest> = assay_plan::select_of(suite, &self.patterns)?
            .into_iter()
            .map(|test| ListedTest {
                test,
                does: test.does.clone(),
                statements: assay_workloads::outline(test.definition()),
            })
            .collect();
        report::put_page(&self.shape, &page::tests(from, &list))?;
        let Some(own) = own else { return Ok(Exit::Done) };
        let tests: Vec<Test> = list.iter().map(|it| it.test).collect();
        Ok(rehearsal::rehearse(&own.workload, &tests, cache_dir)?.tell())
    }
}
