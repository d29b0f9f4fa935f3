//! Texts with a character set prefix, as in MySQL and MariaDB.

/// Character sets of a client that writes UTF-8.
const UTF8: [&[u8]; 3] = [b"utf8", b"utf8mb3", b"utf8mb4"];

/// Other ASCII-compatible character sets: an ASCII text means the same without its prefix.
const ASCII: [&[u8]; 17] = [
    b"ascii", b"big5", b"cp1250", b"cp1251", b"cp1256", b"cp1257", b"cp850", b"cp852", b"cp866",
    b"cp932", b"euckr", b"gb18030", b"gb2312", b"gbk", b"koi8r", b"latin1", b"latin2",
];

/// Incompatible or rare ones.
const OTHER: [&[u8]; 17] = [
    b"armscii8",
    b"dec8",
    b"eucjpms",
    b"geostd8",
    b"greek",
    b"hebrew",
    b"hp8",
    b"keybcs2",
    b"koi8u",
    b"latin5",
    b"latin7",
    b"sjis",
    b"ucs2",
    b"ujis",
    b"utf16",
    b"utf16le",
    b"utf32",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    Bytes,
    Nothing,
    /// The bytes are in another character set.
    Set,
}

/// The effect of a word such as `_utf8mb4` on the literal after it; `None` if it is no prefix.
pub(crate) fn prefix(word: &[u8], literal: &[u8]) -> Option<Prefix> {
    let name = word.strip_prefix(b"_")?.to_ascii_lowercase();
    let is = |list: &[&[u8]]| list.contains(&name.as_slice());
    let is_quoted = matches!(literal.first(), Some(b'\'' | b'"'));
    match () {
        () if name == b"binary" => Some(Prefix::Bytes),
        () if is(&UTF8) && is_quoted => Some(Prefix::Nothing),
        () if is(&ASCII) && is_quoted && literal.is_ascii() => Some(Prefix::Nothing),
        () if is(&UTF8) || is(&ASCII) || is(&OTHER) => Some(Prefix::Set),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_say_what_a_text_is() {
        for (word, literal, expected) in [
            ("_binary", "'a'", Some(Prefix::Bytes)),
            ("_BINARY", "x'00'", Some(Prefix::Bytes)),
            ("_utf8mb4", "'é'", Some(Prefix::Nothing)),
            ("_utf8mb4", "x'61'", Some(Prefix::Set)),
            ("_latin1", "'a'", Some(Prefix::Nothing)),
            ("_latin1", "'é'", Some(Prefix::Set)),
            ("_utf16", "'ab'", Some(Prefix::Set)),
            ("_column", "'a'", None),
            ("latin1", "'a'", None),
        ] {
            assert_eq!(prefix(word.as_bytes(), literal.as_bytes()), expected, "{word}{literal}");
        }
    }
}
