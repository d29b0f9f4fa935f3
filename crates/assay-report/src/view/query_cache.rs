//! The query cache of MySQL up to 5.7 and of MariaDB. It answers repeated reads without executing them, so a comparison
//! with a system without it says little about the read.

use std::collections::BTreeMap;

use assay_model::{StudyRecord, System};

use super::answers::listed;
use super::study::JudgedStudy;

/// The setting that switches the cache on, and its size, without which it holds nothing.
const TYPE: &str = "query_cache_type";
const SIZE: &str = "query_cache_size";

/// Systems of which one answers reads from its query cache.
pub(super) struct QueryCache {
    pub(super) who: String,
    /// Indices of the systems with and without the cache.
    on: usize,
    off: usize,
}

/// `None` unless exactly one of the base and the system has its query cache on.
pub(super) fn query_cache(study: &JudgedStudy, system: usize) -> Option<QueryCache> {
    let record = study.record;
    let (on, off) = match (is_on(record, study.base), is_on(record, system)) {
        (true, false) => (study.base, system),
        (false, true) => (system, study.base),
        _ => return None,
    };
    let value = value(record, on, TYPE).unwrap_or_default();
    let without = without(record, &[off]);
    let who = format!(
        "{} has it on (`{TYPE} = {value}`), and {} {without}",
        study.label(on),
        study.label(off)
    );
    Some(QueryCache { who, on, off })
}

/// Consequences of the query cache and the remedy: a sentence for each of these systems.
pub(super) fn warnings<'a>(
    study: &JudgedStudy,
    found: impl Iterator<Item = &'a QueryCache>,
) -> Vec<String> {
    let record = study.record;
    let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    found.for_each(|it| all.entry(it.on).or_default().push(it.off));
    let message = all.into_iter().map(|(on, off)| {
        let value = value(record, on, TYPE).unwrap_or_default();
        let name = record.systems.get(on).map(|it| it.spec.without_options().to_string());
        let others: Vec<&str> = off.iter().map(|it| study.label(*it)).collect();
        format!(
            "{} answers repeated reads from its query cache (`{TYPE} = {value}`) without carrying them out, and {} \
             {}; to measure without it, append `+{TYPE}=OFF` to the name of `{}`",
            study.label(on),
            listed(&others),
            without(record, &off),
            name.unwrap_or_default()
        )
    });
    message.collect()
}

/// `has no such cache`, in singular or plural.
fn without(record: &StudyRecord, systems: &[usize]) -> &'static str {
    let lacks = |it: &usize| value_of_audit(record, *it, TYPE) == Some(None);
    match (systems.len(), systems.iter().filter(|it| lacks(it)).count()) {
        (1, 1) => "has no such cache",
        (1, _) => "has it off",
        (all, lacking) if all == lacking => "have no such cache",
        (_, 0) => "have it off",
        _ => "have no such cache or have it off",
    }
}

fn is_on(record: &StudyRecord, system: usize) -> bool {
    let is_switched_on = value(record, system, TYPE)
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("on"));
    let is_empty = match value(record, system, SIZE) {
        Some(size) => {
            let number = size.trim_end_matches(|it: char| it.is_ascii_alphabetic());
            number.parse::<u64>() == Ok(0)
        }
        None => is_empty_by_default(record, system),
    };
    is_switched_on && !is_empty
}

/// Whether the cache has no size by default: MySQL before 5.6.8, MariaDB before 10.1.7. Needed because an audit lacks
/// sizes that all systems share.
fn is_empty_by_default(record: &StudyRecord, system: usize) -> bool {
    let Some(artifact) = record.systems.get(system).map(|it| &it.artifact) else { return false };
    let numbers = artifact.version().split(|it: char| !it.is_ascii_digit());
    let numbers: Vec<u32> = numbers.take(3).filter_map(|it| it.parse().ok()).collect();
    // No version of MySQL with the cache is as high as 10.
    let first_with_size = if numbers.first() >= Some(&10) { [10, 1, 7] } else { [5, 6, 8] };
    !numbers.is_empty() && numbers.as_slice() < first_with_size.as_slice()
}

fn value(record: &StudyRecord, system: usize, name: &str) -> Option<String> {
    match value_of_audit(record, system, name) {
        Some(value) => value.map(str::to_owned),
        None => asked(record.systems.get(system)?, name),
    }
}

/// `None` if the audit found no difference, `Some(None)` if the system lacks the setting.
fn value_of_audit<'a>(
    record: &'a StudyRecord,
    system: usize,
    name: &str,
) -> Option<Option<&'a str>> {
    let finding = record.audit.iter().find(|it| it.setting == name)?;
    Some(finding.values.get(system)?.as_deref())
}

fn asked(system: &System, name: &str) -> Option<String> {
    let plain = |option: &str| option.replace('-', "_").to_ascii_lowercase();
    let is_it = |option: &str| plain(option).trim_start_matches("loose_") == name;
    let mut options = system.spec.overrides.iter().rev();
    options.find(|(option, _)| is_it(option)).map(|(_, value)| value.clone())
}
