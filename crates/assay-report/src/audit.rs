//! Settings that differ between systems: `assay audit`.

use assay_model::{AuditClass, AuditFinding, SameSystems, System, counted, printable};
use serde::Serialize;

use crate::data::json::{self, AuditRow, SystemRow};
use crate::data::sections::{SameRow, same};
use crate::view::findings::{by_topic, counts, same_sentence};

#[derive(Serialize)]
struct AuditDocument<'a> {
    same_systems: Vec<SameRow<'a>>,
    systems: Vec<SystemRow<'a>>,
    compared: ComparedCounts,
    audit: Vec<AuditRow<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct AuditResult<'a> {
    pub systems: &'a [System],
    pub findings: &'a [AuditFinding],
    /// Systems identical to another one, by index.
    pub same: &'a [(usize, SameSystems)],
    pub compared: ComparedCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ComparedCounts {
    /// Settings and other facts, each name counted once over all systems.
    pub settings: usize,
    /// Plans of statements of one system.
    pub plans: usize,
}

#[must_use]
pub fn audit_json(result: AuditResult<'_>) -> String {
    let AuditResult { systems, findings, same, compared } = result;
    let document = AuditDocument {
        same_systems: self::same(systems, same.iter().map(|(at, same)| (*at, same))),
        systems: json::systems(systems),
        compared,
        audit: json::audit(systems, findings),
    };
    json::versioned(document)
}

/// Identical systems, then the differences, suspicious ones first. Each difference has its values, the reason why it
/// matters, and a remedy.
#[must_use]
pub fn audit_text(result: AuditResult<'_>) -> String {
    let AuditResult { systems, findings, same, compared } = result;
    let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    let same = same.iter().map(|(at, same)| same_sentence(systems, *at, same));
    let mut text: String = same.map(|it| format!("{}\n", printable(&it))).collect();
    text += &format!(
        "{}: {} and {} compared; {}\n",
        printable(&names.join(", ")),
        counted(compared.settings as u64, "setting"),
        counted(compared.plans as u64, "plan"),
        counts(findings),
    );
    let classes = [AuditClass::Suspicious, AuditClass::Expected, AuditClass::Harmless];
    for group in classes.into_iter().flat_map(|class| by_topic(findings, class)) {
        text += &format!("\n{}: {}\n", group.class_word(), group.topic.title());
        let mut left = group.findings.iter().peekable();
        while let Some(finding) = left.next() {
            let (name, values) = (finding.name(), finding.values());
            text += &format!("  {} = {}\n", printable(&name), printable(&values));
            // Consecutive findings with the same reason share one line for it.
            if left.peek().is_none_or(|next| next.why() != finding.why()) {
                text += &format!("    {}\n", printable(finding.why()));
            }
        }
        if let Some(remedy) = group.remedy() {
            text += &format!("  remedy: {remedy}\n");
        }
    }
    text
}
