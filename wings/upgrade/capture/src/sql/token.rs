//! Tokenizes statements in any encoding.

use assay_model::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword or an unquoted name, also `@name` and `@@name`.
    Word,
    Name,
    /// `'...'`, or `"..."` of MySQL and MariaDB.
    Text,
    /// `E'...'` of Postgres.
    Escaped,
    /// A text with an irrelevant prefix, such as `_utf8mb4'...'` and `N'...'` of MySQL and MariaDB.
    Prefixed,
    /// `_binary'...'` of MySQL and MariaDB, a text whose bytes are the value.
    Bytes,
    /// `$tag$...$tag$` of Postgres.
    Dollar,
    /// `x'...'`, or `0x...`, of MySQL and MariaDB.
    Hex,
    /// A literal that is kept, such as `b'01'`.
    Fixed,
    /// A number without sign.
    Number,
    /// A parameter: `?` or `$1`, and `...` of digests.
    Mark,
    /// A comment that servers obey: `/*+ ... */`, `/*! ... */`.
    Hint,
    Symbol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SqlToken {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    /// The byte after the token.
    pub(crate) end: usize,
    /// A blank or a comment precedes it.
    pub(crate) is_spaced: bool,
}

impl SqlToken {
    pub(crate) fn bytes<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn is_value(&self) -> bool {
        use TokenKind::{Bytes, Dollar, Escaped, Hex, Mark, Number, Prefixed, Text};
        matches!(self.kind, Text | Escaped | Prefixed | Bytes | Dollar | Hex | Number | Mark)
    }
}

/// A text and its tokens, by index. There are no bytes beyond the last token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenView<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) tokens: &'t [SqlToken],
}

impl<'t> TokenView<'t> {
    pub(crate) fn kind(self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    pub(crate) fn bytes(self, at: usize) -> &'t [u8] {
        self.tokens.get(at).map_or(b"", |token| token.bytes(self.text))
    }

    pub(crate) fn is_symbol(self, at: usize, symbol: &[u8]) -> bool {
        self.kind(at) == Some(TokenKind::Symbol) && self.bytes(at) == symbol
    }

    /// Whether a token is this keyword, in any case.
    pub(crate) fn is(self, at: usize, word: &str) -> bool {
        self.is_any(at, &[word])
    }

    pub(crate) fn is_any(self, at: usize, words: &[&str]) -> bool {
        self.kind(at) == Some(TokenKind::Word)
            && words.iter().any(|word| self.bytes(at).eq_ignore_ascii_case(word.as_bytes()))
    }

    pub(crate) fn has(self, word: &str) -> bool {
        (0..self.tokens.len()).any(|at| self.is(at, word))
    }

    /// A keyword in capitals; empty if the token is none.
    pub(crate) fn upper(self, at: usize) -> String {
        let is_word = self.kind(at) == Some(TokenKind::Word);
        let bytes = if is_word { self.bytes(at) } else { b"" };
        String::from_utf8_lossy(bytes).to_ascii_uppercase()
    }

    /// A token, without the quotes of a name.
    pub(crate) fn name(self, at: usize) -> &'t [u8] {
        match (self.kind(at), self.bytes(at)) {
            (Some(TokenKind::Name), [_, inside @ .., _]) => inside,
            (_, bytes) => bytes,
        }
    }
}

/// The tokens of a text without hints.
pub(crate) fn tokens_of(text: &[u8], dialect: Dialect) -> Vec<SqlToken> {
    let mut tokens = Vec::new();
    tokenize(text, dialect, &mut tokens);
    tokens.retain(|token| token.kind != TokenKind::Hint);
    tokens
}

/// Tokenizes a text into `tokens`. Returns whether a string, name or comment is unterminated.
pub(crate) fn tokenize(text: &[u8], dialect: Dialect, tokens: &mut Vec<SqlToken>) -> bool {
    tokens.clear();
    let (mut at, mut is_spaced) = (0, false);
    while let Some(first) = text.get(at) {
        if first.is_ascii_whitespace() || *first < b' ' {
            (at, is_spaced) = (at + 1, true);
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let found = one(rest, dialect);
        if let Some(kind) = found.kind {
            tokens.push(SqlToken { kind, start: at, end: at + found.length, is_spaced });
        }
        is_spaced = found.kind.is_none();
        at += found.length.max(1);
        if !found.is_closed {
            return true;
        }
    }
    false
}

/// The token at a position; a comment has no kind.
struct ScannedToken {
    kind: Option<TokenKind>,
    length: usize,
    is_closed: bool,
}

fn token(kind: TokenKind, length: usize) -> ScannedToken {
    ScannedToken { kind: Some(kind), length, is_closed: true }
}

fn one(rest: &[u8], dialect: Dialect) -> ScannedToken {
    let is_mysql = dialect == Dialect::MySql;
    let first = rest.first().copied().unwrap_or_default();
    let next = rest.get(1).copied().unwrap_or_default();
    let of_quoted = |kind, prefix: usize, has_escapes| {
        let (length, is_closed) = quoted(rest, prefix, has_escapes);
        ScannedToken { kind: Some(kind), length, is_closed }
    };
    match first {
        b'\'' => of_quoted(TokenKind::Text, 0, is_mysql),
        b'"' if is_mysql => of_quoted(TokenKind::Text, 0, true),
        b'"' | b'`' => of_quoted(TokenKind::Name, 0, false),
        b'x' | b'X' if next == b'\'' && is_mysql => of_quoted(TokenKind::Hex, 1, false),
        b'n' | b'N' if next == b'\'' && is_mysql => of_quoted(TokenKind::Prefixed, 1, true),
        b'_' if is_mysql => introduced(rest),
        b'b' | b'B' | b'n' | b'N' | b'x' | b'X' if next == b'\'' => {
            of_quoted(TokenKind::Fixed, 1, is_mysql)
        }
        b'e' | b'E' if next == b'\'' && !is_mysql => of_quoted(TokenKind::Escaped, 1, true),
        b'u' | b'U' if !is_mysql && next == b'&' && matches!(rest.get(2), Some(b'\'' | b'"')) => {
            of_quoted(TokenKind::Fixed, 2, false)
        }
        b'#' if is_mysql => comment(line(rest)),
        b'-' if next == b'-' && (!is_mysql || rest.get(2).is_none_or(|it| *it <= b' ')) => {
            comment(line(rest))
        }
        b'/' if next == b'*' => block(rest, is_mysql),
        b'$' if !is_mysql => dollar(rest),
        b'?' if is_mysql => token(TokenKind::Mark, 1),
        // Digests of the server have it for several values.
        b'.' if is_mysql && rest.starts_with(b"...") => token(TokenKind::Mark, 3),
        b'0' if is_mysql && matches!(next, b'x' | b'X') && is_hex(rest.get(2)) => {
            token(TokenKind::Hex, 2 + count(rest, 2, |it| it.is_ascii_hexdigit()))
        }
        b'0'..=b'9' => number(rest),
        b'.' if next.is_ascii_digit() => number(rest),
        b'@' if is_mysql => variable(rest),
        _ if is_word(first) => token(TokenKind::Word, word(rest)),
        _ => token(TokenKind::Symbol, symbol(rest)),
    }
}

fn word(rest: &[u8]) -> usize {
    count(rest, 0, |it| is_word(it) || it.is_ascii_digit() || it == b'$')
}

/// A text with a character set prefix, if that does not affect its syntax; otherwise a word.
fn introduced(rest: &[u8]) -> ScannedToken {
    let length = word(rest);
    let blanks = count(rest, length, |it| it.is_ascii_whitespace());
    let open = length + blanks;
    if matches!(rest.get(open), Some(b'\'' | b'"')) {
        let (end, is_closed) = quoted(rest, open, true);
        let name = rest.get(..length).unwrap_or_default();
        let kind = match prefix(name, rest.get(open..end).unwrap_or_default()) {
            Some(CharsetPrefix::Nothing) => Some(TokenKind::Prefixed),
            Some(CharsetPrefix::Bytes) => Some(TokenKind::Bytes),
            Some(CharsetPrefix::Set) | None => None,
        };
        if kind.is_some() {
            return ScannedToken { kind, length: end, is_closed };
        }
    }
    token(TokenKind::Word, length)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_hex(byte: Option<&u8>) -> bool {
    byte.is_some_and(u8::is_ascii_hexdigit)
}

/// End of the run of matching bytes from `from` on.
fn count(rest: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    rest.get(from..).unwrap_or_default().iter().take_while(|byte| is_part(**byte)).count()
}

fn comment(length: usize) -> ScannedToken {
    ScannedToken { kind: None, length, is_closed: true }
}

fn line(rest: &[u8]) -> usize {
    count(rest, 0, |it| it != b'\n')
}

/// A block comment, which Postgres nests.
fn block(rest: &[u8], is_mysql: bool) -> ScannedToken {
    let third = rest.get(2).copied().unwrap_or_default();
    let is_executed = is_mysql && (third == b'!' || (third == b'M' && rest.get(3) == Some(&b'!')));
    let kind = (third == b'+' || is_executed).then_some(TokenKind::Hint);
    let (mut depth, mut at) = (1, 2);
    while let Some(pair) = rest.get(at..at + 2) {
        match pair {
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return ScannedToken { kind, length: at, is_closed: true };
                }
            }
            b"/*" if !is_mysql => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
    }
    ScannedToken { kind, length: rest.len(), is_closed: false }
}

/// `$1`, `$tag$...$tag$`, or a sign.
fn dollar(rest: &[u8]) -> ScannedToken {
    let digits = count(rest, 1, |it| it.is_ascii_digit());
    if digits > 0 {
        return token(TokenKind::Mark, 1 + digits);
    }
    let tag = 1 + count(rest, 1, |it| is_word(it) || it.is_ascii_digit());
    if rest.get(tag) != Some(&b'$') {
        return token(TokenKind::Symbol, 1);
    }
    let mark = rest.get(..=tag).unwrap_or_default();
    let body = rest.get(mark.len()..).unwrap_or_default();
    match find(body, mark) {
        Some(at) => token(TokenKind::Dollar, mark.len() + at + mark.len()),
        None => {
            ScannedToken { kind: Some(TokenKind::Dollar), length: rest.len(), is_closed: false }
        }
    }
}

pub(crate) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let first = part.first()?;
    let mut at = 0;
    loop {
        at += text.get(at..)?.iter().position(|byte| byte == first)?;
        if text.get(at..)?.starts_with(part) {
            return Some(at);
        }
        at += 1;
    }
}

/// Digits with a fraction and an exponent. Digits followed by letters are a name, such as `2nd`.
fn number(rest: &[u8]) -> ScannedToken {
    let mut at = count(rest, 0, |it| it.is_ascii_digit() || it == b'_');
    if rest.get(at) == Some(&b'.') {
        at += 1 + count(rest, at + 1, |it| it.is_ascii_digit());
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let digits = count(rest, at + 1 + sign, |it| it.is_ascii_digit());
        if digits > 0 {
            at += 1 + sign + digits;
        }
    }
    match rest.get(at) {
        Some(next) if is_word(*next) => {
            let more = count(rest, at, |it| is_word(it) || it.is_ascii_digit() || it == b'$');
            token(TokenKind::Word, at + more)
        }
        _ => token(TokenKind::Number, at),
    }
}

/// `@name`, `@@name`, `@'name'`.
fn variable(rest: &[u8]) -> ScannedToken {
    let signs = count(rest, 0, |it| it == b'@').min(2);
    if matches!(rest.get(signs), Some(b'\'' | b'"' | b'`')) {
        let (length, is_closed) = quoted(rest, signs, false);
        return ScannedToken { kind: Some(TokenKind::Word), length, is_closed };
    }
    let is_part = |it| is_word(it) || it.is_ascii_digit() || it == b'$' || it == b'.';
    token(TokenKind::Word, signs + count(rest, signs, is_part))
}

fn symbol(rest: &[u8]) -> usize {
    const LONG: [&[u8]; 17] = [
        b"->>", b"#>>", b"<=>", b"->", b"#>", b"<=", b">=", b"<>", b"!=", b"::", b":=", b"||",
        b"&&", b"@>", b"<@", b"<<", b">>",
    ];
    LONG.iter().find(|it| rest.starts_with(it)).map_or(1, |it| it.len())
}

/// The bytes of a quoted text after a prefix, and whether it is terminated. A doubled quote is part of it.
fn quoted(rest: &[u8], prefix: usize, has_escapes: bool) -> (usize, bool) {
    let Some(quote) = rest.get(prefix).copied() else { return (rest.len(), false) };
    let mut at = prefix + 1;
    while let Some(byte) = rest.get(at) {
        if *byte == b'\\' && has_escapes {
            at += 2;
        } else if *byte == quote {
            if rest.get(at + 1) != Some(&quote) {
                return (at + 1, true);
            }
            at += 2;
        } else {
            at += 1;
        }
    }
    (rest.len(), false)
}

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
pub(crate) enum CharsetPrefix {
    Bytes,
    Nothing,
    /// The bytes are in another character set.
    Set,
}

/// The effect of a word such as `_utf8mb4` on the literal after it; `None` if it is no prefix.
pub(crate) fn prefix(word: &[u8], literal: &[u8]) -> Option<CharsetPrefix> {
    let name = word.strip_prefix(b"_")?.to_ascii_lowercase();
    let is = |list: &[&[u8]]| list.contains(&name.as_slice());
    let is_quoted = matches!(literal.first(), Some(b'\'' | b'"'));
    match () {
        () if name == b"binary" => Some(CharsetPrefix::Bytes),
        () if is(&UTF8) && is_quoted => Some(CharsetPrefix::Nothing),
        () if is(&ASCII) && is_quoted && literal.is_ascii() => Some(CharsetPrefix::Nothing),
        () if is(&UTF8) || is(&ASCII) || is(&OTHER) => Some(CharsetPrefix::Set),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<(TokenKind, &str)> {
        let mut tokens = Vec::new();
        tokenize(text.as_bytes(), dialect, &mut tokens);
        tokens.iter().map(|it| (it.kind, text.get(it.start..it.end).unwrap())).collect()
    }

    #[test]
    fn tokens_follow_the_dialect() {
        use TokenKind::{
            Dollar, Escaped, Fixed, Hex, Hint, Mark, Name, Number, Symbol, Text, Word,
        };
        assert_eq!(
            kinds("SELECT`a b`,\"x\\\"y\",0xff,x'00',.5,1e-3,@v,a.b#c\n/*+ h */ ?", Dialect::MySql),
            [
                (Word, "SELECT"),
                (Name, "`a b`"),
                (Symbol, ","),
                (Text, "\"x\\\"y\""),
                (Symbol, ","),
                (Hex, "0xff"),
                (Symbol, ","),
                (Hex, "x'00'"),
                (Symbol, ","),
                (Number, ".5"),
                (Symbol, ","),
                (Number, "1e-3"),
                (Symbol, ","),
                (Word, "@v"),
                (Symbol, ","),
                (Word, "a"),
                (Symbol, "."),
                (Word, "b"),
                (Hint, "/*+ h */"),
                (Mark, "?")
            ]
        );
        assert_eq!(
            kinds(
                "\"a\"->>'it''s'::int[] $1 $$x'$$ E'\\'' b'1' /* a /* b */ c */ -- z\n?",
                Dialect::Postgres
            ),
            [
                (Name, "\"a\""),
                (Symbol, "->>"),
                (Text, "'it''s'"),
                (Symbol, "::"),
                (Word, "int"),
                (Symbol, "["),
                (Symbol, "]"),
                (Mark, "$1"),
                (Dollar, "$$x'$$"),
                (Escaped, "E'\\''"),
                (Fixed, "b'1'"),
                (Symbol, "?")
            ]
        );
    }

    #[test]
    fn what_has_no_end_is_told() {
        let mut tokens = Vec::new();
        for text in ["SELECT 'a", "SELECT `a", "SELECT /* a", "'a\\"] {
            assert!(tokenize(text.as_bytes(), Dialect::MySql, &mut tokens), "{text}");
        }
        assert!(tokenize(b"SELECT $$a", Dialect::Postgres, &mut tokens));
        assert!(!tokenize(b"SELECT 'a' -- b", Dialect::Postgres, &mut tokens));
    }

    #[test]
    fn prefixes_say_what_a_text_is() {
        for (word, literal, expected) in [
            ("_binary", "'a'", Some(CharsetPrefix::Bytes)),
            ("_BINARY", "x'00'", Some(CharsetPrefix::Bytes)),
            ("_utf8mb4", "'é'", Some(CharsetPrefix::Nothing)),
            ("_utf8mb4", "x'61'", Some(CharsetPrefix::Set)),
            ("_latin1", "'a'", Some(CharsetPrefix::Nothing)),
            ("_latin1", "'é'", Some(CharsetPrefix::Set)),
            ("_utf16", "'ab'", Some(CharsetPrefix::Set)),
            ("_column", "'a'", None),
            ("latin1", "'a'", None),
        ] {
            assert_eq!(prefix(word.as_bytes(), literal.as_bytes()), expected, "{word}{literal}");
        }
    }
}
