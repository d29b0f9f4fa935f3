//! Alphabet of test names. They become parts of file names, scripts and command lines and must be harmless there.

use crate::limits::NAME_BYTES;

/// Whether a text can name a test: ASCII letters, digits and `_-.=+:`, the first of them a letter, a digit or `_`.
pub fn is_test_name(text: &str) -> bool {
    (1..=NAME_BYTES).contains(&text.len())
        && text.chars().all(is_part)
        && !text.starts_with(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Name of a test from a file or a title: `_` replaces invalid characters.
pub fn test_name(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        name.insert(0, '_');
    }
    name.truncate(NAME_BYTES);
    name
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '=' | '+' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_the_alphabet_name_tests() {
        for name in ["point-query", "read-only_range=10", "l.i0", "scan.pre", "7", "_x", "a+b:c"] {
            assert!(is_test_name(name), "{name}");
            assert_eq!(test_name(name), name);
        }
        let long = "x".repeat(NAME_BYTES + 1);
        for name in ["", "-x", ".x", "=x", "a b", "a;b", "$(a)", "a'b", "a\nb", "a/b", "é", &long]
        {
            assert!(!is_test_name(name), "{name}");
            assert!(is_test_name(&test_name(name)), "{name}: {}", test_name(name));
        }
    }
}
