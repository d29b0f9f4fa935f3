//! Numbers, literals and names in the text of statements.

use assay_model::Dialect;

pub(crate) fn push_decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn push_integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends text as a string literal. MySQL and MariaDB literals have backslash escapes, Postgres' do not.
pub fn push_quoted(out: &mut Vec<u8>, has_escapes: bool, text: &[u8]) {
    out.push(b'\'');
    for &byte in text {
        if byte == b'\'' || (byte == b'\\' && has_escapes) {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

/// `digits` are hexadecimal, after `\x`.
pub(crate) fn push_bytes(out: &mut Vec<u8>, has_escapes: bool, digits: &[u8]) {
    // MySQL and MariaDB have backslash escapes.
    let (head, digits) = match has_escapes {
        true => (&b"X'"[..], digits.get(2..).unwrap_or_default()),
        false => (&b"'"[..], digits),
    };
    out.extend_from_slice(head);
    out.extend_from_slice(digits);
    out.push(b'\'');
}

pub fn quoted_literal(dialect: Dialect, text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut quoted, dialect.has_escapes(), text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

/// Quotes a name; for Postgres in lower case, as if unquoted.
pub fn quoted_name(dialect: Dialect, name: &str) -> String {
    let mark = dialect.quote();
    let name = match dialect {
        Dialect::Postgres => name.to_ascii_lowercase(),
        Dialect::MySql => name.to_owned(),
    };
    format!("{mark}{}{mark}", name.replace(mark, &format!("{mark}{mark}")))
}
