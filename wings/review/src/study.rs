//! The study that would settle a difference: the same releases, tests and clients, as a study file. Pure.

use std::collections::BTreeSet;

use assay_import::BenchmarkClient;
use assay_model::limits::user::SCALE;
use assay_model::limits::{CLIENTS, ROWS, TABLES, tpcc::WAREHOUSES};
use assay_model::{Suite, Test, TestSet};
use assay_plan::{PGBENCH_SCRIPTS, Request, SetupRequest, read_study, write_study};
use assay_workloads::{
    OLTP_SCRIPTS, OltpOptions, TpccOptions, oltp_tests, published_test, tests_of,
};

use crate::runs::{ReviewedFiles, ReviewedRun, TPROC};

/// Another name by which a test is counted: that of its microbenchmark without the filler of published names, or of the
/// one that does the work of a script of sysbench with default options.
pub(crate) fn counted_test(script: &str) -> Option<String> {
    if let Some(test) = published_test(script) {
        return Some(test.name().to_owned()).filter(|name| name != script);
    }
    let scripts = oltp_tests(&OltpOptions::default());
    let script = scripts.iter().find(|test| test.name == script)?;
    // The form in front of the writes has the same statements.
    let is_alike = |test: &Test| test.roles == script.roles && !test.name().contains(".pre");
    tests_of(TestSet::All).into_iter().find(is_alike).map(|test| test.name().to_owned())
}

/// A study file for `assay run`, or why none can be written.
pub(crate) fn study_file(files: &ReviewedFiles) -> Result<String, String> {
    let systems = releases(files)?;
    let tests: BTreeSet<&str> = files.runs.iter().map(|run| run.test.as_str()).collect();
    let tests: Vec<String> = tests.into_iter().map(str::to_owned).collect();
    let clients: BTreeSet<u32> = files.runs.iter().filter_map(|run| run.clients).collect();
    let clients: Vec<u32> = clients.into_iter().filter(|count| CLIENTS.contains(count)).collect();
    let clients = (!clients.is_empty()).then_some(clients);
    let setup = |is_sized: bool| SetupRequest {
        clients: clients.clone(),
        tables: size(files, |run| run.size.tables)
            .filter(|count| is_sized && TABLES.contains(count)),
        rows: size(files, |run| run.size.rows).filter(|count| is_sized && ROWS.contains(count)),
    };
    let plain = Request { twin: Some(true), ..Request::of_systems(&systems) };
    let suite = |name: &str| {
        let found = Suite::ALL.into_iter().find(|suite| suite.word() == name);
        found.expect("a suite of assay")
    };
    let are_all = |known: &dyn Fn(&str) -> bool| tests.iter().all(|test| known(test));
    let request = if are_all(&|test| OLTP_SCRIPTS.contains(&test)) {
        Request { suite: suite("oltp"), tests, setups: vec![setup(true)], ..plain }
    } else if are_all(&|test| test == TPROC) {
        let warehouses = size(files, |run| run.size.warehouses);
        let warehouses = warehouses.filter(|count| WAREHOUSES.contains(count)).unwrap_or(1);
        let tpcc = TpccOptions { warehouses, ..plain.tpcc.clone() };
        Request { suite: suite("tpcc"), tpcc, setups: vec![setup(false)], ..plain }
    } else if are_all(&|test| PGBENCH_SCRIPTS.contains(&test)) {
        let scale = size(files, |run| run.size.scale).filter(|scale| SCALE.contains(scale));
        Request { workload: tests, scale, setups: vec![setup(false)], ..plain }
    } else {
        let named: Option<Vec<String>> =
            tests.iter().map(|test| Some(published_test(test)?.name().to_owned())).collect();
        let Some(tests) = named else { return Err(unknown_tests(&tests)) };
        Request { set: TestSet::All, tests, setups: vec![setup(true)], ..plain }
    };
    let text = format!("{HEAD}{}", write_study(&request));
    // A name may be one that study files do not take.
    let read = read_study("review.toml", &text);
    read.map(|_| text).map_err(|error| format!("the study file would be refused: {error}"))
}

const HEAD: &str = "# Written by `assay review`: the releases, tests and clients of the files, with equal settings, in \
    turns, and with\n# a twin of the base, which shows the noise of the machine. `assay run` runs it.\n\n";

/// The systems as `assay` names them.
fn releases(files: &ReviewedFiles) -> Result<Vec<String>, String> {
    let unknown = files.systems.iter().filter(|system| system.release.is_none());
    let unknown: Vec<&str> = unknown.map(|system| system.name.as_str()).collect();
    if !unknown.is_empty() {
        return Err(format!(
            "the release of {} is unknown: name it, as in `mysql@8.0.36=FILE,FILE`",
            unknown.join(", ")
        ));
    }
    let releases = files.systems.iter().filter_map(|system| system.release.as_ref());
    let words: Vec<String> = releases.map(crate::systems::NamedRelease::words).collect();
    let is_repeated = |word: &&String| words.iter().filter(|other| other == word).count() > 1;
    match words.iter().find(is_repeated).cloned() {
        None => Ok(words),
        Some(release) => Err(format!(
            "several systems are {release}, and only their settings differ: `assay compare {release} \
             {release}+NAME=VALUE` compares settings"
        )),
    }
}

/// What all runs that say it say alike.
fn size(files: &ReviewedFiles, of_run: impl Fn(&ReviewedRun) -> Option<u32>) -> Option<u32> {
    let all: BTreeSet<u32> = files.runs.iter().filter_map(of_run).collect();
    all.first().copied().filter(|_| all.len() == 1)
}

fn unknown_tests(tests: &[String]) -> String {
    if tests.contains(&BenchmarkClient::Sysbench.to_string()) {
        return "the files do not name the script of sysbench: write its command line above the output, or its name \
                into that of the file, such as `oltp_read_only-1.txt`"
            .to_owned();
    }
    let shown: Vec<&str> = tests.iter().take(5).map(String::as_str).collect();
    let more = if tests.len() > shown.len() { ", ..." } else { "" };
    format!(
        "assay does not have the tests {}{more} as one suite: `assay compare --workload FILE` takes a script of \
         sysbench or pgbench",
        shown.join(", ")
    )
}
