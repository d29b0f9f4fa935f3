//! The systems of a study, read from the words of a request.

use std::collections::{BTreeMap, HashSet};

use assay_model::{Login, Origin, ScaledSizes, ShardRun, Study, SystemSpec, short_names};
use assay_terms::variable;

use crate::common_option::CommonOption;
use crate::config_file::{common_options, places_of};
use crate::error::Error;
use crate::limits::{FEWER_SYSTEMS, NAME_BYTES, SYSTEMS, at_most};
use crate::request::{Request, SystemRequest};
use crate::system_name::{check_option, parse_system, repository_login};
use crate::url::{ServerUrl, parse_url};

/// A checked study and the systems it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The systems, the base first, the twin last.
    pub systems: Vec<PlannedSystem>,
    /// The only source that servers are taken from.
    pub source: Option<String>,
    /// The study, without identity and times.
    pub study: Study,
    /// What became of the sizes of config files; `None` if nothing was to be scaled.
    pub scaled: Option<ScaledSizes>,
    /// The shard that it is; `None` for a whole study.
    pub shard: Option<ShardRun>,
}

/// A system of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSystem {
    /// Name in every report: the user's, or that of its words, shortened.
    pub name: String,
    /// The system itself.
    pub spec: SystemSpec,
    /// The variables that a config file for all systems sets, and where: what its version does not take is left out.
    pub of_file: BTreeMap<String, Option<String>>,
    /// The base a second time, to count false alarms.
    pub is_twin: bool,
    /// The address and login of a server that runs already, with its password; `None` for a server that assay starts.
    pub url: Option<ServerUrl>,
    /// The login of the repository that it is built from, if one was given.
    pub login: Option<Login>,
}

/// Reads the systems. A system that is given again gets ` #2`, ` #3`, ...; the base's twin gets ` (twin)`. Names of
/// many options are short.
pub(crate) fn systems(
    request: &Request,
    twin_by_preset: bool,
) -> Result<Vec<PlannedSystem>, Error> {
    // Checked first, because each of them is read.
    at_most("systems", request.systems.len(), SYSTEMS, FEWER_SYSTEMS)?;
    let is_alone = request.systems.len() == 1 && request.twin == Some(true);
    if request.systems.len() < 2 && !is_alone {
        return Err(Error::TooFewSystems);
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
    // A server that runs already cannot take part twice.
    let by_preset = twin_by_preset && systems.first().is_some_and(|base| base.url.is_none());
    if request.twin.unwrap_or(by_preset)
        && let Some(base) = systems.first().cloned()
    {
        let name = format!("{} (twin)", base.name);
        systems.push(PlannedSystem { name, is_twin: true, ..base });
    }
    Ok(systems)
}

/// The system of a request, without options of a config file for all systems.
fn spec_of(asked: &SystemRequest) -> Result<SystemSpec, Error> {
    let mut spec = parse_system(&asked.words)?;
    for (name, value) in &asked.options {
        check_option(spec.product, name, value)?;
    }
    spec.overrides.extend(asked.options.iter().cloned());
    Ok(spec)
}

/// The name of each system: the user's, or that of its words, shortened. Refuses a name for two different systems.
fn given_names(asked: &[SystemRequest], specs: &[SystemSpec]) -> Result<Vec<String>, Error> {
    for (index, system) in asked.iter().enumerate() {
        let mut before = asked.iter().take(index);
        if let Some(name) = &system.name
            && before.any(|other| other.name.as_ref() == Some(name) && other != system)
        {
            let why = "two systems have this name".to_owned();
            let (name, at) = (name.clone(), 0..name.len());
            return Err(Error::SystemName { name, at, why, hint: None });
        }
    }
    let whole: Vec<String> = specs.iter().map(ToString::to_string).collect();
    let short = short_names(&whole.iter().map(String::as_str).collect::<Vec<_>>());
    let name = |(asked, short): (&SystemRequest, String)| {
        asked.name.clone().unwrap_or_else(|| bounded(short))
    };
    Ok(asked.iter().zip(short).map(name).collect())
}

/// Bytes of a name that follows from a system's words at most: ` #100` or ` (twin)` may follow.
const NAME_ROOM: usize = NAME_BYTES - 20;

/// The beginning of a name that is too long even without its options.
fn bounded(mut name: String) -> String {
    if name.len() > NAME_ROOM {
        let end = (0..=NAME_ROOM - '…'.len_utf8()).rev().find(|at| name.is_char_boundary(*at));
        name.truncate(end.unwrap_or(0));
        name.push('…');
    }
    name
}
