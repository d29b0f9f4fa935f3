//! Parser of study files.

use assay_model::{Preset, Suite, TestSet};
use assay_workloads::{OltpOptions, TpccOptions};
use clap::Args;
use serde::de::DeserializeOwned;

use super::gate::gate;
use super::keys::{TABLES, homes, keys_of, read};
use super::systems::systems;
use crate::document::{Fault, Table, Value, parse};
use crate::request::{InsertBench, Request, SetupRequest};
use crate::tests_glob::{bounded_patterns, select_of};

pub(super) fn request(text: &str) -> Result<Request, Fault> {
    let document = parse(text)?;
    let study = Table::new(text, document.get_ref(), homes);
    study.refuse_unknown(&[keys_of::<Request>(), &TABLES].concat())?;

    let mut request = asked(&study)?;
    request.systems = systems(&study, request.twin == Some(true))?;
    request.gate = gate(&study, &request)?;
    request.insert_bench = insert_bench(&study, &request)?;
    Ok(request)
}

pub(super) fn asked(study: &Table<'_>) -> Result<Request, Fault> {
    let mut request: Request = read(study)?;
    refuse_two_suites(study, &request)?;
    request.oltp = options_of::<OltpOptions>(study, &request, Suite::Oltp)?;
    request.tpcc = options_of::<TpccOptions>(study, &request, Suite::Tpcc)?;
    check_tests(study, &request)?;
    refuse_repeats(study, request.preset)?;
    request.setups = setups(study)?;
    Ok(request)
}

const OF_INSERT_BENCH: [&str; 10] = [
    "preset",
    "threshold",
    "seed",
    "config",
    "scale-memory",
    "config-options",
    "terms",
    "source",
    "offline",
    "accept-expired-index",
];

/// Refuses a suite beside tests outside it.
fn refuse_two_suites(study: &Table<'_>, request: &Request) -> Result<(), Fault> {
    if request.suite == Suite::Micro {
        return Ok(());
    }
    for key in ["workload", "insert-bench"] {
        if let Some(other) = study.get(key) {
            let why =
                format!("`{key}` and `suite = \"{}\"` cannot be combined", request.suite.word());
            return Err(Fault::at(other.key_span, why).hint("leave one of them out"));
        }
    }
    Ok(())
}

fn options_of<T: DeserializeOwned + Args + Default>(
    study: &Table<'_>,
    request: &Request,
    suite: Suite,
) -> Result<T, Fault> {
    let name = suite.word();
    let Some(value) = study.get(name) else { return Ok(T::default()) };
    if request.suite != suite {
        let why = format!("`[{name}]` applies only to suite `{name}`");
        let hint = format!("add `suite = \"{name}\"` at the top of the file");
        return Err(Fault::at(value.key_span, why).hint(hint));
    }
    let table = value.table(match suite {
        Suite::Tpcc => "a table, written `[tpcc]`",
        Suite::Micro | Suite::Oltp => "a table, written `[oltp]`",
    })?;
    table.refuse_unknown(keys_of::<T>())?;
    read(&table)
}

fn insert_bench(study: &Table<'_>, request: &Request) -> Result<Option<InsertBench>, Fault> {
    let Some(value) = study.get("insert-bench") else { return Ok(None) };
    // A recipe always names the set, which is the default.
    let is_usual = |key: &str| key == "set" && request.set == TestSet::default();
    let others = keys_of::<Request>().iter().filter(|key| !OF_INSERT_BENCH.contains(key));
    let others = others.chain(&["setup", "gate"]).filter(|key| !is_usual(key));
    if let Some(other) = others.copied().find_map(|key| study.get(key)) {
        let why = format!("`{}` does not apply to the Insert Benchmark", other.key);
        return Err(Fault::at(other.key_span, why).hint("leave it out, or `[insert-bench]`"));
    }
    let table = value.table("a table, written `[insert-bench]`")?;
    table.refuse_unknown(keys_of::<InsertBench>())?;
    read(&table).map(Some)
}

fn check_tests(study: &Table<'_>, request: &Request) -> Result<(), Fault> {
    let Some(patterns) = study.get("tests") else { return Ok(()) };
    // The plan checks those of a workload file, once it has been read.
    if !request.workload.is_empty() {
        return Ok(());
    }
    bounded_patterns(request.tests.len())
        .map_err(|error| Fault::from_error(patterns.span.clone(), &error))?;
    let suite = request.shipped_tests();
    for (value, pattern) in patterns.list("")?.iter().zip(&request.tests) {
        select_of(suite.clone(), std::slice::from_ref(pattern))
            .map_err(|error| Fault::from_error(value.span.clone(), &error))?;
    }
    Ok(())
}

fn refuse_repeats(study: &Table<'_>, preset: Preset) -> Result<(), Fault> {
    let repeated = ["blocks", "rounds"].into_iter().find_map(|key| study.get(key));
    let Some(value) = repeated.filter(|_| preset == Preset::Published) else { return Ok(()) };
    Err(Fault::at(value.key_span, "preset `published` runs each test once")
        .hint(format!("leave `{}` out, or choose another preset", value.key)))
}

fn setups(study: &Table<'_>) -> Result<Vec<SetupRequest>, Fault> {
    let Some(listed) = study.get("setup") else { return Ok(vec![SetupRequest::default()]) };
    let mut setups: Vec<SetupRequest> = Vec::new();
    for value in listed.list(SETUPS)? {
        let setup = setup(&value)?;
        if setups.iter().any(|other| are_alike(other, &setup)) {
            return Err(value
                .fault("this setup repeats one above")
                .hint("setups must differ in their clients, tables or rows"));
        }
        setups.push(setup);
    }
    Ok(setups)
}

const SETUPS: &str = "a list of tables, each written `[[setup]]`";

fn setup(value: &Value<'_>) -> Result<SetupRequest, Fault> {
    let table = value.table(SETUPS)?;
    table.refuse_unknown(keys_of::<SetupRequest>())?;
    read(&table)
}

/// Whether two setups measure something twice, as far as known without the preset.
fn are_alike(a: &SetupRequest, b: &SetupRequest) -> bool {
    let share_clients = match (&a.clients, &b.clients) {
        (Some(a), Some(b)) => a.iter().any(|count| b.contains(count)),
        (a, b) => a == b,
    };
    share_clients && a.tables == b.tables && a.rows == b.rows
}
