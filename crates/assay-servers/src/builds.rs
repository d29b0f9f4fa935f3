//! How a server was built, according to its files, and the libraries that it runs with.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_model::{Artifact, BuildFlag, Origin, Prefix, SystemSpec, flags_in_words};
use fs_err as fs;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};
use procfs::process::{MMPermissions, MMapPath, Process};

use crate::audit::{FLAGS, ServerSettings};
use crate::error::{Result, ServersError};

/// The package whose version is that of a Debian release's compiler.
const OF_COMPILER: &str = "libstdc++6";

const ALLOCATORS: [&str; 4] = ["jemalloc", "tcmalloc", "mimalloc", "snmalloc"];

const TRANSPARENT_HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

const C_LIBRARY: &[u8] = b"GNU C Library (";

/// Each fact has the prefix `build.` and comes from the server's catalog, its files or its memory. For a server that
/// was already running, the builder and its packages are unknown.
pub fn build_facts(pid: i32, artifact: &Artifact) -> Result<ServerSettings> {
    let files = mapped_files(pid)?;
    let program = artifact.program().and_then(|server| program(&files, server));
    let binary = match &program {
        Some(program) => read_binary(&fs::read(program)?).unwrap_or_default(),
        None => ServerBinary::default(),
    };
    let mut facts = ServerSettings::new();
    let mut add = |name: &str, value: String| facts.insert(format!("build.{name}"), value);
    if let Some(prefix) = artifact.prefix() {
        add("source", prefix.build.source.clone());
        add("channel", prefix.build.channel.clone());
        add("foreign-libraries", listed(&foreign_libraries(&files, prefix)));
    }
    add("pie", yes(binary.is_pie).to_owned());
    add("relro", binary.relro.to_owned());
    add("stripped", yes(binary.is_stripped).to_owned());
    add("hardening", listed(&binary.hardening));
    add("allocator", allocator(&binary, &files));
    add("assertions", yes(artifact.version().contains("debug")).to_owned());
    let compiler = listed(&binary.compilers);
    let of_release = || compiler_of_release(artifact.prefix()?);
    let compiler = (!compiler.is_empty()).then_some(compiler).or_else(of_release);
    compiler.and_then(|it| add("compiler", it));
    binary.linker.and_then(|it| add("linker", it));
    binary.has_lto.and_then(|it| add("lto", yes(it).to_owned()));
    c_library(&files)?.and_then(|it| add("c-library", it));
    named(&files, "libstdc++.so")
        .or_else(|| named(&files, "libc++.so"))
        .and_then(|it| add("c++-library", it));
    facts.insert("process.transparent-huge-pages".to_owned(), transparent_huge_pages(pid)?);
    Ok(facts)
}

/// Facts that the flags of a build determine, also where its binary does not show them: clang leaves no trace of
/// link-time optimisation.
pub fn flag_facts(spec: &SystemSpec) -> ServerSettings {
    let mut facts = ServerSettings::new();
    if !matches!(spec.origin, Origin::Git(_)) {
        return facts;
    }
    for (flag, name) in [(BuildFlag::Lto, "build.lto"), (BuildFlag::Asserts, "build.assertions")] {
        if spec.build.get(&flag).is_some_and(|it| it == "on") {
            facts.insert(name.to_owned(), yes(true).to_owned());
        }
    }
    let words = flags_in_words(&spec.build);
    let words = if words.is_empty() { "the defaults".to_owned() } else { words };
    facts.insert(FLAGS.to_owned(), words);
    facts
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn listed<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

pub fn mapped_files(pid: i32) -> Result<BTreeSet<PathBuf>> {
    let maps =
        Process::new(pid).and_then(|it| it.maps()).map_err(|it| ServersError::Io(other(it)))?;
    let code = maps.into_iter().filter(|map| map.perms.contains(MMPermissions::EXECUTE));
    Ok(code
        .filter_map(|map| match map.pathname {
            MMapPath::Path(path) => Some(path),
            _ => None,
        })
        .collect())
}

fn other(error: procfs::ProcError) -> std::io::Error {
    std::io::Error::other(error)
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The mapped program: the layout may name a script that starts it, or a link to it.
fn program(files: &BTreeSet<PathBuf>, server: &Path) -> Option<PathBuf> {
    let server = fs::canonicalize(server).unwrap_or_else(|_| server.to_owned());
    let is_it = |path: &&PathBuf| **path == server || path.file_stem() == server.file_name();
    files.iter().find(is_it).cloned()
}

fn named(files: &BTreeSet<PathBuf>, beginning: &str) -> Option<String> {
    files.iter().map(|it| file_name(it)).find(|it| it.starts_with(beginning)).map(str::to_owned)
}

fn allocator(binary: &ServerBinary, files: &BTreeSet<PathBuf>) -> String {
    let names = || files.iter().map(|it| file_name(it));
    let other = names().find(|name| ALLOCATORS.iter().any(|it| name.contains(it)));
    match other {
        Some(name) => name.to_owned(),
        None if binary.has_malloc => "linked in".to_owned(),
        None => "of the C library".to_owned(),
    }
}

/// Whether the process uses transparent huge pages. The word in brackets is the machine's setting.
fn transparent_huge_pages(pid: i32) -> Result<String> {
    let status =
        Process::new(pid).and_then(|it| it.status()).map_err(|it| ServersError::Io(other(it)))?;
    // Since Linux 5.0; false if a process has requested it itself.
    if status.thp_enabled == Some(false) {
        return Ok("never".to_owned());
    }
    let choices = fs::read_to_string(TRANSPARENT_HUGE_PAGES).unwrap_or_default();
    let chosen = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or_else(|| "unknown".to_owned(), |(chosen, _)| chosen.to_owned()))
}

/// Debian strips the compiler's name from its binaries, but each release has one compiler.
fn compiler_of_release(prefix: &Prefix) -> Option<String> {
    if prefix.build.source != "apt" {
        return None;
    }
    let library = prefix.packages.iter().find(|it| it.name == OF_COMPILER)?;
    let version = library.version.split('-').next().unwrap_or_default();
    Some(format!("GCC {version} (assumed from the Debian release; the binary does not record it)"))
}

/// The C library's version text, such as `Debian GLIBC 2.36-9+deb12u14`.
fn c_library(files: &BTreeSet<PathBuf>) -> Result<Option<String>> {
    let is_it = |path: &&PathBuf| {
        let name = file_name(path);
        name.starts_with("libc.so.") || name.starts_with("libc-2.") || name.starts_with("ld-musl")
    };
    let Some(path) = files.iter().find(is_it) else { return Ok(None) };
    let bytes = fs::read(path)?;
    let at = bytes.windows(C_LIBRARY.len()).position(|window| window == C_LIBRARY);
    let words = at.and_then(|at| bytes.get(at + C_LIBRARY.len()..)).unwrap_or_default();
    let end = words.iter().position(|byte| *byte == b')').unwrap_or(0);
    let words = String::from_utf8_lossy(words.get(..end).unwrap_or_default()).into_owned();
    Ok(Some(if words.is_empty() { file_name(path).to_owned() } else { words }))
}

/// Libraries from outside the server's tree. A server without its own loader runs on the machine's.
fn foreign_libraries(files: &BTreeSet<PathBuf>, prefix: &Prefix) -> Vec<String> {
    if prefix.layout.loader.is_none() {
        return vec!["those of the machine".to_owned()];
    }
    let root = fs::canonicalize(&prefix.path).unwrap_or_else(|_| prefix.path.clone());
    let foreign = files.iter().filter(|path| !path.starts_with(&root));
    foreign.map(|path| path.display().to_string()).collect()
}

type ElfFile<'a> = ElfFile64<'a, LittleEndian>;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerBinary {
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
pub(crate) fn read_binary(bytes: &[u8]) -> Option<ServerBinary> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let file = ElfFile::parse(bytes).ok()?;
    let (compilers, linker) = comments(&file);
    let is_stripped = file.section_by_name(".symtab").is_none();
    Some(ServerBinary {
        compilers,
        linker,
        is_pie: header.e_type(LittleEndian) == elf::ET_DYN,
        is_stripped,
        has_lto: (!is_stripped).then(|| has_lto(&file)),
        relro: match dynamic_flags(header, bytes) {
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

fn comments(file: &ElfFile) -> (Vec<String>, Option<String>) {
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

/// Whether addresses can be made read-only, and whether they are bound at the start.
fn dynamic_flags(header: &FileHeader64<LittleEndian>, bytes: &[u8]) -> (bool, bool) {
    let endian = LittleEndian;
    let (mut has_relro, mut binds_now) = (false, false);
    for segment in header.program_headers(endian, bytes).unwrap_or_default() {
        has_relro |= segment.p_type(endian) == elf::PT_GNU_RELRO;
        let entries = segment.dynamic(endian, bytes).ok().flatten().unwrap_or_default();
        for entry in entries {
            let value = entry.d_val(endian);
            binds_now |= match entry.d_tag(endian) {
                tag if tag == elf::DT_BIND_NOW => true,
                tag if tag == elf::DT_FLAGS => value & elf::DF_BIND_NOW.0 != 0,
                tag if tag == elf::DT_FLAGS_1 => value & elf::DF_1_NOW.0 != 0,
                _ => false,
            };
        }
    }
    (has_relro, binds_now)
}

/// Looks for names that GCC gives to functions that it moves between files.
fn has_lto(file: &ElfFile) -> bool {
    let is_of_lto = |name: &str| name.contains(".lto_priv.") || name.contains(".ltrans");
    file.symbols().any(|symbol| symbol.name().is_ok_and(is_of_lto))
}

/// Checks evident from the names of called functions.
fn hardening(file: &ElfFile) -> Vec<&'static str> {
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
    fn flags_are_facts_of_builds_only() {
        let mut spec = SystemSpec::new(assay_model::Product::MySql, Origin::Git("/x#1".to_owned()));
        let flags = |spec: &SystemSpec| flag_facts(spec).into_values().collect::<Vec<_>>();
        assert_eq!(flags(&spec), ["the defaults"]);
        spec.build.insert(BuildFlag::Lto, "on".to_owned());
        spec.build.insert(BuildFlag::Asserts, "off".to_owned());
        assert_eq!(flags(&spec), ["LTO", "yes"]);
        spec.origin = Origin::Version("8.0".to_owned());
        assert!(flag_facts(&spec).is_empty());
    }

    #[test]
    fn non_elf_and_truncated_files_are_ignored() {
        assert_eq!(read_binary(b"#!/bin/sh\n"), None);
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        let whole = read_binary(&own).unwrap();
        assert!(whole.is_pie && !whole.is_stripped, "{whole:?}");
        for end in [1, 16, 64, 1000, own.len() / 2] {
            let _ = read_binary(&own[..end]);
        }
    }
}
