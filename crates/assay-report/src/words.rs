//! Words and symbols that formats share.

use assay_model::{StudyRecord, System, Verdict};

/// The symbol of a verdict.
pub(crate) fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▲",
        Verdict::Slower => "▼",
        Verdict::Same => "=",
        Verdict::Undecided => "?",
        Verdict::Failed => "✗",
    }
}

/// Index of the base among the systems.
pub(crate) fn base_index(record: &StudyRecord) -> usize {
    record.systems.iter().position(|system| system.is_base).unwrap_or(0)
}

/// The name of a system by index.
pub(crate) fn system_name(record: &StudyRecord, index: usize) -> &str {
    record.systems.get(index).map_or("?", |system| &system.name)
}

/// Where a build comes from: `apt bookworm-security`.
pub(crate) fn source(system: &System) -> String {
    let build = &system.prefix.build;
    format!("{} {}", build.source, build.channel).trim().to_owned()
}

/// A moment as RFC 3339; none outside the years that has.
pub(crate) fn rfc3339(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(|moment| moment.to_string())
}

/// A word as a POSIX shell takes it: as it is where nothing in it has a meaning, else in single quotes.
pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        for plain in ["mariadb@10.11", "mariadb@dir:/opt/a_b+innodb-doublewrite=OFF", "1,4"] {
            assert_eq!(shell_quoted(plain), plain);
        }
        assert_eq!(shell_quoted("mariadb@dir:/my builds"), "'mariadb@dir:/my builds'");
        assert_eq!(shell_quoted("point*"), "'point*'");
        assert_eq!(shell_quoted("~/a"), "'~/a'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted(""), "''");
    }
}
