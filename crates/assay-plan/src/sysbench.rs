//! sysbench's scripts, and the equivalent tests.

use assay_workloads::OLTP_SCRIPTS;

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

/// Canonical name of a script without `.lua`. `-` equals `_`.
pub(crate) fn script(word: &str) -> String {
    word.strip_suffix(".lua").unwrap_or(word).replace('-', "_").to_ascii_lowercase()
}

/// Accepts names with or without `.lua`.
#[must_use]
pub fn is_script(word: &str) -> bool {
    named(word).is_some()
}

pub(crate) fn named(word: &str) -> Option<&'static str> {
    let script = script(word);
    OLTP_SCRIPTS.into_iter().find(|name| *name == script)
}

pub(crate) fn script_of_test(test: &str) -> Option<&'static str> {
    SCRIPTS.into_iter().find(|(_, name)| *name == test).map(|(script, _)| script)
}

pub(crate) fn test_of_script(word: &str) -> Option<&'static str> {
    let script = script(word);
    SCRIPTS.into_iter().find(|(name, _)| *name == script).map(|(_, test)| test)
}

pub(crate) fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCRIPTS.into_iter()
}

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
