//! Rows of the binary protocol, used for results of prepared statements.

use std::fmt;

use super::codec::PacketCursor;
use crate::error::{WireError, WireResult};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    kind: u8,
    is_unsigned: bool,
    /// Values are bytes, not text.
    is_binary: bool,
    /// Digits after the decimal point, or a marker that they vary.
    decimals: u8,
}

mod kind {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const YEAR: u8 = 13;
    pub(super) const ENUM: u8 = 247;
    pub(super) const SET: u8 = 248;
    pub(super) const STRING: u8 = 254;
    pub(super) const STRINGS: [u8; 14] =
        [0, 15, 16, 242, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254];
}

const OTHER: &str =
    "a prepared statement's column of floating-point numbers, dates, times or geometry";

const UNSIGNED: u16 = 32;

/// Flags of strings of these types.
const ENUM: u16 = 256;
const SET: u16 = 2048;

const BINARY: u16 = 63;

pub fn parse_column_type(payload: &[u8]) -> WireResult<ColumnType> {
    const WHAT: &str = "the description of a column";
    let mut cursor = PacketCursor(payload);
    // Catalog, schema, table, original table, name, original name.
    for _ in 0..6 {
        cursor.string(WHAT)?;
    }
    // The length of the following fields.
    cursor.take(1, WHAT)?;
    let character_set = cursor.u16(WHAT)?;
    // The display width.
    cursor.take(4, WHAT)?;
    let kind = cursor.u8(WHAT)?;
    let flags = cursor.u16(WHAT)?;
    let kind = match kind {
        kind::STRING if flags & ENUM != 0 => kind::ENUM,
        kind::STRING if flags & SET != 0 => kind::SET,
        other => other,
    };
    Ok(ColumnType {
        kind,
        is_unsigned: flags & UNSIGNED != 0,
        is_binary: character_set == BINARY,
        decimals: cursor.u8(WHAT)?,
    })
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.kind, self.is_binary) {
            (0 | 246, _) => {
                return write!(f, "decimal with {} digits after the point", self.decimals);
            }
            (1, _) => "tinyint",
            (2, _) => "smallint",
            (3, _) => "int",
            (4, _) => "float",
            (5, _) => "double",
            (6, _) => "null",
            (7, _) => "timestamp",
            (8, _) => "bigint",
            (9, _) => "mediumint",
            (10, _) => "date",
            (11, _) => "time",
            (12, _) => "datetime",
            (13, _) => "year",
            (16, _) => "bit",
            (245, _) => "json",
            (kind::ENUM, _) => "enum",
            (kind::SET, _) => "set",
            // A text column has one of four lengths, which servers choose for computed values.
            (249..=252, true) => "blob",
            (249..=252, false) => "text",
            (15 | 253, true) => "varbinary",
            (15 | 253, false) => "varchar",
            (kind::STRING, true) => "binary",
            (kind::STRING, false) => "char",
            (255, _) => "geometry",
            (other, _) => return write!(f, "type {other}"),
        };
        f.write_str(name)?;
        f.write_str(if self.is_unsigned && matches!(self.kind, 1..=3 | 8 | 9) {
            " unsigned"
        } else {
            ""
        })
    }
}

/// Parses a binary row into the values of the text protocol, but without leading zeros; `None` is NULL.
pub fn parse_binary_row(
    payload: &[u8],
    columns: &[ColumnType],
) -> WireResult<Vec<Option<Vec<u8>>>> {
    const WHAT: &str = "a binary row";
    let mut cursor = PacketCursor(payload);
    if cursor.u8(WHAT)? != 0 {
        return Err(WireError::Protocol(WHAT));
    }
    let nulls = cursor.take((columns.len() + 2).div_ceil(8), WHAT)?;
    let value = |(number, column): (usize, &ColumnType)| {
        // The first two bits are unused.
        let place = number + 2;
        let bits = nulls.get(place / 8).copied().unwrap_or_default();
        if bits & 1 << (place % 8) != 0 {
            return Ok(None);
        }
        column.value(&mut cursor).map(Some)
    };
    let row = columns.iter().enumerate().map(value).collect::<Result<_, _>>()?;
    if cursor.0.is_empty() { Ok(row) } else { Err(WireError::Protocol(WHAT)) }
}

impl ColumnType {
    fn value(self, cursor: &mut PacketCursor<'_>) -> WireResult<Vec<u8>> {
        const WHAT: &str = "a binary value";
        let number: i128 = match (self.kind, self.is_unsigned) {
            (kind::TINY, true) => u8::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::TINY, false) => i8::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::SHORT | kind::YEAR, true) => u16::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::SHORT | kind::YEAR, false) => i16::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::LONG | kind::INT24, true) => u32::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::LONG | kind::INT24, false) => i32::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::LONGLONG, true) => u64::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind::LONGLONG, false) => i64::from_le_bytes(cursor.array(WHAT)?).into(),
            (kind, _) if kind::STRINGS.contains(&kind) => {
                let text = cursor.string(WHAT)?.ok_or(WireError::Protocol(WHAT))?;
                return Ok(text.to_vec());
            }
            _ => return Err(WireError::Unsupported(OTHER)),
        };
        Ok(number.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, is_unsigned: bool) -> ColumnType {
        ColumnType { kind, is_unsigned, is_binary: false, decimals: 0 }
    }

    #[test]
    fn the_type_of_a_column_follows_its_names() {
        let names = b"\x03def\x02db\x01t\x01t\x01a\x01a";
        let packet = [&names[..], b"\x0c\x3f\0\x0b\0\0\0\x08\x21\0\0\0\0"].concat();
        let number = ColumnType { is_binary: true, ..column(kind::LONGLONG, true) };
        assert_eq!(parse_column_type(&packet).unwrap(), number);
        assert!(parse_column_type(&packet[..packet.len() - 4]).is_err());
    }

    #[test]
    fn values_are_those_of_the_text_protocol() {
        let columns = [
            column(kind::LONG, false),
            column(kind::LONGLONG, true),
            column(254, false),
            column(246, false),
            column(kind::TINY, false),
            column(kind::SHORT, true),
            column(253, false),
        ];
        let row = [
            // The third column is NULL.
            &[0, 0b1_0000, 0][..],
            &(-2_i32).to_le_bytes(),
            &u64::MAX.to_le_bytes(),
            b"\x0512.50",
            &[0xff],
            &65_535_u16.to_le_bytes(),
            b"\0",
        ]
        .concat();
        let values = parse_binary_row(&row, &columns).unwrap();
        let text = |value: &str| Some(value.as_bytes().to_vec());
        let expected = ["-2", "18446744073709551615", "", "12.50", "-1", "65535", ""].map(text);
        assert_eq!(values[..2], expected[..2]);
        assert_eq!(values[2], None);
        assert_eq!(values[3..], expected[3..]);
    }

    #[test]
    fn malformed_rows_and_other_types_are_errors() {
        let numbers = [column(kind::LONG, false)];
        assert!(parse_binary_row(&[0, 0, 1, 0, 0, 0], &numbers).is_ok());
        for row in [&[][..], &[0], &[0, 0], &[0, 0, 1, 0, 0], &[0, 0, 1, 0, 0, 0, 0], &[1; 6]] {
            assert!(
                matches!(parse_binary_row(row, &numbers), Err(WireError::Protocol(_))),
                "{row:?}"
            );
        }
        let date = parse_binary_row(&[0, 0, 0], &[column(12, false)]);
        assert!(matches!(date, Err(WireError::Unsupported(_))), "{date:?}");
    }
}
