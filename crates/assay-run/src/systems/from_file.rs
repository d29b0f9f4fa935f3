//! Drops options of a common config file that a version does not accept, and reports all of them.

use std::collections::BTreeMap;

use anyhow::Result;
use assay_model::{Dialect, EventKind, Prefix, System, SystemSpec, UntakenOption};
use assay_servers::{CheckedOptions, DeprecatedOption, RefusedOption, Site};
use assay_terms::{RenderedTerms, ServerSizes, Terms, variable};

pub struct AcceptedConfig {
    pub spec: SystemSpec,
    pub rendered: RenderedTerms,
    pub events: Vec<EventKind>,
    pub meant: Vec<(String, String)>,
}

/// Options in `of_file` are left out where the system's version does not accept them.
pub fn taken(
    spec: &SystemSpec,
    of_file: &BTreeMap<String, Option<String>>,
    (terms, sizes): (&Terms, &ServerSizes),
    prefix: &Prefix,
    site: &Site,
) -> Result<AcceptedConfig> {
    let render = |spec: &SystemSpec| terms.render(sizes, prefix, spec.engine, &spec.overrides);
    let rendered = render(spec);
    if of_file.is_empty() {
        let spec = spec.clone();
        return Ok(AcceptedConfig { spec, rendered, events: Vec::new(), meant: Vec::new() });
    }
    let is_of_file = |option: &&String| of_file.contains_key(&variable_of(option));
    let given: Vec<String> = rendered.options.iter().filter(is_of_file).cloned().collect();
    let CheckedOptions { refused, deprecated } =
        assay_servers::checked_options(site, prefix, &given)?;
    let asked: Vec<String> = spec.overrides.iter().map(|(name, _)| variable(name)).collect();
    let mut spec = spec.clone();
    let mut untaken = Vec::new();
    for option in &refused {
        let RefusedOption { name, said, .. } = option;
        let is_it = |other: &str| variable(other) == variable(name);
        let list = spec.overrides.iter_mut().rev().find(|(other, _)| is_it(other));
        if let Some((name, value)) = list.filter(|_| said.is_some() && is_list(&variable(name)))
            && let Some((kept, words)) = without_refused_words(name, value, prefix, site)?
        {
            untaken.extend(words.into_iter().map(|word| UntakenOption {
                name: name.clone(),
                remedy: format!("take `{word}` out of the list"),
                value: word,
                said: Some("this version does not take this word".to_owned()),
                place: of_file.get(&variable(name)).cloned().flatten(),
            }));
            *value = kept;
            continue;
        }
        let values = spec.overrides.iter().filter(|(other, _)| is_it(other));
        untaken.extend(values.map(|(name, value)| UntakenOption {
            name: name.clone(),
            value: value.clone(),
            said: said.clone(),
            place: of_file.get(&variable(name)).cloned().flatten(),
            remedy: option.remedy(spec.product),
        }));
        spec.overrides.retain(|(other, _)| !is_it(other));
    }
    untaken.extend(without_missing_libraries(&mut spec, of_file, prefix));
    // In the order of the file.
    untaken.sort_by_key(|it| asked.iter().position(|name| *name == variable(&it.name)));
    let meant = refused.iter().filter_map(|it| Some((it.name.clone(), it.meant()?.to_owned())));
    let meant = meant.collect();
    let mut rendered = render(&spec);
    // Do not report a setting twice, for the file and for the terms.
    let is_told = |setting: &str| untaken.iter().any(|it| variable(&it.name) == variable(setting));
    rendered.left_out.retain(|it| !is_told(it.setting));
    let deprecated = deprecated.into_iter().map(|DeprecatedOption { name, said }| UntakenOption {
        value: value_of(&spec, &name).unwrap_or_default(),
        place: of_file.get(&variable(&name)).cloned().flatten(),
        name,
        said: Some(said),
        remedy: String::new(),
    });
    let deprecated: Vec<UntakenOption> = deprecated.collect();
    let mut events = Vec::new();
    if !untaken.is_empty() {
        events.push(EventKind::ConfigLeftOut { options: untaken });
    }
    if !deprecated.is_empty() {
        events.push(EventKind::ConfigDeprecated { options: deprecated });
    }
    Ok(AcceptedConfig { spec, rendered, events, meant })
}

/// Whether the value of a variable is a list, of which a server may refuse single words.
fn is_list(variable: &str) -> bool {
    ["sql_mode", "optimizer_switch"].contains(&variable)
}

const LIST_MAX: usize = 64;

/// A list without the words that a server refuses, and these words; `None` if it accepts each of them alone, or none.
fn without_refused_words(
    name: &str,
    value: &str,
    prefix: &Prefix,
    site: &Site,
) -> Result<Option<(String, Vec<String>)>> {
    let words: Vec<&str> = value.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    if words.len() > LIST_MAX {
        return Ok(None);
    }
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for word in words {
        let option = format!("--{}={word}", name.replace('_', "-"));
        let is_refused = !assay_servers::refused_options(site, prefix, &[option])?.is_empty();
        if is_refused { refused.push(word.to_owned()) } else { kept.push(word) }
    }
    Ok((!kept.is_empty() && !refused.is_empty()).then(|| (kept.join(","), refused)))
}

fn value_of(spec: &SystemSpec, name: &str) -> Option<String> {
    let mut asked = spec.overrides.iter().rev();
    asked.find(|(other, _)| variable(other) == variable(name)).map(|(_, value)| value.clone())
}

/// Removes an option of a config file from a system because its server did not start: some values are refused only
/// then. Returns it as an event of the study.
pub fn leave_refused_out(
    System { spec, options, .. }: &mut System,
    of_file: &BTreeMap<String, Option<String>>,
    error: &anyhow::Error,
) -> Option<EventKind> {
    let said = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(assay_servers::ServersError::OptionRefused { said, .. }) => Some(said.clone()),
        _ => None,
    });
    let said = said?;
    let message = said.replace('-', "_").to_ascii_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let words: Vec<&str> = message.split(|c| !is_part(c)).collect();
    let is_it = |name: &&(String, String)| {
        of_file.contains_key(&variable(&name.0)) && words.contains(&variable(&name.0).as_str())
    };
    let (name, value) = spec.overrides.iter().find(is_it).cloned()?;
    spec.overrides.retain(|(other, _)| variable(other) != variable(&name));
    options.retain(|option| variable_of(option) != variable(&name));
    let place = of_file.get(&variable(&name)).cloned().flatten();
    let option = RefusedOption { name: name.clone(), said: Some(said.clone()), nearest: None };
    let remedy = option.remedy(spec.product);
    let option = UntakenOption { name, value, said: Some(said), place, remedy };
    Some(EventKind::ConfigLeftOut { options: vec![option] })
}

fn variable_of(option: &str) -> String {
    let option = option.trim_start_matches('-');
    variable(option.split_once('=').map_or(option, |(name, _)| name))
}

const PRELOADED: &str = "shared_preload_libraries";

/// Removes missing libraries: Postgres would not start.
fn without_missing_libraries(
    spec: &mut SystemSpec,
    of_file: &BTreeMap<String, Option<String>>,
    prefix: &Prefix,
) -> Vec<UntakenOption> {
    if spec.product.dialect() != Dialect::Postgres || !of_file.contains_key(PRELOADED) {
        return Vec::new();
    }
    let has = |name: &str| prefix.layout.plugin_dir.join(format!("{name}.so")).exists();
    let mut untaken = Vec::new();
    for (name, value) in spec.overrides.iter_mut().filter(|(name, _)| name == PRELOADED) {
        let names = value.split(',').map(|it| it.trim().trim_matches('"').to_owned());
        let (there, missing): (Vec<String>, Vec<String>) = names.partition(|it| has(it));
        untaken.extend(missing.into_iter().filter(|it| !it.is_empty()).map(|library| {
            UntakenOption {
                name: name.clone(),
                value: library,
                said: Some("the build does not have this library".to_owned()),
                place: of_file.get(PRELOADED).cloned().flatten(),
                remedy: "install the library for this version, or take it out of the list"
                    .to_owned(),
            }
        }));
        *value = there.join(",");
    }
    spec.overrides.retain(|(name, value)| name != PRELOADED || !value.is_empty());
    untaken
}
