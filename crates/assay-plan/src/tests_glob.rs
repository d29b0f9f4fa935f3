//! Selects tests by `--tests GLOB,...`.

use assay_model::{Test, TestSet};
use assay_workloads::tests_of;
use regex_lite::Regex;

use crate::error::{Error, SearchedTests};
use crate::glob;
use crate::limits::at_most;
use crate::nearest::nearest;
use crate::sysbench;

const LENGTH_MAX: usize = 200;

/// Maximum patterns: there are fewer tests.
const PATTERNS: usize = 1000;

/// The tests of `set` that match any of `globs`, in the order of the set; all of them without globs.
pub fn select_tests(set: TestSet, globs: &[String]) -> Result<Vec<Test>, Error> {
    select_of(tests_of(set), globs)
}

pub(crate) fn bounded_patterns(count: usize) -> Result<(), Error> {
    at_most("patterns for tests", count, PATTERNS, "one pattern may match many tests")
}

pub fn select_of(tests: Vec<Test>, globs: &[String]) -> Result<Vec<Test>, Error> {
    if globs.is_empty() {
        return Ok(tests);
    }
    bounded_patterns(globs.len())?;
    let mut any: Vec<Regex> = Vec::with_capacity(globs.len());
    for text in globs {
        any.push(matcher_in(&tests, text)?);
    }
    let is_matched = |test: &Test| any.iter().any(|it| it.is_match(test.name()));
    Ok(tests.into_iter().filter(is_matched).collect())
}

pub fn name_matcher(text: &str) -> Result<impl Fn(&str) -> bool, Error> {
    let fail = |why| Error::Glob { glob: text.to_owned(), why };
    let length = text.chars().count();
    if length > LENGTH_MAX {
        return Err(fail(format!(
            "it has {length} characters, more than the limit of {LENGTH_MAX}"
        )));
    }
    let pattern = glob::regex(text).map_err(fail)?;
    Ok(move |name: &str| pattern.is_match(name))
}

pub(crate) fn matcher_in(tests: &[Test], text: &str) -> Result<Regex, Error> {
    let matcher = matcher(text, tests).map_err(|why| Error::Glob { glob: text.to_owned(), why })?;
    if tests.iter().any(|test| matcher.is_match(test.name())) {
        return Ok(matcher);
    }
    Err(no_such_test(text, tests))
}

/// Matcher of a pattern, or its mistake. The name of a sysbench script means the equivalent microbenchmark, unless the
/// script is one of the tests.
fn matcher(text: &str, tests: &[Test]) -> Result<Regex, String> {
    let length = text.chars().count();
    if length > LENGTH_MAX {
        return Err(format!("it has {length} characters, more than the limit of {LENGTH_MAX}"));
    }
    if are_scripts(tests) {
        return glob::regex(sysbench::named(text).unwrap_or(text));
    }
    glob::regex(sysbench::test_of_script(text).unwrap_or(text))
}

fn are_scripts(tests: &[Test]) -> bool {
    tests.first().is_some_and(|it| it.workload().is_none() && sysbench::is_script(it.name()))
}

fn no_such_test(text: &str, tests: &[Test]) -> Error {
    if are_scripts(tests) {
        return no_such_script(text, tests);
    }
    let glob = sysbench::test_of_script(text).unwrap_or(text);
    let hint = sysbench::script_hint(glob).or_else(|| {
        // A mistyped name of a sysbench script is closest to another script, not to a test.
        let scripts =
            sysbench::scripts().filter(|(_, test)| tests.iter().any(|it| it.name() == *test));
        let scripts: Vec<_> = scripts.collect();
        let mut word = glob.replace('-', "_");
        if sysbench::is_script(&format!("oltp_{word}")) {
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
    Error::NoSuchTest { glob: glob.to_owned(), count: tests.len(), suite, hint }
}

/// Options may leave a script without statements, which removes it from the tests.
fn no_such_script(text: &str, tests: &[Test]) -> Error {
    if let Some(script) = sysbench::named(text) {
        return Error::EmptyScript(script);
    }
    let near = || nearest(sysbench::script(text).as_str(), tests.iter().map(|test| test.name()));
    let meant = sysbench::script_of_test(text).or_else(near);
    let hint = meant.map(|script| format!("did you mean `{script}`"));
    let suite = SearchedTests::Oltp;
    Error::NoSuchTest { glob: text.to_owned(), count: tests.len(), suite, hint }
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
            assert!(matches!(error, Error::Glob { .. }), "{error}");
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
        assert!(matches!(select_tests(TestSet::Set32, &many), Err(Error::TooMany { .. })));
    }

    #[test]
    fn a_glob_without_match_is_an_error_with_the_nearest_name() {
        let error = select_tests(TestSet::Set32, &["point-querry".to_owned()]).unwrap_err();
        let Error::NoSuchTest { hint, .. } = error else { panic!("{error}") };
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
        assert!(matches!(select_tests(TestSet::Set32, &["[".to_owned()]), Err(Error::Glob { .. })));
    }

    #[test]
    fn a_script_that_is_missing_is_explained() {
        let options = OltpOptions { point_selects: 0, range_selects: false, ..Default::default() };
        let refused = |glob: &str| select_of(oltp_tests(&options), &[glob.to_owned()]).unwrap_err();
        assert_eq!(refused("oltp-read-only.lua"), Error::EmptyScript("oltp_read_only"));
        for (glob, meant) in
            [("point-query", "oltp_point_select"), ("oltp_readwrite", "oltp_read_write")]
        {
            assert_eq!(refused(glob).hints()[0], format!("did you mean `{meant}`"));
        }
    }
}
