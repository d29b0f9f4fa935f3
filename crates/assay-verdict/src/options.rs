//! Requested options in which two systems differ.

use assay_model::{AuditClass, AuditFinding, Class, Reach, SystemSpec, reach};

const NAMED: usize = 2;

const VALUE_MAX: usize = 60;

/// Prefixes of settings whose removal changes the speed of a version.
const MISSED: [&str; 3] = ["optimizer_", "query_cache_", "thread_handling"];

/// Whether a setting is a leftover of a shared config file: all systems requested the same value, and a version lacks
/// the setting. It is named as a cause only if its removal is known to change speed.
pub(crate) fn is_leftover<'a>(
    specs: impl Iterator<Item = &'a SystemSpec>,
    finding: &AuditFinding,
) -> bool {
    let asked = |spec: &SystemSpec| {
        let mut options = spec.overrides.iter().rev();
        let own = options.find(|(name, _)| name.replace('-', "_") == finding.setting);
        own.map(|(_, value)| value.clone())
    };
    let mut values = specs.map(asked);
    let Some(first) = values.next().flatten() else { return false };
    finding.values.iter().any(Option::is_none)
        && values.all(|it| it.as_ref() == Some(&first))
        && !MISSED.iter().any(|it| finding.setting.starts_with(it))
}

pub fn can_act(setting: &str, class: Class) -> bool {
    reach(setting) == Reach::Plans || reach(setting).acts_on(class)
}

/// `as requested, performance_schema is ON instead of OFF`; `None` if no requested option differs that can affect tests
/// of this class other than through plans. Excludes options without effect, and those in `named`, which the sentence on
/// the plan names. An option unknown to one version is a cause only if its removal is known to change speed.
pub(crate) fn requested(
    audit: &[AuditFinding],
    class: Class,
    [base, system]: [usize; 2],
    named: &[String],
) -> Option<String> {
    let differing = audit.iter().filter(|it| it.is_asked && it.class == AuditClass::Expected);
    let differing = differing.filter(|it| !it.setting.starts_with("plan."));
    let option = |setting: &str| setting.split('.').next().unwrap_or_default().to_owned();
    let mut message: Vec<String> = Vec::new();
    for finding in differing.filter(|it| reach(&it.setting).acts_on(class)) {
        let value = |at: usize| finding.values.get(at).and_then(Option::as_deref);
        let is_known = value(base).is_some() && value(system).is_some();
        if !is_known && !MISSED.iter().any(|it| finding.setting.starts_with(it)) {
            continue;
        }
        if value(base) != value(system) && !named.contains(&option(&finding.setting)) {
            let [before, after] = [value(base), value(system)].map(shown);
            message.push(format!("`{}` is {after} instead of {before}", finding.setting));
        }
    }
    let rest = message.len().saturating_sub(NAMED);
    message.truncate(NAMED);
    let last = (rest > 0).then(|| format!("{rest} more differ"));
    message.extend(last);
    (!message.is_empty()).then(|| format!("as requested, {}", message.join(", ")))
}

fn shown(value: Option<&str>) -> String {
    match value {
        None => "unknown to the server".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) if value.chars().count() > VALUE_MAX => {
            value.chars().take(VALUE_MAX).chain("...".chars()).collect()
        }
        Some(value) => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Origin, Product};

    use super::*;

    fn finding(
        setting: &str,
        values: [&str; 2],
        is_asked: bool,
        class: AuditClass,
    ) -> AuditFinding {
        let values = values.into_iter().map(|it| Some(it.to_owned())).collect();
        let (setting, why, statements) = (setting.to_owned(), String::new(), Vec::new());
        AuditFinding { setting, values, class, why, is_asked, statements }
    }

    #[test]
    fn only_requested_options_that_differ_and_have_an_effect_are_named() {
        use AuditClass::{Expected, Suspicious};
        let audit = [
            finding("jit", ["off", "on"], true, Suspicious),
            finding("sort_buffer_size", ["1", "2"], false, Expected),
            finding("work_mem", ["4MB", "1GB"], true, Expected),
            finding("plan.t", ["range", "ref"], true, Expected),
        ];
        assert_eq!(
            requested(&audit, Class::Read, [0, 1], &[]).as_deref(),
            Some("as requested, `work_mem` is 1GB instead of 4MB")
        );
        assert_eq!(requested(&audit[..2], Class::Read, [0, 1], &[]), None);
        let many: Vec<_> =
            ["a", "b", "c", "d"].map(|it| finding(it, ["1", "2"], true, Expected)).into();
        let message = requested(&many, Class::Read, [0, 1], &[]).unwrap_or_default();
        assert!(message.ends_with(", 2 more differ"), "{message}");
        // The sentence on the plan has named it.
        let named = ["work_mem".to_owned()];
        assert_eq!(requested(&audit, Class::Read, [0, 1], &named), None);
        let harmless = finding("work_mem", ["4MB", "1GB"], true, AuditClass::Harmless);
        assert_eq!(requested(&[harmless], Class::Read, [0, 1], &[]), None);
    }

    #[test]
    fn a_setting_is_named_only_where_it_can_act() {
        let expected = |setting, values| finding(setting, values, true, AuditClass::Expected);
        let audit = [
            expected("log_bin", ["ON", "OFF"]),
            expected("session.binlog_format", ["ROW", "MIXED"]),
            expected("sync_binlog", ["1", "0"]),
            expected("gtid_mode", ["ON", "OFF"]),
            expected("synchronous_commit", ["on", "off"]),
            expected("log_size", ["1", "2"]),
            expected("default_authentication_plugin", ["a", "b"]),
            // It acts only through plans, which have their own sentence.
            expected("enable_hashjoin", ["on", "off"]),
        ];
        assert_eq!(requested(&audit, Class::Read, [0, 1], &[]), None);
        let writes = requested(&audit, Class::Write, [0, 1], &[]).unwrap_or_default();
        assert!(writes.contains("`log_bin` is OFF instead of ON"), "{writes}");
    }

    #[test]
    fn a_leftover_of_a_file_for_all_is_no_cause() {
        let spec = |option: &str| SystemSpec {
            overrides: vec![(option.to_owned(), "1".to_owned())],
            ..SystemSpec::new(Product::MariaDb, Origin::Version("10.11".to_owned()))
        };
        let lacking = |setting: &str| AuditFinding {
            values: vec![Some("1".to_owned()), None],
            ..finding(setting, ["", ""], true, AuditClass::Expected)
        };
        let is_one = |setting: &str, options: [&str; 2]| {
            is_leftover(options.map(spec).iter(), &lacking(setting))
        };
        assert!(is_one("innodb_file_format", ["innodb-file-format", "innodb_file_format"]));
        // Only one system requested it, or its removal matters.
        assert!(!is_one("jit", ["jit", "work_mem"]) && !is_one("jit", ["work_mem", "jit"]));
        assert!(!is_one("query_cache_type", ["query_cache_type", "query_cache_type"]));
        let requested = |setting| requested(&[lacking(setting)], Class::Read, [0, 1], &[]);
        // No option of a system that the other does not know, unless its removal matters.
        assert_eq!(requested("default_authentication_plugin"), None);
        assert_eq!(requested("innodb_file_format"), None);
        let message = requested("query_cache_type");
        let message = message.unwrap_or_default();
        assert!(
            message.contains("`query_cache_type` is unknown to the server instead of 1"),
            "{message}"
        );
    }
}
