//! Parser of study files.

use std::collections::BTreeMap;

use assay_model::{Counting, LIMITED_STUDY, Product, Suite, Test, TestSet};
use clap::Args;
use serde::de::DeserializeOwned;

use super::options::{
    LIMIT_KEYS, LIMITS_KEYS, SYSTEM_KEYS, TABLES, homes, keys_of, limit_key, read,
};
use crate::document::{FileFault, FileResult, FileTable, FileValue, parse};
use crate::error::PlanError;
use crate::limits::CELLS;
use crate::regression_limits::check_scope;
use crate::request::{
    InsertBenchRequest, LimitsRequest, Request, SetupRequest, SystemRequest, usual_terms,
};
use crate::system_name::{check_option, parse_system, server_option};
use crate::tests_glob::{bounded_patterns, select_of};

pub(super) fn request(text: &str) -> FileResult<Request> {
    let document = parse(text)?;
    let study = FileTable::new(text, document.get_ref(), homes);
    study.refuse_unknown(&[keys_of::<Request>(), &TABLES].concat())?;

    let mut request = options(&study)?;
    let is_alone = request.twin == Some(true) || request.count == Counting::Only;
    request.systems = systems(&study, if is_alone { 1 } else { 2 })?;
    // In the order of a plan, so that a command with the same mistakes names the same one.
    check_tests(&study, &request)?;
    request.limits = regression_limits(&study, &request)?;
    request.insert_bench = insert_bench(&study, &request)?;
    Ok(request)
}

pub(super) fn options(study: &FileTable<'_>) -> FileResult<Request> {
    let mut request: Request = read(study)?;
    if study.get("terms").is_none() {
        request.terms = usual_terms(request.preset).to_owned();
    }
    refuse_two_suites(study, &request)?;
    request.oltp = options_of(study, request.suite, "oltp")?;
    request.tpcc = options_of(study, request.suite, "tpcc")?;
    request.setups = setups(study)?;
    Ok(request)
}

const OF_INSERT_BENCH: &str = "preset threshold seed config scale-memory config-options server-cpus client-cpus terms \
                               source offline accept-expired-index";

/// Refuses a suite beside tests outside it.
fn refuse_two_suites(study: &FileTable<'_>, request: &Request) -> FileResult<()> {
    if request.suite == Suite::default() {
        return Ok(());
    }
    for key in ["workload", "insert-bench"] {
        if let Some(other) = study.get(key) {
            let why =
                format!("`{key}` and `suite = \"{}\"` cannot be combined", request.suite.word());
            return Err(FileFault::at(other.key_span, why).hint("leave one of them out"));
        }
    }
    Ok(())
}

fn options_of<T: DeserializeOwned + Args + Default>(
    study: &FileTable<'_>,
    suite: Suite,
    name: &str,
) -> FileResult<T> {
    let Some(value) = study.get(name) else { return Ok(T::default()) };
    if suite.word() != name {
        let why = format!("`[{name}]` applies only to suite `{name}`");
        let hint = format!("add `suite = \"{name}\"` at the top of the file");
        return Err(FileFault::at(value.key_span, why).hint(hint));
    }
    let table = value.table(&format!("a table, written `[{name}]`"))?;
    table.refuse_unknown(keys_of::<T>())?;
    read(&table)
}

fn insert_bench(
    study: &FileTable<'_>,
    request: &Request,
) -> FileResult<Option<InsertBenchRequest>> {
    let Some(value) = study.get("insert-bench") else { return Ok(None) };
    // A recipe always names the set, which is the default.
    let is_usual = |key: &str| key == "set" && request.set == TestSet::default();
    let is_other = |key: &&&str| OF_INSERT_BENCH.split(' ').all(|own| own != **key);
    let others = keys_of::<Request>().iter().filter(is_other);
    let others = others.chain(&["setup", LIMITED_STUDY]).filter(|key| !is_usual(key));
    if let Some(other) = others.copied().find_map(|key| study.get(key)) {
        let why = format!("`{}` does not apply to the Insert Benchmark", other.key);
        return Err(FileFault::at(other.key_span, why).hint("leave it out, or `[insert-bench]`"));
    }
    let table = value.table("a table, written `[insert-bench]`")?;
    table.refuse_unknown(keys_of::<InsertBenchRequest>())?;
    read(&table).map(Some)
}

pub(super) fn check_tests(study: &FileTable<'_>, request: &Request) -> FileResult<()> {
    let Some(patterns) = study.get("tests") else { return Ok(()) };
    // The plan checks those of a workload file, once it has been read.
    if !request.workload.is_empty() {
        return Ok(());
    }
    bounded_patterns(request.tests.len())
        .map_err(|error| FileFault::from_error(patterns.span.clone(), &error))?;
    let suite = request.shipped_tests();
    for (value, pattern) in patterns.list("")?.iter().zip(&request.tests) {
        select_of(suite.clone(), std::slice::from_ref(pattern))
            .map_err(|error| FileFault::from_error(value.span.clone(), &error))?;
    }
    Ok(())
}

fn setups(study: &FileTable<'_>) -> FileResult<Vec<SetupRequest>> {
    let Some(listed) = study.get("setup") else { return Ok(vec![SetupRequest::default()]) };
    let mut setups: Vec<SetupRequest> = Vec::new();
    let values = listed.list(SETUPS)?;
    // They are compared pair by pair.
    if values.len() > CELLS {
        return Err(listed.fault(format!("there are {} setups, more than {CELLS}", values.len())));
    }
    for value in values {
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

fn setup(value: &FileValue<'_>) -> FileResult<SetupRequest> {
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

fn mistaken(value: &FileValue<'_>, error: PlanError) -> FileFault {
    let span = match &error {
        PlanError::SystemName { at, .. } => value.span_of(at.clone()),
        _ => value.span.clone(),
    };
    FileFault::from_error(span, &error)
}

/// Systems of `compare`, at least `fewest`.
fn systems(study: &FileTable<'_>, fewest: usize) -> FileResult<Vec<SystemRequest>> {
    let named = named_systems(study)?;
    let Some(compare) = study.get("compare") else {
        return Err(FileFault::of_file("`compare`, the list of systems, is missing")
            .hint("for example `compare = [\"mariadb@10.11\", \"mariadb@11.8\"]`"));
    };
    let systems = compare
        .list("a list of systems such as `[\"mariadb@10.11\", \"mariadb@11.8\"]`")?
        .iter()
        .map(|value| system(value, &named))
        .collect::<Result<Vec<_>, _>>()?;
    if systems.len() < fewest {
        return Err(compare
            .fault(PlanError::TooFewSystems.to_string())
            .hint("`twin = true` compares a system with itself"));
    }
    Ok(systems)
}

fn system(
    value: &FileValue<'_>,
    named: &BTreeMap<String, SystemRequest>,
) -> FileResult<SystemRequest> {
    let words = value.text("a list of strings")?;
    if let Some(system) = named.get(words) {
        return Ok(system.clone());
    }
    if !words.contains('@') && !named.is_empty() {
        let fault = value.fault(format!("no system is called `{words}`"));
        let lacks = format!("`[system.{words}]` must define it, with `is`");
        return Err(fault.hint_nearest(words, named.keys(), lacks));
    }
    let asked = SystemRequest::parse(words);
    parse_system(&asked.words).map_err(|error| {
        let fault = mistaken(value, error);
        if is_name(words) { fault.hint(format!("or define `[system.{words}]`")) } else { fault }
    })?;
    Ok(asked)
}

fn named_systems(study: &FileTable<'_>) -> FileResult<BTreeMap<String, SystemRequest>> {
    let Some(systems) = study.get("system") else { return Ok(BTreeMap::new()) };
    let systems = systems.table("tables, each written `[system.NAME]`")?;
    systems.values().iter().map(named_system).collect()
}

fn named_system(value: &FileValue<'_>) -> FileResult<(String, SystemRequest)> {
    let name = value.key;
    if !is_name(name) {
        return Err(FileFault::at(value.key_span.clone(), format!("`{name}` cannot name a system"))
            .hint("a name consists of letters, digits, `.`, `_` and `-`, and begins with a letter or a digit"));
    }
    let table = value.table(&format!("a table `[system.{name}]`"))?;
    table.refuse_unknown(&SYSTEM_KEYS)?;
    let Some(is) = table.get("is") else {
        return Err(FileFault::at(
            value.key_span.clone(),
            format!("system `{name}` lacks `is`, which names the server"),
        )
        .hint("for example `is = \"mariadb@11.8\"`"));
    };
    let words = is.text("a system such as `\"mariadb@11.8\"`")?;
    let spec = parse_system(words).map_err(|error| mistaken(&is, error))?;
    let options = match table.get("options") {
        Some(value) => server_options(&value, spec.product)?,
        None => Vec::new(),
    };
    let config = table.get("config");
    let config = config.map(|it| it.text("the path of a `my.cnf` or `postgresql.conf`, in quotes"));
    let without = table.get("without").map(|it| without(&it)).transpose()?.unwrap_or_default();
    if config.is_none() && !without.is_empty() {
        return Err(FileFault::at(
            value.key_span.clone(),
            "`without` has no meaning without `config`",
        ));
    }
    let system = SystemRequest {
        words: words.to_owned(),
        name: Some(name.to_owned()),
        config: config.transpose()?.map(str::to_owned),
        without,
        options,
        of_file: Vec::new(),
    };
    Ok((name.to_owned(), system))
}

fn without(value: &FileValue<'_>) -> FileResult<Vec<String>> {
    let names = value.list("a list of options such as `[\"query_cache_size\"]`")?;
    let name =
        |it: &FileValue<'_>| it.text("a list of names, in quotes").map(|it| it.replace('-', "_"));
    names.iter().map(name).collect()
}

/// Names appear in all reports, and must not be taken for a specification.
fn is_name(name: &str) -> bool {
    name.starts_with(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

fn server_options(value: &FileValue<'_>, product: Product) -> FileResult<Vec<(String, String)>> {
    let mut options: Vec<(String, String)> = Vec::new();
    for value in value.table("a table such as `{ innodb_doublewrite = \"OFF\" }`")?.values() {
        let setting = value.option_value()?;
        let Some(option) = server_option(value.key, &setting) else {
            let message = format!("`{}` cannot be passed to a server", value.key);
            return Err(FileFault::at(value.key_span.start..value.span.end, message)
                .hint("an option's name consists of letters, digits, `_`, `-` and `.`, and its value is on one line"));
        };
        let place = value.key_span.start..value.span.end;
        check_option(product, &option.0, &option.1)
            .map_err(|error| FileFault::from_error(place, &error))?;
        if options.iter().any(|(name, _)| *name == option.0) {
            return Err(FileFault::at(value.key_span, format!("`{}` is set twice", option.0)));
        }
        options.push(option);
    }
    Ok(options)
}

fn regression_limits(
    study: &FileTable<'_>,
    request: &Request,
) -> FileResult<Option<LimitsRequest>> {
    let Some(value) = study.get(LIMITED_STUDY) else { return Ok(None) };
    let table = value.table(&format!("a table, written `[{LIMITED_STUDY}]`"))?;
    table.refuse_unknown(&LIMITS_KEYS)?;
    let key = limit_key(request.count);
    let Some(most) = table.get(key) else {
        return Err(FileFault::at(value.key_span, format!("`[{LIMITED_STUDY}]` lacks `{key}`"))
            .hint(format!("for example `{key} = \"3%\"`")));
    };
    if let Some(other) = LIMIT_KEYS.iter().find_map(|it| table.get(it).filter(|_| *it != key)) {
        let why = "`max-more` limits a study with `count = \"only\"`, `max-slowdown` every other";
        return Err(FileFault::at(other.key_span, why));
    }
    let allow_undecided = table.get("allow-undecided").map(|value| value.flag()).transpose()?;
    // The plan checks the patterns for tests of a workload file, once it has been read.
    let tests = request.workload.is_empty().then(|| (request.set, request.shipped_tests()));
    Ok(Some(LimitsRequest {
        most: percent(&most)?,
        limits: table.get("limits").map(|it| limits(&it, tests)).transpose()?.unwrap_or_default(),
        allow_undecided: allow_undecided.unwrap_or(false),
    }))
}

fn limits(
    value: &FileValue<'_>,
    tests: Option<(TestSet, Vec<Test>)>,
) -> FileResult<Vec<(String, f64)>> {
    let limits =
        value.table("a table such as `{ \"point*\" = \"1%\", writes = \"5%\" }`")?.values();
    bounded_patterns(limits.len())
        .map_err(|error| FileFault::from_error(value.span.clone(), &error))?;
    let limit = |it: &FileValue<'_>| {
        if let Some((set, tests)) = &tests {
            check_scope(it.key, *set, tests)
                .map_err(|error| FileFault::from_error(it.key_span.clone(), &error))?;
        }
        Ok((it.key.to_owned(), percent(it)?))
    };
    limits.iter().map(limit).collect()
}

fn percent(value: &FileValue<'_>) -> FileResult<f64> {
    value.percent("a percentage in quotes, such as `\"3%\"`")
}
