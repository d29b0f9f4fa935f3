//! Settings of a workload's sessions that systems refuse, and kinds of events that left their mix.

use assay_model::{EventKind, counted};

use super::answers::{FindingList, about, shown};
use super::study::JudgedStudy;

/// A setting that a system refuses, and the server's error.
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

/// The settings that a system refuses and the base takes: an application that sets them fails there.
pub(super) fn to_fix(study: &JudgedStudy, system: usize) -> Vec<String> {
    let all = refused(study);
    let is_new = |it: &&Refused| {
        it.system == system
            && !all.iter().any(|other| other.system == study.base && other.setting == it.setting)
    };
    all.iter().filter(is_new).map(|it| format!("`{}`", it.setting)).collect()
}

/// Sentences for those who read no further.
pub(super) fn warnings(study: &JudgedStudy) -> Vec<String> {
    let mut warnings = Vec::new();
    for system in study.compared.iter().copied() {
        let settings = to_fix(study, system);
        if !settings.is_empty() {
            warnings.push(format!(
                "{} refuses {} that sessions of the workload set: {}",
                study.label(system),
                counted(settings.len() as u64, "setting"),
                settings.join(", ")
            ));
        }
    }
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

/// The settings and kinds of events, with the errors of servers.
pub(super) fn lists(study: &JudgedStudy) -> Vec<FindingList> {
    let settings = refused(study).into_iter().map(|it| {
        let but = match it.modes {
            [] => String::new(),
            modes => format!(", all but {} is set", modes.join(", ")),
        };
        let told = format!("`{}`{but}: {}", it.setting, shown(it.message));
        (about(study, it.system, "sessions"), told)
    });
    let settings = FindingList {
        title: "settings of sessions that are refused",
        note: "sessions of the workload set them; statements were carried out without them",
        facts: settings.collect(),
    };
    let kinds = study.record.events.iter().filter_map(|event| match (&event.what, event.system) {
        (EventKind::KindLeftOut { part, why, .. }, Some(system)) => {
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
