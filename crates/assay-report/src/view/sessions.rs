//! Settings of a workload's sessions that systems refuse, and kinds of events that left their mix.

use assay_model::EventKind;

use super::answers::{FindingList, about, shown};
use super::study::JudgedStudy;

struct Refused<'a> {
    system: usize,
    setting: &'a str,
    modes: &'a [String],
    message: &'a str,
}

fn refused<'a>(study: &JudgedStudy<'a>) -> Vec<Refused<'a>> {
    let found = study.record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::SettingRefused { setting, modes, message }, Some(system)) => {
            Some(Refused { system, setting, modes, message })
        }
        _ => None,
    });
    found.collect()
}

/// Settings that a system refuses and the base accepts: an application that sets them fails there.
pub(super) fn to_fix(study: &JudgedStudy, system: usize) -> Vec<String> {
    let all = refused(study);
    let is_new = |it: &&Refused| {
        it.system == system
            && !all.iter().any(|other| other.system == study.base && other.setting == it.setting)
    };
    all.iter().filter(is_new).map(|it| format!("`{}`", it.setting)).collect()
}

/// For readers who read no further: the mixes that are measured in part.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let mut warnings = Vec::new();
    let left_out = study.record.events.iter().filter_map(|event| match &event.what {
        EventKind::KindLeftOut { test, part, .. } => Some((test.as_str(), part.as_str())),
        _ => None,
    });
    let mut left_out: Vec<(&str, &str)> = left_out.collect();
    left_out.sort_unstable();
    left_out.dedup();
    let mut mixes: Vec<&str> = left_out.iter().map(|(test, _)| *test).collect();
    mixes.dedup();
    for mix in mixes {
        let parts: Vec<&str> =
            left_out.iter().filter(|(test, _)| *test == mix).map(|(_, part)| *part).collect();
        warnings.push(format!(
            "{mix} is measured without {} on all systems, because {} on at least one",
            parts.join(", "),
            if parts.len() == 1 { "it fails" } else { "they fail" }
        ));
    }
    warnings
}

/// With the errors of servers. `is_told` selects failures that the report has elsewhere.
pub(super) fn lists(
    study: &JudgedStudy,
    is_told: impl Fn(usize, &str, &str) -> bool,
) -> Vec<FindingList> {
    let settings = refused(study).into_iter().map(|it| {
        let modes = match it.modes {
            [] => String::new(),
            modes => format!(" (only {}; the rest of the list is set)", modes.join(", ")),
        };
        let text = format!("`{}`{modes}: {}", it.setting, shown(it.message));
        (about(study, it.system, "sessions"), text)
    });
    let settings = FindingList {
        title: "settings of sessions that are refused",
        note: "sessions of the workload set them; statements were carried out without what is refused",
        facts: settings.collect(),
    };
    let kinds = study.record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::KindLeftOut { part, why, .. }, Some(system)) if !is_told(system, part, why) => {
            Some((about(study, system, part), shown(why)))
        }
        _ => None,
    });
    let kinds = FindingList {
        title: "tests that left their mix",
        note: "a system cannot carry them out, so the mix is measured without them on all systems",
        facts: kinds.collect(),
    };
    [settings, kinds].into_iter().filter(|list| !list.facts.is_empty()).collect()
}
