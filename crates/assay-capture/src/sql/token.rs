//! Tokenizes statements in any encoding.

use assay_model::Dialect;

use super::prefix::{Prefix, prefix};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    /// The byte after the token.
    pub(crate) end: usize,
    /// A blank or a comment precedes it.
    pub(crate) is_spaced: bool,
}

impl Token {
    pub(crate) fn of<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }

    pub(crate) fn is_value(&self) -> bool {
        use Kind::{Bytes, Dollar, Escaped, Hex, Mark, Number, Prefixed, Text};
        matches!(self.kind, Text | Escaped | Prefixed | Bytes | Dollar | Hex | Number | Mark)
    }
}

/// Tokenizes a text into `tokens`. Returns whether a string, name or comment is unterminated.
pub(crate) fn tokenize(text: &[u8], dialect: Dialect, tokens: &mut Vec<Token>) -> bool {
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
            tokens.push(Token { kind, start: at, end: at + found.length, is_spaced });
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
struct Found {
    kind: Option<Kind>,
    length: usize,
    is_closed: bool,
}

fn token(kind: Kind, length: usize) -> Found {
    Found { kind: Some(kind), length, is_closed: true }
}

fn one(rest: &[u8], dialect: Dialect) -> Found {
    let is_mysql = dialect == Dialect::MySql;
    let first = rest.first().copied().unwrap_or_default();
    let next = rest.get(1).copied().unwrap_or_default();
    let of_quoted = |kind, prefix: usize, has_escapes| {
        let (length, is_closed) = quoted(rest, prefix, has_escapes);
        Found { kind: Some(kind), length, is_closed }
    };
    match first {
        b'\'' => of_quoted(Kind::Text, 0, is_mysql),
        b'"' if is_mysql => of_quoted(Kind::Text, 0, true),
        b'"' | b'`' => of_quoted(Kind::Name, 0, false),
        b'x' | b'X' if next == b'\'' && is_mysql => of_quoted(Kind::Hex, 1, false),
        b'n' | b'N' if next == b'\'' && is_mysql => of_quoted(Kind::Prefixed, 1, true),
        b'_' if is_mysql => introduced(rest),
        b'b' | b'B' | b'n' | b'N' | b'x' | b'X' if next == b'\'' => {
            of_quoted(Kind::Fixed, 1, is_mysql)
        }
        b'e' | b'E' if next == b'\'' && !is_mysql => of_quoted(Kind::Escaped, 1, true),
        b'u' | b'U' if !is_mysql && next == b'&' && matches!(rest.get(2), Some(b'\'' | b'"')) => {
            of_quoted(Kind::Fixed, 2, false)
        }
        b'#' if is_mysql => comment(line(rest)),
        b'-' if next == b'-' && (!is_mysql || rest.get(2).is_none_or(|it| *it <= b' ')) => {
            comment(line(rest))
        }
        b'/' if next == b'*' => block(rest, is_mysql),
        b'$' if !is_mysql => dollar(rest),
        b'?' if is_mysql => token(Kind::Mark, 1),
        // Digests of the server have it for several values.
        b'.' if is_mysql && rest.starts_with(b"...") => token(Kind::Mark, 3),
        b'0' if is_mysql && matches!(next, b'x' | b'X') && is_hex(rest.get(2)) => {
            token(Kind::Hex, 2 + count(rest, 2, |it| it.is_ascii_hexdigit()))
        }
        b'0'..=b'9' => number(rest),
        b'.' if next.is_ascii_digit() => number(rest),
        b'@' if is_mysql => variable(rest),
        _ if is_word(first) => token(Kind::Word, word(rest)),
        _ => token(Kind::Symbol, symbol(rest)),
    }
}

fn word(rest: &[u8]) -> usize {
    count(rest, 0, |it| is_word(it) || it.is_ascii_digit() || it == b'$')
}

/// A text with a character set prefix, if that does not affect its syntax; otherwise a word.
fn introduced(rest: &[u8]) -> Found {
    let length = word(rest);
    let blanks = count(rest, length, |it| it.is_ascii_whitespace());
    let open = length + blanks;
    if matches!(rest.get(open), Some(b'\'' | b'"')) {
        let (end, is_closed) = quoted(rest, open, true);
        let name = rest.get(..length).unwrap_or_default();
        let kind = match prefix(name, rest.get(open..end).unwrap_or_default()) {
            Some(Prefix::Nothing) => Some(Kind::Prefixed),
            Some(Prefix::Bytes) => Some(Kind::Bytes),
            Some(Prefix::Set) | None => None,
        };
        if kind.is_some() {
            return Found { kind, length: end, is_closed };
        }
    }
    token(Kind::Word, length)
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

fn comment(length: usize) -> Found {
    Found { kind: None, length, is_closed: true }
}

fn line(rest: &[u8]) -> usize {
    count(rest, 0, |it| it != b'\n')
}

/// A block comment, which Postgres nests.
fn block(rest: &[u8], is_mysql: bool) -> Found {
    let third = rest.get(2).copied().unwrap_or_default();
    let is_executed = is_mysql && (third == b'!' || (third == b'M' && rest.get(3) == Some(&b'!')));
    let kind = (third == b'+' || is_executed).then_some(Kind::Hint);
    let (mut depth, mut at) = (1, 2);
    while let Some(pair) = rest.get(at..at + 2) {
        match pair {
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Found { kind, length: at, is_closed: true };
                }
            }
            b"/*" if !is_mysql => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
    }
    Found { kind, length: rest.len(), is_closed: false }
}

/// `$1`, `$tag$...$tag$`, or a sign.
fn dollar(rest: &[u8]) -> Found {
    let digits = count(rest, 1, |it| it.is_ascii_digit());
    if digits > 0 {
        return token(Kind::Mark, 1 + digits);
    }
    let tag = 1 + count(rest, 1, |it| is_word(it) || it.is_ascii_digit());
    if rest.get(tag) != Some(&b'$') {
        return token(Kind::Symbol, 1);
    }
    let mark = rest.get(..=tag).unwrap_or_default();
    let body = rest.get(mark.len()..).unwrap_or_default();
    match find(body, mark) {
        Some(at) => token(Kind::Dollar, mark.len() + at + mark.len()),
        None => Found { kind: Some(Kind::Dollar), length: rest.len(), is_closed: false },
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
fn number(rest: &[u8]) -> Found {
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
            token(Kind::Word, at + more)
        }
        _ => token(Kind::Number, at),
    }
}

/// `@name`, `@@name`, `@'name'`.
fn variable(rest: &[u8]) -> Found {
    let signs = count(rest, 0, |it| it == b'@').min(2);
    if matches!(rest.get(signs), Some(b'\'' | b'"' | b'`')) {
        let (length, is_closed) = quoted(rest, signs, false);
        return Found { kind: Some(Kind::Word), length, is_closed };
    }
    let is_part = |it| is_word(it) || it.is_ascii_digit() || it == b'$' || it == b'.';
    token(Kind::Word, signs + count(rest, signs, is_part))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, dialect: Dialect) -> Vec<(Kind, &str)> {
        let mut tokens = Vec::new();
        tokenize(text.as_bytes(), dialect, &mut tokens);
        tokens.iter().map(|it| (it.kind, text.get(it.start..it.end).unwrap())).collect()
    }

    #[test]
    fn tokens_follow_the_dialect() {
        use Kind::{Dollar, Escaped, Fixed, Hex, Hint, Mark, Name, Number, Symbol, Text, Word};
        assert_eq!(
            of("SELECT`a b`,\"x\\\"y\",0xff,x'00',.5,1e-3,@v,a.b#c\n/*+ h */ ?", Dialect::MySql),
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
            of(
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
}
