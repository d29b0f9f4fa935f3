//! Everything that must hold before a change lands, on a machine without any server yet.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::suite::{self, TestProgram, User, cargo, is_root};

/// The tests that root runs too, because assay does other things for root: by crate and program, with what they are
/// told to run. Those that only root can run are called `root::`.
const OF_ROOT: [(&str, &str, &[&str]); 12] = [
    ("assay-provision", "assay_provision", &[]),
    ("assay-provision", "get", &[]),
    ("assay-provision", "faults", &["root::"]),
    ("assay-servers", "assay_servers", &[]),
    ("assay-servers", "server", &[]),
    ("assay-servers", "postgres", &[]),
    ("assay-servers", "port", &[]),
    ("assay-servers", "nobody", &[]),
    ("assay", "commands", &[]),
    ("assay", "secrets", &[]),
    ("assay", "profile", &[]),
    ("assay", "faults", &["root::"]),
];

/// The linter of workflows, a Go module, which is built when it is first asked for.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";

/// Scripts that run where assay is checked or used.
const SCRIPTS: [&str; 2] = [".ci/run", ".github/gate.sh"];

/// Checks formatting, lints, scripts and workflows, the documentation's tests, and all tests as a plain user. If root
/// runs it, root then runs those of [`OF_ROOT`], and the one that sets the clock.
///
/// # Errors
/// The first of these that fails, with all test programs that failed in it.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run() -> Result<()> {
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("formatting", &["fmt", "--all", "--check"])?;
    step("lints", &lints)?;
    other("scripts", Command::new("shellcheck").args(SCRIPTS))?;
    other("workflows", Command::new("go").args(["run", ACTIONLINT, "-color=false"]))?;
    step("tests of the documentation", &["test", "--workspace", "--doc"])?;
    let programs = suite::build(suite::Selection::default())?;
    timed("all tests as a plain user", || suite::run(&programs, User::plain()?))?;
    if !is_root()? {
        println!("==> those that need root did not run; root's `cargo xtask ci` runs all");
        return Ok(());
    }
    timed("root's tests", || suite::run(&of_root(&programs)?, User::Me))?;
    // This test sets the clock of the machine for a moment, which would disturb other work on it.
    step("the clock", &["test", "--workspace", "--test", "clock", "--", "--ignored"])
}

/// The programs of [`OF_ROOT`].
fn of_root(programs: &[TestProgram]) -> Result<Vec<TestProgram>> {
    let wanted = |(package, test, arguments): &(&str, &str, &[&str])| {
        let found = programs.iter().find(|it| it.name.0 == *package && it.name.1 == *test);
        let found = found.with_context(|| format!("{package} has no test program `{test}`"))?;
        Ok(found.only(arguments))
    };
    OF_ROOT.iter().map(wanted).collect()
}

/// Has cargo make one check.
fn step(what: &str, arguments: &[&str]) -> Result<()> {
    other(what, Command::new(cargo()).args(arguments))
}

/// Has a program make one check.
fn other(what: &str, command: &mut Command) -> Result<()> {
    timed(what, || {
        let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
        ensure!(status.success(), "{what} failed ({status}): {command:?}");
        Ok(())
    })
}

/// Prints the name of a check and how long it took.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
fn timed(what: &str, check: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("==> {what}");
    let began = Instant::now();
    check().with_context(|| what.to_owned())?;
    println!("==> ok after {:.0} s: {what}", began.elapsed().as_secs_f64());
    Ok(())
}
