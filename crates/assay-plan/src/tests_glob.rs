//! `--tests GLOB,...` to microbenchmarks.

use assay_model::{Microbenchmark, TestSet};
use globset::{Glob, GlobSetBuilder};

use crate::Error;
use crate::habits;
use crate::nearest::nearest;

/// The tests of `set` that match any of `globs`, in the order of the set; all of them when there are no globs.
///
/// # Errors
/// [`Error::Glob`] for a pattern that cannot be read, [`Error::NoSuchTest`] for one that matches nothing.
pub fn select_tests(set: TestSet, globs: &[String]) -> Result<Vec<Microbenchmark>, Error> {
    let tests = set.tests();
    if globs.is_empty() {
        return Ok(tests);
    }
    let mut builder = GlobSetBuilder::new();
    for text in globs {
        let text = habits::test_of_script(text).unwrap_or(text);
        let glob = Glob::new(text).map_err(|error| Error::Glob {
            glob: text.to_owned(),
            why: error.kind().to_string(),
        })?;
        let matcher = glob.compile_matcher();
        if !tests.iter().any(|test| matcher.is_match(test.name())) {
            return Err(no_such_test(text, &tests));
        }
        builder.add(glob);
    }
    let any = builder
        .build()
        .map_err(|error| Error::Glob { glob: globs.join(","), why: error.to_string() })?;
    Ok(tests.into_iter().filter(|test| any.is_match(test.name())).collect())
}

fn no_such_test(glob: &str, tests: &[Microbenchmark]) -> Error {
    let hint = habits::script_hint(glob).or_else(|| {
        // A script of sysbench's that is mistyped is like another script, not like a test.
        let scripts =
            habits::scripts().filter(|(_, test)| tests.iter().any(|it| it.name() == *test));
        let scripts: Vec<_> = scripts.collect();
        let word = glob.replace('-', "_");
        if word.starts_with("oltp_")
            && let Some(script) = nearest(word.as_str(), scripts.iter().map(|(script, _)| *script))
        {
            let test = scripts.iter().find(|(name, _)| *name == script).map(|(_, test)| *test)?;
            return Some(format!("did you mean `{test}`, sysbench's `{script}`"));
        }
        let name = nearest(glob, tests.iter().map(|test| test.name()))?;
        Some(format!("did you mean `{name}`"))
    });
    Error::NoSuchTest { glob: glob.to_owned(), count: tests.len(), hint }
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

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
    fn a_glob_without_match_is_an_error_with_the_nearest_name() {
        let error = select_tests(TestSet::Set32, &["point-querry".to_owned()]).unwrap_err();
        let Error::NoSuchTest { hint, .. } = error else { panic!("{error}") };
        assert_eq!(hint.as_deref(), Some("did you mean `point-query`"));
        let scripts = ["oltp_point_select", "oltp_read_only"].map(str::to_owned);
        let tests = select_tests(TestSet::Set32, &scripts).unwrap();
        let names: Vec<_> = tests.iter().map(|test| test.name()).collect();
        assert_eq!(names, ["read-only_range=100", "point-query"]);
        let error = select_tests(TestSet::Set32, &["oltp_point_selct".to_owned()]).unwrap_err();
        assert!(error.hints()[0].contains("`point-query`"), "{:?}", error.hints());
        let error = select_tests(TestSet::Set32, &["bulk_insert".to_owned()]).unwrap_err();
        assert!(error.hints()[0].contains("assay load"), "{error}");
        assert!(matches!(select_tests(TestSet::Set32, &["[".to_owned()]), Err(Error::Glob { .. })));
    }
}
