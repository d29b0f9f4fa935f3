//! Rows and checksums of the data.

use std::collections::BTreeSet;

use assay_model::{AuditClass, AuditFinding};

use super::difference::{differ, finding};
use super::facts::Audited;

/// Prefix of facts about data.
const WORD: &str = "data.";

/// Findings about tables with different content.
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
        if differ(values.iter().flatten()) {
            let why = "the tables do not hold the same rows, so the work differs";
            findings.push(finding(name, values, AuditClass::Suspicious, why));
        }
    }
    findings
}
