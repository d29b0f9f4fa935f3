//! Findings of the audit, grouped by topic so that long lists stay readable, and systems that are the same.

use std::collections::BTreeMap;

use assay_model::{AuditClass, AuditFinding, EventKind, SameSystems, StudyRecord, System, counted};
use serde::Serialize;

/// The topic of a finding; JSON calls it `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    Builds,
    Data,
    Tables,
    Session,
    Settings,
    Options,
    Plans,
}

impl Topic {
    /// The word before the dot of a finding's name determines the topic.
    pub(crate) fn from_finding(finding: &AuditFinding) -> Self {
        // Requested differences are expected.
        if finding.is_asked && finding.class != AuditClass::Expected {
            return Self::Options;
        }
        match finding.setting.split_once('.').map_or("", |(word, _)| word) {
            "build" => Self::Builds,
            "data" => Self::Data,
            "table" | "schema" | "database" => Self::Tables,
            "session" => Self::Session,
            "plan" => Self::Plans,
            _ => Self::Settings,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Builds => "builds",
            Self::Data => "data",
            Self::Tables => "tables",
            Self::Session => "the measured session",
            Self::Settings => "settings",
            Self::Options => "requested options without effect",
            Self::Plans => "plans",
        }
    }

    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Builds => {
                "use versions from one source (`assay server list --available PRODUCT`) or build them the same way; \
                 otherwise the verdicts compare builds, not versions"
            }
            Self::Data => "run `assay cache clean --all`, then load the data again",
            Self::Tables | Self::Session | Self::Settings => {
                "set the same value on all systems with `+NAME=VALUE` in their names, or request the difference there"
            }
            Self::Options => {
                "leave the option out, or make it take effect; until then, its system is measured without it"
            }
            Self::Plans => {
                "examine the statement with `EXPLAIN` in a sandbox (`assay server start`)"
            }
        }
    }
}

pub struct TopicFindings<'a> {
    pub(crate) class: AuditClass,
    pub topic: Topic,
    pub findings: Vec<MergedFinding<'a>>,
}

impl TopicFindings<'_> {
    pub fn class_word(&self) -> &'static str {
        word(self.class)
    }

    /// `None` if nothing needs to be done.
    pub fn remedy(&self) -> Option<&'static str> {
        (self.class == AuditClass::Suspicious).then(|| self.topic.remedy())
    }
}

/// One finding, or several plans that differ in the same way.
pub struct MergedFinding<'a> {
    finding: &'a AuditFinding,
    settings: Vec<&'a str>,
}

impl<'a> MergedFinding<'a> {
    /// Whether the user requested the difference, by a system's name, options or engine.
    pub(crate) fn is_asked(&self) -> bool {
        self.finding.is_asked
    }

    /// The name of a setting, or the names of the tests whose plans differ.
    pub fn name(&self) -> String {
        let names = self.settings.iter().map(|it| it.strip_prefix("plan.").unwrap_or(it));
        names.collect::<Vec<_>>().join(", ")
    }

    pub fn why(&self) -> &'a str {
        &self.finding.why
    }

    pub(crate) fn value(&self, system: usize) -> Option<&'a str> {
        self.finding.values.get(system)?.as_deref().map(shown)
    }

    /// The values on all systems: `fsync → O_DIRECT`.
    pub fn values(&self) -> String {
        values(self.finding)
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}

pub(crate) fn word(class: AuditClass) -> &'static str {
    match class {
        AuditClass::Expected => "expected",
        AuditClass::Harmless => "harmless",
        AuditClass::Suspicious => "suspicious",
    }
}

/// `3 differences: 1 suspicious, 0 expected, 2 harmless`.
pub fn counts(findings: &[AuditFinding]) -> String {
    let of_class = |class| {
        let count = findings.iter().filter(|finding| finding.class == class).count();
        format!("{count} {}", word(class))
    };
    format!(
        "{}: {}, {}, {}",
        counted(findings.len() as u64, "difference"),
        of_class(AuditClass::Suspicious),
        of_class(AuditClass::Expected),
        of_class(AuditClass::Harmless),
    )
}

pub fn by_topic(findings: &[AuditFinding], class: AuditClass) -> Vec<TopicFindings<'_>> {
    let mut topics: BTreeMap<Topic, Vec<MergedFinding>> = BTreeMap::new();
    // Plans that differ in the same way, by their index among the merged ones.
    let mut plans: BTreeMap<(&[Option<String>], &str), usize> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.class == class) {
        let topic = Topic::from_finding(finding);
        let merged = topics.entry(topic).or_default();
        let known = match topic {
            Topic::Plans => *plans.entry((&finding.values, &finding.why)).or_insert(merged.len()),
            _ => merged.len(),
        };
        match merged.get_mut(known) {
            Some(other) => other.settings.push(&finding.setting),
            None => merged.push(MergedFinding { finding, settings: vec![&finding.setting] }),
        }
    }
    topics.into_iter().map(|(topic, findings)| TopicFindings { class, topic, findings }).collect()
}

/// Unrequested differences of settings, those that matter most first: if versions keep their defaults, these are the
/// defaults that differ.
pub(crate) fn unasked(findings: &[AuditFinding]) -> Vec<MergedFinding<'_>> {
    let is_default = |finding: &&AuditFinding| {
        let topic = Topic::from_finding(finding);
        !finding.is_asked && matches!(topic, Topic::Tables | Topic::Session | Topic::Settings)
    };
    let classes = [AuditClass::Suspicious, AuditClass::Expected, AuditClass::Harmless];
    let of_class = |class| {
        let all = findings.iter().filter(is_default).filter(move |it| it.class == class);
        all.map(|finding| MergedFinding { finding, settings: vec![finding.setting.as_str()] })
    };
    classes.into_iter().flat_map(of_class).collect()
}

/// The suspicious settings, in few enough words for a first line.
pub(crate) fn suspicious(findings: &[AuditFinding]) -> Vec<String> {
    let mut words = Vec::new();
    for TopicFindings { topic, findings, .. } in by_topic(findings, AuditClass::Suspicious) {
        match topic {
            Topic::Plans => words.extend(plans(findings.iter())),
            Topic::Options => {
                let names = findings.iter().map(MergedFinding::name);
                words.extend(names.map(|name| format!("{name} (requested, not in effect)")));
            }
            _ => words.extend(findings.iter().map(MergedFinding::name)),
        }
    }
    words
}

const NAMES: usize = 4;

/// Differences that were not requested and that no option removes; only plans if the defaults of versions are reported
/// elsewhere. Builds are omitted: the report names them anyway.
pub(crate) fn unremovable(findings: &[AuditFinding], only_plans: bool) -> Vec<String> {
    let mut words = Vec::new();
    for TopicFindings { topic, findings, .. } in by_topic(findings, AuditClass::Expected) {
        let unasked: Vec<&MergedFinding> = findings.iter().filter(|it| !it.is_asked()).collect();
        match topic {
            Topic::Builds => {}
            Topic::Plans => words.extend(plans(unasked.iter().copied())),
            _ if only_plans => {}
            _ => {
                words.extend(unasked.iter().take(NAMES).map(|it| it.name()));
                let rest = unasked.len().saturating_sub(NAMES);
                words.extend((rest > 0).then(|| format!("{rest} more")));
            }
        }
    }
    words
}

/// Requested differences that affect no measured statement, with the reason.
pub(crate) fn unfelt(findings: &[AuditFinding]) -> impl Iterator<Item = String> {
    let differs = |it: &&AuditFinding| {
        let mut values = it.values.iter();
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let asked = findings.iter().filter(|it| it.is_asked && it.class == AuditClass::Harmless);
    asked.filter(differs).map(|it| format!("`{}` = {}: {}", it.setting, values(it), it.why))
}

fn values(finding: &AuditFinding) -> String {
    let values = finding.values.iter().map(|it| it.as_deref().map_or("none", shown));
    values.collect::<Vec<_>>().join(" → ")
}

/// Tests whose plans differ: the name of one, the number of several.
fn plans<'a>(findings: impl Iterator<Item = &'a MergedFinding<'a>> + Clone) -> Option<String> {
    let tests: usize = findings.clone().map(|finding| finding.settings.len()).sum();
    let name = findings.map(MergedFinding::name).next()?;
    Some(match tests {
        1 => format!("the plan of {name}"),
        _ => format!("the plans of {tests} tests"),
    })
}

pub fn same_sentence(systems: &[System], system: usize, same: &SameSystems) -> String {
    let name = |at: usize| systems.get(at).map_or("?", |it| it.name.as_str()).to_owned();
    same.sentence([&name(same.other), &name(system)], name)
}

/// A difference that the audit found later, such as a plan on another data set, contradicts the sameness.
pub(crate) fn same_systems(record: &StudyRecord) -> impl Iterator<Item = (usize, &SameSystems)> {
    let differ = |one: usize, other: usize| {
        let plans = record.audit.iter().filter(|it| it.setting.starts_with("plan."));
        plans.map(|it| &it.values).any(|values| values.get(one) != values.get(other))
    };
    let found = record.events.iter().filter_map(|event| match &event.what {
        EventKind::Same(same) => Some((event.system?, same)),
        _ => None,
    });
    found.filter(move |(system, same)| !differ(*system, same.other))
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
            statements: Vec::new(),
        }
    }

    #[test]
    fn defaults_are_settings_that_nobody_asked_for() {
        let audit_finding =
            |setting, class, is_asked| AuditFinding { class, is_asked, ..finding(setting, "b") };
        let findings = [
            audit_finding("build.source", AuditClass::Suspicious, false),
            audit_finding("host_cache_size", AuditClass::Harmless, false),
            audit_finding("log_bin", AuditClass::Expected, false),
            audit_finding("sync_binlog", AuditClass::Expected, true),
            audit_finding("plan.scan", AuditClass::Expected, false),
            audit_finding("table.charset", AuditClass::Expected, false),
        ];
        let names: Vec<String> = unasked(&findings).iter().map(MergedFinding::name).collect();
        assert_eq!(names, ["log_bin", "table.charset", "host_cache_size"]);
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
        let groups = by_topic(&findings, AuditClass::Suspicious);
        let names: Vec<(Topic, Vec<String>)> = (groups.iter())
            .map(|group| (group.topic, group.findings.iter().map(MergedFinding::name).collect()))
            .collect();
        let group =
            |topic, names: &[&str]| (topic, names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(
            names,
            [
                group(Topic::Builds, &["build.source"]),
                group(Topic::Settings, &["sql_mode", "autocommit"]),
                group(Topic::Plans, &["scan, read-only-sum", "point-query"]),
            ]
        );
        assert_eq!(
            suspicious(&findings),
            ["build.source", "sql_mode", "autocommit", "the plans of 3 tests"]
        );
    }
}
