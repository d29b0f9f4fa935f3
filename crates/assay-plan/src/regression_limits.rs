//! Limits of regressions, from words to a limit for each cell.

use assay_model::{Experiment, JudgedFigures, PlannedCell, RegressionLimits, Study, Test, TestSet};
use assay_workloads::{OltpOptions, oltp_tests, test_by_name, tests_of};
use regex_lite::Regex;

use crate::error::{PlanError, PlanResult};
use crate::nearest::nearest;
use crate::request::LimitsRequest;
use crate::tests_glob::{bounded_patterns, is_script, matcher_in};
use assay_options::parse_percent;

enum LimitScope {
    Group(&'static str),
    Tests(Regex),
}

impl LimitScope {
    /// Reads the word of a group of the set, or else a pattern for tests.
    fn parse(text: &str, set: TestSet, tests: &[Test]) -> PlanResult<Self> {
        let mut groups: Vec<&str> = Vec::new();
        for group in tests.iter().map(|test| test.group(set).word.as_str()) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        if let Some(group) = groups.iter().find(|word| **word == text) {
            return Ok(Self::Group(group));
        }
        matcher_in(tests, text).map(Self::Tests).map_err(|error| match error {
            PlanError::NoSuchTest { glob, count, suite, hint, .. } => {
                let group = closest(text, &groups, tests);
                let hint =
                    group.map(|it| format!("did you mean `{it}`, a group of tests")).or(hint);
                PlanError::NoSuchTest { glob, count, suite, hint, groups: Some(groups.join(", ")) }
            }
            other => other,
        })
    }

    fn has(&self, test: Test, set: TestSet) -> bool {
        match self {
            Self::Group(group) => test.group(set).word == *group,
            Self::Tests(pattern) => pattern.is_match(test.name()),
        }
    }
}

fn closest<'a>(text: &str, groups: &[&'a str], tests: &[Test]) -> Option<&'a str> {
    let names = groups.iter().copied().chain(tests.iter().map(|test| test.name()));
    let found = nearest(text, names)?;
    groups.iter().copied().find(|group| *group == found)
}

/// Limit of each cell: the last one that applies to its test, else the default. Limits may name microbenchmarks of the
/// set, or scripts, that the study omits.
pub fn regression_limits(
    request: &LimitsRequest,
    set: TestSet,
    cells: &[PlannedCell],
) -> PlanResult<RegressionLimits> {
    let mut tests: Vec<Test> = cells.iter().map(|cell| cell.id.test).collect();
    let is_micro = |test: &Test| test_by_name(test.name()) == Some(*test);
    let is_script = |test: &Test| test.workload().is_none() && is_script(test.name());
    if tests.iter().all(is_micro) {
        tests = tests_of(set);
    } else if tests.iter().all(is_script) {
        tests = oltp_tests(&OltpOptions::default());
    }
    let limits = limits(request, set, &tests)?;
    let margin = |cell: &PlannedCell| {
        let applies = limits.iter().rfind(|(scope, _)| scope.has(cell.id.test, set));
        applies.map_or(request.most, |(_, most)| *most)
    };
    let margins = cells.iter().map(margin).collect();
    Ok(RegressionLimits { margins, allow_undecided: request.allow_undecided })
}

/// The figure that the limits are about, known in advance; `None` for counts, which the limits name.
pub fn note_on_limits(study: &Study) -> Option<&'static str> {
    let is_timed = study.limits.is_some() && study.experiment != Experiment::Counted;
    is_timed.then_some(match study.judge {
        JudgedFigures::Time => "the limits are about QPS",
        JudgedFigures::Cpu => {
            "the limits are about CPU time per operation of the threads that serve connections; waits do not count"
        }
        JudgedFigures::Both => {
            "the limits are about QPS; CPU time per operation is shown beside it"
        }
    })
}

fn limits(
    request: &LimitsRequest,
    set: TestSet,
    tests: &[Test],
) -> PlanResult<Vec<(LimitScope, f64)>> {
    bounded_patterns(request.limits.len())?;
    let scope = |(text, most): &(String, f64)| Ok((LimitScope::parse(text, set, tests)?, *most));
    request.limits.iter().map(scope).collect()
}

pub(crate) fn check_scope(text: &str, set: TestSet, tests: &[Test]) -> PlanResult<()> {
    LimitScope::parse(text, set, tests).map(drop)
}

/// Reads `GLOB-OR-GROUP=PERCENT`, split at the last equals sign as test names may have one.
pub fn parse_limit(text: &str) -> PlanResult<(String, f64)> {
    let what = "a limit such as `point*=1%` or `writes=5%`";
    let unreadable = || {
        PlanError::Value(assay_options::OptionError::Unreadable { value: text.to_owned(), what })
    };
    let (scope, most) = text.rsplit_once('=').ok_or_else(unreadable)?;
    if scope.is_empty() {
        return Err(unreadable());
    }
    Ok((scope.to_owned(), parse_percent(most)?))
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;
    use crate::{MachineFacts, Request, plan};

    fn planned(limits: &[&str]) -> PlanResult<Vec<(String, f64)>> {
        let limits = limits.iter().map(|text| parse_limit(text)).collect::<Result<_, _>>()?;
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let limits = LimitsRequest { most: 0.03, limits, allow_undecided: false };
        let request = Request { limits: Some(limits), ..Request::of_systems(&words) };
        let machine = MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 50_000, realtime: None };
        let study = plan(&request, machine)?.study;
        let names = study.cells.iter().map(|cell| cell.id.test.name.clone());
        Ok(names.zip(study.limits.unwrap().margins).collect())
    }

    #[test]
    fn the_last_limit_that_applies_counts() {
        let margins = planned(&["writes=10%", "*range=10=5%", "scan=2%", "s*=4%"]).unwrap();
        let margin = |name: &str| margins.iter().find(|(test, _)| test == name).unwrap().1;
        assert_eq!(margin("point-query"), 0.03);
        assert_eq!((margin("update-index"), margin("insert")), (0.1, 0.1));
        // A write, but the later limit applies.
        assert_eq!((margin("read-write_range=10"), margin("read-write_range=100")), (0.05, 0.1));
        assert_eq!(margin("scan"), 0.04);
    }

    #[test]
    fn limits_of_no_test_are_refused() {
        for (typed, meant) in [("wirtes", "writes"), ("writs", "writes"), ("rang-1", "range-1")] {
            let error = planned(&[&format!("{typed}=3%")]).unwrap_err();
            assert!(matches!(error, PlanError::NoSuchTest { groups: Some(_), .. }), "{error}");
            assert_eq!(error.hints()[0], format!("did you mean `{meant}`, a group of tests"));
            assert!(
                error.hints()[1].starts_with("the groups are writes, range-1, range-2, point; "),
                "{:?}",
                error.hints()
            );
        }
        let error = planned(&["point-qury=3%"]).unwrap_err();
        assert_eq!(error.hints()[0], "did you mean `point-query`");
        assert!(matches!(planned(&["[=3%"]), Err(PlanError::Glob { .. })));
        for text in ["writes", "=3%", "writes=3"] {
            assert!(matches!(parse_limit(text), Err(PlanError::Value(_))), "{text}");
        }
    }
}
