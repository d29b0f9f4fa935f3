//! The code of a program, function by function, in a form that does not depend on its addresses.

use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use object::read::ReadCache;
use object::{Architecture, Object as _};

use crate::binary::{ElfSection, code_ranges, functions, section};

/// In order of address. Functions of machines other than x86-64 are not examined.
#[derive(Debug)]
pub(crate) struct ProgramCode {
    pub(crate) functions: Vec<CodeFunction>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CodeFunction {
    pub(crate) begin: u64,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) symbol: Option<String>,
    /// Hash of its instructions without the distances to other code and to data.
    pub(crate) digest: u64,
    /// Hash of the strings whose addresses it takes; `None` without any.
    pub(crate) strings: Option<u64>,
    /// Indices of the functions that it calls or continues with, in the order of its code.
    pub(crate) calls: Vec<u32>,
}

/// Most bytes of code that are examined, and most calls in it: several times those of the largest server.
const CODE_MAX: usize = 512 << 20;
const CALLS_MAX: usize = 1 << 23;

/// Lengths of strings, bytes: shorter ones are common to many functions.
const STRING_LEAST: usize = 6;
const STRING_MOST: usize = 200;

impl ProgramCode {
    /// `None` if the file is damaged, or no program of x86-64.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(fs_err::File::open(path).ok()?.into_file());
        let file = object::File::parse(&cache).ok()?;
        if file.architecture() != Architecture::X86_64 {
            return None;
        }
        let all = functions(file.symbols());
        let symbols = if all.is_empty() { functions(file.dynamic_symbols()) } else { all };
        let text = section(&file, ".text").filter(|(_, bytes)| bytes.len() <= CODE_MAX)?;
        let frames = section(&file, ".eh_frame");
        let frames = frames.map(|(range, bytes)| code_ranges(&bytes, range.start, Some(&text.0)));
        let unnamed = frames.unwrap_or_default().into_iter().map(|range| (range, None));
        let named = symbols
            .into_iter()
            .map(|function| (function.begin..function.end, Some(function.symbol)));
        let found = unnamed.chain(named).collect();
        Some(Self::new(&text, section(&file, ".rodata").as_ref(), found))
    }

    /// `found` may have a function several times, and in any order.
    pub(crate) fn new(
        text: &ElfSection,
        data: Option<&ElfSection>,
        found: Vec<(Range<u64>, Option<String>)>,
    ) -> Self {
        let functions = disjoint(&text.0, found);
        let begins: Vec<u64> = functions.iter().map(|(range, _)| range.start).collect();
        let mut left = CALLS_MAX;
        let examined = functions.into_iter().map(|(range, symbol)| {
            let mut examination = CodeExamination {
                range,
                data,
                begins: &begins,
                hasher: DefaultHasher::new(),
                strings: None,
                calls: Vec::new(),
            };
            examination.examine(text, left);
            left -= examination.calls.len();
            let CodeExamination { range, hasher, strings, calls, .. } = examination;
            let (begin, size) = (range.start, range.end - range.start);
            CodeFunction { begin, size, symbol, digest: hasher.finish(), strings, calls }
        });
        Self { functions: examined.collect() }
    }
}

/// Each function once, with its name if it has one, and without the code of the next one.
fn disjoint(
    text: &Range<u64>,
    mut found: Vec<(Range<u64>, Option<String>)>,
) -> Vec<(Range<u64>, Option<String>)> {
    found.retain(|(range, _)| text.contains(&range.start));
    found.sort_by_key(|(range, _)| range.start);
    let mut functions: Vec<(Range<u64>, Option<String>)> = Vec::with_capacity(found.len());
    for (range, symbol) in found {
        match functions.last_mut() {
            Some((known, name)) if known.start == range.start => {
                known.end = known.end.max(range.end);
                *name = name.take().or(symbol);
            }
            last => {
                if let Some((before, _)) = last {
                    before.end = before.end.min(range.start);
                }
                functions.push((range, symbol));
            }
        }
    }
    if let Some((last, _)) = functions.last_mut() {
        last.end = last.end.min(text.end);
    }
    functions.retain(|(range, _)| range.start < range.end);
    functions
}

struct CodeExamination<'a> {
    range: Range<u64>,
    data: Option<&'a ElfSection>,
    /// Starts of all functions, sorted.
    begins: &'a [u64],
    hasher: DefaultHasher,
    strings: Option<u64>,
    calls: Vec<u32>,
}

impl CodeExamination<'_> {
    /// Finds at most `most` calls.
    fn examine(&mut self, (text, bytes): &ElfSection, most: usize) {
        let [from, to] = [self.range.start, self.range.end]
            .map(|address| usize::try_from(address - text.start).unwrap_or(usize::MAX));
        let code = bytes.get(from..to.min(bytes.len())).unwrap_or_default();
        let mut decoder = Decoder::with_ip(64, code, self.range.start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            let at = decoder.position();
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                // What follows data within code, or unknown instructions, is compared as it is.
                self.hasher.write(&code[at..]);
                break;
            }
            let bytes = &code[at..decoder.position()];
            let offsets = decoder.get_constant_offsets(&instruction);
            if instruction.op0_kind() == OpKind::NearBranch64 && offsets.immediate_size() == 4 {
                let target = instruction.near_branch64();
                self.branch(bytes, offsets.immediate_offset(), target, most);
            } else if instruction.is_ip_rel_memory_operand() {
                self.hash_without(bytes, offsets.displacement_offset());
                if instruction.mnemonic() == Mnemonic::Lea {
                    self.take_address(instruction.ip_rel_memory_address());
                }
            } else {
                self.hasher.write(bytes);
            }
        }
    }

    /// A call or jump whose distance is at an offset.
    fn branch(&mut self, bytes: &[u8], at: usize, target: u64, most: usize) {
        if self.range.contains(&target) && target != self.range.start {
            self.hasher.write(bytes);
            return;
        }
        self.hash_without(bytes, at);
        if self.calls.len() < most {
            let called = self.begins.binary_search(&target).ok();
            self.calls.extend(called.and_then(|at| u32::try_from(at).ok()));
        }
    }

    /// An instruction without the four bytes of a distance.
    fn hash_without(&mut self, bytes: &[u8], at: usize) {
        self.hasher.write(&bytes[..at]);
        self.hasher.write(&bytes[at + 4..]);
    }

    fn take_address(&mut self, address: u64) {
        if let Some(text) = self.data.and_then(|data| string_at(data, address)) {
            let mut hasher = DefaultHasher::new();
            hasher.write(text);
            // Builds may take the addresses in another order.
            let known = self.strings.unwrap_or_default();
            self.strings = Some(known.wrapping_add(hasher.finish()));
        }
    }
}

/// The printable string at this address. Of a path, only the file name, because builds differ in their directories.
fn string_at((range, bytes): &ElfSection, address: u64) -> Option<&[u8]> {
    let at = usize::try_from(address.checked_sub(range.start)?).ok()?;
    let rest = bytes.get(at..)?;
    let end = rest.iter().take(STRING_MOST).position(|byte| *byte == 0)?;
    let text = rest.get(..end).filter(|text| text.len() >= STRING_LEAST)?;
    let is_printable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let name = text.rsplit(|byte| *byte == b'/').next().unwrap_or(text);
    text.iter().all(is_printable).then_some(name)
}

/// Whether the file has a table of all its functions.
pub(crate) fn has_symbols(path: &Path) -> bool {
    let Ok(file) = fs_err::File::open(path) else { return false };
    let cache = ReadCache::new(file.into_file());
    object::File::parse(&cache).is_ok_and(|file| file.symbols().next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::SharedBytes;

    fn program(text: &[u8], found: &[(Range<u64>, Option<&str>)]) -> ProgramCode {
        let found =
            found.iter().map(|(range, name)| (range.clone(), name.map(str::to_owned))).collect();
        let data = (0x3000..0x3010, SharedBytes::from(&b"\0some/words.c\0\0\0\0"[..]));
        ProgramCode::new(&(0x1000..0x1000 + text.len() as u64, text.into()), Some(&data), found)
    }

    /// Calls the function at 0x1010, and takes the address of a string.
    const CALLER: &[u8] = b"\xe8\x0b\x00\x00\x00\x48\x8d\x3d\xf5\x1f\x00\x00\xc3\x90\x90\x90";
    /// The same code at 0x1010, which calls itself.
    const CALLED: &[u8] = b"\xe8\xfb\xff\xff\xff\x48\x8d\x3d\xe5\x1f\x00\x00\xc3\x90\x90\x90";

    #[test]
    fn code_has_calls_and_strings_and_the_same_digest_elsewhere() {
        let text = [CALLER, CALLED].concat();
        let found = [(0x1010..0x101d, None), (0x1000..0x100d, None), (0x1010..0x1030, Some("f"))];
        let functions = program(&text, &found).functions;
        let [first, second] = &functions[..] else { panic!("{functions:?}") };
        assert_eq!((first.begin, first.size, &first.symbol), (0x1000, 13, &None));
        assert_eq!((second.begin, second.size), (0x1010, 16));
        assert_eq!(second.symbol.as_deref(), Some("f"));
        assert_eq!((&first.calls[..], &second.calls[..]), (&[1][..], &[1][..]));
        assert!(first.strings.is_some() && first.strings == second.strings);
        // The padding of the second is part of it, because a name without an end has it.
        assert_ne!(first.digest, second.digest);
        let found = [(0x1000..0x100d, None), (0x1010..0x101d, None)];
        let functions = program(&text, &found).functions;
        assert_eq!(functions[0].digest, functions[1].digest);
    }

    /// The digests of two functions of eight bytes each, one after the other.
    fn digests(first: &[u8; 8], second: &[u8; 8]) -> [u64; 2] {
        let text = [*first, *second].concat();
        let functions = program(&text, &[(0x1000..0x1008, None), (0x1008..0x1010, None)]).functions;
        [functions[0].digest, functions[1].digest]
    }

    #[test]
    fn digests_are_of_all_but_distances_to_other_places() {
        // `mov rax, [rip + distance]; ret`
        let [one, other] =
            digests(b"\x48\x8b\x05\x01\x02\x03\x04\xc3", b"\x48\x8b\x05\xf1\x01\x03\x04\xc3");
        assert_eq!(one, other);
        // `je distance` within the function.
        let [one, other] =
            digests(b"\x0f\x84\x01\x00\x00\x00\x90\xc3", b"\x0f\x84\x00\x00\x00\x00\x90\xc3");
        assert_ne!(one, other);
        // An invalid instruction, and what follows it.
        let [one, other] =
            digests(b"\x06\xe8\x01\x02\x03\x04\x90\xc3", b"\x06\xe8\x01\x02\x03\x05\x90\xc3");
        assert_ne!(one, other);
        // An instruction cut off by the end of the function.
        let [one, other] =
            digests(b"\x90\x90\x90\x90\x90\x90\x90\xe8", b"\x90\x90\x90\x90\x90\x90\x90\xe9");
        assert_ne!(one, other);
    }

    #[test]
    fn ranges_that_overlap_or_are_outside_are_cut() {
        let reversed = Range { start: 0x1008, end: 0x1004 };
        let found = [(0..u64::MAX, None), (0x1000..u64::MAX, None), (reversed, Some("f"))];
        let functions = program(CALLER, &found).functions;
        let places: Vec<_> =
            functions.iter().map(|function| (function.begin, function.size)).collect();
        assert_eq!(places, [(0x1000, 8)]);
    }
}
