//! Findings of the audit, grouped by what they are about, so that long lists stay readable.

use assay_model::{AuditClass, AuditFinding};
use serde::Serialize;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Builds,
    Data,
    Tables,
    Session,
    Settings,
    Plans,
}

impl Kind {
    /// By the word before the dot of a finding's name.
    pub(crate) fn of(finding: &AuditFinding) -> Self {
        match finding.setting.split_once('.').map_or("", |(word, _)| word) {
            "build" => Self::Builds,
            "data" => Self::Data,
            "table" | "schema" | "database" => Self::Tables,
            "session" => Self::Session,
            "plan" => Self::Plans,
            _ => Self::Settings,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Builds => "builds",
            Self::Data => "data",
            Self::Tables => "tables",
            Self::Session => "the measured session",
            Self::Settings => "settings",
            Self::Plans => "plans",
        }
    }

    /// What can be done about suspicious findings.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Builds => {
                "take versions that one source has (`assay server list --available PRODUCT`), or build them alike: \
                 else read the verdicts as of builds, not versions"
            }
            Self::Data => "load the data again, after `assay cache clean --all`",
            Self::Tables | Self::Session | Self::Settings => {
                "give all systems one value with `+NAME=VALUE` in their names, or ask for the difference there"
            }
            Self::Plans => "look at the statement with `EXPLAIN` in `assay server start`",
        }
    }
}

/// Findings that say the same: one, or plans of several microbenchmarks.
pub(crate) struct Entry<'a> {
    pub(crate) finding: &'a AuditFinding,
    /// Their names.
    pub(crate) settings: Vec<&'a str>,
}

impl Entry<'_> {
    /// The name of a setting, or the names of the microbenchmarks that a plan is of.
    pub(crate) fn name(&self) -> String {
        let names = self.settings.iter().map(|it| it.strip_prefix("plan.").unwrap_or(it));
        names.collect::<Vec<_>>().join(", ")
    }
}

/// A value as it is shown.
pub(crate) fn shown(value: Option<&str>) -> &str {
    match value {
        None => "none",
        Some("") => "(empty)",
        Some(value) => value,
    }
}

/// The findings of one class by kind, in the order of the kinds.
pub(crate) fn by_kind(findings: &[AuditFinding], class: AuditClass) -> Vec<(Kind, Vec<Entry<'_>>)> {
    let mut groups: Vec<(Kind, Vec<Entry>)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.class == class) {
        let kind = Kind::of(finding);
        let at = groups.iter().position(|(known, _)| *known == kind).unwrap_or(groups.len());
        if at == groups.len() {
            groups.push((kind, Vec::new()));
        }
        let entries = &mut groups[at].1;
        let same = |entry: &&mut Entry| {
            kind == Kind::Plans
                && (&entry.finding.values, &entry.finding.why) == (&finding.values, &finding.why)
        };
        match entries.iter_mut().find(same) {
            Some(entry) => entry.settings.push(&finding.setting),
            None => entries.push(Entry { finding, settings: vec![&finding.setting] }),
        }
    }
    groups.sort_by_key(|(kind, _)| *kind);
    groups
}

/// What is suspicious, in as few words as a first line takes.
pub(crate) fn suspicious(findings: &[AuditFinding]) -> Vec<String> {
    let mut words = Vec::new();
    for (kind, entries) in by_kind(findings, AuditClass::Suspicious) {
        match kind {
            Kind::Plans => words.extend(plans(entries.iter())),
            _ => words.extend(entries.iter().map(Entry::name)),
        }
    }
    words
}

/// Names of settings that a note has at most.
const NAMES: usize = 4;

/// What nobody asked for and no option removes, but for builds, of which the report tells anyway.
pub(crate) fn unremovable(findings: &[AuditFinding]) -> Vec<String> {
    let mut words = Vec::new();
    for (kind, entries) in by_kind(findings, AuditClass::Expected) {
        let unasked: Vec<&Entry> = entries.iter().filter(|it| !it.finding.is_asked).collect();
        match kind {
            Kind::Builds => {}
            Kind::Plans => words.extend(plans(unasked.iter().copied())),
            _ => {
                words.extend(unasked.iter().take(NAMES).map(|it| it.name()));
                let rest = unasked.len().saturating_sub(NAMES);
                words.extend((rest > 0).then(|| format!("{rest} more")));
            }
        }
    }
    words
}

/// Of which tests plans differ: the name of one, how many of several.
fn plans<'a>(entries: impl Iterator<Item = &'a Entry<'a>> + Clone) -> Option<String> {
    let tests: usize = entries.clone().map(|entry| entry.settings.len()).sum();
    let name = entries.map(Entry::name).next()?;
    Some(match tests {
        1 => format!("the plan of {name}"),
        _ => format!("the plans of {tests} tests"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(setting: &str, value: &str) -> AuditFinding {
        AuditFinding {
            setting: setting.to_owned(),
            values: vec![Some("a".to_owned()), Some(value.to_owned())],
            class: AuditClass::Suspicious,
            why: "it matters".to_owned(),
            is_asked: false,
        }
    }

    #[test]
    fn plans_that_differ_alike_are_one_entry_and_settings_never() {
        let findings = [
            finding("plan.scan", "b"),
            finding("sql_mode", "b"),
            finding("plan.read-only-sum", "b"),
            finding("autocommit", "b"),
            finding("plan.point-query", "c"),
            finding("build.source", "c"),
        ];
        let groups = by_kind(&findings, AuditClass::Suspicious);
        let names: Vec<(Kind, Vec<String>)> = (groups.iter())
            .map(|(kind, entries)| (*kind, entries.iter().map(Entry::name).collect()))
            .collect();
        let of = |kind, names: &[&str]| (kind, names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(
            names,
            [
                of(Kind::Builds, &["build.source"]),
                of(Kind::Settings, &["sql_mode", "autocommit"]),
                of(Kind::Plans, &["scan, read-only-sum", "point-query"]),
            ]
        );
        assert_eq!(
            suspicious(&findings),
            ["build.source", "sql_mode", "autocommit", "the plans of 3 tests"]
        );
    }
}
