//! sysbench's scripts, and the tests that do the same work.

use assay_workloads::OLTP_SCRIPTS;

/// Scripts that do the work of a microbenchmark, with sysbench's defaults.
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

/// The script as sysbench calls it, without `.lua`. `-` means the same as `_`.
pub(crate) fn script(word: &str) -> String {
    word.strip_suffix(".lua").unwrap_or(word).replace('-', "_").to_ascii_lowercase()
}

/// Whether the word is the name of a script of sysbench, with or without `.lua`.
#[must_use]
pub fn is_script(word: &str) -> bool {
    named(word).is_some()
}

/// The script of that name, with or without `.lua`.
pub(crate) fn named(word: &str) -> Option<&'static str> {
    let script = script(word);
    OLTP_SCRIPTS.into_iter().find(|name| *name == script)
}

/// The script that does the same work as a test.
pub(crate) fn script_of_test(test: &str) -> Option<&'static str> {
    SCRIPTS.into_iter().find(|(_, name)| *name == test).map(|(script, _)| script)
}

/// The test that does the same work as a script of sysbench.
pub(crate) fn test_of_script(word: &str) -> Option<&'static str> {
    let script = script(word);
    SCRIPTS.into_iter().find(|(name, _)| *name == script).map(|(_, test)| test)
}

/// The names of sysbench's scripts, each with the corresponding test.
pub(crate) fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCRIPTS.into_iter()
}

/// Advice for a script without a corresponding test.
pub(crate) fn script_hint(word: &str) -> Option<String> {
    let is_alone = is_script(word) && test_of_script(word).is_none();
    is_alone.then(|| "`--suite oltp` includes this sysbench script".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
