//! What differs between systems that should be equal, and how to read it. Pure: facts in, findings out.

mod builds;
mod data;
mod plans;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditClass, AuditFinding, Origin, Product, SystemSpec, may_be_secret};

use crate::render::table;
use crate::setting::{OptionSupport, Version, version_number};
use rules::{Own, Rule, is_ignored, spelling};

/// What a server says of itself, by name; what is not a server's variable has a word and a dot before its name.
pub type Settings = BTreeMap<String, String>;

/// How a server carries out a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The microbenchmark it belongs to.
    pub test: String,
    /// The statement, without its parameters.
    pub statement: String,
    /// What matters of its plan; see [`crate::explain`].
    pub plan: String,
}

/// Why a difference is expected.
const ASKED: &str = "asked for, in a system's name, options or config file";

/// Everything that is compared of one system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Effective settings, the build below `build.`, the data below `data.`.
    pub settings: Settings,
    /// Plans of the statements of all microbenchmarks, in one order for all systems.
    pub plans: Vec<Plan>,
}

/// Facts and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Audited<'a> {
    /// What was asked for.
    pub spec: &'a SystemSpec,
    /// What there is.
    pub facts: &'a Facts,
}

/// The rules about settings as a table in Markdown, with what they say of versions that lack one, and their sources.
#[must_use]
pub fn rule_table() -> String {
    let mut table =
        "| setting | told by | class | without it | why | source |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for rule in rules::all() {
        let told_by: Vec<String> = rule.variables().map(|name| format!("`{name}`")).collect();
        let class = if rule.class == AuditClass::Harmless { "harmless" } else { "suspicious" };
        let without = match rule.without {
            None => String::new(),
            Some("") => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let (name, why, source) = (rule.name, rule.why, rule.source);
        let told_by = told_by.join(", ");
        table += &format!("| `{name}` | {told_by} | {class} | {without} | {why} | {source} |\n");
    }
    table
}

/// Compares systems: suspicious findings come first, then expected, then harmless ones.
///
/// Settings that only some versions have, and of which nothing is known, are left out: versions differ in hundreds
/// of them.
#[must_use]
pub fn compare(systems: &[Audited]) -> Vec<AuditFinding> {
    let asked = Asked::of(systems);
    let settings: Vec<Settings> = systems.iter().map(|it| with_flags(&it.facts.settings)).collect();
    let mut findings = builds::compare(systems);
    findings.extend(ruled(systems, &settings, &asked));
    findings.extend(unruled(&settings, &asked));
    findings.extend(untaken(systems));
    findings.extend(data::compare(systems));
    findings.extend(plans::compare(systems, &asked));
    findings.sort_by_key(|finding| match finding.class {
        AuditClass::Suspicious => 0,
        AuditClass::Expected => 1,
        AuditClass::Harmless => 2,
    });
    findings
}

/// What the names of the systems ask to be different.
struct Asked {
    variables: BTreeSet<String>,
    engines_differ: bool,
}

impl Asked {
    fn of(systems: &[Audited]) -> Self {
        let overrides = systems.iter().flat_map(|it| &it.spec.overrides);
        Self {
            variables: overrides.map(|(name, _)| variable(name)).collect(),
            engines_differ: differ(systems.iter().map(|it| it.spec.engine)),
        }
    }

    /// Whether an option sets it.
    fn names(&self, name: &str) -> bool {
        self.variables.contains(&variable(name))
    }

    /// Whether it is another one by what was asked for.
    fn has(&self, name: &str) -> bool {
        self.names(name)
            || self.engines_differ && is_of_engine(name)
            || name.split_once('.').is_some_and(|(of, _)| self.variables.contains(of))
    }
}

/// Findings about switches that were asked for and are not as they were asked for: old servers take what they cannot
/// read for something else, and say so in their log only.
fn untaken(systems: &[Audited]) -> Vec<AuditFinding> {
    let mut findings: Vec<AuditFinding> = Vec::new();
    for system in systems {
        for (name, asked) in &system.spec.overrides {
            let name = name.replace('-', "_").to_ascii_lowercase();
            let name = name.strip_prefix("loose_").unwrap_or(&name);
            let all = systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect();
            let Some(is_on) = system.facts.settings.get(name).and_then(|it| switch(it)) else {
                continue;
            };
            // Its value is a name.
            let is_taken = name == "log_bin" || switch(asked) == Some(is_on);
            if !is_taken && findings.iter().all(|known| known.setting != name) {
                let why = format!("`{asked}` was asked for, and the server did not take it");
                findings.push(finding(name, all, AuditClass::Suspicious, &why));
            }
        }
    }
    findings
}

/// A switch in any spelling; none for what is no switch.
fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Whether a setting is another one with another storage engine: the cache is that of the engine in use.
fn is_of_engine(name: &str) -> bool {
    ["table.engine", "table.row_format", "innodb_buffer_pool_size"].contains(&name)
        || name.starts_with("rocksdb_")
}

/// The variable that an option sets.
fn variable(option: &str) -> String {
    let name = option.replace('-', "_").to_ascii_lowercase();
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    name.strip_prefix("skip_").unwrap_or(name).to_owned()
}

/// The switches of the optimiser, each as a setting of its own.
fn with_flags(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let Some(switches) = settings.remove("optimizer_switch") else { return settings };
    for (name, value) in switches.split(',').filter_map(|switch| switch.split_once('=')) {
        settings.insert(format!("optimizer_switch.{name}"), value.to_owned());
    }
    settings
}

fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

impl Audited<'_> {
    /// As the server says itself.
    fn version(&self) -> Version {
        let told = ["server_version", "version"].map(|name| self.facts.settings.get(name));
        told.into_iter().flatten().next().map_or((0, 0, 0), |version| version_number(version))
    }

    /// Releases of one series differ in repairs only.
    fn series(&self) -> (Product, u32, u32) {
        match (self.spec.product, self.version()) {
            (Product::Postgres, (major, ..)) => (Product::Postgres, major, 0),
            (product, (major, minor, _)) => (product, major, minor),
        }
    }
}

/// Whether values that are known differ between systems of one release series.
fn differ_within_series(systems: &[Audited], values: &[Option<String>]) -> bool {
    let known: Vec<_> = systems
        .iter()
        .zip(values)
        .filter_map(|(system, value)| Some((system.series(), value.as_ref()?)))
        .collect();
    known.iter().any(|(series, value)| known.iter().any(|it| it.0 == *series && it.1 != *value))
}

fn finding(
    setting: &str,
    values: Vec<Option<String>>,
    class: AuditClass,
    why: &str,
) -> AuditFinding {
    AuditFinding { setting: setting.to_owned(), values, class, why: why.to_owned() }
}

/// What one system says about the thing of a rule.
struct Reading<'a> {
    /// Where it says so.
    variable: &'a str,
    /// In its own words.
    value: &'a str,
    /// In the rule's.
    meaning: String,
}

/// Findings about settings of which something is known.
fn ruled(systems: &[Audited], settings: &[Settings], asked: &Asked) -> Vec<AuditFinding> {
    let mut findings: Vec<AuditFinding> = Vec::new();
    for rule in rules::all() {
        let global = judge(rule, "", systems, settings, asked);
        let session = judge(rule, "session.", systems, settings, asked);
        // Sessions begin with the global value: said once.
        let session = session
            .filter(|session| global.as_ref().is_none_or(|global| global.values != session.values));
        for found in global.into_iter().chain(session) {
            // One variable may tell several things.
            if findings.iter().all(|known| known.setting != found.setting) {
                findings.push(found);
            }
        }
    }
    findings
}

/// A finding about the thing of one rule, if it differs in a way worth telling. Products of different families are
/// compared in what both have only.
fn judge(
    rule: &'static Rule,
    scope: &str,
    systems: &[Audited],
    settings: &[Settings],
    asked: &Asked,
) -> Option<AuditFinding> {
    let readings: Vec<_> = settings.iter().map(|all| read(rule, scope, all)).collect();
    let is_one_family = !differ(systems.iter().map(|it| it.spec.product == Product::Postgres));
    // What versions of one product do without it says nothing of another product, but that it has no such thing.
    let without = rule.without.filter(|it| is_one_family || ["OFF", "NONE", "0", ""].contains(it));
    let meaning = |reading: &Option<Reading>| match reading {
        Some(reading) => Some(reading.meaning.clone()),
        None => without.map(spelling),
    };
    let is_unknown = readings.iter().any(|reading| meaning(reading).is_none());
    // A value may mean another thing by another setting, which is then told itself.
    let is_one_value =
        rule.from.len() == 1 && !differ(readings.iter().map(|it| it.as_ref().map(|it| it.value)));
    let is_asked = rule.variables().any(|name| asked.has(name));
    let is_named = rule.variables().any(|name| asked.names(name));
    let has = readings.iter().flatten();
    if has.clone().next().is_none()
        || is_one_value
        || !differ(readings.iter().map(meaning))
        || is_unknown && !is_one_family && !is_named
    {
        return None;
    }
    let common = (!differ(has.clone().map(|it| it.variable))).then(|| has.clone().next());
    let name = common.flatten().map_or(rule.name, |reading| reading.variable);
    let values = readings.iter().map(|it| it.as_ref().map(|it| it.value.to_owned())).collect();
    let (class, why) = if is_asked {
        (AuditClass::Expected, ASKED.to_owned())
    } else if let Some(why) = unavailable(rule, systems) {
        if why.ends_with(AS_ASKED_FOR) {
            return None;
        }
        (AuditClass::Expected, format!("a version that lacks the option {why}"))
    } else if let Some(own) = rule.own.as_ref().filter(|own| is_own(own, systems, &readings)) {
        (AuditClass::Expected, own.why.to_owned())
    } else if is_unknown {
        (AuditClass::Harmless, format!("only some of the versions have it: {}", rule.why))
    } else {
        (rule.class, rule.why.to_owned())
    };
    Some(finding(&format!("{scope}{name}"), values, class, &why))
}

/// Whether each system has the default of its product.
fn is_own(own: &Own, systems: &[Audited], readings: &[Option<Reading>]) -> bool {
    systems.iter().zip(readings).all(|(system, reading)| {
        reading.as_ref().is_some_and(|it| it.meaning == (own.value)(system.spec.product))
    })
}

/// How it is put that a version without an option does what the option asks of others.
const AS_ASKED_FOR: &str = "which is what was asked for";

/// What a version does that has no option for a part of the intent, where that is why systems differ: nothing that a
/// user could change. Servers that run already do not follow the intent.
fn unavailable(rule: &Rule, systems: &[Audited]) -> Option<&'static str> {
    if systems.iter().any(|it| matches!(it.spec.origin, Origin::Url(_))) {
        return None;
    }
    let is_of_rule = |option: &str| rule.variables().any(|name| name == variable(option));
    systems.iter().find_map(|system| {
        let mut settings = table(system.spec.product).iter();
        let setting = settings.find(|it| is_of_rule(it.option))?;
        match setting.support(system.version()) {
            OptionSupport::Missing(why) => Some(why),
            OptionSupport::Supported | OptionSupport::CoveredElsewhere => None,
        }
    })
}

fn read<'a>(rule: &'static Rule, scope: &str, settings: &'a Settings) -> Option<Reading<'a>> {
    let found =
        |name: &'static str| Some((name, settings.get(&format!("{scope}{name}"))?.as_str()));
    if rule.from.is_empty() {
        let (variable, value) = found(rule.name)?;
        return Some(Reading { variable, value, meaning: spelling(value) });
    }
    rule.from.iter().find_map(|of| {
        let (variable, value) = found(of.name)?;
        Some(Reading { variable, value, meaning: (of.meaning)(value, settings) })
    })
}

/// Findings about settings of which nothing is known, where all systems have them or one was asked for.
fn unruled(settings: &[Settings], asked: &Asked) -> Vec<AuditFinding> {
    let known: BTreeSet<&str> = rules::all().flat_map(Rule::variables).collect();
    let is_known = |name: &str| {
        known.contains(name) || name.strip_prefix("session.").is_some_and(|it| known.contains(it))
    };
    let is_other = |name: &str| builds::knows(name) || name.starts_with("data.");
    let names: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    let mut findings = Vec::new();
    for name in names.into_iter().filter(|it| !is_known(it) && !is_other(it) && !is_ignored(it)) {
        let values: Vec<Option<&String>> = settings.iter().map(|all| all.get(name)).collect();
        if values.contains(&None) && !asked.names(name) {
            continue;
        }
        let are_paths = values.iter().flatten().all(|value| value.starts_with('/'));
        if !are_paths && differ(values.iter().map(|value| value.map(|it| spelling(it)))) {
            let (class, why) = unruled_class(name, settings, asked);
            let shown = |value: &String| {
                if may_be_secret(name) { "(not shown)".to_owned() } else { value.clone() }
            };
            let values = values.into_iter().map(|value| value.map(shown)).collect();
            findings.push(finding(name, values, class, why));
        }
    }
    findings
}

fn unruled_class(name: &str, settings: &[Settings], asked: &Asked) -> (AuditClass, &'static str) {
    if asked.has(name) {
        return (AuditClass::Expected, ASKED);
    }
    // A switch of many in one variable: versions have defaults of their own, and plans are compared by themselves.
    let of = name.split_once('.').map(|(of, _)| of);
    match rules::all().find(|rule| Some(rule.name) == of) {
        None => (AuditClass::Harmless, "not known to matter"),
        Some(_) if differ(settings.iter().map(|all| all.get("version"))) => {
            (AuditClass::Harmless, "the version's own default; see the plans")
        }
        Some(rule) => (rule.class, rule.why),
    }
}
