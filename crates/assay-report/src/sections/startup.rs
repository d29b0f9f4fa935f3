//! Obstacles to starting a server with the config file of a study, and to logging in for users of a dump. An upgrade
//! stops there, so they come first in a report.

use assay_model::{DumpFinding, DumpFindingKind, EventKind, Severity, StudyRecord, UntakenOption};

use super::answers::restored;
use super::study::JudgedStudy;
use crate::document::{Block, Wish};

/// A heading and the options or logins below it.
type Obstacle = (String, Vec<(String, String)>);

pub(crate) fn blocks(study: &JudgedStudy, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let blocks = obstacles(study).into_iter().flat_map(|(heading, facts)| {
        // The heading begins with the name of a product.
        [Block::Heading(1, heading.into()), Block::facts(facts)]
    });
    Block::place("start", "Start", wish.heading("before anything else"), blocks.collect())
}

/// Options of config files that systems do not accept, with their severity. Those that the base does not accept either
/// are no obstacle: they may belong to a plugin.
pub(crate) fn options(
    record: &StudyRecord,
) -> impl Iterator<Item = (usize, &UntakenOption, Severity)> {
    let base = record.systems.iter().position(|it| it.is_base);
    let of_events = |system: Option<usize>| {
        record.events.iter().filter(move |event| event.system == system).filter_map(|event| {
            match &event.what {
                EventKind::ConfigLeftOut { options } => Some((options, Severity::MustFix)),
                EventKind::ConfigDeprecated { options } => Some((options, Severity::LookAt)),
                _ => None,
            }
        })
    };
    let is_of_base = move |option: &UntakenOption, severity: Severity| {
        let mut of_base = of_events(base).filter(|(_, rank)| *rank == severity);
        of_base.any(|(options, _)| options.iter().any(|it| it.name == option.name))
    };
    let systems = (0..record.systems.len())
        .filter(move |system| record.systems.get(*system).is_some_and(|it| !it.is_twin));
    systems.flat_map(move |system| {
        of_events(Some(system)).flat_map(move |(options, severity)| {
            options.iter().map(move |option| {
                let is_known = Some(system) == base || is_of_base(option, severity);
                (system, option, if is_known { Severity::NotCompared } else { severity })
            })
        })
    })
}

/// Users of a dump who can log in to the base and not to the system.
pub(super) fn logins(record: &StudyRecord, base: usize, system: usize) -> Vec<&DumpFinding> {
    let refused_logins = |wanted: usize| {
        let all = restored(record).filter(move |(index, _)| *index == wanted);
        all.map(|(_, it)| it).filter(|it| it.what == DumpFindingKind::Login)
    };
    refused_logins(system)
        .filter(|it| !refused_logins(base).any(|other| other.message == it.message))
        .collect()
}

fn obstacles(study: &JudgedStudy) -> Vec<Obstacle> {
    let record = study.record;
    let mut found = Vec::new();
    for &system in &study.compared {
        let Some(artifact) = record.systems.get(system).map(|it| &it.artifact) else { continue };
        let product = artifact.product().map_or("", |it| it.word());
        let server = format!("{product} {}", artifact.version());
        let facts = |severity: Severity| -> Vec<(String, String)> {
            let of_system =
                options(record).filter(|(index, _, rank)| *index == system && *rank == severity);
            of_system.map(|(_, option, _)| fact(option)).collect()
        };
        let (refused, deprecated) = (facts(Severity::MustFix), facts(Severity::LookAt));
        let of_deprecated = match refused.is_empty() {
            true => {
                format!("{server} starts with this config file, in which options are deprecated")
            }
            false => {
                format!("{server} takes other options of this config file that are deprecated")
            }
        };
        let of_refused = format!("{server} will not start with this config file");
        for (heading, facts) in [(of_refused, refused), (of_deprecated, deprecated)] {
            if !facts.is_empty() {
                found.push((heading, facts));
            }
        }
        let logins = logins(record, study.base, system);
        if !logins.is_empty() {
            let heading = format!("users of the dump cannot log in to {server}");
            found.push((heading, logins.into_iter().map(login).collect()));
        }
    }
    found
}

/// `query_cache_size=1M`, and `my.cnf, line 12: unknown to this version; remove the line`.
fn fact(option: &UntakenOption) -> (String, String) {
    let UntakenOption { name, value, said, place, remedy } = option;
    let place = place.as_deref().and_then(|place| place.rsplit_once(':'));
    let place = place.map_or_else(String::new, |(file, line)| format!("line {line} of {file}: "));
    let said = said.as_deref().unwrap_or("this version does not know the option");
    let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
    (format!("{name}={value}"), format!("{place}{said}{remedy}"))
}

fn login(restored: &DumpFinding) -> (String, String) {
    let DumpFinding { file, message, count, .. } = restored;
    let more = match count {
        0 | 1 => String::new(),
        more => format!(" ({} such statements)", more),
    };
    let remedy = "before the upgrade, give such users another plugin with `ALTER USER`, or switch it on where the \
                  version still has it";
    (file.clone(), format!("{message}{more}; {remedy}"))
}
