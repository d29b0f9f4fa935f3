//! Makes text from servers, archives and ledgers safe to display.

use std::borrow::Cow;

/// Whether a character controls a terminal, breaks a line, changes text direction or is a noncharacter. XML forbids
/// noncharacters.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{206f}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
        )
}

/// Replacement for display: a space for white space, else the replacement character.
fn shown(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_harmful(c) => '\u{fffd}',
        c => c,
    }
}

/// The text on one line, without control characters, direction marks and commands of CI systems.
pub fn printable(text: &str) -> Cow<'_, str> {
    let text = without_commands(text);
    if text.contains(is_harmful) { text.chars().map(shown).collect() } else { text }
}

/// Like [`printable`], but keeps line breaks and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let text = without_commands(text);
    let is_space = |c| c == '\n' || c == '\t';
    let line_end = |c| if is_space(c) { c } else { shown(c) };
    let is_raw = |c| !is_space(c) && is_harmful(c);
    if text.contains(is_raw) { text.chars().map(line_end).collect() } else { text }
}

/// Positions where a CI system would find a command in its log: of the second of two equal characters. GitHub reads
/// `::error::` at the beginning of a line, even after one word; it reads `##[error]` anywhere, as others read
/// `##vso[...]` and `##teamcity[...]`.
fn commands(text: &str) -> Vec<usize> {
    if !text.contains("::") && !text.contains("##") {
        return Vec::new();
    }
    let is_command = |at: &usize| {
        let (before, rest) = text.split_at(*at);
        let after = rest.get(2..).unwrap_or_default();
        let is_first = !before.ends_with(|c: char| !c.is_whitespace() && !is_harmful(c));
        let word = after.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        match rest.as_bytes() {
            [b':', b':', letter, ..] => is_first && letter.is_ascii_alphabetic(),
            [b'#', b'#', ..] => word.starts_with('['),
            _ => false,
        }
    };
    let marks = text.char_indices().filter(|(_, c)| matches!(c, ':' | '#')).map(|(at, _)| at);
    marks.filter(is_command).map(|at| at + 1).collect()
}

/// Breaks CI commands with a space.
fn without_commands(text: &str) -> Cow<'_, str> {
    split_at(text, &commands(text), " ")
}

fn split_at<'t>(text: &'t str, places: &[usize], put: &str) -> Cow<'t, str> {
    if places.is_empty() {
        return text.into();
    }
    let (mut split, mut from) = (String::with_capacity(text.len() + places.len()), 0);
    for at in places {
        split.push_str(text.get(from..*at).unwrap_or_default());
        split.push_str(put);
        from = *at;
    }
    split.push_str(text.get(from..).unwrap_or_default());
    split.into()
}

/// Escapes such characters in a JSON document, and one of each command, without changing its content.
pub fn printable_json(document: &str) -> Cow<'_, str> {
    // All of them have one UTF-16 unit and occur only in strings.
    let is_raw = |c| c != '\n' && is_harmful(c);
    let commands = commands(document);
    if !document.contains(is_raw) && commands.is_empty() {
        return document.into();
    }
    let mut commands = commands.into_iter().peekable();
    let mut escaped = String::with_capacity(document.len());
    for (at, c) in document.char_indices() {
        if commands.next_if_eq(&at).is_some() || is_raw(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Prefixes formulas with an apostrophe so that spreadsheets show them as text. Numbers stay.
pub fn no_formula(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if text.trim_start().starts_with(FORMULA) && !is_number() {
        format!("'{text}").into()
    } else {
        text
    }
}

const SHOWN: usize = 80;

/// Beginning of an input that is too long to be repeated whole in an error.
pub fn shortened(input: &str) -> Cow<'_, str> {
    match input.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &input[..end]).into(),
        None => input.into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_input_is_shortened() {
        let whole = "é".repeat(80);
        assert_eq!(shortened(&whole), whole);
        assert_eq!(shortened(&format!("{whole}x")), format!("{whole}…"));
    }

    use super::*;

    const EVIL: &str = "a\x1b[2J\u{9b}1m\x07\u{202e}b\u{2067}\u{200f}\u{61c}\u{2028}\x7fc\r\nd\te";

    #[test]
    fn harmful_characters_are_removed_and_others_kept() {
        assert_eq!(printable(EVIL), "a�[2J�1m��b�����c  d e");
        assert_eq!(printable_lines("a\tb\nb\x1b"), "a\tb\nb\u{fffd}");
        let plain = "größe 数 → ▲ 🐬 a\u{200b}b";
        assert!(matches!(printable(plain), Cow::Borrowed(it) if it == plain));
        assert!(matches!(printable_lines("a\nb"), Cow::Borrowed("a\nb")));
    }

    #[test]
    fn no_text_is_a_command_of_a_ci_system() {
        for (text, shown) in [
            ("::error file=x::boom", ": :error file=x::boom"),
            ("  ::add-mask::secret", "  : :add-mask::secret"),
            ("a ::set-output name=x::1", "a : :set-output name=x::1"),
            ("a\u{7f}::error::x", "a\u{fffd}: :error::x"),
            ("x ##[error]boom", "x # #[error]boom"),
            ("####[group]x", "### #[group]x"),
            ("##vso[task.setvariable]x", "# #vso[task.setvariable]x"),
            ("##teamcity[blockOpened]", "# #teamcity[blockOpened]"),
            ("section_start:1:x\r\u{1b}[0K", "section_start:1:x \u{fffd}[0K"),
        ] {
            assert_eq!(printable(text), shown);
            assert!(commands(&printable(text)).is_empty(), "{text}");
        }
        assert_eq!(printable_lines("a\n::error::x"), "a\n: :error::x");
        for text in ["std::vector", "'1'::bigint", "::1", "## Heading", "#[test]", "a:: b", "::"] {
            assert!(matches!(printable(text), Cow::Borrowed(it) if it == text), "{text}");
        }
        let json = printable_json("{\"a\": \"##[error]x ::error::y\"}");
        assert_eq!(json, "{\"a\": \"#\\u0023[error]x :\\u003aerror::y\"}");
    }

    #[test]
    fn json_keeps_its_content() {
        assert_eq!(
            printable_json("{\n\"a\": \"\u{9b}\u{202e}ü\"}"),
            "{\n\"a\": \"\\u009b\\u202eü\"}"
        );
    }
}
