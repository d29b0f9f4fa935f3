//! From the text of a study file to a request.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use assay_model::{CpuPlacement, IdKey, Preset, Product, StatementMode, TestSet};
use toml::de::DeTable;

use super::fault::Fault;
use super::value::{Table, Value};
use crate::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, TABLES};
use crate::nearest::nearest;
use crate::system_name::server_option;
use crate::{
    Error, Request, SetupRequest, SystemRequest, check_option, parse_clients, parse_count,
    parse_duration_s, parse_percent, parse_system, select_tests,
};

const STUDY_KEYS: [&str; 18] = [
    "preset",
    "set",
    "tests",
    "budget",
    "threshold",
    "twin",
    "seed",
    "placement",
    "statements",
    "id-key",
    "slice",
    "write-slice",
    "blocks",
    "rounds",
    "source",
    "compare",
    "system",
    "setup",
];
const SYSTEM_KEYS: [&str; 3] = ["is", "config", "options"];
const SETUP_KEYS: [&str; 3] = ["clients", "tables", "rows"];

const IN_STUDY: (&str, &[&str]) = ("at the top of the file, before all tables", &STUDY_KEYS);
const IN_SYSTEM: (&str, &[&str]) = ("in a `[system.NAME]` table", &SYSTEM_KEYS);
const IN_SETUP: (&str, &[&str]) = ("in a `[[setup]]` table", &SETUP_KEYS);

pub(super) fn request(text: &str) -> Result<Request, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', ", ");
        Fault::at(error.span().unwrap_or_default(), message)
    })?;
    let study = Table::new(text, document.get_ref());
    study.refuse_unknown(&STUDY_KEYS, &[IN_SYSTEM, IN_SETUP])?;

    let set = optional(&study, "set", test_set)?.unwrap_or(TestSet::Set32);
    let preset = optional(&study, "preset", |value| value.word(&PRESETS, Preset::word))?
        .unwrap_or(Preset::Quick);
    let count = |key, range: RangeInclusive<u32>| {
        let Some(value) = study.get(key) else { return Ok(None) };
        if preset == Preset::Published {
            return Err(Fault::at(value.key_span, "preset `published` runs each test once")
                .hint(format!("leave `{key}` out, or choose another preset")));
        }
        value.count(&range).map(Some)
    };
    Ok(Request {
        systems: systems(&study)?,
        source: optional(&study, "source", source)?,
        preset,
        set,
        tests: optional(&study, "tests", |value| test_globs(value, set))?.unwrap_or_default(),
        setups: setups(&study)?,
        budget_s: optional(&study, "budget", duration_s)?,
        threshold: optional(&study, "threshold", percent)?,
        twin: optional(&study, "twin", Value::flag)?,
        id_key: optional(&study, "id-key", |value| value.word(&ID_KEYS, IdKey::word))?
            .unwrap_or_default(),
        statements: optional(&study, "statements", |value| {
            value.word(&STATEMENTS, StatementMode::word)
        })?
        .unwrap_or_default(),
        placement: optional(&study, "placement", |value| {
            value.word(&PLACEMENTS, CpuPlacement::word)
        })?,
        seed: optional(&study, "seed", |value| value.number(0..=u64::MAX))?.unwrap_or(1),
        slice_s: optional(&study, "slice", duration_s)?,
        write_slice_s: optional(&study, "write-slice", duration_s)?,
        blocks: count("blocks", BLOCKS)?,
        rounds: count("rounds", ROUNDS)?,
    })
}

const PRESETS: [Preset; 4] = [Preset::Smoke, Preset::Quick, Preset::Standard, Preset::Published];
const TEST_SETS: [TestSet; 4] = [TestSet::Set27, TestSet::Set32, TestSet::Set42, TestSet::Set47];
const ID_KEYS: [IdKey; 2] = [IdKey::Primary, IdKey::Secondary];
const STATEMENTS: [StatementMode; 2] = [StatementMode::Prepared, StatementMode::Text];
const PLACEMENTS: [CpuPlacement; 3] =
    [CpuPlacement::OneCpu, CpuPlacement::ConnectionsOnOneCpu, CpuPlacement::Free];

fn optional<'t, T>(
    table: &Table<'t>,
    key: &str,
    read: impl FnOnce(&Value<'t>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    table.get(key).map(|value| read(&value)).transpose()
}

fn test_set(value: &Value<'_>) -> Result<TestSet, Fault> {
    let number = value.number(0..=u64::MAX)?;
    TEST_SETS.into_iter().find(|set| set.len() as u64 == number).ok_or_else(|| {
        value
            .fault(format!("there is no set of {number} tests"))
            .hint("the sets are `27`, `32`, `42` and `47`")
    })
}

fn test_globs(value: &Value<'_>, set: TestSet) -> Result<Vec<String>, Fault> {
    let glob = |value: &Value<'_>| {
        let glob = value.text("patterns for tests")?.to_owned();
        select_tests(set, std::slice::from_ref(&glob)).map_err(|error| mistaken(value, &error))?;
        Ok(glob)
    };
    value.list("a list of patterns such as `[\"point*\", \"scan\"]`")?.iter().map(glob).collect()
}

fn source(value: &Value<'_>) -> Result<String, Fault> {
    let word = value.text("a source in quotes, such as `\"maven\"`")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:_-@/".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Ok(word.to_owned()),
        false => {
            Err(value.fault("this is not a source").hint("one is `apt` or `maven` for example"))
        }
    }
}

fn duration_s(value: &Value<'_>) -> Result<f64, Fault> {
    let text =
        value.text_or_number("a number of seconds, or a time in quotes such as `\"10m\"`")?;
    parse_duration_s(&text).map_err(|error| mistaken(value, &error))
}

/// A number, or a text such as `"1M"`.
fn count(value: &Value<'_>, range: &RangeInclusive<u32>) -> Result<u32, Fault> {
    match value.text("") {
        Ok(text) => {
            let count = parse_count(text).map_err(|error| mistaken(value, &error))?;
            value.in_range(count, range)
        }
        Err(_) => value.count(range),
    }
}

/// Client counts: numbers, or texts such as `"1-8"`.
fn clients(value: &Value<'_>) -> Result<Vec<u32>, Fault> {
    let mut clients = Vec::new();
    for value in value.one_or_more()? {
        match value.text("") {
            Ok(text) => {
                let counts = parse_clients(text).map_err(|error| mistaken(&value, &error))?;
                for count in counts {
                    clients.push(value.in_range(count, &CLIENTS)?);
                }
            }
            Err(_) => clients.push(value.count(&CLIENTS)?),
        }
    }
    Ok(clients)
}

fn percent(value: &Value<'_>) -> Result<f64, Fault> {
    let text = value.text("a percentage in quotes, such as `\"2%\"`")?;
    parse_percent(text).map_err(|error| mistaken(value, &error))
}

/// A value of the right type that makes no sense: marks the part of it that is known to be wrong.
fn mistaken(value: &Value<'_>, error: &Error) -> Fault {
    let span = match error {
        Error::SystemName { at, .. } => value.span_of(at.clone()),
        _ => value.span.clone(),
    };
    Fault::from_error(span, error)
}

fn systems(study: &Table<'_>) -> Result<Vec<SystemRequest>, Fault> {
    let named = named_systems(study)?;
    let Some(compare) = study.get("compare") else {
        return Err(Fault::of_file("`compare`, the list of systems, is missing")
            .hint("for example `compare = [\"mariadb@10.11\", \"mariadb@11.8\"]`"));
    };
    let systems = compare
        .list("a list of systems such as `[\"mariadb@10.11\", \"mariadb@11.8\"]`")?
        .iter()
        .map(|value| system(value, &named))
        .collect::<Result<Vec<_>, _>>()?;
    if systems.len() < 2 && optional(study, "twin", Value::flag)? != Some(true) {
        return Err(compare
            .fault(Error::TooFewSystems.to_string())
            .hint("`twin = true` compares a system with itself"));
    }
    Ok(systems)
}

/// An entry of `compare`: the name of a table, or a system in words.
fn system(
    value: &Value<'_>,
    named: &BTreeMap<String, SystemRequest>,
) -> Result<SystemRequest, Fault> {
    let words = value.text("a list of texts")?;
    if let Some(system) = named.get(words) {
        return Ok(system.clone());
    }
    if !words.contains('@') && !named.is_empty() {
        let fault = value.fault(format!("no system is called `{words}`"));
        return Err(match nearest(words, named.keys()) {
            Some(meant) => fault.hint(format!("did you mean `{meant}`")),
            None => fault.hint(format!("`[system.{words}]` must define it, with `is`")),
        });
    }
    parse_system(words).map_err(|error| {
        let fault = mistaken(value, &error);
        if is_name(words) { fault.hint(format!("or define `[system.{words}]`")) } else { fault }
    })?;
    Ok(SystemRequest { words: words.to_owned(), ..SystemRequest::default() })
}

fn named_systems(study: &Table<'_>) -> Result<BTreeMap<String, SystemRequest>, Fault> {
    let Some(systems) = study.get("system") else { return Ok(BTreeMap::new()) };
    let systems = systems.table("tables, each written `[system.NAME]`")?;
    systems.values().iter().map(named_system).collect()
}

fn named_system(value: &Value<'_>) -> Result<(String, SystemRequest), Fault> {
    let name = value.key;
    if !is_name(name) {
        return Err(Fault::at(value.key_span.clone(), format!("`{name}` cannot name a system"))
            .hint("a name has letters, digits, `.`, `_` and `-`, and begins with one of the first two"));
    }
    let table = value.table(&format!("a table `[system.{name}]`"))?;
    table.refuse_unknown(&SYSTEM_KEYS, &[IN_STUDY, IN_SETUP])?;
    let Some(is) = table.get("is") else {
        return Err(Fault::at(
            value.key_span.clone(),
            format!("system `{name}` lacks `is`, which names the server"),
        )
        .hint("for example `is = \"mariadb@11.8\"`"));
    };
    let words = is.text("a system such as `\"mariadb@11.8\"`")?;
    let spec = parse_system(words).map_err(|error| mistaken(&is, &error))?;
    let options = |value: &Value<'_>| options(value, spec.product);
    let options = optional(&table, "options", options)?.unwrap_or_default();
    let config = optional(&table, "config", |value| {
        Ok(value.text("the path of a `my.cnf` or `postgresql.conf`, in quotes")?.to_owned())
    })?;
    let name_given = Some(name.to_owned());
    let system = SystemRequest { words: words.to_owned(), name: name_given, config, options };
    Ok((name.to_owned(), system))
}

/// Names appear in all reports, and must not be taken for a system in words.
fn is_name(name: &str) -> bool {
    name.starts_with(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

fn options(value: &Value<'_>, product: Product) -> Result<Vec<(String, String)>, Fault> {
    let mut options: Vec<(String, String)> = Vec::new();
    for value in value.table("a table such as `{ innodb_doublewrite = \"OFF\" }`")?.values() {
        let setting = value.option_value()?;
        let Some(option) = server_option(value.key, &setting) else {
            let message = format!("`{}` cannot be passed to a server", value.key);
            return Err(Fault::at(value.key_span.start..value.span.end, message)
                .hint("an option has a name of letters, digits, `_`, `-` and `.`, and a value on one line"));
        };
        let place = value.key_span.start..value.span.end;
        check_option(product, &option.0, &option.1)
            .map_err(|error| Fault::from_error(place, &error))?;
        if options.iter().any(|(name, _)| *name == option.0) {
            return Err(Fault::at(value.key_span, format!("`{}` is set twice", option.0)));
        }
        options.push(option);
    }
    Ok(options)
}

fn setups(study: &Table<'_>) -> Result<Vec<SetupRequest>, Fault> {
    let Some(listed) = study.get("setup") else { return Ok(vec![SetupRequest::default()]) };
    let mut setups: Vec<SetupRequest> = Vec::new();
    for value in listed.list("a list of tables, each written `[[setup]]`")? {
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

fn setup(value: &Value<'_>) -> Result<SetupRequest, Fault> {
    let table = value.table("a list of tables, each written `[[setup]]`")?;
    table.refuse_unknown(&SETUP_KEYS, &[IN_STUDY, IN_SYSTEM])?;
    Ok(SetupRequest {
        clients: optional(&table, "clients", clients)?,
        tables: optional(&table, "tables", |value| count(value, &TABLES))?,
        rows: optional(&table, "rows", |value| count(value, &ROWS))?,
    })
}

/// Whether two setups measure something twice, as far as that is known without the preset.
fn are_alike(a: &SetupRequest, b: &SetupRequest) -> bool {
    let share_clients = match (&a.clients, &b.clients) {
        (Some(a), Some(b)) => a.iter().any(|count| b.contains(count)),
        (a, b) => a == b,
    };
    share_clients && a.tables == b.tables && a.rows == b.rows
}
