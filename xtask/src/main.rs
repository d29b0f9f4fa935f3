//! Tasks of the repository: `cargo xtask ci`, `nightly`, `suite`, `test`, `tidy`, `docs`, `fuzz`, `crash`, `simulate`,
//! `servers`, `record` and `golden`.
#![expect(clippy::print_stdout, reason = "a task reports on stdout")]

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask ci | nightly | suite [PACKAGE...] [--lib] [--bins] [--test PROGRAM]... [-- TEST...] | test
                   | tidy | size
                   | docs [--check] | fuzz [TARGET] [--seconds N] | crash [TIMES [SEED]]
                   | simulate quick|faults [TIMES [SEED]]
                   | servers [--all] [--accept-expired-index] [SYSTEM...] | record
                   | golden [--program PATH] [--keep] [NAME...] | golden add DIRECTORY
                   | dist [x86_64] [aarch64] | dist-test

ci    everything that must pass before a change lands: formatting, lints, documentation tests and the suite; as root,
      root's tests too
nightly  what takes too long for that, as root: all tests as both users beside busy CPUs, and killed studies
suite all tests, or those of some packages, programs or names, as a plain user, in a bare environment with an empty
      server cache: `cargo xtask suite assay --test interrupt -- while_a_server`
test  the tests that need neither servers nor a network, in less than a minute once they are built
tidy  the rules of the code base: dependencies between crates, circles of imports, sizes, first lines, licences
size  prints the shipped lines of each crate and their budgets, which are in size.toml
docs  writes the generated parts of the pages, checks their links, and builds the book in target/book
fuzz  one or all of the fuzzers, by default a minute each
crash kills and resumes smoke studies at random moments, by default 100 times, and searches a fifth as often
simulate  runs studies without a server, preset quick or small ones with faults at random; by default 1,000 from seed 1
servers  gets, starts and compares one server of each family and client, or all available ones, and prints a table
record  measures the small study that tests read, and renews what they compare with it: after a change of the ledger
golden  compares the reports of the ledgers in golden/ with those of this version
dist  makes what users install in target/dist: tarball, Debian package and wheel, for x86_64 unless others are named
dist-test  installs what `dist` made in bare userlands of Debian, all or those named, and compares servers; as root";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let result = match words.first().map(String::as_str) {
        Some("ci") => xtask::ci::run(),
        Some("nightly") => xtask::ci::nightly(),
        Some("suite") => suite(words.get(1..).unwrap_or_default()),
        Some("test") => test(),
        Some("tidy") => xtask::tidy::check(),
        Some("size") => xtask::tidy::sizes(),
        Some("docs") => xtask::docs::run(words.get(1..).unwrap_or_default()),
        Some("servers") => xtask::servers::run(words.get(1..).unwrap_or_default()),
        Some("crash") => crash(words.get(1..).unwrap_or_default()),
        Some("simulate") => simulate(words.get(1..).unwrap_or_default()),
        Some("record") => xtask::record::run(),
        Some("dist") => xtask::dist::run(words.get(1..).unwrap_or_default()),
        Some("dist-test") => xtask::dist::userland::run(words.get(1..).unwrap_or_default()),
        Some("golden") => xtask::golden::run(words.get(1..).unwrap_or_default()),
        Some("fuzz") => xtask::fuzz::run(words.get(1..).unwrap_or_default()),
        _ => {
            println!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Test programs that need no server and take seconds, in addition to those of the crates themselves.
const QUICK: [&str; 13] = [
    "answer",
    "built",
    "driver",
    "events",
    "killed",
    "ledger",
    "parsers",
    "processes",
    "render",
    "replay",
    "schema",
    "study_files",
    "usage",
];

fn suite(words: &[String]) -> Result<()> {
    let programs = xtask::suite::build(xtask::suite::Selection::of(words))?;
    xtask::suite::run(&programs, xtask::suite::User::plain()?)
}

fn test() -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-fail-fast", "--quiet", "--lib", "--bins"]);
    command.args(QUICK.iter().flat_map(|name| ["--test", name]));
    let status = command.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("tests without servers: {status}") }
}

fn simulate(words: &[String]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "-p", "assay-sim", "--"]).args(words);
    let status = command.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("simulated studies: {status}") }
}

fn crash(words: &[String]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let test = ["test", "--release", "-p", "assay", "--test", "kill_and_resume"];
    command.args(test).args(["--", "--ignored", "--nocapture"]);
    for (name, value) in ["ASSAY_KILLS", "ASSAY_KILLS_SEED"].iter().zip(words) {
        command.env(name, value);
    }
    let status = command.status().context("cannot start cargo")?;
    if status.success() { Ok(()) } else { bail!("killed and resumed: {status}") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Cargo refuses to run any test if one of the names is unknown.
    #[test]
    fn the_quick_tests_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates: Vec<_> = fs_err::read_dir(root.join("crates")).unwrap().collect();
        for name in QUICK {
            let exists = crates.iter().any(|entry| {
                let tests = entry.as_ref().unwrap().path().join("tests");
                tests.join(format!("{name}.rs")).exists()
                    || tests.join(name).join("main.rs").exists()
            });
            assert!(exists, "no crate has a test program `{name}`");
        }
    }
}
