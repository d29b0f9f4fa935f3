//! One function for each parser of bytes from outside.
//!
//! Each function feeds the bytes to its parser and asserts the invariants. An error is always a correct result. The
//! fuzzer and the replay of its corpus call the same functions.

mod archive;
mod callgrind;
mod capture;
mod elf;
mod ledger;
mod map;
mod pack;
mod postgres;
mod published_results;
mod text;
mod wire;

pub use ledger::show;

/// Name of the parser and of its corpus, and the function.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: &[Target] = &[
    ("callgrind", callgrind::report),
    ("capture", capture::logs),
    ("catalog", text::catalog),
    ("claim_file", text::claim_file),
    ("config_file", text::config_file),
    ("deb", archive::deb),
    ("dump_schema", capture::dumps),
    ("elf", elf::program),
    ("ledger_file", ledger::file),
    ("ledger_rows", ledger::rows),
    ("login", wire::login),
    ("map", map::files),
    ("pack", pack::file),
    ("packages", text::packages),
    ("packets", wire::packets),
    ("postgres_login", postgres::login),
    ("postgres_packets", postgres::packets),
    ("postgres_reply", postgres::reply),
    ("published", published_results::tables),
    ("quantity", text::quantity),
    ("reply", wire::reply),
    ("setting_file", text::setting_file),
    ("source", text::source),
    ("sources", text::sources),
    ("statistics", capture::statistics),
    ("study_file", text::study_file),
    ("system_name", text::system_name),
    ("tar", archive::tar),
    ("tests_glob", text::tests_glob),
    ("url", text::url),
    ("version", text::version),
    ("workload_file", text::workload_file),
];

/// Panics if the target is unknown, or the parser is wrong.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, parse) = target.unwrap_or_else(|| panic!("no target `{name}`"));
    parse(bytes);
}
