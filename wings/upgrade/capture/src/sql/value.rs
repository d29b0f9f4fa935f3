//! The value of a literal as JSON for a file of values, and its digest.

use std::borrow::Cow;
use std::fmt::Write as _;

use assay_model::Dialect;

use super::token::{SqlToken, TokenKind};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Literal<'a> {
    pub(crate) kind: TokenKind,
    /// Without its sign.
    pub(crate) source: &'a [u8],
    pub(crate) is_negative: bool,
}

/// The value of a mark such as `$1`, if the log has it.
pub(crate) type BoundValue<'a> = Option<&'a Option<Vec<u8>>>;

impl<'a> Literal<'a> {
    pub(crate) fn new(token: &SqlToken, text: &'a [u8], is_negative: bool) -> Self {
        Self { kind: token.kind, source: token.bytes(text), is_negative }
    }

    pub(crate) fn bound(&self, parameters: &'a [Option<Vec<u8>>]) -> BoundValue<'a> {
        let digits = self.source.strip_prefix(b"$")?;
        let number: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
        parameters.get(number.checked_sub(1)?)
    }

    pub(crate) fn is_unknown(&self, parameters: &'a [Option<Vec<u8>>]) -> bool {
        self.kind == TokenKind::Mark && self.bound(parameters).is_none()
    }

    /// Equal for equal values of the same type.
    pub(crate) fn digest(&self, parameters: &'a [Option<Vec<u8>>]) -> u64 {
        match (self.kind, self.bound(parameters)) {
            (TokenKind::Mark, Some(Some(bytes))) => hashed(2, bytes),
            (TokenKind::Mark, _) => hashed(4, b""),
            (TokenKind::Number, _) => hashed(u64::from(self.is_negative), self.source),
            (TokenKind::Word, _) => hashed(5, &self.source.to_ascii_lowercase()),
            (TokenKind::Text, _) => {
                let inside = self.source.get(1..self.source.len().saturating_sub(1));
                hashed(2, inside.unwrap_or_default())
            }
            (TokenKind::Prefixed, _) => {
                let from = opening(self.source) + 1;
                let inside = self.source.get(from..self.source.len().saturating_sub(1));
                hashed(2, inside.unwrap_or_default())
            }
            _ => hashed(6, self.source),
        }
    }

    pub(crate) fn sql(&self, parameters: &'a [Option<Vec<u8>>]) -> Vec<u8> {
        match (self.kind, self.bound(parameters)) {
            (TokenKind::Mark, Some(Some(bytes))) => {
                let doubled = bytes.iter().flat_map(|byte| match byte {
                    b'\'' => vec![b'\'', b'\''],
                    other => vec![*other],
                });
                [b"'".to_vec(), doubled.collect(), b"'".to_vec()].concat()
            }
            (TokenKind::Mark, _) => b"NULL".to_vec(),
            _ if self.is_negative => [b"-", self.source].concat(),
            _ => self.source.to_vec(),
        }
    }

    /// The value of a text, or of a mark with a text value; `None` if it is NULL, no text, or not UTF-8.
    pub(crate) fn text(
        &self,
        dialect: Dialect,
        parameters: &'a [Option<Vec<u8>>],
    ) -> Option<String> {
        let bytes = match self.kind {
            TokenKind::Mark => Cow::Borrowed(self.bound(parameters)?.as_deref()?),
            TokenKind::Text | TokenKind::Escaped | TokenKind::Prefixed | TokenKind::Dollar => {
                decoded(self.kind, self.source, dialect)
            }
            _ => return None,
        };
        String::from_utf8(bytes.into_owned()).ok()
    }

    /// Appends the value as JSON: a number in its notation, a text, `null`, a boolean, or bytes as `{"hex": ...}`.
    pub(crate) fn push_json(
        &self,
        dialect: Dialect,
        parameters: &'a [Option<Vec<u8>>],
        out: &mut String,
    ) {
        match self.kind {
            TokenKind::Number => push_number(self.source, self.is_negative, out),
            TokenKind::Hex => push_hex(&hex_digits(self.source), out),
            TokenKind::Bytes => {
                push_hex(&hex::encode(decoded(self.kind, self.source, dialect)), out);
            }
            TokenKind::Mark => match self.bound(parameters) {
                Some(Some(bytes)) => push_text(bytes, out),
                _ => out.push_str("null"),
            },
            TokenKind::Word => out.push_str(match self.source.first() {
                Some(b't' | b'T') => "true",
                Some(b'f' | b'F') => "false",
                _ => "null",
            }),
            _ => push_text(&decoded(self.kind, self.source, dialect), out),
        }
    }
}

/// FNV hash of a type and bytes.
fn hashed(kind: u64, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let start = (0xcbf2_9ce4_8422_2325 ^ kind).wrapping_mul(PRIME);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

pub(crate) fn combined(digests: impl IntoIterator<Item = u64>) -> u64 {
    digests.into_iter().fold(7, |all, it| hashed(all, &it.to_le_bytes()))
}

/// Writes a number in JSON's syntax: without leading zeros, with digits on both sides of the point. One that is too
/// large for JSON parsers becomes a text.
fn push_number(source: &[u8], is_negative: bool, out: &mut String) {
    let text: String =
        source.iter().filter(|byte| **byte != b'_').map(|byte| char::from(*byte)).collect();
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, "")) => (whole, ".0".to_owned()),
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (mantissa, String::new()),
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if is_negative { "-" } else { "" };
    let number = format!("{sign}{whole}{fraction}{exponent}");
    match serde_json::from_str::<serde_json::Number>(&number) {
        Ok(_) => out.push_str(&number),
        Err(_) => push_text(number.as_bytes(), out),
    }
}

/// The digits of `0xff` or `x'ff'`, an even number of them.
fn hex_digits(source: &[u8]) -> String {
    let inside = source.get(2..).unwrap_or_default();
    let inside = inside.strip_suffix(b"'").unwrap_or(inside);
    let digits = inside.iter().filter(|it| it.is_ascii_hexdigit()).map(|it| char::from(*it));
    let digits: String = digits.collect();
    if digits.len() % 2 == 1 { format!("0{digits}") } else { digits }
}

fn push_hex(digits: &str, out: &mut String) {
    let _ = write!(out, "{{\"hex\": \"{}\"}}", digits.to_ascii_lowercase());
}

fn push_text(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(&serde_json::Value::from(text).to_string()),
        Err(_) => push_hex(&hex::encode(bytes), out),
    }
}

/// Position of the opening quote of a prefixed text.
fn opening(source: &[u8]) -> usize {
    source.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or_default()
}

fn decoded(kind: TokenKind, source: &[u8], dialect: Dialect) -> Cow<'_, [u8]> {
    if kind == TokenKind::Dollar {
        let tag = 2 + source.iter().skip(1).take_while(|byte| **byte != b'$').count();
        let body = source.get(tag..source.len().saturating_sub(tag));
        return Cow::Borrowed(body.unwrap_or_default());
    }
    let open = match kind {
        TokenKind::Escaped => 1,
        TokenKind::Prefixed | TokenKind::Bytes => opening(source),
        _ => 0,
    };
    let Some(quote) = source.get(open).copied() else { return Cow::Borrowed(b"") };
    let inside = source.get(open + 1..source.len().saturating_sub(1)).unwrap_or_default();
    let has_escapes = kind == TokenKind::Escaped || dialect == Dialect::MySql;
    if !inside.iter().any(|byte| *byte == quote || (*byte == b'\\' && has_escapes)) {
        return Cow::Borrowed(inside);
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if has_escapes => match dialect {
                Dialect::MySql => unescape_mysql(bytes.next().unwrap_or(b'\\'), &mut out),
                Dialect::Postgres => unescape_postgres(&mut bytes, &mut out),
            },
            byte if byte == quote => {
                bytes.next();
                out.push(quote);
            }
            byte => out.push(byte),
        }
    }
    Cow::Owned(out)
}

fn unescape_mysql(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'0' => out.push(0),
        b'b' => out.push(8),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'Z' => out.push(26),
        // They keep their backslash, for `LIKE`.
        b'%' | b'_' => out.extend([b'\\', byte]),
        other => out.push(other),
    }
}

fn unescape_postgres(bytes: &mut (impl Iterator<Item = u8> + Clone), out: &mut Vec<u8>) {
    let first = bytes.next();
    let mut number = |radix: u32, most: usize, first: Option<u8>| {
        let mut value = first.map(|it| u32::from(it - b'0'));
        for _ in usize::from(first.is_some())..most {
            let next = bytes.clone().next().and_then(|byte| char::from(byte).to_digit(radix));
            let Some(digit) = next else { break };
            value = Some(value.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
            bytes.next();
        }
        value
    };
    match first {
        Some(b'b') => out.push(8),
        Some(b'f') => out.push(12),
        Some(b'n') => out.push(b'\n'),
        Some(b'r') => out.push(b'\r'),
        Some(b't') => out.push(b'\t'),
        Some(b'x') => out.extend(number(16, 2, None).map(|it| it as u8)),
        Some(digit @ b'0'..=b'7') => out.extend(number(8, 3, Some(digit)).map(|it| it as u8)),
        Some(sign @ (b'u' | b'U')) => {
            let code = number(16, if sign == b'u' { 4 } else { 8 }, None);
            let found = code.and_then(char::from_u32).unwrap_or('\u{fffd}');
            out.extend(found.to_string().into_bytes());
        }
        Some(other) => out.push(other),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(kind: TokenKind, source: &str, dialect: Dialect) -> String {
        let mut out = String::new();
        let literal = Literal { kind, source: source.as_bytes(), is_negative: false };
        literal.push_json(dialect, &[Some(b"b'd".to_vec()), None], &mut out);
        out
    }

    #[test]
    fn values_keep_their_types() {
        use Dialect::{MySql, Postgres};
        for (kind, source, dialect, expected) in [
            (TokenKind::Number, "1.50", MySql, "1.50"),
            (TokenKind::Number, ".5", MySql, "0.5"),
            (TokenKind::Number, "007", MySql, "7"),
            (TokenKind::Number, "5.e3", MySql, "5.0e3"),
            (TokenKind::Number, "1e999", MySql, "\"1e999\""),
            (TokenKind::Number, "12345678901234567890", MySql, "12345678901234567890"),
            (TokenKind::Text, r#"'O\'Brien \\ \"x\" 50\%'"#, MySql, r#""O'Brien \\ \"x\" 50\\%""#),
            (TokenKind::Text, "'it''s'", Postgres, "\"it's\""),
            (TokenKind::Text, r"'a\n'", Postgres, r#""a\\n""#),
            (TokenKind::Escaped, r"E'a\n\x41\101\u00e9\''", Postgres, "\"a\\nAAé'\""),
            (TokenKind::Dollar, "$a$it's$a$", Postgres, "\"it's\""),
            (TokenKind::Hex, "0xABC", MySql, r#"{"hex": "0abc"}"#),
            (TokenKind::Hex, "x'00ff'", MySql, r#"{"hex": "00ff"}"#),
            (TokenKind::Prefixed, r"_utf8mb4 'it\'s'", MySql, "\"it's\""),
            (TokenKind::Prefixed, "N'a'", MySql, "\"a\""),
            (TokenKind::Bytes, r"_binary 'a\0'", MySql, r#"{"hex": "6100"}"#),
            (TokenKind::Word, "TRUE", MySql, "true"),
            (TokenKind::Word, "null", MySql, "null"),
            (TokenKind::Mark, "$1", Postgres, "\"b'd\""),
            (TokenKind::Mark, "$2", Postgres, "null"),
        ] {
            assert_eq!(json(kind, source, dialect), expected, "{source}");
        }
        let mut out = String::new();
        let bytes = Literal { kind: TokenKind::Text, source: b"'\xe9'", is_negative: false };
        bytes.push_json(MySql, &[], &mut out);
        assert_eq!(out, r#"{"hex": "e9"}"#);
    }

    #[test]
    fn digests_tell_types_apart() {
        let value = |kind, source: &'static [u8]| {
            Literal { kind, source, is_negative: false }.digest(&[Some(b"5".to_vec())])
        };
        assert_ne!(value(TokenKind::Number, b"5"), value(TokenKind::Text, b"'5'"));
        assert_eq!(value(TokenKind::Mark, b"$1"), value(TokenKind::Text, b"'5'"));
        assert_eq!(value(TokenKind::Prefixed, b"_latin1'5'"), value(TokenKind::Text, b"'5'"));
    }
}
