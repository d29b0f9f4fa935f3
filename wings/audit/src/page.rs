//! Settings that differ between systems, as text and JSON. Pure: no I/O, no clock.

use assay_model::{AuditClass, AuditFinding, Product, SameSystems, System, counted, printable};
use assay_report::blocks::{JsonValue, versioned};
use assay_report::findings::{audit_rows, by_topic, counts, same_rows, same_sentence, system_rows};

#[derive(Debug, Clone, Copy)]
pub(crate) struct AuditResult<'a> {
    pub(crate) systems: &'a [System],
    pub(crate) findings: &'a [AuditFinding],
    /// Systems identical to another one, by index.
    pub(crate) same: &'a [(usize, SameSystems)],
    pub(crate) compared: ComparedCounts,
    /// The systems that are files; `None` for a server.
    pub(crate) files: &'a [Option<FileSummary>],
}

/// A file as a system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSummary {
    /// The statement or the kind of file, such as `SHOW VARIABLES`.
    pub(crate) form: &'static str,
    pub(crate) version: Option<String>,
    /// Number of settings.
    pub(crate) settings: usize,
    /// Whether the server lacks the variables that the file lacks.
    pub(crate) is_whole: bool,
    pub(crate) notes: Vec<String>,
}

impl FileSummary {
    fn row(&self, system: &System) -> JsonValue {
        JsonValue::object([
            ("system", system.name.as_str().into()),
            ("form", self.form.into()),
            ("version", self.version.as_deref().into()),
            ("settings", self.settings.into()),
            ("is_whole", self.is_whole.into()),
            ("notes", self.notes.iter().map(String::as_str).collect()),
        ])
    }

    /// `SHOW VARIABLES of mariadb 10.6.16: 612 settings`, and its limits.
    fn sentence(&self, system: &System) -> String {
        let product = system.artifact.product().map_or("", Product::word);
        let version = self.version.as_deref().unwrap_or("(version unknown)");
        let settings = counted(self.settings as u64, "setting");
        let mut sentence = format!("{} of {product} {version}: {settings}", self.form);
        if !self.is_whole {
            sentence += "; only these are compared, because the file does not show other settings";
        }
        for note in &self.notes {
            sentence += "; ";
            sentence += note;
        }
        sentence
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComparedCounts {
    /// Settings and other facts, each name counted once over all systems.
    pub(crate) settings: usize,
    /// Plans of statements of one system.
    pub(crate) plans: usize,
}

/// For servers that assay does not start.
const REMEDY_OF_FILES: &str =
    "give the servers the same values, or report the difference with their results";

pub(crate) fn audit_json(result: AuditResult<'_>) -> String {
    let AuditResult { systems, findings, same, compared, files } = result;
    let ComparedCounts { settings, plans } = compared;
    let files = systems.iter().zip(files);
    let files = files.filter_map(|(system, file)| Some(file.as_ref()?.row(system)));
    let same = same_rows(systems, same.iter().map(|(at, same)| (*at, same)));
    versioned(JsonValue::object([
        ("same_systems", same.into_iter().collect()),
        ("systems", system_rows(systems)),
        ("files", files.collect()),
        ("compared", JsonValue::object([("settings", settings.into()), ("plans", plans.into())])),
        ("audit", audit_rows(systems, findings)),
    ]))
}

/// Identical systems, then the differences, suspicious ones first. Each difference has its values, the reason why it
/// matters, and a remedy.
pub(crate) fn audit_text(result: AuditResult<'_>) -> String {
    let AuditResult { systems, findings, same, compared, files } = result;
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
    for (system, file) in systems.iter().zip(files) {
        if let Some(file) = file {
            let (name, sentence) = (printable(&system.name), file.sentence(system));
            text += &format!("{name}: {}\n", printable(&sentence));
        }
    }
    let are_files = files.iter().all(Option::is_some);
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
        let remedy = group.remedy().map(|it| if are_files { REMEDY_OF_FILES } else { it });
        if let Some(remedy) = remedy {
            text += &format!("  remedy: {remedy}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests;
