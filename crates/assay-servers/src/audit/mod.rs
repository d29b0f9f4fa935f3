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

use std::collections::BTreeSet;

use assay_model::{AuditClass, AuditFinding, may_be_secret};
use assay_terms::{OptionSubstitute, Terms, variable};

use self::facts::{NOT_IN_FILE, differ, finding};
use self::requests::{RequestedOptions, follows_from};
use self::rules::{ProductDefault, SettingRule, spelling};

pub(crate) use self::builds::FLAGS;
pub(crate) use self::effect::nearest;
pub use self::effect::{IneffectiveOption, ineffective, warnings};
pub use self::equal_systems::same_systems;
pub use self::facts::{
    ANSWER, AuditFacts, AuditedPlan, AuditedSystem, FactsExtent, ServerSettings,
};
pub(crate) use self::facts::{JIT, NO_JIT};
pub use self::rules::{ignored_table, is_ignored};

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
    let in_effect: Vec<ServerSettings> =
        systems.iter().map(|system| with_log_size(with_flags(&system.facts.settings))).collect();
    let (settings, asked) = (in_effect.iter().collect(), RequestedOptions::new(systems));
    let comparison = Comparison { systems: systems.to_vec(), settings, asked: &asked, terms };
    let mut findings = builds::compare(systems);
    findings.extend(comparison.ruled());
    findings.extend(comparison.unruled());
    let untaken = untaken(systems);
    findings.retain(|it| untaken.iter().all(|of| of.setting != it.setting));
    findings.extend(untaken);
    findings.extend(builds::compare_data(systems));
    findings.extend(plans::compare(systems, &asked));
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

/// The defaults of MySQL's two ways to give the redo log its size.
const LOG_DEFAULTS: [(&str, &str); 3] = [
    ("innodb_redo_log_capacity", "104857600"),
    ("innodb_log_file_size", "50331648"),
    ("innodb_log_files_in_group", "2"),
];

/// The settings with the capacity of the redo log that is in effect. A server that was given the size and the number of
/// files, but no capacity, computes it without changing the variable. Source: MySQL reference manual,
/// `innodb_redo_log_capacity`.
fn with_log_size(mut settings: ServerSettings) -> ServerSettings {
    let [capacity, size, files] =
        LOG_DEFAULTS.map(|(name, usual)| settings.get(name).map(|it| (it, it == usual)));
    if let (Some((_, true)), Some((size, is_usual)), Some((files, are_usual))) =
        (capacity, size, files)
        && !(is_usual && are_usual)
        && let (Ok(size), Ok(files)) = (size.parse::<u64>(), files.parse::<u64>())
    {
        let capacity = size.saturating_mul(files).to_string();
        settings.insert(LOG_DEFAULTS[0].0.to_owned(), capacity);
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
    systems: Vec<AuditedSystem<'a>>,
    settings: Vec<&'a ServerSettings>,
    asked: &'a RequestedOptions,
    terms: &'a Terms,
}

impl Comparison<'_> {
    fn ruled(&self) -> Vec<AuditFinding> {
        let mut findings: Vec<AuditFinding> = Vec::new();
        for rule in rules::all_rules() {
            let judged = |scope: &str| {
                let names = rule.variables().map(|name| format!("{scope}{name}"));
                self.among_known(&names.collect::<Vec<_>>(), |known| known.judge(rule, scope))
            };
            let global = judged("").or_else(|| self.set_by_some(rule));
            let session = judged("session.");
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

    /// A finding about the systems whose settings of these names are known, or are known to be missing. The others have
    /// [`NOT_IN_FILE`] as their value.
    fn among_known(
        &self,
        names: &[String],
        find: impl Fn(&Self) -> Option<AuditFinding>,
    ) -> Option<AuditFinding> {
        let is_known = |at: &usize| {
            let extent = self.systems[*at].facts.extent;
            names.iter().any(|name| self.settings[*at].contains_key(name))
                || names.iter().all(|name| extent.covers(name))
        };
        let known: Vec<usize> = (0..self.systems.len()).filter(is_known).collect();
        if known.len() == self.systems.len() {
            return find(self);
        }
        let found = find(&Self {
            systems: known.iter().map(|at| self.systems[*at]).collect(),
            settings: known.iter().map(|at| self.settings[*at]).collect(),
            asked: self.asked,
            terms: self.terms,
        })?;
        let mut values = vec![Some(NOT_IN_FILE.to_owned()); self.systems.len()];
        for (at, value) in known.into_iter().zip(found.values) {
            values[at] = value;
        }
        Some(AuditFinding { values, ..found })
    }

    /// A finding about a variable that only some of the config files set. Versions have other defaults, so the files
    /// may differ in effect.
    fn set_by_some(&self, rule: &'static SettingRule) -> Option<AuditFinding> {
        let Self { systems, settings, .. } = self;
        let readings: Vec<Option<Reading>> =
            settings.iter().map(|all| read(rule, "", all)).collect();
        let is_part = |at: &usize| systems[*at].facts.extent == FactsExtent::Part;
        let parts: Vec<usize> = (0..systems.len()).filter(is_part).collect();
        let sets = |at: &usize| readings[*at].is_some();
        if rule.class != AuditClass::Suspicious
            || rule.name.contains('.')
            || differ(parts.iter().map(|at| systems[*at].spec.product.dialect()))
            || !parts.iter().any(sets)
            || parts.iter().all(sets)
        {
            return None;
        }
        let value = |at: usize| match &readings[at] {
            Some(reading) => Some(reading.value.to_owned()),
            None => is_part(&at).then(|| NOT_IN_FILE.to_owned()),
        };
        let values = (0..systems.len()).map(value).collect();
        let why = format!(
            "only some of the files set it, and the others do not show their servers' defaults: {}",
            rule.why
        );
        Some(finding(name_in(rule, &readings), values, rule.class, &why))
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
        if readings.iter().flatten().next().is_none()
            || is_one_value
            || !differ(readings.iter().map(meaning))
            || is_unknown && !is_one_family && !is_named
        {
            return None;
        }
        let name = name_in(rule, &readings);
        let values = readings.iter().map(|it| it.as_ref().map(|it| it.shown(&readings))).collect();
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
        let settings = self.settings.iter().copied();
        let all: Vec<_> = self.systems.iter().zip(settings).zip(values).collect();
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
        let known: BTreeSet<&str> = rules::all_rules().flat_map(SettingRule::variables).collect();
        let is_known = |name: &str| {
            known.contains(name)
                || name.strip_prefix("session.").is_some_and(|it| known.contains(it))
        };
        let is_other = |name: &str| {
            builds::knows(name) || ["data.", ANSWER].iter().any(|it| name.starts_with(it))
        };
        let names: BTreeSet<&String> = self.settings.iter().flat_map(|all| all.keys()).collect();
        let names = names.into_iter();
        names
            .filter(|it| !is_known(it) && !is_other(it) && !is_ignored(it))
            .filter_map(|name| {
                self.among_known(std::slice::from_ref(name), |known| known.unruled_finding(name))
            })
            .collect()
    }

    fn unruled_finding(&self, name: &str) -> Option<AuditFinding> {
        let Self { settings, asked, .. } = self;
        let values: Vec<Option<&String>> = settings.iter().map(|all| all.get(name)).collect();
        let are_paths = values.iter().flatten().all(|value| value.starts_with('/'));
        if values.contains(&None) && !asked.names(name)
            || are_paths
            || !differ(values.iter().map(|value| value.map(|it| spelling(it))))
        {
            return None;
        }
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
        Some(AuditFinding { is_asked, ..finding(name, values, class, &why) })
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

impl Reading<'_> {
    /// The value, and its meaning where the same value means something else on another system.
    fn shown(&self, all: &[Option<Reading>]) -> String {
        let is_twofold =
            |other: &Reading| other.value == self.value && other.meaning != self.meaning;
        if self.meaning != self.value && all.iter().flatten().any(is_twofold) {
            format!("{} ({})", self.value, self.meaning)
        } else {
            self.value.to_owned()
        }
    }
}

/// The name of a finding: that of the variable, or of the rule if systems have several variables.
fn name_in<'a>(rule: &'static SettingRule, readings: &[Option<Reading<'a>>]) -> &'a str {
    let mut variables = readings.iter().flatten().map(|reading| reading.variable);
    let first = variables.next().unwrap_or(rule.name);
    if variables.all(|variable| variable == first) { first } else { rule.name }
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
