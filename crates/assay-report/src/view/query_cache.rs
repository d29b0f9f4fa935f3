//! The query cache of MySQL up to 5.7 and of MariaDB. A system with it answers a read that it has answered before
//! without carrying it out, and a comparison with a system without it says little about the read.

use assay_model::{StudyRecord, System};

use super::study::JudgedStudy;

/// The setting that switches it on, and the one without which it holds nothing.
const TYPE: &str = "query_cache_type";
const SIZE: &str = "query_cache_size";

/// Systems of which one answers reads from its query cache.
pub(super) struct QueryCache {
    /// Which ones.
    pub(super) who: String,
    /// What it means, and what to do.
    pub(super) warning: String,
}

/// What must be looked at if only one of the base and a system has its query cache on.
pub(super) fn query_cache(study: &JudgedStudy, system: usize) -> Option<QueryCache> {
    let record = study.record;
    let (on, off) = match (is_on(record, study.base), is_on(record, system)) {
        (true, false) => (study.base, system),
        (false, true) => (system, study.base),
        _ => return None,
    };
    let value = value(record, on, TYPE).unwrap_or_default();
    let has_none = value_of_audit(record, off, TYPE) == Some(None);
    let without = if has_none { "has no such cache" } else { "has it off" };
    let name = record.systems.get(on).map(|it| it.spec.without_options().to_string());
    let (name, on, off) = (name.unwrap_or_default(), study.label(on), study.label(off));
    Some(QueryCache {
        who: format!("{on} has it on (`{TYPE} = {value}`), and {off} {without}"),
        warning: format!(
            "{on} answers repeated reads from its query cache (`{TYPE} = {value}`), up to 100 times as fast as it \
             carries them out, and {off} {without}; to measure without it, append `+{TYPE}=OFF` to the name of \
             `{name}`"
        ),
    })
}

fn is_on(record: &StudyRecord, system: usize) -> bool {
    let is_switched_on = value(record, system, TYPE)
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("on"));
    // All versions have a size by default.
    let is_empty = value(record, system, SIZE).is_some_and(|size| {
        let number = size.trim_end_matches(|it: char| it.is_ascii_alphabetic());
        number.parse::<u64>() == Ok(0)
    });
    is_switched_on && !is_empty
}

/// The value of a setting that differs between systems, or else the one that was asked for.
fn value(record: &StudyRecord, system: usize, name: &str) -> Option<String> {
    match value_of_audit(record, system, name) {
        Some(value) => value.map(str::to_owned),
        None => asked(record.systems.get(system)?, name),
    }
}

/// The value that the audit found; `None` if it found no difference, and `Some(None)` if the system lacks the setting.
fn value_of_audit<'a>(
    record: &'a StudyRecord,
    system: usize,
    name: &str,
) -> Option<Option<&'a str>> {
    let finding = record.audit.iter().find(|it| it.setting == name)?;
    Some(finding.values.get(system)?.as_deref())
}

/// The value that options ask for.
fn asked(system: &System, name: &str) -> Option<String> {
    let plain = |option: &str| option.replace('-', "_").to_ascii_lowercase();
    let is_it = |option: &str| plain(option).trim_start_matches("loose_") == name;
    let mut options = system.spec.overrides.iter().rev();
    options.find(|(option, _)| is_it(option)).map(|(_, value)| value.clone())
}
