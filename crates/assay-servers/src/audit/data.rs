//! Rows and checksums of the data.

use std::collections::BTreeSet;

use assay_model::{AuditClass, AuditFinding, may_equal};

use super::difference::finding;
use super::facts::Audited;

const WORD: &str = "data.";

pub(super) fn compare(systems: &[Audited]) -> Vec<AuditFinding> {
    let names: BTreeSet<&String> = systems
        .iter()
        .flat_map(|it| it.facts.settings.keys())
        .filter(|it| it.starts_with(WORD))
        .collect();
    let mut findings = Vec::new();
    for name in names {
        let values: Vec<_> =
            systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect();
        // A system that has not loaded its data yet has no different data.
        let known: Vec<&String> = values.iter().flatten().collect();
        if known.iter().any(|one| known.iter().any(|other| !may_hold_the_same(one, other))) {
            let why = "the tables do not hold the same rows, so the work differs";
            findings.push(finding(name, values, AuditClass::Suspicious, why));
        }
    }
    findings
}

/// Compares two facts, each with a number of rows and a checksum at its end. Returns whether they may describe the same
/// rows.
fn may_hold_the_same(one: &str, other: &str) -> bool {
    match (one.rsplit_once(' '), other.rsplit_once(' ')) {
        (Some((rows, checksum)), Some((other_rows, other_checksum))) => {
            rows == other_rows && may_equal(checksum, other_checksum)
        }
        _ => one == other,
    }
}
