//! Systems that are the same despite different options.

use assay_model::{EventKind, SameSystems, StudyRecord, System};

pub(crate) fn sentence(systems: &[System], system: usize, same: &SameSystems) -> String {
    let name = |at: usize| systems.get(at).map_or("?", |it| it.name.as_str()).to_owned();
    same.sentence([&name(same.other), &name(system)], name)
}

/// A difference that the audit found later, such as a plan on another data set, contradicts the sameness.
pub(crate) fn same_systems(record: &StudyRecord) -> impl Iterator<Item = (usize, &SameSystems)> {
    let differ = |one: usize, other: usize| {
        let plans = record.audit.iter().filter(|it| it.setting.starts_with("plan."));
        plans.map(|it| &it.values).any(|values| values.get(one) != values.get(other))
    };
    let found = record.events.iter().filter_map(|event| match &event.what {
        EventKind::Same(same) => Some((event.system?, same)),
        _ => None,
    });
    found.filter(move |(system, same)| !differ(*system, same.other))
}
