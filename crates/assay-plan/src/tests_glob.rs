//! Selects tests by `--tests GLOB,...`, where the name of a script of sysbench means the equivalent test.

use assay_model::{Test, TestSet};
use assay_workloads::{OLTP_SCRIPTS, tests_of};
use regex_lite::Regex;

use crate::error::{PlanError, PlanResult, SearchedTests};
use crate::glob;
use crate::limits::at_most;
use crate::nearest::nearest;

const LENGTH_MAX: usize = 200;

/// Maximum patterns: there are fewer tests.
const PATTERNS: usize = 1000;

/// The tests of `set` that match any of `globs`, in the order of the set; all of them without globs.
pub fn select_tests(set: TestSet, globs: &[String]) -> PlanResult<Vec<Test>> {
    select_of(tests_of(set), globs)
}

pub(crate) fn bounded_patterns(count: usize) -> PlanResult<()> {
    at_most("patterns for tests", count, PATTERNS, "one pattern may match many tests")
}

pub fn select_of(tests: Vec<Test>, globs: &[String]) -> PlanResult<Vec<Test>> {
    if globs.is_empty() {
        return Ok(tests);
    }
    bounded_patterns(globs.len())?;
    let any: Vec<Regex> =
        globs.iter().map(|text| matcher_in(&tests, text)).collect::<Result<_, _>>()?;
    let is_matched = |test: &Test| any.iter().any(|it| it.is_match(test.name()));
    Ok(tests.into_iter().filter(is_matched).collect())
}

pub fn name_matcher(text: &str) -> PlanResult<impl Fn(&str) -> bool> {
    let fail = |why| PlanError::Glob { glob: text.to_owned(), why };
    let pattern = bounded(text).and_then(|()| glob::regex(text)).map_err(fail)?;
    Ok(move |name: &str| pattern.is_match(name))
}

pub(crate) fn matcher_in(tests: &[Test], text: &str) -> PlanResult<Regex> {
    let matcher =
        matcher(text, tests).map_err(|why| PlanError::Glob { glob: text.to_owned(), why })?;
    if tests.iter().any(|test| matcher.is_match(test.name())) {
        return Ok(matcher);
    }
    Err(no_such_test(text, tests))
}

/// Matcher of a pattern, or its mistake. The name of a sysbench script means the equivalent microbenchmark, unless the
/// script is one of the tests.
fn matcher(text: &str, tests: &[Test]) -> Result<Regex, String> {
    bounded(text)?;
    let meant = if are_scripts(tests) { script_named(text) } else { test_of_script(text) };
    glob::regex(meant.unwrap_or(text))
}

fn bounded(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if length > LENGTH_MAX {
        return Err(format!("it has {length} characters, more than the limit of {LENGTH_MAX}"));
    }
    Ok(())
}

fn are_scripts(tests: &[Test]) -> bool {
    tests.first().is_some_and(|it| it.workload().is_none() && is_script(it.name()))
}

fn no_such_test(text: &str, tests: &[Test]) -> PlanError {
    if are_scripts(tests) {
        return no_such_script(text, tests);
    }
    let glob = test_of_script(text).unwrap_or(text);
    let hint = script_hint(glob).or_else(|| {
        // A mistyped name of a sysbench script is closest to another script, not to a test.
        let scripts =
            SCRIPTS.into_iter().filter(|(_, test)| tests.iter().any(|it| it.name() == *test));
        let scripts: Vec<_> = scripts.collect();
        let mut word = glob.replace('-', "_");
        if is_script(&format!("oltp_{word}")) {
            word.insert_str(0, "oltp_");
        }
        if word.starts_with("oltp_")
            && let Some(script) = nearest(word.as_str(), scripts.iter().map(|(script, _)| *script))
        {
            let test = scripts.iter().find(|(name, _)| *name == script).map(|(_, test)| *test)?;
            return Some(format!("did you mean `{test}`, sysbench's `{script}`"));
        }
        let name = nearest(glob, tests.iter().map(|test| test.name()))?;
        Some(format!("did you mean `{name}`"))
    });
    let suite = match tests.first() {
        Some(test) if test.workload().is_some() => SearchedTests::Own,
        Some(test) if test.tpcc().is_some() => SearchedTests::Tpcc,
        _ => SearchedTests::Set,
    };
    PlanError::NoSuchTest { glob: glob.to_owned(), count: tests.len(), suite, hint, groups: None }
}

/// Options may leave a script without statements, which removes it from the tests.
fn no_such_script(text: &str, tests: &[Test]) -> PlanError {
    if let Some(script) = script_named(text) {
        return PlanError::EmptyScript(script);
    }
    let near = || nearest(script(text).as_str(), tests.iter().map(|test| test.name()));
    let meant = script_of_test(text).or_else(near);
    let hint = meant.map(|script| format!("did you mean `{script}`"));
    let suite = SearchedTests::Oltp;
    PlanError::NoSuchTest { glob: text.to_owned(), count: tests.len(), suite, hint, groups: None }
}

/// Scripts of sysbench, and the equivalent tests.
const SCRIPTS: [(&str, &str); 8] = [
    ("oltp_point_select", "point-query"),
    ("oltp_read_only", "read-only_range=100"),
    ("oltp_read_write", "read-write_range=100"),
    ("oltp_write_only", "write-only"),
    ("oltp_update_index", "update-index"),
    ("oltp_update_non_index", "update-nonindex"),
    ("oltp_delete", "delete"),
    ("oltp_insert", "insert"),
];

/// Canonical name of a script of sysbench without `.lua`. `-` equals `_`.
fn script(word: &str) -> String {
    word.strip_suffix(".lua").unwrap_or(word).replace('-', "_").to_ascii_lowercase()
}

/// Accepts names with or without `.lua`.
pub fn is_script(word: &str) -> bool {
    script_named(word).is_some()
}

fn script_named(word: &str) -> Option<&'static str> {
    let script = script(word);
    OLTP_SCRIPTS.into_iter().find(|name| *name == script)
}

fn script_of_test(test: &str) -> Option<&'static str> {
    SCRIPTS.into_iter().find(|(_, name)| *name == test).map(|(script, _)| script)
}

fn test_of_script(word: &str) -> Option<&'static str> {
    let script = script(word);
    SCRIPTS.into_iter().find(|(name, _)| *name == script).map(|(_, test)| test)
}

fn script_hint(word: &str) -> Option<String> {
    let is_alone = is_script(word) && test_of_script(word).is_none();
    is_alone.then(|| "`--suite oltp` includes this sysbench script".to_owned())
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;
    use assay_workloads::{OltpOptions, oltp_tests};

    use super::*;

    #[test]
    fn globs_select_in_set_order() {
        let globs = ["point*".to_owned(), "scan".to_owned()];
        let names: Vec<_> =
            select_tests(TestSet::Set32, &globs).unwrap().iter().map(|t| t.name()).collect();
        assert_eq!(
            names,
            [
                "scan",
                "point-query",
                "points-covered-pk",
                "points-notcovered-pk",
                "points-covered-si",
                "points-notcovered-si"
            ]
        );
    }

    #[test]
    fn an_overlong_pattern_is_refused() {
        let refused = |glob: String| {
            let error = select_tests(TestSet::Set32, &[glob]).unwrap_err();
            assert!(matches!(error, PlanError::Glob { .. }), "{error}");
            assert!(error.to_string().chars().count() < 200, "{error}");
            error.to_string()
        };
        assert!(
            refused("*".repeat(120_000))
                .contains("it has 120000 characters, more than the limit of 200")
        );
        assert!(refused("{".repeat(60_000)).contains("60000 characters"));
        assert!(refused("é".repeat(201)).contains("201 characters"));
        assert!(refused("{".repeat(11)).contains("nested more than 10 deep"));
        let names = |glob: &str| select_tests(TestSet::Set32, &[glob.to_owned()]).unwrap().len();
        assert_eq!(names(&"*".repeat(200)), 32);
        assert_eq!(names(&format!("{}scan{}", "{".repeat(10), "}".repeat(10))), 1);
        let many = vec!["scan".to_owned(); 1001];
        assert!(matches!(select_tests(TestSet::Set32, &many), Err(PlanError::TooMany { .. })));
    }

    #[test]
    fn a_glob_without_match_is_an_error_with_the_nearest_name() {
        let error = select_tests(TestSet::Set32, &["point-querry".to_owned()]).unwrap_err();
        let PlanError::NoSuchTest { hint, .. } = error else { panic!("{error}") };
        assert_eq!(hint.as_deref(), Some("did you mean `point-query`"));
        let scripts = ["oltp_point_select", "oltp_read_only"].map(str::to_owned);
        let tests = select_tests(TestSet::Set32, &scripts).unwrap();
        let names: Vec<_> = tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["read-only_range=100", "point-query"]);
        let error = select_tests(TestSet::Set32, &["oltp_point_selct".to_owned()]).unwrap_err();
        assert!(error.hints()[0].contains("`point-query`"), "{:?}", error.hints());
        let error = select_tests(TestSet::Set32, &["read_only".to_owned()]).unwrap_err();
        assert!(error.hints()[0].contains("sysbench's `oltp_read_only`"), "{:?}", error.hints());
        let error = select_tests(TestSet::Set32, &["bulk_insert".to_owned()]).unwrap_err();
        assert!(error.hints()[0].contains("--suite oltp"), "{error}");
        assert!(matches!(
            select_tests(TestSet::Set32, &["[".to_owned()]),
            Err(PlanError::Glob { .. })
        ));
    }

    #[test]
    fn a_script_that_is_missing_is_explained() {
        let options = OltpOptions { point_selects: 0, range_selects: false, ..Default::default() };
        let refused = |glob: &str| select_of(oltp_tests(&options), &[glob.to_owned()]).unwrap_err();
        assert_eq!(refused("oltp-read-only.lua"), PlanError::EmptyScript("oltp_read_only"));
        for (glob, meant) in
            [("point-query", "oltp_point_select"), ("oltp_readwrite", "oltp_read_write")]
        {
            assert_eq!(refused(glob).hints()[0], format!("did you mean `{meant}`"));
        }
    }

    #[test]
    fn scripts_stand_for_tests_that_exist() {
        for (script, test) in SCRIPTS {
            assert!(assay_workloads::test_by_name(test).is_some(), "{test}");
            assert_eq!(test_of_script(&format!("{}.lua", script.replace('_', "-"))), Some(test));
        }
        assert_eq!(test_of_script("point-query"), None);
        assert!(script_hint("bulk_insert").is_some());
    }
}
