//! Execute packets of prepared statements. A packet is encoded once, then only its values are rewritten.

use super::codec::{HEADER, MAX_PAYLOAD, header, put_length};
use super::constants::{Command, LONGLONG, VAR_STRING};
use crate::error::{WireError, WireResult};
use crate::value::{Param, ParamType};

#[derive(Debug)]
pub(crate) struct ExecutePacket {
    types: Box<[ParamType]>,
    packet: Vec<u8>,
    /// Position of the NULL bitmap.
    nulls: usize,
    values: usize,
    /// The packet still contains the types, as the first one must.
    tells_types: bool,
}

impl ExecutePacket {
    pub(crate) fn new(id: u32, types: &[ParamType]) -> Self {
        let mut packet = header(0, 0).to_vec();
        packet.push(Command::Execute as u8);
        packet.extend_from_slice(&id.to_le_bytes());
        // No cursor, one iteration.
        packet.push(0);
        packet.extend_from_slice(&1_u32.to_le_bytes());
        let nulls = packet.len();
        packet.resize(packet.len() + types.len().div_ceil(8), 0);
        if !types.is_empty() {
            packet.push(1);
            packet.extend(types.iter().flat_map(|kind| wire_type(*kind)));
        }
        let values = packet.len();
        Self { types: types.into(), packet, nulls, values, tells_types: !types.is_empty() }
    }

    /// The server's number of the statement.
    pub(crate) fn id(&self) -> &[u8] {
        &self.packet[HEADER + 1..HEADER + 5]
    }

    /// The packet with these values. It keeps its memory, so values of the same size do not allocate.
    pub(crate) fn encode(&mut self, params: &[Param<'_>]) -> WireResult<&[u8]> {
        if params.len() != self.types.len() {
            return Err(WireError::Usage("another number of parameters than was prepared"));
        }
        self.packet.truncate(self.values);
        let bits = self.nulls..self.nulls + params.len().div_ceil(8);
        self.packet[bits].fill(0);
        for (number, (kind, param)) in self.types.iter().zip(params).enumerate() {
            match (kind, param) {
                (ParamType::Int, Param::Int(value)) => {
                    self.packet.extend_from_slice(&value.to_le_bytes());
                }
                (ParamType::Text | ParamType::Inferred, Param::Text(value)) => {
                    put_length(value.len(), &mut self.packet);
                    self.packet.extend_from_slice(value);
                }
                (ParamType::Inferred, Param::Int(value)) => {
                    let mut digits = itoa::Buffer::new();
                    let value = digits.format(*value).as_bytes();
                    put_length(value.len(), &mut self.packet);
                    self.packet.extend_from_slice(value);
                }
                (_, Param::Null) => {
                    self.packet[self.nulls + number / 8] |= 1 << (number % 8);
                }
                _ => return Err(WireError::Usage("a parameter of another type than was prepared")),
            }
        }
        let length = self.packet.len() - HEADER;
        if length >= MAX_PAYLOAD {
            return Err(WireError::Usage("parameters of 16 MiB or more"));
        }
        self.packet[..HEADER].copy_from_slice(&header(length, 0));
        Ok(&self.packet)
    }

    /// Call once the server has executed the statement and so knows the types.
    pub(crate) fn executed(&mut self) {
        if self.tells_types {
            self.tells_types = false;
            self.values -= 2 * self.types.len();
            self.packet.truncate(self.values - 1);
            self.packet.push(0);
        }
    }
}

fn wire_type(kind: ParamType) -> [u8; 2] {
    match kind {
        ParamType::Int => [LONGLONG, 0],
        ParamType::Text | ParamType::Inferred => [VAR_STRING, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sent_until_the_first_execution() {
        let mut statement = ExecutePacket::new(9, &[ParamType::Int, ParamType::Text]);
        let first = statement.encode(&[Param::Int(-2), Param::Text(b"ab")]).unwrap();
        assert_eq!(
            first,
            [
                &[27, 0, 0, 0][..],
                &[0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0],
                &[0, 1, 8, 0, 253, 0],
                &[254, 255, 255, 255, 255, 255, 255, 255],
                b"\x02ab",
            ]
            .concat()
        );
        statement.executed();
        statement.executed();
        assert_eq!(statement.id(), [9, 0, 0, 0]);
        let later = statement.encode(&[Param::Int(3), Param::Text(b"")]).unwrap();
        assert_eq!(
            later,
            [
                &[21, 0, 0, 0][..],
                &[0x17, 9, 0, 0, 0, 0, 1, 0, 0, 0],
                &[0, 0],
                &[3, 0, 0, 0, 0, 0, 0, 0],
                b"\x00",
            ]
            .concat()
        );
    }

    #[test]
    fn without_parameters_nothing_follows_the_iterations() {
        let mut statement = ExecutePacket::new(1, &[]);
        let packet = [10, 0, 0, 0, 0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(statement.encode(&[]).unwrap(), packet);
        statement.executed();
        assert_eq!(statement.encode(&[]).unwrap(), packet);
    }

    #[test]
    fn nine_parameters_need_two_bytes_of_null_bits() {
        let mut statement = ExecutePacket::new(1, &[ParamType::Int; 9]);
        let length = statement.encode(&[Param::Int(0); 9]).unwrap().len();
        assert_eq!(length, 4 + 10 + 2 + 1 + 9 * 2 + 9 * 8);
    }

    #[test]
    fn a_bit_says_which_parameters_are_null() {
        let mut statement = ExecutePacket::new(1, &[ParamType::Inferred; 9]);
        let mut params = [Param::Int(-1); 9];
        let full = statement.encode(&params).unwrap().len();
        (params[0], params[8]) = (Param::Null, Param::Null);
        let packet = statement.encode(&params).unwrap();
        assert_eq!(packet.len(), full - 2 * b"\x02-1".len());
        assert_eq!(packet[14..16], [1, 1]);
        assert_eq!(statement.encode(&[Param::Text(b"-1"); 9]).unwrap()[14..16], [0, 0]);
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let mut statement = ExecutePacket::new(1, &[ParamType::Int]);
        for params in [&[][..], &[Param::Text(b"1")], &[Param::Int(1), Param::Int(2)]] {
            assert!(matches!(statement.encode(params), Err(WireError::Usage(_))));
        }
    }
}
