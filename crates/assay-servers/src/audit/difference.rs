//! Differences between systems.

use assay_model::{AuditClass, AuditFinding};

use super::facts::Audited;

pub(super) fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

pub(super) fn differ_within_series(systems: &[Audited], values: &[Option<String>]) -> bool {
    let known: Vec<_> = systems
        .iter()
        .zip(values)
        .filter_map(|(system, value)| Some((system.series(), value.as_ref()?)))
        .collect();
    known.iter().any(|(series, value)| known.iter().any(|it| it.0 == *series && it.1 != *value))
}

/// A finding that no specification explains.
pub(super) fn finding(
    setting: &str,
    values: Vec<Option<String>>,
    class: AuditClass,
    why: &str,
) -> AuditFinding {
    let (setting, why) = (setting.to_owned(), why.to_owned());
    AuditFinding { setting, values, class, why, is_asked: false, statements: Vec::new() }
}
