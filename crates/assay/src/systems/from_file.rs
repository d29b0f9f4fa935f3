//! What a version does not take of a config file that is for all systems: it is left out, and all of it is told.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_model::{Dialect, EventKind, Prefix, SystemSpec, UntakenOption};
use assay_servers::{RefusedOption, Site};
use assay_terms::{Rendered, Sizes, Terms, variable};

/// A system as its server takes it.
pub(crate) struct Taken {
    /// Without the options that are left out.
    pub(crate) spec: SystemSpec,
    /// What the server is started with.
    pub(crate) rendered: Rendered,
    /// What is left out, as an event of the study.
    pub(crate) left_out: Option<EventKind>,
    /// What was probably meant by names that it does not know.
    pub(crate) meant: Vec<(String, String)>,
}

/// The options of a system, of which those in `of_file` are left out where its version does not take them.
pub(crate) fn taken(
    spec: &SystemSpec,
    of_file: &BTreeSet<String>,
    (terms, sizes): (&Terms, &Sizes),
    prefix: &Prefix,
    site: &Site,
) -> Result<Taken> {
    let render = |spec: &SystemSpec| terms.render(sizes, prefix, spec.engine, &spec.overrides);
    let rendered = render(spec);
    if of_file.is_empty() {
        return Ok(Taken { spec: spec.clone(), rendered, left_out: None, meant: Vec::new() });
    }
    let is_of_file = |option: &&String| of_file.contains(&variable_of(option));
    let given: Vec<String> = rendered.options.iter().filter(is_of_file).cloned().collect();
    let refused = assay_servers::refused_options(site, prefix, &given)?;
    let mut spec = spec.clone();
    let mut untaken = Vec::new();
    for RefusedOption { name, said, .. } in &refused {
        let is_it = |other: &str| variable(other) == variable(name);
        let values = spec.overrides.iter().filter(|(other, _)| is_it(other));
        untaken.extend(values.map(|(name, value)| UntakenOption {
            name: name.clone(),
            value: value.clone(),
            said: said.clone(),
        }));
        spec.overrides.retain(|(other, _)| !is_it(other));
    }
    untaken.extend(without_missing_libraries(&mut spec, of_file, prefix));
    let meant = refused.iter().filter_map(|it| Some((it.name.clone(), it.meant()?.to_owned())));
    let meant = meant.collect();
    let mut rendered = render(&spec);
    // What is told of the file need not be told of the terms.
    let is_told = |setting: &str| untaken.iter().any(|it| variable(&it.name) == variable(setting));
    rendered.left_out.retain(|it| !is_told(it.setting));
    let left_out = (!untaken.is_empty()).then_some(EventKind::ConfigLeftOut { options: untaken });
    Ok(Taken { spec, rendered, left_out, meant })
}

/// The variable that an option as it is rendered sets.
fn variable_of(option: &str) -> String {
    let option = option.trim_start_matches('-');
    variable(option.split_once('=').map_or(option, |(name, _)| name))
}

/// The setting of Postgres that loads libraries when the server starts.
const PRELOADED: &str = "shared_preload_libraries";

/// Takes libraries that the build does not have out of what Postgres is to load: it would not start.
fn without_missing_libraries(
    spec: &mut SystemSpec,
    of_file: &BTreeSet<String>,
    prefix: &Prefix,
) -> Vec<UntakenOption> {
    if spec.product.dialect() != Dialect::Postgres || !of_file.contains(PRELOADED) {
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
            }
        }));
        *value = there.join(",");
    }
    spec.overrides.retain(|(name, value)| name != PRELOADED || !value.is_empty());
    untaken
}
