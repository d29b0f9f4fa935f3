//! The suites: their tests, their options, and what they refuse.

use assay_model::{Counting, Suite, Test};
use assay_workloads::{
    OltpOptions, TpccOptions, ibench_counted_tests, oltp_tests, tests_of, tpcc_tests,
};
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
    /// Why it refuses a request.
    pub(crate) refused: fn(&Request) -> Option<&'static str>,
    /// The size of its tables in place of `rows`: its name, and where a request has it.
    pub(crate) own_size: Option<(&'static str, SizeOfRequest)>,
    /// What one of its tests is called, and arguments that follow `--suite` in an example. `None` if it has sets, which
    /// `assay tests` lists.
    pub listed: Option<[&'static str; 2]>,
}

type SizeOfRequest = fn(&mut Request) -> &mut u32;

pub struct SuiteOptions {
    pub add_to: fn(Command) -> Command,
    pub read: fn(&ArgMatches, &mut Request) -> Result<(), Error>,
}

const MICRO: SuiteFacts = SuiteFacts {
    tests: |request| tests_of(request.set),
    options: None,
    sweeps_clients: false,
    write_factor: 1,
    refused: |_| None,
    own_size: None,
    listed: None,
};

const OLTP: SuiteFacts = SuiteFacts {
    tests: |request| oltp_tests(&request.oltp),
    options: Some(SuiteOptions {
        add_to: OltpOptions::augment_args,
        read: |found, request| request.oltp.update_from_arg_matches(found),
    }),
    sweeps_clients: true,
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
    own_size: Some(("warehouses", warehouses)),
    listed: Some(["test", "-- --warehouses 10"]),
    ..MICRO
};

const INSERT_BENCH: SuiteFacts = SuiteFacts {
    tests: |_| ibench_counted_tests(),
    refused: refused_by_insert_bench,
    listed: Some(["step", "--tests 'l.*'"]),
    ..MICRO
};

fn refused_by_insert_bench(request: &Request) -> Option<&'static str> {
    if request.count != Counting::Only {
        return Some(
            "`--suite insert-bench` is for `assay count`; `assay insert-bench` measures its time",
        );
    }
    request.check.then_some("`--check` works only on sysbench's tables")
}

fn warehouses(request: &mut Request) -> &mut u32 {
    &mut request.tpcc.warehouses
}

fn refused_by_tpcc(request: &Request) -> Option<&'static str> {
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
    None
}

pub fn suite_facts(suite: Suite) -> &'static SuiteFacts {
    match suite {
        Suite::Micro => &MICRO,
        Suite::Oltp => &OLTP,
        Suite::Tpcc => &TPCC,
        Suite::InsertBench => &INSERT_BENCH,
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
