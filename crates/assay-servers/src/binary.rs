//! How an ELF file was built, according to the file.

use std::collections::BTreeSet;

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

type File<'a> = ElfFile64<'a, LittleEndian>;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Binary {
    /// From the compilers' notes, sorted; empty if they were stripped.
    pub(crate) compilers: Vec<String>,
    /// `None` if it left no note.
    pub(crate) linker: Option<String>,
    pub(crate) is_pie: bool,
    pub(crate) is_stripped: bool,
    /// Whether it has symbols created by link-time optimisation; `None` for a stripped file.
    pub(crate) has_lto: Option<bool>,
    /// Whether addresses of libraries are bound at the start and then read-only.
    pub(crate) relro: &'static str,
    pub(crate) hardening: Vec<&'static str>,
    pub(crate) has_malloc: bool,
}

/// `None` for anything but an intact 64-bit little-endian ELF file.
pub(crate) fn read(bytes: &[u8]) -> Option<Binary> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let file = File::parse(bytes).ok()?;
    let (compilers, linker) = comments(&file);
    let dynamic = dynamic_flags(header, bytes);
    let is_stripped = file.section_by_name(".symtab").is_none();
    Some(Binary {
        compilers,
        linker,
        is_pie: header.e_type(LittleEndian) == elf::ET_DYN,
        is_stripped,
        has_lto: (!is_stripped).then(|| has_lto(&file)),
        relro: match (dynamic.has_relro, dynamic.binds_now) {
            (true, true) => "full",
            (true, false) => "partial",
            _ => "none",
        },
        hardening: hardening(&file),
        has_malloc: file
            .dynamic_symbols()
            .any(|it| it.name() == Ok("malloc") && it.is_definition()),
    })
}

fn comments(file: &File) -> (Vec<String>, Option<String>) {
    let section = file.section_by_name(".comment");
    let bytes = section.and_then(|it| it.data().ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let words: BTreeSet<&str> =
        text.split('\0').map(str::trim).filter(|it| !it.is_empty()).collect();
    let (linkers, compilers): (Vec<_>, Vec<_>) =
        words.into_iter().partition(|it| it.starts_with("Linker:") || it.starts_with("mold"));
    let compilers: BTreeSet<String> = compilers.into_iter().map(compiler).collect();
    let linker = linkers.first().map(|it| it.trim_start_matches("Linker:").trim().to_owned());
    (compilers.into_iter().collect(), linker)
}

/// Shortens `GCC: (GNU) 8.5.0 20210514 (Red Hat 8.5.0-15.0.1)` to `GCC 8.5.0`, and `Debian clang version 14.0.6` to
/// `clang 14.0.6`.
fn compiler(comment: &str) -> String {
    let (name, rest) = match comment.strip_prefix("GCC:") {
        // Brackets hold the vendor, which may contain brackets and numbers.
        Some(rest) => {
            ("GCC", rest.rsplit_once(") ").filter(|(_, it)| is_version(it)).map_or(rest, |it| it.1))
        }
        None if comment.contains("clang") => ("clang", comment),
        None => return comment.to_owned(),
    };
    // The first version outside brackets.
    let mut depth = 0_i32;
    let outside = rest.split_inclusive(['(', ')', ' ']).find(|word| {
        let is_outside = depth == 0;
        depth += match word.chars().last() {
            Some('(') => 1,
            Some(')') => -1,
            _ => 0,
        };
        is_outside && is_version(word)
    });
    match outside {
        Some(version) => format!("{name} {}", version.trim()),
        None => comment.to_owned(),
    }
}

fn is_version(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with('.')
}

struct DynamicFlags {
    has_relro: bool,
    binds_now: bool,
}

fn dynamic_flags(header: &FileHeader64<LittleEndian>, bytes: &[u8]) -> DynamicFlags {
    let endian = LittleEndian;
    let mut flags = DynamicFlags { has_relro: false, binds_now: false };
    for segment in header.program_headers(endian, bytes).unwrap_or_default() {
        flags.has_relro |= segment.p_type(endian) == elf::PT_GNU_RELRO;
        let entries = segment.dynamic(endian, bytes).ok().flatten().unwrap_or_default();
        for entry in entries {
            let value = entry.d_val(endian);
            flags.binds_now |= match entry.d_tag(endian) {
                tag if tag == elf::DT_BIND_NOW => true,
                tag if tag == elf::DT_FLAGS => value & elf::DF_BIND_NOW.0 != 0,
                tag if tag == elf::DT_FLAGS_1 => value & elf::DF_1_NOW.0 != 0,
                _ => false,
            };
        }
    }
    flags
}

/// Looks for names that GCC gives to functions that it moves between files.
fn has_lto(file: &File) -> bool {
    let is_of_lto = |name: &str| name.contains(".lto_priv.") || name.contains(".ltrans");
    file.symbols().any(|symbol| symbol.name().is_ok_and(is_of_lto))
}

/// Checks evident from the names of called functions.
fn hardening(file: &File) -> Vec<&'static str> {
    let mut found = BTreeSet::new();
    for symbol in file.dynamic_symbols().filter(|it| it.is_undefined()) {
        match symbol.name() {
            Ok("__stack_chk_fail") => found.insert("stack protector"),
            Ok(name) if name.starts_with("__") && name.ends_with("_chk") => found.insert("fortify"),
            Ok(name) if name.starts_with("__asan_") => found.insert("address sanitizer"),
            Ok(name) if name.starts_with("__tsan_") => found.insert("thread sanitizer"),
            Ok(name) if name.starts_with("__ubsan_") => {
                found.insert("undefined behaviour sanitizer")
            }
            _ => false,
        };
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_named_by_family_and_version() {
        for (comment, name) in [
            ("GCC: (GNU) 8.5.0 20210514 (Red Hat 8.5.0-15.0.1)", "GCC 8.5.0"),
            ("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0", "GCC 12.2.0"),
            ("GCC: (Gentoo 4.5.3-r1 p1.0, pie-0.4.5) 4.5.3", "GCC 4.5.3"),
            ("GCC: (GNU) 4.1.2 20080704 (Red Hat 4.1.2-48)", "GCC 4.1.2"),
            ("Debian clang version 14.0.6", "clang 14.0.6"),
            ("clang version 19.1.7 (Fedora 19.1.7-3.fc41)", "clang 19.1.7"),
            ("tcc 0.9", "tcc 0.9"),
        ] {
            assert_eq!(compiler(comment), name);
        }
    }

    #[test]
    fn non_elf_and_truncated_files_are_ignored() {
        assert_eq!(read(b"#!/bin/sh\n"), None);
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        let whole = read(&own).unwrap();
        assert!(whole.is_pie && !whole.is_stripped, "{whole:?}");
        for end in [1, 16, 64, 1000, own.len() / 2] {
            let _ = read(&own[..end]);
        }
    }
}
