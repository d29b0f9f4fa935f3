//! Lengths of instructions of x86-64, and their operands that depend on where the code is.

/// An instruction with at most one operand that is a distance from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineInstruction {
    pub(crate) length: usize,
    pub(crate) distance: Option<RelativeOperand>,
}

/// Four bytes of an instruction: the distance from its end to what it refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelativeOperand {
    /// Offset within the instruction.
    pub(crate) at: usize,
    pub(crate) kind: OperandKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperandKind {
    /// The code that is executed next.
    Branch,
    /// A value in memory.
    Memory,
    /// The address is the operand itself, such as that of a string.
    Address,
}

/// The processor refuses longer instructions.
const LENGTH_MAX: usize = 15;

/// A set of opcodes: a bit for each.
struct OpcodeSet([u64; 4]);

impl OpcodeSet {
    /// From hexadecimal opcodes and ranges of them, such as `00-03 63`.
    const fn new(list: &str) -> Self {
        let list = list.as_bytes();
        let (mut bits, mut at) = ([0; 4], 0);
        while at < list.len() {
            let mut code = opcode(list, at);
            let is_range = at + 2 < list.len() && list[at + 2] == b'-';
            let last = if is_range { opcode(list, at + 3) } else { code };
            while code <= last {
                bits[code / 64] |= 1 << (code % 64);
                code += 1;
            }
            at += if is_range { 6 } else { 3 };
        }
        Self(bits)
    }

    fn has(&self, code: u8) -> bool {
        (self.0[usize::from(code / 64)] >> (code % 64)) & 1 == 1
    }
}

const fn opcode(list: &[u8], at: usize) -> usize {
    16 * digit(list[at]) + digit(list[at + 1])
}

const fn digit(letter: u8) -> usize {
    match letter {
        b'0'..=b'9' => (letter - b'0') as usize,
        b'a'..=b'f' => (letter - b'a') as usize + 10,
        _ => panic!("no hexadecimal digit"),
    }
}

// Source: the opcode maps of the Intel SDM, volume 2, appendix A, in 64-bit mode.

const PREFIXES: OpcodeSet = OpcodeSet::new("26 2e 36 3e 64-67 f0 f2-f3");

const INVALID: OpcodeSet =
    OpcodeSet::new("06-07 0e 16-17 1e-1f 27 2f 37 3f 60-61 82 9a ce d4-d6 ea");

/// Opcodes with a ModR/M byte, which may name an address.
const WITH_MODRM: OpcodeSet = OpcodeSet::new(
    "00-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 63 69 6b 80-81 83-8f c0-c1 c6-c7 d0-d3 \
     d8-df f6-f7 fe-ff",
);

/// Opcodes with a value of one byte.
const WITH_BYTE: OpcodeSet =
    OpcodeSet::new("04 0c 14 1c 24 2c 34 3c 6a-6b 70-80 83 a8 b0-b7 c0-c1 c6 cd e0-e7 eb");

/// Opcodes with a value of four bytes, or of two after the prefix 0x66.
const WITH_WORD: OpcodeSet = OpcodeSet::new("05 0d 15 1d 25 2d 35 3d 68-69 81 a9 c7");

/// Opcodes after 0x0f without a ModR/M byte.
const SECOND_WITHOUT_MODRM: OpcodeSet =
    OpcodeSet::new("05-09 0b 0e 30-37 77 80-8f a0-a2 a8-aa c8-cf");

/// Opcodes after 0x0f with a value of one byte.
const SECOND_WITH_BYTE: OpcodeSet = OpcodeSet::new("0f 70-73 a4 ac ba c2 c4-c6");

/// The parts of an instruction behind its opcode.
#[derive(Default)]
struct CodeOperands {
    has_modrm: bool,
    /// Bytes of its value.
    value: usize,
    /// Bytes of the value that only the first two instructions of the opcode's group have.
    value_of_test: usize,
    /// Whether the value is the distance to the code that is executed next.
    is_branch: bool,
    is_address: bool,
}

/// Decodes the instruction at the start of the code. `None` if it is invalid or truncated.
pub(crate) fn decode(code: &[u8]) -> Option<MachineInstruction> {
    let mut reader = CodeReader { code, at: 0 };
    let mut opcode = reader.byte()?;
    let (mut is_short, mut is_32) = (false, false);
    while PREFIXES.has(opcode) {
        is_short |= opcode == 0x66;
        is_32 |= opcode == 0x67;
        if reader.at >= LENGTH_MAX {
            return None;
        }
        opcode = reader.byte()?;
    }
    let mut is_64 = false;
    if opcode & 0xf0 == 0x40 {
        is_64 = opcode & 8 != 0;
        opcode = reader.byte()?;
    }
    let mut operands = match opcode {
        0x0f => second_map(&mut reader)?,
        0xc4 | 0xc5 | 0x62 => vector(opcode, &mut reader)?,
        _ if INVALID.has(opcode) => return None,
        _ => first_map(opcode, [is_short, is_32, is_64]),
    };
    let mut memory = None;
    if operands.has_modrm {
        let modrm = reader.byte()?;
        if (modrm >> 3) & 7 < 2 {
            operands.value += operands.value_of_test;
        }
        memory = reader.address(modrm)?;
    }
    let value = reader.at;
    let length = value + operands.value;
    let kind = if operands.is_address { OperandKind::Address } else { OperandKind::Memory };
    let distance = match memory {
        _ if operands.is_branch => Some(RelativeOperand { at: value, kind: OperandKind::Branch }),
        Some(at) => Some(RelativeOperand { at, kind }),
        None => None,
    };
    (length <= code.len()).then_some(MachineInstruction { length, distance })
}

fn first_map(opcode: u8, [is_short, is_32, is_64]: [bool; 3]) -> CodeOperands {
    let word = if is_short && !is_64 { 2 } else { 4 };
    let value = match opcode {
        _ if WITH_BYTE.has(opcode) => 1,
        _ if WITH_WORD.has(opcode) => word,
        0xb8..=0xbf if is_64 => 8,
        0xb8..=0xbf => word,
        0xa0..=0xa3 => 8 - 4 * usize::from(is_32),
        0xc2 | 0xca => 2,
        0xc8 => 3,
        0xe8 | 0xe9 => 4,
        _ => 0,
    };
    let value_of_test = match opcode {
        0xf6 => 1,
        0xf7 => word,
        _ => 0,
    };
    CodeOperands {
        has_modrm: WITH_MODRM.has(opcode),
        value,
        value_of_test,
        is_branch: matches!(opcode, 0xe8 | 0xe9),
        is_address: opcode == 0x8d,
    }
}

fn second_map(reader: &mut CodeReader<'_>) -> Option<CodeOperands> {
    let opcode = reader.byte()?;
    if let 0x38 | 0x3a = opcode {
        reader.byte()?;
        let value = usize::from(opcode == 0x3a);
        return Some(CodeOperands { has_modrm: true, value, ..CodeOperands::default() });
    }
    let is_branch = (0x80..=0x8f).contains(&opcode);
    Some(CodeOperands {
        has_modrm: !SECOND_WITHOUT_MODRM.has(opcode),
        value: if is_branch { 4 } else { usize::from(SECOND_WITH_BYTE.has(opcode)) },
        is_branch,
        ..CodeOperands::default()
    })
}

/// Instructions with a VEX or EVEX prefix.
fn vector(prefix: u8, reader: &mut CodeReader<'_>) -> Option<CodeOperands> {
    let first = reader.byte()?;
    let (map, more) = match prefix {
        0xc5 => (1, 0),
        0xc4 => (first & 0x1f, 1),
        _ => (first & 7, 2),
    };
    for _ in 0..more {
        reader.byte()?;
    }
    let opcode = reader.byte()?;
    let has_byte = map == 3 || map == 1 && SECOND_WITH_BYTE.has(opcode);
    Some(CodeOperands {
        // VZEROUPPER has none.
        has_modrm: (map, opcode) != (1, 0x77),
        value: usize::from(has_byte),
        ..CodeOperands::default()
    })
}

struct CodeReader<'a> {
    code: &'a [u8],
    at: usize,
}

impl CodeReader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Skips the address that follows a ModR/M byte. Returns the offset of its distance from the end of the
    /// instruction, if it has one.
    fn address(&mut self, modrm: u8) -> Option<Option<usize>> {
        let (mode, base) = (modrm >> 6, modrm & 7);
        if mode == 3 {
            return Some(None);
        }
        let scaled = if base == 4 { self.byte()? & 7 } else { base };
        let at = self.at;
        let size = match (mode, scaled) {
            (1, _) => 1,
            (2, _) | (0, 5) => 4,
            _ => 0,
        };
        self.at += size;
        Some(((mode, base) == (0, 5)).then_some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_lengths_that_a_disassembler_says() {
        for (code, length) in [
            (&b"\xc3"[..], 1),
            (b"\x55", 1),
            (b"\x48\x89\xe5", 3),
            (b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", 9),
            (b"\xf3\x0f\x1e\xfa", 4),
            (b"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10),
            (b"\xb8\x01\x00\x00\x00", 5),
            (b"\x66\xb8\x01\x00", 4),
            (b"\xf6\x47\x08\x01", 4),
            (b"\xf6\xd8", 2),
            (b"\x66\xf7\x07\x01\x00", 5),
            (b"\xc5\xf8\x77", 3),
            (b"\xc5\xfd\x74\x0f", 4),
            (b"\xc4\xe3\x7d\x39\xc1\x01", 6),
            (b"\x62\xf1\xfe\x28\x6f\x06", 6),
            (b"\x8b\x04\x25\x10\x00\x00\x00", 7),
            (b"\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9),
            (b"\x48\x8b\x44\x24\x08", 5),
            (b"\x0f\x38\xf0\x07", 4),
            (b"\xc8\x10\x00\x00", 4),
        ] {
            let found = decode(&[code, &[0; 16]].concat()).unwrap();
            assert_eq!((found.length, found.distance), (length, None), "{code:02x?}");
            for part in 0..code.len() {
                assert_eq!(decode(&code[..part]), None, "{code:02x?}");
            }
        }
        assert_eq!(decode(b"\x06\x00\x00\x00\x00"), None);
        assert_eq!(decode(&[0x66; 40]), None);
    }

    #[test]
    fn distances_are_found() {
        for (code, at, kind) in [
            (&b"\xe8\x01\x02\x03\x04"[..], 1, OperandKind::Branch),
            (b"\xe9\x01\x02\x03\x04", 1, OperandKind::Branch),
            (b"\x0f\x84\x01\x02\x03\x04", 2, OperandKind::Branch),
            (b"\x48\x8d\x3d\x01\x02\x03\x04", 3, OperandKind::Address),
            (b"\x48\x8b\x05\x01\x02\x03\x04", 3, OperandKind::Memory),
            (b"\xc7\x05\x01\x02\x03\x04\x00\x00\x00\x00", 2, OperandKind::Memory),
            (b"\xff\x15\x01\x02\x03\x04", 2, OperandKind::Memory),
        ] {
            let found = decode(code).unwrap();
            assert_eq!(found.length, code.len(), "{code:02x?}");
            assert_eq!(found.distance, Some(RelativeOperand { at, kind }), "{code:02x?}");
        }
    }
}
