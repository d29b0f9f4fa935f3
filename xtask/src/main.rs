//! Tasks of the repository: `cargo xtask ci`, `nightly`, `suite`, `test`, `tidy`, `docs`, `site`, `fuzz`, `crash`,
//! `simulate`, `servers`, `record`, `golden` and `count-time`.
#![expect(clippy::print_stdout, reason = "a task reports on stdout")]

use std::process::ExitCode;

use anyhow::Result;
use xtask::command::{self, cargo};

const USAGE: &str = "\
usage: cargo xtask ci | nightly | suite [PACKAGE...] [FILE...] [--lib] [--bins] [-- TEST...] | test
                   | tidy | size
                   | docs [--check] | site | fuzz [TARGET] [--seconds N] | crash [TIMES [SEED]]
                   | simulate quick|faults [TIMES [SEED]]
                   | servers [--all] [--accept-expired-index] [SYSTEM...] | record
                   | golden [--program PATH] [--keep] [NAME...] | golden add DIRECTORY
                   | count-time [--against PROGRAM] [SYSTEM...]
                   | dist [x86_64] [aarch64] | dist-test

ci    everything that must pass before a change lands: formatting, lints and the suite; as root, root's tests too
nightly  what takes too long for that, as root: all tests as both users beside busy CPUs, and killed studies
suite all tests, or those of some packages, test files or names, as a plain user, in a bare environment with an empty
      server cache: `cargo xtask suite assay interrupt -- while_a_server`
test  the tests that need neither servers nor a network, in less than a minute once they are built
tidy  the rules of the code base: dependencies between crates, circles of imports, sizes, first lines, licences
size  prints the shipped lines of each crate and their budgets, which are in size.toml
docs  writes the generated parts of the pages, checks their links, and builds the book in target/book
site  builds the book, and the site of the map and the posts with it in target/site
fuzz  one or all of the fuzzers, by default a minute each
crash kills and resumes smoke studies at random moments, by default 100 times, and searches a fifth as often
simulate  runs studies without a server, preset quick or small ones with faults at random; by default 1,000 from seed 1
servers  gets, starts and compares one server of each family and client, or all available ones, and prints a table
record  measures the small study that tests read, and renews what they compare with it: after a change of the ledger
golden  compares the reports of the ledgers in golden/ with those of this version
count-time  seconds of a count of 20 reads, by its steps, and their ratio to those of another build of assay
dist  makes what users install in target/dist: tarball, Debian package and wheel, for x86_64 unless others are named
dist-test  installs what `dist` made in bare userlands of Debian, all or those named, and compares servers; as root";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let (task, words) =
        words.split_first().map_or((None, &[][..]), |(task, words)| (Some(task.as_str()), words));
    let result = match task {
        Some("ci") => xtask::ci::run(),
        Some("nightly") => xtask::ci::nightly(),
        Some("suite") => suite(words),
        Some("test") => test(),
        Some("tidy") => xtask::tidy::check(),
        Some("size") => xtask::tidy::sizes(),
        Some("docs") => xtask::docs::run(words),
        Some("site") => xtask::site::run(),
        Some("servers") => xtask::servers::run(words),
        Some("crash") => crash(words),
        Some("simulate") => simulate(words),
        Some("record") => xtask::record::run(),
        Some("dist") => xtask::dist::run(words),
        Some("dist-test") => xtask::dist::userland::run(words),
        Some("golden") => xtask::golden::run(words),
        Some("count-time") => xtask::count_time::run(words),
        Some("fuzz") => xtask::fuzz::run(words),
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
const QUICK_PROGRAMS: [&str; 3] = ["events", "processes", "study_files"];

/// The same of the files of suites.
const QUICK_FILES: [&str; 10] = [
    "answer", "builds", "driver", "kill", "ledger", "parsers", "render", "replay", "schema",
    "usage",
];

fn suite(words: &[String]) -> Result<()> {
    if words.is_empty() {
        xtask::suite::check_programs()?;
    }
    let programs = xtask::suite::build(xtask::suite::TestSelection::new(words))?;
    xtask::suite::run(&programs, xtask::suite::TestUser::plain()?)
}

fn test() -> Result<()> {
    let all = ["test", "--workspace", "--no-fail-fast", "--quiet"];
    let (mut programs, mut files) = (cargo(), cargo());
    programs.args(all).args(["--lib", "--bins"]);
    programs.args(QUICK_PROGRAMS.iter().flat_map(|name| ["--test", name]));
    files.args(all).args(["--test", "suite", "--"]).args(QUICK_FILES.map(|it| format!("{it}::")));
    let passed = command::run(&mut programs);
    command::run(&mut files).and(passed)
}

fn simulate(words: &[String]) -> Result<()> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "-p", "assay-sim", "--"]);
    command::run(command.args(words))
}

fn crash(words: &[String]) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--release", "-p", "assay", "--test", "suite"]);
    command.args(["--", "--ignored", "--nocapture", "kill_and_resume::"]);
    command::run(command.envs(["ASSAY_KILLS", "ASSAY_KILLS_SEED"].iter().zip(words)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Cargo refuses to run any test if a program is unknown, but ignores unknown files.
    #[test]
    fn the_quick_tests_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates: Vec<_> = fs_err::read_dir(root.join("crates")).unwrap().collect();
        let programs = QUICK_PROGRAMS.map(|name| format!("tests/{name}.rs"));
        let files = QUICK_FILES.map(|name| format!("tests/suite/{name}.rs"));
        for path in programs.into_iter().chain(files) {
            let exists = crates.iter().any(|it| it.as_ref().unwrap().path().join(&path).exists());
            assert!(exists, "no crate has {path}");
        }
    }
}
