//! The settings that differ between systems, on their own: `assay audit`.

use assay_model::{AuditClass, AuditFinding, System, counted, printable, printable_json};
use serde::Serialize;

use crate::findings::{by_kind, shown};
use crate::json::{self, AuditPart, SystemPart};

/// Raised when the shape below breaks.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    systems: Vec<SystemPart<'a>>,
    compared: Compared,
    audit: Vec<AuditPart<'a>>,
}

/// How much was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Settings and other facts, over all systems each name once.
    pub settings: usize,
    /// Plans of statements of one system.
    pub plans: usize,
}

/// The differences in the shape that reports have them in.
#[must_use]
pub fn audit_json(systems: &[System], findings: &[AuditFinding], compared: Compared) -> String {
    let document = Document {
        schema: SCHEMA,
        systems: json::systems(systems),
        compared,
        audit: json::audit(systems, findings),
    };
    // Only maps with keys that are not strings and failing writers can fail; there are neither.
    printable_json(&serde_json::to_string_pretty(&document).unwrap_or_default()).into_owned() + "\n"
}

/// The differences in words: suspicious ones first, each with its values and why it matters, and what to do.
#[must_use]
pub fn audit_text(systems: &[System], findings: &[AuditFinding], compared: Compared) -> String {
    let of_class = |class| findings.iter().filter(|finding| finding.class == class).count();
    let names: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
    let mut text = format!(
        "{}: {} and {} compared; {}: {} suspicious, {} expected, {} harmless\n",
        printable(&names.join(", ")),
        counted(compared.settings as u64, "setting"),
        counted(compared.plans as u64, "plan"),
        counted(findings.len() as u64, "difference"),
        of_class(AuditClass::Suspicious),
        of_class(AuditClass::Expected),
        of_class(AuditClass::Harmless),
    );
    let classes = [
        (AuditClass::Suspicious, "suspicious"),
        (AuditClass::Expected, "expected"),
        (AuditClass::Harmless, "harmless"),
    ];
    for (class, word) in classes {
        for (kind, entries) in by_kind(findings, class) {
            text += &format!("\n{word}: {}\n", kind.title());
            let mut left = entries.iter().peekable();
            while let Some(entry) = left.next() {
                let values = entry.finding.values.iter().map(|value| shown(value.as_deref()));
                let values: Vec<&str> = values.collect();
                text += &format!(
                    "  {} = {}\n",
                    printable(&entry.name()),
                    printable(&values.join(" → "))
                );
                // Said once for those that follow each other.
                let why = &entry.finding.why;
                if left.peek().is_none_or(|next| next.finding.why != *why) {
                    text += &format!("    {}\n", printable(why));
                }
            }
            if class == AuditClass::Suspicious {
                text += &format!("  to do: {}\n", kind.remedy());
            }
        }
    }
    text
}
