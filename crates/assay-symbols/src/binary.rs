//! A binary: its functions and unwind tables.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection as _};
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::debuginfod::Fetcher;
use crate::names::{cut, plain};

/// A section, shared by all processes that run the binary.
pub type SharedBytes = Arc<[u8]>;

/// The addresses of a section, and its content.
pub(crate) type ElfSection = (Range<u64>, SharedBytes);

/// Addresses are those stated in the file.
#[derive(Debug)]
pub struct ElfBinary {
    pub name: String,
    named: Vec<ElfFunction>,
    /// All functions, in order of address; empty if the names are complete.
    unnamed: Vec<Range<u64>>,
    /// Whether it lacks a table of all its functions.
    pub is_stripped: bool,
    sections: ExplicitModuleSectionInfo<SharedBytes>,
    /// Offset and address of each segment of code, and its size in the file.
    segments: Vec<(u64, u64, u64)>,
}

#[derive(Debug)]
pub(crate) struct ElfFunction {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) symbol: String,
}

/// Maximum size of a section, bytes.
const SECTION_MAX: u64 = 1 << 30;

/// Maximum size of the functions of a table, bytes: some times that of the largest server.
const FUNCTIONS_BYTES: usize = 128 << 20;

/// Most functions of the unwind tables: about ten times those of the largest server.
const RANGES_MAX: usize = 1 << 21;

impl ElfBinary {
    /// Reads the binary at `path`, called `shown` on the machine. `None` if it is damaged or no binary. Names of a
    /// stripped one may come from `fetcher`.
    pub(crate) fn read(path: &Path, shown: &Path, fetcher: &mut Fetcher) -> Option<Self> {
        let cache = ReadCache::new(fs_err::File::open(path).ok()?.into_file());
        let file = object::File::parse(&cache).ok()?;
        let id = file.build_id().ok().flatten().map(hex::encode);
        let own = functions(file.symbols());
        let debug = id.as_deref().and_then(|id| {
            let fetched = || own.is_empty().then(|| fetcher.find(id)).flatten();
            debug_file(id, shown).or_else(fetched)
        });
        let debug_cache =
            debug.and_then(|path| Some(ReadCache::new(fs_err::File::open(path).ok()?.into_file())));
        let debug_file = debug_cache.as_ref().and_then(|cache| object::File::parse(cache).ok());
        // Names of another build would be wrong.
        let debug_file =
            debug_file.filter(|file| file.build_id().ok().flatten().map(hex::encode) == id);
        let fetched = debug_file.as_ref().map(|file| functions(file.symbols())).unwrap_or_default();
        let complete = if own.len() >= fetched.len() { own } else { fetched };
        let is_stripped = complete.is_empty();
        let named = if is_stripped { functions(file.dynamic_symbols()) } else { complete };
        let section = |name: &str| section(&file, name);
        let (eh_frame, eh_frame_hdr) = (section(".eh_frame"), section(".eh_frame_hdr"));
        let text = file.section_by_name(".text");
        let text_svma = text.map(|text| text.address()..text.address().saturating_add(text.size()));
        let unnamed = match (&eh_frame, is_stripped) {
            (Some((range, bytes)), true) => code_ranges(bytes, range.start, text_svma.as_ref()),
            _ => Vec::new(),
        };
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, segment.address(), size)
        });
        Some(Self {
            name: cut(&shown.file_name().unwrap_or(shown.as_os_str()).to_string_lossy()).to_owned(),
            named,
            unnamed,
            is_stripped,
            segments: segments.collect(),
            sections: ExplicitModuleSectionInfo {
                // Addresses in an ELF file are relative to zero.
                base_svma: 0,
                text_svma,
                got_svma: section(".got").map(|(range, _)| range),
                eh_frame_svma: eh_frame.as_ref().map(|(range, _)| range.clone()),
                eh_frame: eh_frame.map(|(_, bytes)| bytes),
                eh_frame_hdr_svma: eh_frame_hdr.as_ref().map(|(range, _)| range.clone()),
                eh_frame_hdr: eh_frame_hdr.map(|(_, bytes)| bytes),
                ..ExplicitModuleSectionInfo::default()
            },
        })
    }

    pub fn sections(&self) -> ExplicitModuleSectionInfo<SharedBytes> {
        self.sections.clone()
    }

    /// Difference to the stated addresses if the part of the file at `offset` is mapped at `address`.
    pub fn bias(&self, address: u64, offset: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        // A segment may end within the page in which the next one begins.
        let begins = |(from, _, _): &&(u64, u64, u64)| from - from % PAGE <= offset;
        let (from, stated, size) =
            self.segments.iter().filter(begins).max_by_key(|(from, _, _)| *from)?;
        if offset >= from.saturating_add(*size) {
            return None;
        }
        let stated = stated.wrapping_add(offset.wrapping_sub(*from));
        Some(address.wrapping_sub(stated))
    }

    /// The function at a stated address. Without a name, it is called by its start.
    pub fn function(&self, address: u64) -> String {
        let after = self.unnamed.partition_point(|code| code.start <= address);
        let code = self.unnamed[..after].last().filter(|last| last.contains(&address));
        let start = code.map_or(address, |code| code.start);
        let after = self.named.partition_point(|function| function.begin <= address);
        // A name without a size extends to the next one, across functions without a name.
        let is_here = |last: &&ElfFunction| {
            address < last.end && code.is_none_or(|code| last.begin >= code.start)
        };
        match self.named[..after].last().filter(is_here) {
            Some(function) => plain(&function.symbol),
            None => format!("{start:#x}"),
        }
    }
}

/// A section of at most [`SECTION_MAX`] bytes.
pub(crate) fn section<'a>(
    file: &object::File<'a, &'a ReadCache<std::fs::File>>,
    name: &str,
) -> Option<ElfSection> {
    let section = file.section_by_name(name)?;
    let range = section.address()..section.address().checked_add(section.size())?;
    let data = (section.size() <= SECTION_MAX).then(|| section.data().ok())??;
    Some((range, SharedBytes::from(data)))
}

/// The file with the names of a stripped binary, where distributions install it: below a directory `debug` of the
/// machine, or of the prefix that the binary belongs to.
fn debug_file(build_id: &str, shown: &Path) -> Option<PathBuf> {
    let (first, rest) = build_id.split_at_checked(2)?;
    let name = format!("lib/debug/.build-id/{first}/{rest}.debug");
    let parents = shown.ancestors().skip(1).chain([Path::new("/usr")]);
    parents.map(|parent| parent.join(&name)).find(|path| path.is_file())
}

/// The functions of a symbol table, in order of address. Those without a size extend to the next one. If a table is too
/// large, only its first functions are returned.
pub(crate) fn functions<'a>(
    symbols: impl Iterator<Item = object::Symbol<'a, 'a, &'a ReadCache<std::fs::File>>>,
) -> Vec<ElfFunction> {
    let is_code = |symbol: &object::Symbol<'_, '_, _>| {
        symbol.is_definition() && symbol.kind() == SymbolKind::Text
    };
    let mut left = FUNCTIONS_BYTES;
    let mut all = Vec::new();
    for symbol in symbols.filter(is_code) {
        let name = symbol.name().unwrap_or_default();
        // Many symbols may share the bytes of a name in the file, but each has a copy of it here.
        match left.checked_sub(size_of::<ElfFunction>() + name.len()) {
            Some(rest) => left = rest,
            None => break,
        }
        let begin = symbol.address();
        if let (false, Some(end)) = (name.is_empty(), begin.checked_add(symbol.size())) {
            all.push(ElfFunction { begin, end, symbol: name.to_owned() });
        }
    }
    // Some code has several names: the longest function keeps its name.
    all.sort_unstable_by(|one: &ElfFunction, other| {
        let order = one.begin.cmp(&other.begin).then(other.end.cmp(&one.end));
        order.then_with(|| one.symbol.cmp(&other.symbol))
    });
    all.dedup_by_key(|function| function.begin);
    for next in 1..all.len() {
        if all[next - 1].end == all[next - 1].begin {
            all[next - 1].end = all[next].begin;
        }
    }
    all
}

/// The code of the functions in the unwind tables, in order of address. A damaged table ends early.
pub(crate) fn code_ranges(
    eh_frame: &[u8],
    address: u64,
    text: Option<&Range<u64>>,
) -> Vec<Range<u64>> {
    let mut section = EhFrame::new(eh_frame, LittleEndian);
    section.set_address_size(8);
    let bases =
        BaseAddresses::default().set_eh_frame(address).set_text(text.map_or(0, |text| text.start));
    let mut entries = section.entries(&bases);
    let mut ranges = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else {
            continue;
        };
        ranges.push(fde.initial_address()..fde.initial_address().saturating_add(fde.len()));
        if ranges.len() >= RANGES_MAX {
            break;
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::elf;

    fn read(name: &str, count: u64) -> ElfBinary {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server");
        fs_err::write(&path, elf(name, count)).unwrap();
        ElfBinary::read(&path, &path, &mut Fetcher::new(false, || false)).unwrap()
    }

    #[test]
    fn an_address_is_that_of_the_function_around_it() {
        let binary = read("read_row", 2);
        assert_eq!((binary.is_stripped, binary.named.len()), (false, 2));
        assert_eq!(binary.function(0x101f), "read_row");
        assert_eq!(binary.function(0x1020), "0x1020");
    }

    #[test]
    fn a_name_without_an_end_is_not_that_of_unnamed_code_behind_it() {
        let mut binary = read("read_row", 1);
        binary.named[0].end = 0x2000;
        assert_eq!(binary.function(0x1810), "read_row");
        binary.unnamed = vec![0x1000..0x1010, 0x1800..0x1820];
        assert_eq!(binary.function(0x1008), "read_row");
        assert_eq!(binary.function(0x1810), "0x1800");
    }

    #[test]
    fn long_names_that_share_their_bytes_in_the_file_take_little_memory() {
        let binary = read(&"n".repeat(4000), 100_000);
        let bytes: usize = binary.named.iter().map(|function| function.symbol.len()).sum();
        assert!(bytes > FUNCTIONS_BYTES / 2 && bytes < FUNCTIONS_BYTES, "{bytes}");
    }
}
