//! Options that a user asked for and in which two systems differ.

use assay_model::{AuditClass, AuditFinding};

/// Options that are named before the rest of them is counted.
const NAMED: usize = 2;

/// The longest value that is shown, in characters.
const VALUE_MAX: usize = 60;

/// `performance_schema is ON instead of OFF, as requested`; `None` where no requested option differs. One that has no
/// effect is no difference.
pub(crate) fn requested(audit: &[AuditFinding], [base, system]: [usize; 2]) -> Option<String> {
    let differing = audit.iter().filter(|it| it.is_asked && it.class != AuditClass::Suspicious);
    let differing = differing.filter(|it| !it.setting.starts_with("plan."));
    let mut told: Vec<String> = Vec::new();
    for finding in differing {
        let value = |at: usize| finding.values.get(at).and_then(Option::as_deref);
        if value(base) != value(system) {
            let [before, after] = [value(base), value(system)].map(shown);
            told.push(format!("`{}` is {after} instead of {before}", finding.setting));
        }
    }
    let rest = told.len().saturating_sub(NAMED);
    told.truncate(NAMED);
    let last = (rest > 0).then(|| format!("{rest} more differ"));
    told.extend(last);
    (!told.is_empty()).then(|| format!("as requested, {}", told.join(", ")))
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
    use super::*;

    fn finding(
        setting: &str,
        values: [&str; 2],
        is_asked: bool,
        class: AuditClass,
    ) -> AuditFinding {
        let values = values.into_iter().map(|it| Some(it.to_owned())).collect();
        AuditFinding { setting: setting.to_owned(), values, class, why: String::new(), is_asked }
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
            requested(&audit, [0, 1]).as_deref(),
            Some("as requested, `work_mem` is 1GB instead of 4MB")
        );
        assert_eq!(requested(&audit[..2], [0, 1]), None);
        let many: Vec<_> =
            ["a", "b", "c", "d"].map(|it| finding(it, ["1", "2"], true, Expected)).into();
        assert!(requested(&many, [0, 1]).unwrap_or_default().ends_with(", 2 more differ"));
    }
}
