//! Errors between a client and a server.

use std::io;
use std::time::Duration;

use crate::tls_problem::TlsProblem;

/// An error of a connection or of a statement sent over it.
///
/// After [`WireError::Server`] and [`WireError::Usage`] the connection can be used again. After any other error the
/// reply to a statement is lost: drop the connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    #[error("cannot connect to `{address}`")]
    Connect {
        /// A socket path or `host:port`.
        address: String,
        source: io::Error,
    },
    #[error("cannot {action} `{address}`")]
    Io {
        address: String,
        /// Such as `receive from`.
        action: &'static str,
        source: io::Error,
    },
    /// The server neither accepted nor sent a byte within the limit.
    #[error("no answer from `{address}` within {limit:?}")]
    Timeout { address: String, limit: Duration },
    #[error("server error {}: {message}", shown(*code, state))]
    Server {
        /// The server's error number, such as 1213 for a deadlock. For Postgres it is the SQLSTATE as a number in base
        /// 36 ([`code_of_state`]); those are all larger.
        code: u32,
        /// SQLSTATE, `HY000` if the server sent none.
        state: String,
        message: String,
    },
    #[error("the server at `{address}` speaks the protocol of {spoken}, not that of {expected}")]
    OtherProtocol {
        address: String,
        /// Product whose protocol it speaks.
        spoken: &'static str,
        /// Product whose protocol was expected.
        expected: &'static str,
    },
    /// Bytes that the protocol does not allow here.
    #[error("malformed reply: {0}")]
    Protocol(&'static str),
    #[error("cannot use TLS with `{address}`: {problem}")]
    Tls { address: String, problem: Box<TlsProblem> },
    /// Values in a form that this client does not read.
    #[error("cannot read {0}")]
    Unsupported(&'static str),
    /// A login method that this client does not support, or not over this kind of connection.
    #[error("cannot log in with `{plugin}`: {reason}")]
    Auth { plugin: String, reason: &'static str },
    /// The call does not fit the state of the connection or the statement. Nothing was sent.
    #[error("wrong use of the connection: {0}")]
    Usage(&'static str),
}

pub type WireResult<T> = Result<T, WireError>;

impl WireError {
    pub fn server_code(&self) -> Option<u32> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

const MESSAGE: usize = 2 << 10;

/// Decodes a server's message, and marks it as cut if it is far longer than any real one.
pub(crate) fn message(bytes: &[u8]) -> String {
    // Up to 3 bytes more, so that a character at the limit does not appear broken.
    let mut text = String::from_utf8_lossy(bytes.get(..MESSAGE + 3).unwrap_or(bytes)).into_owned();
    // Bytes that are not UTF-8 take more room as text.
    if bytes.len() > MESSAGE || text.len() > MESSAGE {
        let end = (0..=MESSAGE).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push_str(&format!(" ... (cut off; the message has {} bytes)", bytes.len()));
    }
    text
}

/// Converts an SQLSTATE, five digits or capital letters, from base 36. Those of errors are above all error numbers of
/// MySQL, which have 16 bits.
pub const fn code_of_state(state: &str) -> Option<u32> {
    let [a, b, c, d, e] = state.as_bytes() else { return None };
    let (mut code, digits, mut at) = (0, [*a, *b, *c, *d, *e], 0);
    while at < 5 {
        code = code * 36
            + match digits[at] {
                digit @ b'0'..=b'9' => digit - b'0',
                letter @ b'A'..=b'Z' => letter - b'A' + 10,
                _ => return None,
            } as u32;
        at += 1;
    }
    Some(code)
}

fn shown(code: u32, state: &str) -> String {
    match u16::try_from(code) {
        Ok(number) => format!("{number} (`{state}`)"),
        Err(_) => format!("`{state}`"),
    }
}

/// An error code in its server's notation: MySQL's number or Postgres' SQLSTATE, such as `1213` or `40P01`.
pub fn code_name(code: u32) -> String {
    if u16::try_from(code).is_ok() {
        return code.to_string();
    }
    let digit = |place: u32| code / 36_u32.pow(place) % 36;
    (0..5)
        .rev()
        .filter_map(|place| char::from_digit(digit(place), 36))
        .collect::<String>()
        .to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_at_a_character_and_only_where_they_are_too_long() {
        for text in ["", "short", &"x".repeat(MESSAGE)] {
            assert_eq!(message(text.as_bytes()), text);
        }
        let [plain, wide, broken] =
            [&b"x"[..], "€".as_bytes(), b"\xff"].map(|it| it.repeat(1 << 20));
        let mark = " ... (cut off; the message has 1048576 bytes)";
        assert_eq!(message(&plain), "x".repeat(MESSAGE) + mark);
        let kept = "€".repeat(MESSAGE / 3);
        assert_eq!(message(&wide), kept + " ... (cut off; the message has 3145728 bytes)");
        assert_eq!(message(&broken), "\u{fffd}".repeat(MESSAGE / 3) + mark);
    }

    #[test]
    fn states_and_numbers_have_names() {
        for state in ["40P01", "23505", "XX000", "ZZZZZ", "02000"] {
            assert_eq!(code_name(code_of_state(state).unwrap()), state);
        }
        assert_eq!(code_name(1213), "1213");
        assert!(code_of_state("4000").is_none() && code_of_state("4000a").is_none());
    }
}
