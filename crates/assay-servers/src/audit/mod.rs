//! Finds and classifies the differences between systems that should be equal. Pure: facts in, findings out.

mod builds;
mod effect;
mod equal_systems;
mod facts;
mod idle;
mod plans;
mod requests;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditClass, AuditFinding, may_be_secret};
use assay_terms::{OptionSubstitute, Terms, variable};

use self::facts::{differ, finding};
use self::requests::{RequestedOptions, follows_from};
use self::rules::{ProductDefault, SettingRule, spelling};

pub(crate) use self::builds::FLAGS;
pub(crate) use self::effect::nearest;
pub use self::effect::{IneffectiveOption, ineffective, warnings};
pub use self::equal_systems::same_systems;
pub use self::facts::{ANSWER, AuditFacts, AuditedPlan, AuditedSystem, ServerSettings};
pub(crate) use self::facts::{JIT, NO_JIT};
pub use self::rules::is_ignored;

/// The variables that a finding may be about: those of the rule of this name, or the one that is called so.
pub fn variables_of(setting: &str) -> Vec<&str> {
    let rule = rules::all_rules().find(|rule| rule.name == setting);
    rule.map_or_else(|| vec![setting], |rule| rule.variables().collect())
}

/// The value of a variable that acts like versions without it, if known.
pub fn value_without(variable: &str) -> Option<&'static str> {
    rules::all_rules().find(|rule| rule.name == variable && rule.from.is_empty())?.without
}

const ASKED: &str = "requested in a system's name, options or config file";

/// The rules about settings as a Markdown table, with the value for versions without the setting and the sources.
pub fn rule_table() -> String {
    let mut table =
        "| setting | variables | class | without it | why | source |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for rule in rules::all_rules() {
        let variables: Vec<String> = rule.variables().map(|name| format!("`{name}`")).collect();
        let class = if rule.class == AuditClass::Harmless { "harmless" } else { "suspicious" };
        let without = match rule.without {
            None => String::new(),
            Some("") => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let (name, why, source) = (rule.name, rule.why, rule.source);
        let variables = variables.join(", ");
        table += &format!("| `{name}` | {variables} | {class} | {without} | {why} | {source} |\n");
    }
    table
}

/// Compares systems that were started on these terms. Suspicious findings come first, then expected, then harmless
/// ones. Settings without a rule that only some versions have are left out: versions differ in hundreds of them.
pub fn compare(systems: &[AuditedSystem], terms: &Terms) -> Vec<AuditFinding> {
    let settings = systems.iter().map(|system| with_flags(&system.facts.settings)).collect();
    let asked = RequestedOptions::new(systems);
    let comparison = Comparison { systems, settings, asked, terms };
    let mut findings = builds::compare(systems);
    findings.extend(comparison.ruled());
    findings.extend(comparison.unruled());
    let untaken = untaken(systems);
    findings.retain(|it| untaken.iter().all(|of| of.setting != it.setting));
    findings.extend(untaken);
    findings.extend(builds::compare_data(systems));
    findings.extend(plans::compare(systems, &comparison.asked));
    idle::mark(&mut findings, systems);
    findings.sort_by_key(|finding| match finding.class {
        AuditClass::Suspicious => 0,
        AuditClass::Expected => 1,
        AuditClass::Harmless => 2,
    });
    findings
}

/// Findings about requested options without effect, by option. An option requested for all systems that none applies,
/// or that one lacks, leaves them as equal as an option unknown to a version.
fn untaken(systems: &[AuditedSystem]) -> Vec<AuditFinding> {
    let mut findings: Vec<AuditFinding> = Vec::new();
    for system in systems {
        for IneffectiveOption { option, why } in ineffective(system.spec, &system.facts.settings) {
            if findings.iter().any(|known| known.setting == option && known.why == why) {
                continue;
            }
            let value = |it: &AuditedSystem| {
                let value = it.facts.settings.get(&option)?;
                Some(if may_be_secret(&option) { "(not shown)".to_owned() } else { value.clone() })
            };
            let values: Vec<Option<String>> = systems.iter().map(value).collect();
            let is_missing = !system.facts.settings.contains_key(&option);
            let class = match differ(values.iter()) {
                _ if !is_asked_alike(systems, &option) => AuditClass::Suspicious,
                true if is_missing => AuditClass::Expected,
                false if is_missing || is_of_none(systems, &option) => AuditClass::Harmless,
                _ => AuditClass::Suspicious,
            };
            let found = finding(&option, values, class, &why);
            findings.push(AuditFinding { is_asked: true, ..found });
        }
    }
    findings
}

fn is_asked_alike(systems: &[AuditedSystem], option: &str) -> bool {
    let asked = |it: &AuditedSystem| -> Vec<String> {
        let own = it.spec.overrides.iter().filter(|(name, _)| variable(name) == variable(option));
        own.map(|(_, value)| spelling(value)).collect()
    };
    systems.iter().all(|it| !asked(it).is_empty()) && !differ(systems.iter().map(asked))
}

fn is_of_none(systems: &[AuditedSystem], option: &str) -> bool {
    systems.iter().all(|it| {
        ineffective(it.spec, &it.facts.settings).iter().any(|found| found.option == option)
    })
}

/// The settings with each switch of the optimizer as a separate setting.
fn with_flags(settings: &ServerSettings) -> ServerSettings {
    let mut settings = settings.clone();
    let Some(switches) = settings.remove("optimizer_switch") else { return settings };
    for (name, value) in switches.split(',').filter_map(|switch| switch.split_once('=')) {
        settings.insert(format!("optimizer_switch.{name}"), value.to_owned());
    }
    settings
}

#[derive(PartialEq)]
struct Reading<'a> {
    variable: &'a str,
    /// In the server's spelling.
    value: &'a str,
    /// In the rule's terms.
    meaning: String,
}

/// Systems that are compared, with everything that their findings depend on.
struct Comparison<'a> {
    systems: &'a [AuditedSystem<'a>],
    settings: Vec<ServerSettings>,
    asked: RequestedOptions,
    terms: &'a Terms,
}

impl Comparison<'_> {
    fn ruled(&self) -> Vec<AuditFinding> {
        let mut findings: Vec<AuditFinding> = Vec::new();
        for rule in rules::all_rules() {
            let global = self.judge(rule, "");
            let session = self.judge(rule, "session.");
            // Sessions start with the global value, so it is reported once.
            let session = session.filter(|session| {
                global.as_ref().is_none_or(|global| global.values != session.values)
            });
            for found in global.into_iter().chain(session) {
                // Several rules may use the same variable.
                if findings.iter().all(|known| known.setting != found.setting) {
                    findings.push(found);
                }
            }
        }
        findings
    }

    /// A finding for one rule, if there is a difference to report. Products of different families are compared only in
    /// settings that both have.
    fn judge(&self, rule: &'static SettingRule, scope: &str) -> Option<AuditFinding> {
        let Self { systems, settings, asked, .. } = self;
        let readings: Vec<_> = settings.iter().map(|all| read(rule, scope, all)).collect();
        let is_one_family = !differ(systems.iter().map(|system| system.spec.product.dialect()));
        // The behaviour of one product without the setting says nothing about another product, unless it means "none".
        let without =
            rule.without.filter(|it| is_one_family || ["OFF", "NONE", "0", ""].contains(it));
        let meaning = |reading: &Option<Reading>| match reading {
            Some(reading) => Some(reading.meaning.clone()),
            None => without.map(spelling),
        };
        let is_unknown = readings.iter().any(|reading| meaning(reading).is_none());
        // The meaning of a value may depend on another setting, which is then reported itself.
        let is_one_value = rule.from.len() == 1
            && !differ(readings.iter().map(|it| it.as_ref().map(|it| it.value)));
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
        let meanings: Vec<Option<&str>> =
            readings.iter().map(|it| it.as_ref().map(|it| it.meaning.as_str())).collect();
        let (class, why, is_asked) = if is_asked {
            (AuditClass::Expected, ASKED.to_owned(), true)
        } else if let Some(instead) = self.unavailable(rule) {
            if instead.is_as_asked {
                return None;
            }
            let why = format!("a version that lacks the option {}", instead.does);
            (AuditClass::Expected, why, false)
        } else if let Some(why) = self.by_terms(rule) {
            (AuditClass::Expected, why, false)
        } else if let Some(own) = rule.own.as_ref().filter(|own| is_own(own, systems, &readings)) {
            (AuditClass::Expected, own.why.to_owned(), true)
        } else if is_unknown {
            let why = format!("only some of the versions have it: {}", rule.why);
            (AuditClass::Harmless, why, false)
        } else if let Some(instead) = does_the_same(rule, &readings) {
            let why = format!("only some of the versions have it: {}; {instead}", rule.why);
            // A server that was already running has a value that its user chose.
            let class = if self.are_attached() { rule.class } else { AuditClass::Harmless };
            (class, why, false)
        } else if let Some(why) = self.consequence(rule.name, &meanings) {
            (AuditClass::Expected, why, true)
        } else {
            (rule.class, rule.why.to_owned(), false)
        };
        let found = finding(&format!("{scope}{name}"), values, class, &why);
        Some(AuditFinding { is_asked, ..found })
    }

    /// Names the requested option from which all differences in a setting follow. `None` if it does not explain every
    /// one.
    fn consequence(&self, name: &str, values: &[Option<&str>]) -> Option<String> {
        let all: Vec<_> = self.systems.iter().zip(&self.settings).zip(values).collect();
        let mut found = None;
        for (at, (one, value)) in all.iter().enumerate() {
            for (other, _) in all.iter().skip(at + 1).filter(|(_, other)| other != value) {
                let option = follows_from(name, *one, *other)?;
                found.get_or_insert(option);
            }
        }
        found.map(|option| format!("it follows from the requested `{option}`"))
    }

    /// The substitute of a version for an option that the terms set, if that is why systems differ. A user cannot
    /// change it.
    fn unavailable(&self, rule: &SettingRule) -> Option<OptionSubstitute> {
        if self.are_attached() {
            return None;
        }
        let instead = |system: &AuditedSystem| {
            rule.variables().find_map(|name| self.terms.instead(system.build(), name))
        };
        self.systems.iter().find_map(instead)
    }

    /// Explains the difference if the terms set something else on each version, or leave the setting at its defaults.
    fn by_terms(&self, rule: &SettingRule) -> Option<String> {
        let Self { systems, terms, .. } = self;
        // Objects created on a server have the server's defaults.
        let is_created =
            ["database.", "schema.", "table."].iter().any(|it| rule.name.starts_with(it));
        let is_setting = !rule.name.contains('.') || terms.keeps_defaults && is_created;
        let one_version = !differ(systems.iter().map(|it| (it.spec.product, it.version())));
        if terms.is_equal || !is_setting || one_version || self.are_attached() {
            return None;
        }
        let of_one = |it: &AuditedSystem| -> Vec<Option<&'static str>> {
            rule.variables().map(|name| terms.value(it.build(), name)).collect()
        };
        let values: Vec<_> = systems.iter().map(of_one).collect();
        let are_equal = !differ(values.iter()) && values.iter().flatten().any(Option::is_some);
        (!are_equal).then(|| {
            format!("the terms `{}` set each version's own value, or keep its default", terms.name)
        })
    }

    fn are_attached(&self) -> bool {
        self.systems.iter().any(AuditedSystem::is_attached)
    }

    fn unruled(&self) -> Vec<AuditFinding> {
        let Self { settings, asked, .. } = self;
        let known: BTreeSet<&str> = rules::all_rules().flat_map(SettingRule::variables).collect();
        let is_known = |name: &str| {
            known.contains(name)
                || name.strip_prefix("session.").is_some_and(|it| known.contains(it))
        };
        let is_other = |name: &str| {
            builds::knows(name) || ["data.", ANSWER].iter().any(|it| name.starts_with(it))
        };
        let names: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
        let mut findings = Vec::new();
        for name in names.into_iter().filter(|it| !is_known(it) && !is_other(it) && !is_ignored(it))
        {
            let values: Vec<Option<&String>> = settings.iter().map(|all| all.get(name)).collect();
            if values.contains(&None) && !asked.names(name) {
                continue;
            }
            let are_paths = values.iter().flatten().all(|value| value.starts_with('/'));
            if !are_paths && differ(values.iter().map(|value| value.map(|it| spelling(it)))) {
                let known: Vec<Option<&str>> =
                    values.iter().map(|value| value.map(String::as_str)).collect();
                let (mut class, why) = self.unruled_class(name);
                let mut why = why.to_owned();
                let mut is_asked = asked.has(name);
                if class == AuditClass::Suspicious
                    && let Some(cause) = self.consequence(name, &known)
                {
                    (class, why, is_asked) = (AuditClass::Expected, cause, true);
                }
                let shown = |value: &String| {
                    if may_be_secret(name) { "(not shown)".to_owned() } else { value.clone() }
                };
                let values = values.into_iter().map(|value| value.map(shown)).collect();
                findings.push(AuditFinding { is_asked, ..finding(name, values, class, &why) });
            }
        }
        findings
    }

    fn unruled_class(&self, name: &str) -> (AuditClass, &'static str) {
        if self.asked.has(name) {
            return (AuditClass::Expected, ASKED);
        }
        // Versions differ in the defaults of the optimizer's switches, and plans are compared separately.
        let prefix = name.split_once('.').map(|(prefix, _)| prefix);
        match rules::all_rules().find(|rule| Some(rule.name) == prefix) {
            None => (AuditClass::Harmless, "not known to matter"),
            Some(_) if differ(self.settings.iter().map(|all| all.get("version"))) => {
                (AuditClass::Harmless, "the version's own default; see the plans")
            }
            Some(rule) => (rule.class, rule.why),
        }
    }
}

/// The value that makes versions with a setting act like those without it. `None` if those that have it differ.
fn does_the_same(rule: &SettingRule, readings: &[Option<Reading>]) -> Option<String> {
    let without = rule.without?;
    let has = readings.iter().flatten();
    let is_one_value = !differ(has.clone().map(|it| &it.meaning));
    if !readings.contains(&None) || !is_one_value {
        return None;
    }
    let variable = has.map(|it| it.variable).next()?;
    let without = without.to_ascii_lowercase();
    Some(format!("`{variable}={without}` on the versions that have it does the same as the others"))
}

fn read<'a>(
    rule: &'static SettingRule,
    scope: &str,
    settings: &'a ServerSettings,
) -> Option<Reading<'a>> {
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

fn is_own(own: &ProductDefault, systems: &[AuditedSystem], readings: &[Option<Reading>]) -> bool {
    systems.iter().zip(readings).all(|(system, reading)| {
        reading.as_ref().is_some_and(|it| it.meaning == (own.value)(system.spec.product))
    })
}
