//! Systems of a study, read from a request.

use std::collections::{BTreeMap, HashSet};

use assay_model::{Counting, Login, Origin, ScaledSizes, ShardRun, Study, SystemSpec, short_names};
use assay_terms::variable;

use crate::common_option::CommonOption;
use crate::config_file::{common_options, places_of};
use crate::error::{PlanError, PlanResult};
use crate::limits::{FEWER_SYSTEMS, NAME_BYTES, SYSTEMS, at_most};
use crate::request::{Request, SystemRequest};
use crate::system_name::{check_option, parse_system, repository_login};
use crate::url::{ServerUrl, parse_url};

#[derive(Debug, Clone, PartialEq)]
pub struct StudyPlan {
    /// The base first, the twin last.
    pub systems: Vec<PlannedSystem>,
    pub source: Option<String>,
    /// Without identity and times.
    pub study: Study,
    /// Scaled sizes of config files; `None` if nothing was to be scaled.
    pub scaled: Option<ScaledSizes>,
    pub shard: Option<ShardRun>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSystem {
    /// Name in every report: the user's, or a short name of its specification.
    pub name: String,
    pub spec: SystemSpec,
    /// Variables set by a config file for all systems, with their places. Those unknown to its version are left out.
    pub of_file: BTreeMap<String, Option<String>>,
    /// The base repeated, to count false alarms.
    pub is_twin: bool,
    /// Address and login of a running server, with password; `None` for a server started by assay.
    pub url: Option<ServerUrl>,
    pub login: Option<Login>,
}

/// Reads the systems. A repeated system gets ` #2`, ` #3`, ...; the base's twin gets ` (twin)`. Names with many options
/// are shortened.
pub(crate) fn systems(request: &Request, twin_by_preset: bool) -> PlanResult<Vec<PlannedSystem>> {
    // Checked first, because each of them is read.
    at_most("systems", request.systems.len(), SYSTEMS, FEWER_SYSTEMS)?;
    // Instructions have a meaning without a base.
    let is_alone = request.twin == Some(true) || request.count == Counting::Only;
    let fewest = if is_alone { 1 } else { 2 };
    if request.systems.len() < fewest {
        return Err(PlanError::TooFewSystems);
    }
    let common: Vec<CommonOption> =
        request.config_options.iter().map(|it| CommonOption::read(it)).collect::<Result<_, _>>()?;
    let mut systems: Vec<PlannedSystem> = Vec::with_capacity(request.systems.len() + 1);
    let mut taken = HashSet::new();
    let specs: Vec<SystemSpec> = request.systems.iter().map(spec_of).collect::<Result<_, _>>()?;
    let given = given_names(&request.systems, &specs)?;
    for ((asked, mut spec), given) in request.systems.iter().zip(specs).zip(given) {
        let numbered = |number| format!("{given} #{number}");
        let mut names = std::iter::once(given.clone()).chain((2..).map(numbered));
        let name = names.find(|name| !taken.contains(name)).unwrap_or(given.clone());
        taken.insert(name.clone());
        let runs = matches!(spec.origin, Origin::Url(_));
        let url = runs.then(|| parse_url(&asked.words)).transpose()?;
        let login = repository_login(&asked.words);
        let of_files = if runs { Vec::new() } else { common_options(&common, &spec) };
        let mut of_file = places_of(&common, &spec);
        of_file.retain(|name, _| of_files.iter().any(|(option, _)| variable(option) == *name));
        spec.overrides.splice(0..0, of_files);
        systems.push(PlannedSystem { name, spec, of_file, is_twin: false, url, login });
    }
    // A running server cannot take part twice.
    let by_preset = twin_by_preset && systems.first().is_some_and(|base| base.url.is_none());
    if request.twin.unwrap_or(by_preset)
        && let Some(base) = systems.first().cloned()
    {
        let name = format!("{} (twin)", base.name);
        systems.push(PlannedSystem { name, is_twin: true, ..base });
    }
    Ok(systems)
}

fn spec_of(asked: &SystemRequest) -> PlanResult<SystemSpec> {
    let mut spec = parse_system(&asked.words)?;
    for (name, value) in &asked.options {
        check_option(spec.product, name, value)?;
    }
    spec.overrides.extend(asked.options.iter().cloned());
    Ok(spec)
}

/// Name of each system: the user's, or a short name of its specification. Refuses one name for two different systems.
fn given_names(asked: &[SystemRequest], specs: &[SystemSpec]) -> PlanResult<Vec<String>> {
    for (index, system) in asked.iter().enumerate() {
        let mut before = asked.iter().take(index);
        if let Some(name) = &system.name
            && before.any(|other| other.name.as_ref() == Some(name) && other != system)
        {
            let why = "two systems have this name".to_owned();
            let (name, at) = (name.clone(), 0..name.len());
            return Err(PlanError::SystemName { name, at, why, hint: None });
        }
    }
    let whole: Vec<String> = specs.iter().map(ToString::to_string).collect();
    let short = short_names(&whole.iter().map(String::as_str).collect::<Vec<_>>());
    let name = |(asked, short): (&SystemRequest, String)| {
        asked.name.clone().unwrap_or_else(|| bounded(short))
    };
    Ok(asked.iter().zip(short).map(name).collect())
}

/// Maximum bytes of a derived name, which ` #100` or ` (twin)` may follow.
const NAME_ROOM: usize = NAME_BYTES - 20;

/// Truncates a name that is too long even without its options.
fn bounded(mut name: String) -> String {
    if name.len() > NAME_ROOM {
        let end = (0..=NAME_ROOM - '…'.len_utf8()).rev().find(|at| name.is_char_boundary(*at));
        name.truncate(end.unwrap_or(0));
        name.push('…');
    }
    name
}
