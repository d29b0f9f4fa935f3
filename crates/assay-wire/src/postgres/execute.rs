//! Execute messages of prepared statements. They are encoded once, then only their values are rewritten.

use super::codec::{HEADER, checked, put_message, put_text};
use crate::error::{WireError, WireResult};
use crate::value::{Param, ParamType};

/// Type numbers of `int8` and `varchar`, the types declared by sysbench, the reference client.
const INT8: u32 = 20;
const VARCHAR: u32 = 1043;
/// The server infers the type.
const UNSPECIFIED: u32 = 0;

/// The length of a NULL.
const NULL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultFormat {
    Text,
    Binary,
}

impl ResultFormat {
    fn code(self) -> [u8; 4] {
        [0, 1, 0, u8::from(self == Self::Binary)]
    }
}

/// Execute the unnamed portal for all its rows, then answer.
const EXECUTE_AND_SYNC: [u8; 15] = *b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// Like [`EXECUTE_AND_SYNC`], for an unnamed statement, whose columns are unknown.
const DESCRIBE_EXECUTE_AND_SYNC: [u8; 22] = *b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// Requests an answer.
pub(crate) const SYNC: &[u8] = b"S\0\0\0\x04";

/// A prepared statement and the messages that execute it.
///
/// The portal is not described: the columns are known since the statement was prepared, and the end of the reply shows
/// whether it had any.
#[derive(Debug)]
pub(crate) struct BindMessages {
    types: Box<[ParamType]>,
    packet: Vec<u8>,
    bind: usize,
    values: usize,
    end: &'static [u8],
}

/// The messages that prepare a statement under a number of the client's choice.
pub(crate) fn prepare(number: usize, sql: &str, types: &[ParamType]) -> WireResult<Vec<u8>> {
    let name = name(number);
    let mut out = Vec::new();
    put_parse(&name, sql, types, &mut out)?;
    put_message(b'D', &mut out, |out| {
        out.push(b'S');
        put_text(&name, out);
    })?;
    put_message(b'S', &mut out, |_| ())?;
    Ok(out)
}

/// The messages that close the statement of this number.
pub(crate) fn close(number: usize) -> WireResult<Vec<u8>> {
    let mut out = Vec::new();
    put_message(b'C', &mut out, |out| {
        out.push(b'S');
        put_text(&name(number), out);
    })?;
    put_message(b'S', &mut out, |_| ())?;
    Ok(out)
}

fn put_parse(name: &[u8], sql: &str, types: &[ParamType], out: &mut Vec<u8>) -> WireResult<()> {
    let sql = checked(sql)?;
    let count = count(types)?;
    put_message(b'P', out, |out| {
        put_text(name, out);
        put_text(sql, out);
        out.extend_from_slice(&count);
        for kind in types {
            let kind = match kind {
                ParamType::Int => INT8,
                ParamType::Text => VARCHAR,
                ParamType::Inferred => UNSPECIFIED,
            };
            out.extend_from_slice(&kind.to_be_bytes());
        }
    })
}

fn name(number: usize) -> Vec<u8> {
    format!("s{number}").into_bytes()
}

fn count(types: &[ParamType]) -> WireResult<[u8; 2]> {
    let count =
        i16::try_from(types.len()).map_err(|_| WireError::Usage("more than 32767 parameters"));
    count.map(i16::to_be_bytes)
}

impl BindMessages {
    pub(crate) fn new(number: usize, types: &[ParamType]) -> WireResult<Self> {
        Self::after(Vec::new(), &name(number), types, &EXECUTE_AND_SYNC)
    }

    pub(crate) fn parsed_each_time(sql: &str, types: &[ParamType]) -> WireResult<Self> {
        let mut parse = Vec::new();
        put_parse(b"", sql, types, &mut parse)?;
        Self::after(parse, b"", types, &DESCRIBE_EXECUTE_AND_SYNC)
    }

    fn after(
        mut packet: Vec<u8>,
        name: &[u8],
        types: &[ParamType],
        end: &'static [u8],
    ) -> WireResult<Self> {
        let bind = packet.len();
        packet.extend_from_slice(&[b'B', 0, 0, 0, 0]);
        // The unnamed portal.
        packet.push(0);
        put_text(name, &mut packet);
        // All parameters are sent as text, as in the reference client.
        packet.extend_from_slice(&[0, 0]);
        packet.extend_from_slice(&count(types)?);
        let values = packet.len();
        Ok(Self { types: types.into(), packet, bind, values, end })
    }

    /// The messages with these values. They keep their memory, so values of the same size do not allocate.
    pub(crate) fn encode(
        &mut self,
        params: &[Param<'_>],
        result: ResultFormat,
    ) -> WireResult<&[u8]> {
        if params.len() != self.types.len() {
            return Err(WireError::Usage("another number of parameters than was prepared"));
        }
        self.packet.truncate(self.values);
        for (kind, param) in self.types.iter().zip(params) {
            let mut digits = itoa::Buffer::new();
            let value = match (kind, param) {
                (ParamType::Int | ParamType::Inferred, Param::Int(value)) => {
                    digits.format(*value).as_bytes()
                }
                (ParamType::Text | ParamType::Inferred, Param::Text(value)) => value,
                (_, Param::Null) => {
                    self.packet.extend_from_slice(&NULL.to_be_bytes());
                    continue;
                }
                _ => return Err(WireError::Usage("a parameter of another type than was prepared")),
            };
            let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
            self.packet.extend_from_slice(&length.to_be_bytes());
            self.packet.extend_from_slice(value);
        }
        self.packet.extend_from_slice(&result.code());
        let length = i32::try_from(self.packet.len() - self.bind - 1);
        let length = length.map_err(|_| WireError::Usage("parameters of 2 GiB or more"))?;
        let place = self.bind + 1..self.bind + HEADER;
        self.packet[place].copy_from_slice(&length.to_be_bytes());
        self.packet.extend_from_slice(self.end);
        Ok(&self.packet)
    }

    /// Like `encode`, without the Sync message.
    pub(crate) fn encode_unanswered(&mut self, params: &[Param<'_>]) -> WireResult<&[u8]> {
        let packet = self.encode(params, ResultFormat::Binary)?;
        Ok(packet.strip_suffix(SYNC).unwrap_or(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bound_as_text_and_results_have_the_format_asked_for() {
        let mut statement = BindMessages::new(7, &[ParamType::Int, ParamType::Text]).unwrap();
        let params = [Param::Int(-12), Param::Text(b"ab")];
        let packet = statement.encode(&params, ResultFormat::Binary).unwrap();
        let bind = b"B\0\0\0\x1d\0s7\0\0\0\0\x02\0\0\0\x03-12\0\0\0\x02ab\0\x01\0\x01".as_slice();
        assert_eq!(packet, [bind, &EXECUTE_AND_SYNC].concat());
        let again =
            statement.encode(&[Param::Int(1), Param::Text(b"")], ResultFormat::Text).unwrap();
        assert!(again.ends_with(&[&[0, 1, 0, 0], &EXECUTE_AND_SYNC[..]].concat()), "{again:?}");
        assert_eq!(again.get(..5), Some(&b"B\0\0\0\x19"[..]));
    }

    #[test]
    fn the_server_infers_types_and_null_has_no_bytes() {
        let mut statement = BindMessages::new(7, &[ParamType::Inferred; 3]).unwrap();
        let params = [Param::Int(-1), Param::Null, Param::Text(b"a")];
        let packet = statement.encode(&params, ResultFormat::Binary).unwrap();
        let values = b"\0\x03\0\0\0\x02-1\xff\xff\xff\xff\0\0\0\x01a\0\x01\0\x01";
        assert!(packet.windows(values.len()).any(|part| part == values), "{packet:?}");
        let prepared = prepare(1, "S", &[ParamType::Inferred]).unwrap();
        assert!(prepared.starts_with(b"P\0\0\0\x0fs1\0S\0\0\x01\0\0\0\0"), "{prepared:?}");
    }

    #[test]
    fn a_statement_that_is_parsed_each_time_has_no_name() {
        let mut statement = BindMessages::parsed_each_time("S", &[ParamType::Inferred]).unwrap();
        // Lengths count themselves: 4 + 1 + 2 + 2 + 4 bytes, and 4 + 1 + 1 + 2 + 2 + 6 + 2 + 2.
        let expected =
            b"P\0\0\0\x0d\0S\0\0\x01\0\0\0\0B\0\0\0\x14\0\0\0\0\0\x01\0\0\0\x02-1\0\x01\0\x01";
        for _ in 0..2 {
            let packet = statement.encode(&[Param::Int(-1)], ResultFormat::Binary).unwrap();
            assert_eq!(packet, [&expected[..], &DESCRIBE_EXECUTE_AND_SYNC].concat());
        }
        let packet = statement.encode_unanswered(&[Param::Int(-1)]).unwrap();
        assert!(packet.ends_with(b"E\0\0\0\x09\0\0\0\0\0"), "{packet:?}");
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let mut statement = BindMessages::new(0, &[ParamType::Int]).unwrap();
        for params in [&[][..], &[Param::Text(b"1")], &[Param::Int(1), Param::Int(2)]] {
            assert!(matches!(
                statement.encode(params, ResultFormat::Binary),
                Err(WireError::Usage(_))
            ));
        }
        assert!(prepare(0, "SELECT 1\0", &[]).is_err());
    }
}
