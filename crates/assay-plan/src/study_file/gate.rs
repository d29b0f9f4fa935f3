//! The table `[gate]` of a study file.

use assay_model::{Test, TestSet};

use super::keys::{GATE_KEYS, LIMIT_KEYS, limit_key};
use crate::document::{Fault, Table, Value};
use crate::gate::check_scope;
use crate::request::{GateRequest, Request};
use crate::tests_glob::bounded_patterns;
use assay_options::parse_percent;

pub(super) fn gate(study: &Table<'_>, request: &Request) -> Result<Option<GateRequest>, Fault> {
    let Some(value) = study.get("gate") else { return Ok(None) };
    let table = value.table("a table, written `[gate]`")?;
    table.refuse_unknown(&GATE_KEYS)?;
    let key = limit_key(request.count);
    let Some(most) = table.get(key) else {
        return Err(Fault::at(value.key_span, format!("`[gate]` lacks `{key}`"))
            .hint(format!("for example `{key} = \"3%\"`")));
    };
    if let Some(other) = LIMIT_KEYS.iter().find_map(|it| table.get(it).filter(|_| *it != key)) {
        let why = "`max-more` limits a study with `count = \"only\"`, `max-slowdown` every other";
        return Err(Fault::at(other.key_span, why));
    }
    let allow_undecided = table.get("allow-undecided");
    let allow_undecided = allow_undecided
        .map(|it| it.value.as_bool().ok_or_else(|| it.is_not("`true` or `false`")))
        .transpose()?;
    // The plan checks the patterns for tests of a workload file, once it has been read.
    let tests = request.workload.is_empty().then(|| (request.set, request.shipped_tests()));
    Ok(Some(GateRequest {
        most: percent(&most)?,
        limits: table.get("limits").map(|it| limits(&it, tests)).transpose()?.unwrap_or_default(),
        allow_undecided: allow_undecided.unwrap_or(false),
    }))
}

fn limits(
    value: &Value<'_>,
    tests: Option<(TestSet, Vec<Test>)>,
) -> Result<Vec<(String, f64)>, Fault> {
    let limits =
        value.table("a table such as `{ \"point*\" = \"1%\", writes = \"5%\" }`")?.values();
    bounded_patterns(limits.len())
        .map_err(|error| Fault::from_error(value.span.clone(), &error))?;
    let limit = |it: &Value<'_>| {
        if let Some((set, tests)) = &tests {
            check_scope(it.key, *set, tests)
                .map_err(|error| Fault::from_error(it.key_span.clone(), &error))?;
        }
        Ok((it.key.to_owned(), percent(it)?))
    };
    limits.iter().map(limit).collect()
}

fn percent(value: &Value<'_>) -> Result<f64, Fault> {
    parse_percent(value.text("a percentage in quotes, such as `\"3%\"`")?)
        .map_err(|error| value.mistaken(&error.into()))
}
