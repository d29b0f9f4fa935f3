//! Shell patterns: `*`, `?`, `[a-z]`, `[!a-z]`, `{this,that}`, and `\` before a literal character.
//!
//! A pattern becomes a regular expression, which is matched in linear time.

use std::iter::Peekable;
use std::str::Chars;

use regex_lite::Regex;

/// Maximum nesting of braces, which are parsed recursively.
const DEPTH_MAX: usize = 10;

/// Regular expression that matches a whole text, or why the pattern is malformed.
pub fn regex(pattern: &str) -> Result<Regex, String> {
    let mut regex = String::from("^");
    let mut depth = 0_usize;
    let mut rest = pattern.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => class(&mut rest, &mut regex)?,
            '{' if depth == DEPTH_MAX => {
                return Err(format!("its braces are nested more than {DEPTH_MAX} deep"));
            }
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            ',' if depth > 0 => regex.push('|'),
            '}' => {
                depth = depth.checked_sub(1).ok_or("unopened alternate group; missing '{'")?;
                regex.push(')');
            }
            '\\' => literal(rest.next().ok_or("dangling '\\'")?, &mut regex),
            other => literal(other, &mut regex),
        }
    }
    if depth > 0 {
        return Err("unclosed alternate group; missing '}'".to_owned());
    }
    regex.push('$');
    Regex::new(&regex).map_err(|error| error.to_string())
}

/// Parses the characters between brackets, after the first bracket.
fn class(rest: &mut Peekable<Chars<'_>>, regex: &mut String) -> Result<(), String> {
    let is_negated = rest.next_if(|next| matches!(next, '!' | '^')).is_some();
    regex.push_str(if is_negated { "[^" } else { "[" });
    let mut is_first = true;
    loop {
        match rest.next().ok_or("unclosed character class; missing ']'")? {
            // A class is not empty: a bracket that comes first is a member.
            ']' if !is_first => break,
            '-' => regex.push('-'),
            member => literal(member, regex),
        }
        is_first = false;
    }
    regex.push(']');
    Ok(())
}

fn literal(character: char, regex: &mut String) {
    regex.push_str(&regex_lite::escape(character.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("scan", &["scan"], &["scan2", "a-scan", "Scan"]),
            ("point*", &["point", "point-query"], &["a-point"]),
            ("**-?i*", &["a-si", "points-si-x"], &["si", "a-ksi"]),
            ("[a-c]x", &["ax", "cx"], &["dx", "-x", "x"]),
            ("[!a-c]x", &["dx", "-x"], &["ax", "x"]),
            ("[]^-]x", &["]x", "^x", "-x"], &["\\x", "x"]),
            ("{a,b-{c,*d},}", &["a", "b-c", "b-d", "b-xd", ""], &["b", "b-", "a,b-c"]),
            (r"\*\{a.b+", &["*{a.b+"], &["x{a.b+", "*{axbb"]),
            ("a,!b", &["a,!b"], &["a", "b"]),
        ];
        for (pattern, matched, others) in cases {
            let regex = regex(pattern).unwrap();
            for text in matched {
                assert!(regex.is_match(text), "{pattern} {text}");
            }
            for text in others {
                assert!(!regex.is_match(text), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (pattern, why) in [
            ("[a", "missing ']'"),
            ("[]", "missing ']'"),
            ("{a,b", "missing '}'"),
            ("a}", "missing '{'"),
            ("a\\", "dangling '\\'"),
            ("[z-a]", ""),
        ] {
            let error = regex(pattern).unwrap_err();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }

    #[test]
    fn a_hostile_pattern_is_matched_at_once() {
        let regex = regex(&"{*,*,*}".repeat(28)).unwrap();
        assert!(regex.is_match(&"a".repeat(1000)));
    }
}
