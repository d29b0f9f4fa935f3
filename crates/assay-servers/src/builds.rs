//! Build of a running server, and the libraries it uses.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_model::{Artifact, Prefix};
use fs_err as fs;
use procfs::process::{MMPermissions, MMapPath, Process};

use crate::audit::Settings;
use crate::binary;
use crate::error::Error;

/// The package whose version is that of a Debian release's compiler.
const OF_COMPILER: &str = "libstdc++6";

const ALLOCATORS: [&str; 4] = ["jemalloc", "tcmalloc", "mimalloc", "snmalloc"];

const TRANSPARENT_HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

const C_LIBRARY: &[u8] = b"GNU C Library (";

/// Each fact has the prefix `build.` and comes from the server's catalog, its files or its memory. For a server that
/// was already running, the builder and its packages are unknown.
pub fn build_facts(pid: i32, artifact: &Artifact) -> Result<Settings, Error> {
    let files = mapped_files(pid)?;
    let program = artifact.program().and_then(|server| program(&files, server));
    let binary = match &program {
        Some(program) => binary::read(&fs::read(program)?).unwrap_or_default(),
        None => binary::Binary::default(),
    };
    let mut facts = Settings::new();
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

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn listed<T: AsRef<str>>(words: &[T]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

pub fn mapped_files(pid: i32) -> Result<BTreeSet<PathBuf>, Error> {
    let maps = Process::new(pid).and_then(|it| it.maps()).map_err(|it| Error::Io(other(it)))?;
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

fn allocator(binary: &binary::Binary, files: &BTreeSet<PathBuf>) -> String {
    let names = || files.iter().map(|it| file_name(it));
    let other = names().find(|name| ALLOCATORS.iter().any(|it| name.contains(it)));
    match other {
        Some(name) => name.to_owned(),
        None if binary.has_malloc => "linked in".to_owned(),
        None => "of the C library".to_owned(),
    }
}

/// Whether the process uses transparent huge pages. The word in brackets is the machine's setting.
fn transparent_huge_pages(pid: i32) -> Result<String, Error> {
    let status = Process::new(pid).and_then(|it| it.status()).map_err(|it| Error::Io(other(it)))?;
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
fn c_library(files: &BTreeSet<PathBuf>) -> Result<Option<String>, Error> {
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
