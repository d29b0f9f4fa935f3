//! What differs between systems that should be equal, and how to read it. Pure: settings in, findings out.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{AuditClass, AuditFinding, Prefix};

use rules::{IGNORED, IGNORED_BEGINNINGS, IGNORED_ENDINGS, RULES, Rule};

/// Packages whose versions tell what a server was compiled with, and what they are called in a finding.
const TOOLS: [(&str, &str); 2] = [("libc6", "build.c-library"), ("libstdc++6", "build.compiler")];

/// Compares the effective settings of systems; `builds` and `overrides` are theirs, in the same order.
///
/// Suspicious findings come first, then expected, then harmless ones. Settings that only some versions have, and of
/// which nothing is known, are left out: versions differ in hundreds of them.
#[must_use]
pub fn compare(
    settings: &[BTreeMap<String, String>],
    builds: &[&Prefix],
    overrides: &[&[(String, String)]],
) -> Vec<AuditFinding> {
    let asked: BTreeSet<String> =
        overrides.iter().flat_map(|list| list.iter()).map(|(name, _)| variable(name)).collect();
    let names: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    let differing = names.into_iter().filter_map(|name| {
        let values: Vec<_> = settings.iter().map(|all| all.get(name).cloned()).collect();
        judge(name, values, &asked)
    });
    let mut findings: Vec<_> = differing.chain(compare_builds(builds)).collect();
    findings.sort_by_key(|finding| match finding.class {
        AuditClass::Suspicious => 0,
        AuditClass::Expected => 1,
        AuditClass::Harmless => 2,
    });
    findings
}

/// A finding about one setting, if its values differ in a way worth telling.
fn judge(
    name: &str,
    values: Vec<Option<String>>,
    asked: &BTreeSet<String>,
) -> Option<AuditFinding> {
    let finding = |class, why: &str, values| {
        Some(AuditFinding { setting: name.to_owned(), values, class, why: why.to_owned() })
    };
    if is_ignored(name) || !differ(values.iter().map(Option::as_ref)) {
        return None;
    }
    let plain_name = name.rsplit('.').next().unwrap_or(name);
    if asked.contains(plain_name) {
        return finding(AuditClass::Expected, "asked for in a system's name", values);
    }
    if let Some(rule) = RULES.iter().find(|rule| rule.setting == plain_name) {
        let effective = values.iter().map(|value| effective(rule, value.as_deref()));
        return if differ(effective) { finding(rule.class, rule.why, values) } else { None };
    }
    if values.iter().any(Option::is_none) {
        return None;
    }
    finding(AuditClass::Harmless, "not known to matter", values)
}

/// A value as the rule sees it: in one spelling, and of a version without the setting what it does instead.
fn effective(rule: &Rule, value: Option<&str>) -> Option<String> {
    let value = value.or(rule.without)?.to_ascii_uppercase();
    Some(match value.as_str() {
        "0" | "FALSE" => "OFF".to_owned(),
        "1" | "TRUE" => "ON".to_owned(),
        _ => value,
    })
}

fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// Paths, names of this process and of the version itself, and what is not in use.
fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
        || IGNORED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || IGNORED_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The variable that an option sets.
fn variable(option: &str) -> String {
    let name = option.replace('-', "_").to_ascii_lowercase();
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    name.strip_prefix("skip_").unwrap_or(name).to_owned()
}

fn compare_builds(builds: &[&Prefix]) -> Vec<AuditFinding> {
    let mut findings = Vec::new();
    let mut add = |setting: &str, values: Vec<Option<String>>, class, why: &str| {
        if differ(values.iter()) {
            let (setting, why) = (setting.to_owned(), why.to_owned());
            findings.push(AuditFinding { setting, values, class, why });
        }
    };
    let of = |what: fn(&Prefix) -> String| builds.iter().map(|build| Some(what(build))).collect();
    add(
        "build.source",
        of(|it| it.build.source.clone()),
        AuditClass::Suspicious,
        "built by different people with different compilers and flags: not versions alone are compared",
    );
    add(
        "build.channel",
        of(|it| it.build.channel.clone()),
        AuditClass::Harmless,
        "the same builder, but of another release, with that release's compiler and libraries",
    );
    for (package, setting) in TOOLS {
        let version = |build: &&Prefix| {
            let found = build.packages.iter().find(|it| it.name == package);
            found.map(|it| format!("{package} {}", it.version))
        };
        add(
            setting,
            builds.iter().map(version).collect(),
            AuditClass::Harmless,
            "each server runs with the library of the release that it was built for",
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::tests::prefix;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn audit(a: &[(&str, &str)], b: &[(&str, &str)], asked: &[(&str, &str)]) -> Vec<AuditFinding> {
        let build = prefix("10.11.19");
        let asked: Vec<_> =
            asked.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        compare(&[settings(a), settings(b)], &[&build, &build], &[&[], &asked])
    }

    fn classes(findings: &[AuditFinding]) -> Vec<(&str, AuditClass)> {
        findings.iter().map(|it| (it.setting.as_str(), it.class)).collect()
    }

    #[test]
    fn equal_settings_give_no_finding() {
        let same = [("innodb_doublewrite", "ON"), ("table.collation", "latin1_swedish_ci")];
        assert_eq!(audit(&same, &same, &[]), []);
    }

    #[test]
    fn known_traps_are_suspicious_and_come_first() {
        let found = audit(
            &[("binlog_row_image", "FULL"), ("session.ssl_cipher", ""), ("sql_mode", "A")],
            &[("binlog_row_image", "NOBLOB"), ("session.ssl_cipher", "AES"), ("sql_mode", "B")],
            &[],
        );
        assert_eq!(
            classes(&found),
            [
                ("session.ssl_cipher", AuditClass::Suspicious),
                ("sql_mode", AuditClass::Suspicious),
                ("binlog_row_image", AuditClass::Harmless),
            ]
        );
    }

    #[test]
    fn what_was_asked_for_is_expected_however_it_is_spelt() {
        let off = [("innodb_doublewrite", "OFF"), ("log_bin", "OFF")];
        let on = [("innodb_doublewrite", "ON"), ("log_bin", "ON")];
        let asked = [("innodb-doublewrite", "OFF"), ("skip-log-bin", "0")];
        let expected =
            [("innodb_doublewrite", AuditClass::Expected), ("log_bin", AuditClass::Expected)];
        assert_eq!(classes(&audit(&off, &on, &asked)), expected);
    }

    #[test]
    fn a_version_without_the_setting_counts_as_what_it_does_instead() {
        let none = audit(&[("innodb_change_buffering", "none")], &[], &[]);
        assert_eq!(none, []);
        let all = audit(&[("innodb_change_buffering", "all")], &[], &[]);
        assert_eq!(classes(&all), [("innodb_change_buffering", AuditClass::Suspicious)]);
    }

    #[test]
    fn spelling_of_on_and_off_does_not_matter_for_a_known_setting() {
        assert_eq!(
            audit(&[("performance_schema", "OFF")], &[("performance_schema", "0")], &[]),
            []
        );
    }

    #[test]
    fn paths_identities_and_settings_of_one_version_only_are_not_told() {
        let one = [("socket", "/a"), ("version", "10.5"), ("ssl_ca", "/a"), ("new_knob", "1")];
        let other = [("socket", "/b"), ("version", "11.8"), ("ssl_ca", "/b")];
        assert_eq!(audit(&one, &other, &[]), []);
    }

    #[test]
    fn builds_of_different_sources_are_suspicious_of_different_releases_are_told() {
        let (a, mut b) = (prefix("10.11.19"), prefix("11.8.6"));
        b.build.channel = "testing".to_owned();
        let none = [BTreeMap::new(), BTreeMap::new()];
        let found = compare(&none, &[&a, &b], &[&[], &[]]);
        assert_eq!(classes(&found), [("build.channel", AuditClass::Harmless)]);
        b.build.source = "maven".to_owned();
        let found = compare(&none, &[&a, &b], &[&[], &[]]);
        assert_eq!(found.first().map(|it| it.class), Some(AuditClass::Suspicious));
    }
}
