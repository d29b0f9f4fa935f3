//! Systems of a study file: `compare` and the tables that it names.

use std::collections::BTreeMap;

use assay_model::Product;

use super::keys::SYSTEM_KEYS;
use crate::document::{Fault, Table, Value};
use crate::error::Error;
use crate::nearest::nearest;
use crate::request::SystemRequest;
use crate::system_name::{check_option, parse_system, server_option};

fn mistaken(value: &Value<'_>, error: Error) -> Fault {
    let span = match &error {
        Error::SystemName { at, .. } => value.span_of(at.clone()),
        _ => value.span.clone(),
    };
    Fault::from_error(span, &error)
}

/// Systems of `compare`; with `with_twin`, one suffices.
pub(super) fn systems(study: &Table<'_>, with_twin: bool) -> Result<Vec<SystemRequest>, Fault> {
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
    if systems.len() < 2 && !with_twin {
        return Err(compare
            .fault(Error::TooFewSystems.to_string())
            .hint("`twin = true` compares a system with itself"));
    }
    Ok(systems)
}

fn system(
    value: &Value<'_>,
    named: &BTreeMap<String, SystemRequest>,
) -> Result<SystemRequest, Fault> {
    let words = value.text("a list of strings")?;
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
    let asked = SystemRequest::of(words);
    parse_system(&asked.words).map_err(|error| {
        let fault = mistaken(value, error);
        if is_name(words) { fault.hint(format!("or define `[system.{words}]`")) } else { fault }
    })?;
    Ok(asked)
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
            .hint("a name consists of letters, digits, `.`, `_` and `-`, and begins with a letter or a digit"));
    }
    let table = value.table(&format!("a table `[system.{name}]`"))?;
    table.refuse_unknown(&SYSTEM_KEYS)?;
    let Some(is) = table.get("is") else {
        return Err(Fault::at(
            value.key_span.clone(),
            format!("system `{name}` lacks `is`, which names the server"),
        )
        .hint("for example `is = \"mariadb@11.8\"`"));
    };
    let words = is.text("a system such as `\"mariadb@11.8\"`")?;
    let spec = parse_system(words).map_err(|error| mistaken(&is, error))?;
    let options = match table.get("options") {
        Some(value) => options(&value, spec.product)?,
        None => Vec::new(),
    };
    let config = table.get("config");
    let config = config.map(|it| it.text("the path of a `my.cnf` or `postgresql.conf`, in quotes"));
    let without = table.get("without").map(|it| without(&it)).transpose()?.unwrap_or_default();
    if config.is_none() && !without.is_empty() {
        return Err(Fault::at(value.key_span.clone(), "`without` has no meaning without `config`"));
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

fn without(value: &Value<'_>) -> Result<Vec<String>, Fault> {
    let names = value.list("a list of options such as `[\"query_cache_size\"]`")?;
    let name =
        |it: &Value<'_>| it.text("a list of names, in quotes").map(|it| it.replace('-', "_"));
    names.iter().map(name).collect()
}

/// Names appear in all reports, and must not be taken for a specification.
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
                .hint("an option's name consists of letters, digits, `_`, `-` and `.`, and its value is on one line"));
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
