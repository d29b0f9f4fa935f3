//! Statements as text with embedded values.

use crate::decimal::push_integer;
use crate::event::{Argument, Arguments};
use crate::quoted::push_quoted;
use crate::sql::Quotes;
use crate::statement::Statement;

impl Statement {
    /// Appends the statement with the values of an operation. `kept` has the values returned by earlier statements of
    /// the event, by place. `has_escapes`: the dialect has backslash escapes in string literals.
    pub fn push_text(
        &self,
        has_escapes: bool,
        arguments: Arguments<'_>,
        kept: &[Option<Vec<u8>>],
        text: &mut Vec<u8>,
    ) {
        let Some((first, rest)) = self.pieces.split_first() else {
            return text.extend_from_slice(self.sql.as_bytes());
        };
        text.extend_from_slice(first.as_bytes());
        for (place, (argument, piece)) in arguments.zip(rest).enumerate() {
            match self.quotes.get(place).copied().flatten() {
                Some(quotes) => push_inside(text, quotes, argument, kept),
                None => push_value(text, has_escapes, argument, kept),
            }
            text.extend_from_slice(piece.as_bytes());
        }
    }
}

fn push_value(
    text: &mut Vec<u8>,
    has_escapes: bool,
    argument: Argument<'_>,
    kept: &[Option<Vec<u8>>],
) {
    match argument {
        // A preceding minus sign would start a comment.
        Argument::Int(value) if value < 0 => {
            text.push(b'(');
            push_integer(text, value);
            text.push(b')');
        }
        Argument::Int(value) => push_integer(text, value),
        Argument::Text(value) => push_quoted(text, has_escapes, value),
        Argument::Bare(value) => push_bare(text, value),
        Argument::Raw(sql) => text.extend_from_slice(sql),
        Argument::Null => text.extend_from_slice(b"NULL"),
        Argument::Kept(place) => match kept.get(place as usize).and_then(Option::as_ref) {
            Some(value) => push_quoted(text, has_escapes, value),
            None => text.extend_from_slice(b"NULL"),
        },
    }
}

/// Appends a value inside a quoted text, escaped so that it does not end it.
fn push_inside(
    text: &mut Vec<u8>,
    quotes: Quotes,
    argument: Argument<'_>,
    kept: &[Option<Vec<u8>>],
) {
    let value = match argument {
        Argument::Int(value) => return push_integer(text, value),
        Argument::Text(value) | Argument::Bare(value) | Argument::Raw(value) => value,
        Argument::Null => b"NULL",
        Argument::Kept(place) => match kept.get(place as usize).and_then(Option::as_ref) {
            Some(value) => value.as_slice(),
            None => b"NULL",
        },
    };
    for byte in value {
        let is_doubled = match quotes {
            Quotes::Text => *byte == b'\'',
            Quotes::Escaped => matches!(byte, b'\'' | b'\\'),
            Quotes::Name => *byte == b'"',
            Quotes::Dollar => false,
        };
        text.extend(std::iter::repeat_n(*byte, 1 + usize::from(is_doubled)));
    }
}

/// Appends a number. A preceding minus sign would start a comment.
fn push_bare(out: &mut Vec<u8>, number: &[u8]) {
    let is_negative = number.starts_with(b"-");
    out.extend_from_slice(if is_negative { b"(" } else { b"" });
    out.extend_from_slice(number);
    out.extend_from_slice(if is_negative { b")" } else { b"" });
}
