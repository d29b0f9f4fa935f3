//! Literals of texts and of bytes.

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
