//! Makes text from servers, archives and ledgers safe to display.

use std::borrow::Cow;

/// Whether a character commands a terminal, breaks a line, changes the order in which text is read or is no character.
/// XML forbids those.
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

/// The character shown in its place: a space for white space, else the replacement character.
fn shown(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_harmful(c) => '\u{fffd}',
        c => c,
    }
}

/// The text on one line, without control characters and marks of direction.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(is_harmful) { text.chars().map(shown).collect() } else { text.into() }
}

/// The same for a text that may have several lines, with tabs in them.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_space = |c| c == '\n' || c == '\t';
    let line_end = |c| if is_space(c) { c } else { shown(c) };
    if text.contains(|c| !is_space(c) && is_harmful(c)) {
        text.chars().map(line_end).collect()
    } else {
        text.into()
    }
}

/// A JSON document with the same content, in which all such characters are escaped.
#[must_use]
pub fn printable_json(document: &str) -> Cow<'_, str> {
    // All of them have one UTF-16 unit, and only strings hold them.
    let is_raw = |c| c != '\n' && is_harmful(c);
    if !document.contains(is_raw) {
        return document.into();
    }
    let escaped = |c: char| {
        if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
    };
    document.chars().map(escaped).collect()
}

/// The characters that begin a formula, as Latin and East Asian scripts write them.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Text that a spreadsheet shows instead of computing it: a formula gets an apostrophe in front. Numbers stay.
#[must_use]
pub fn no_formula(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    if text.trim_start().starts_with(FORMULA) && !is_number() {
        format!("'{text}").into()
    } else {
        text
    }
}

/// Characters that are shown of a long input.
const SHOWN: usize = 80;

/// The beginning of an input that is too long to be repeated whole in an error.
#[must_use]
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
    fn json_keeps_its_content() {
        assert_eq!(
            printable_json("{\n\"a\": \"\u{9b}\u{202e}ü\"}"),
            "{\n\"a\": \"\\u009b\\u202eü\"}"
        );
    }
}
