//! Settings that differ between systems, as text and JSON. Pure: no I/O, no clock.

use assay_model::{AuditClass, AuditFinding, SameSystems, System, counted, printable};
use assay_report::blocks::{JsonValue, versioned};
use assay_report::findings::{audit_rows, by_topic, counts, same_rows, same_sentence, system_rows};

#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditResult<'a> {
    pub(crate) systems: &'a [System],
    pub(crate) findings: &'a [AuditFinding],
    /// Systems identical to another one, by index.
    pub(crate) same: &'a [(usize, SameSystems)],
    pub(crate) compared: ComparedCounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComparedCounts {
    /// Settings and other facts, each name counted once over all systems.
    pub(crate) settings: usize,
    /// Plans of statements of one system.
    pub(crate) plans: usize,
}

pub(crate) fn audit_json(result: AuditResult<'_>) -> String {
    let AuditResult { systems, findings, same, compared } = result;
    let ComparedCounts { settings, plans } = compared;
    let same = same_rows(systems, same.iter().map(|(at, same)| (*at, same)));
    versioned(JsonValue::object([
        ("same_systems", same.into_iter().collect()),
        ("systems", system_rows(systems)),
        ("compared", JsonValue::object([("settings", settings.into()), ("plans", plans.into())])),
        ("audit", audit_rows(systems, findings)),
    ]))
}

/// Identical systems, then the differences, suspicious ones first. Each difference has its values, the reason why it
/// matters, and a remedy.
pub(crate) fn audit_text(result: AuditResult<'_>) -> String {
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

#[cfg(test)]
mod tests;
