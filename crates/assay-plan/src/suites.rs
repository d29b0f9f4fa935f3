//! The suites: their tests, their options, and what they refuse.

use assay_model::{Suite, Test};
use assay_workloads::{OltpOptions, TpccOptions, oltp_tests, tests_of, tpcc_tests};
use clap::error::Error;
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::request::{Request, SetupRequest};

pub struct SuiteFacts {
    tests: fn(&Request) -> Vec<Test>,
    /// What it takes after `--`; `None` if a Lua script takes these words.
    pub options: Option<SuiteOptions>,
    /// Whether a study without `--clients` measures a sweep of client counts.
    pub(crate) sweeps_clients: bool,
    /// Factor of the length of write slices and write turns: events of dozens of statements need longer ones.
    pub(crate) write_factor: u32,
    /// Why it refuses a request, or the preset `published`, if that is asked for.
    pub(crate) refused: fn(&Request, bool) -> Option<&'static str>,
    /// What one of its tests is called, and arguments that follow `--suite` in an example. `None` if it has sets, which
    /// `assay tests` lists.
    pub listed: Option<[&'static str; 2]>,
}

pub struct SuiteOptions {
    pub add_to: fn(Command) -> Command,
    pub read: fn(&ArgMatches, &mut Request) -> Result<(), Error>,
}

const MICRO: SuiteFacts = SuiteFacts {
    tests: |request| tests_of(request.set),
    options: None,
    sweeps_clients: false,
    write_factor: 1,
    refused: |_, _| None,
    listed: None,
};

const OLTP: SuiteFacts = SuiteFacts {
    tests: |request| oltp_tests(&request.oltp),
    options: Some(SuiteOptions {
        add_to: OltpOptions::augment_args,
        read: |found, request| request.oltp.update_from_arg_matches(found),
    }),
    sweeps_clients: true,
    refused: |_, is_published| is_published.then_some(ONLY_MICRO),
    listed: Some(["script", "--tests 'oltp_read*,bulk_insert'"]),
    ..MICRO
};

const TPCC: SuiteFacts = SuiteFacts {
    tests: |request| tpcc_tests(&request.tpcc),
    options: Some(SuiteOptions {
        add_to: TpccOptions::augment_args,
        read: |found, request| request.tpcc.update_from_arg_matches(found),
    }),
    write_factor: 5,
    refused: refused_by_tpcc,
    listed: Some(["test", "-- --warehouses 10"]),
    ..MICRO
};

fn refused_by_tpcc(request: &Request, is_published: bool) -> Option<&'static str> {
    let has_size = |it: &SetupRequest| it.tables.is_some() || it.rows.is_some();
    if request.setups.iter().any(has_size) {
        return Some(
            "the number of warehouses decides the tables of `--suite tpcc` and their rows, not `--tables` or `--rows`",
        );
    }
    if request.check {
        return Some(
            "`--check` works only on sysbench's tables; those of `--suite tpcc` are checked in any case",
        );
    }
    is_published.then_some(ONLY_MICRO)
}

const ONLY_MICRO: &str = "preset `published` runs only microbenchmarks";

pub fn suite_facts(suite: Suite) -> &'static SuiteFacts {
    match suite {
        Suite::Micro => &MICRO,
        Suite::Oltp => &OLTP,
        Suite::Tpcc => &TPCC,
    }
}

impl Request {
    pub fn shipped_tests(&self) -> Vec<Test> {
        (suite_facts(self.suite).tests)(self)
    }

    /// The options of sysbench's scripts, if it measures those.
    pub fn oltp_options(&self) -> Option<&OltpOptions> {
        (self.suite == Suite::Oltp && self.workload.is_empty()).then_some(&self.oltp)
    }
}
