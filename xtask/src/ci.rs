//! Everything that must hold before a change lands, on a machine without any server yet.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::command::{self, cargo};
use crate::suite::{self, TestProgram, TestUser, is_root};

/// Tests that root also runs, because assay behaves differently for root: by crate and test file, with the names of
/// tests, or all of them. Those that only root can run are called `root::`. Every other test gives the same result for
/// all users; `cargo xtask nightly` runs them all as root.
const OF_ROOT: [(&str, &str, &[&str]); 12] = [
    ("assay-provision", "assay_provision", &[]),
    // apt gives up root's rights for downloads.
    ("assay-provision", "get", &["a_series_becomes_a_server_with_all_its_libraries"]),
    ("assay-provision", "faults", &["root::"]),
    ("assay-servers", "assay_servers", &[]),
    // MySQL and MariaDB need an option to run as root, and directories are elsewhere.
    ("assay-servers", "server", &["a_server_is_initialised", "kept_servers_outlive_their_starter"]),
    // Postgres refuses to run as root.
    ("assay-servers", "postgres", &[]),
    ("assay-servers", "port", &[]),
    ("assay-servers", "nobody", &[]),
    (
        "assay",
        "commands",
        &["a_sandbox_is_started_loaded", "the_output_of_a_sandbox_suits_other_clients"],
    ),
    // Who may read and change files created by root.
    ("assay", "secrets", &[]),
    // Root may sample the kernel.
    ("assay", "profile", &["a_profile_says_which_functions"]),
    ("assay", "faults", &["root::"]),
];

/// The linter of workflows, a Go module, built on first use.
const ACTIONLINT: &str = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7";

const SCRIPTS: [&str; 3] = [".ci/run", ".github/gate.sh", ".github/map.sh"];

/// Checks formatting, lints, scripts and workflows, and runs all tests as a plain user. Root then runs those of
/// [`OF_ROOT`], and the one that sets the clock.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run() -> Result<()> {
    suite::check_programs()?;
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("formatting", &["fmt", "--all", "--check"])?;
    step("lints", &lints)?;
    other("scripts", Command::new("shellcheck").args(SCRIPTS))?;
    other("workflows", Command::new("go").args(["run", ACTIONLINT, "-color=false"]))?;
    let programs = timed("building the tests", || suite::build(suite::TestSelection::default()))?;
    let plain = (TestUser::plain()?, &programs[..]);
    if !is_root()? {
        println!("==> those that need root will not run; root's `cargo xtask ci` runs all");
        return timed("all tests as a plain user", || suite::run_for(&[plain]));
    }
    let of_root = of_root(&programs)?;
    timed("root's tests, and all as a plain user", || {
        suite::run_for(&[(TestUser::Me, &of_root), plain])
    })?;
    // This test briefly sets the clock of the machine, which would disturb other work on it.
    step("the clock", &["test", "--workspace", "--test", "clock", "--", "--ignored"])
}

/// Checks that take too long for every change: all tests as a plain user and as root, beside two threads that keep the
/// CPUs busy, because no test may depend on a quiet machine; then those of the lab, and those that are ignored because
/// they take minutes, such as studies and searches that are killed at random moments, and studies on many nodes.
pub fn nightly() -> Result<()> {
    ensure!(is_root()?, "only root can run the tests of what assay does for root");
    suite::check_programs()?;
    let programs = timed("building the tests", || suite::build(suite::TestSelection::default()))?;
    let hogs = Hogs::start(2);
    let plain = timed("all tests as a plain user", || suite::run(&programs, TestUser::plain()?));
    let root = timed("all tests as root", || suite::run(&programs, TestUser::Me));
    drop(hogs);
    plain.and(root)?;
    step("the lab", &["test", "--release", "--manifest-path", "lab/Cargo.toml"])?;
    step(
        "its lints",
        &["clippy", "--manifest-path", "lab/Cargo.toml", "--all-targets", "--", "-D", "warnings"],
    )?;
    let long = [
        ("assay", "counting"),
        ("assay", "kill_and_resume"),
        ("assay", "lua"),
        ("assay", "map"),
        ("assay", "posts"),
        ("assay", "slurm"),
        ("assay", "soaking"),
        ("assay", "tpcc"),
        ("assay-load", "real_server"),
        ("assay-servers", "audit"),
        ("assay-servers", "callgrind"),
        ("assay-sim", "shards"),
        ("assay-ledger", "collect"),
    ];
    let long: Vec<TestProgram> = long
        .into_iter()
        .map(|(package, test)| Ok(find(&programs, package, test)?.only(&["--ignored"])))
        .collect::<Result<_>>()?;
    timed("tests that take minutes", || suite::run(&long, TestUser::plain()?))?;
    // Only root can create small disks.
    let full = find(&programs, "assay", "slurm")?.only(&["--ignored", "a_full_disk"]);
    timed("full disks of nodes", || suite::run(&[full], TestUser::Me))
}

/// Threads that use all the CPU time they get, until this is dropped.
struct Hogs {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let hog = || {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..count).map(|_| hog()).collect();
        Self { is_over, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only counts cannot fail.
            let _ = thread.join();
        }
    }
}

fn of_root(programs: &[TestProgram]) -> Result<Vec<TestProgram>> {
    let wanted = |(package, test, arguments): &(&str, &str, &[&str])| {
        let found = find(programs, package, test)?.only(arguments);
        found.check_arguments()?;
        Ok(found)
    };
    OF_ROOT.iter().map(wanted).collect()
}

fn find<'a>(programs: &'a [TestProgram], package: &str, test: &str) -> Result<&'a TestProgram> {
    let found = programs.iter().find(|it| it.name.0 == package && it.name.1 == test);
    found.with_context(|| format!("{package} has no test file `{test}`"))
}

fn step(what: &str, arguments: &[&str]) -> Result<()> {
    other(what, cargo().args(arguments))
}

fn other(what: &str, command: &mut Command) -> Result<()> {
    timed(what, || command::run(command))
}

#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
fn timed<T>(what: &str, check: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {what}");
    let began = Instant::now();
    let done = check().with_context(|| what.to_owned())?;
    println!("==> ok after {:.0} s: {what}", began.elapsed().as_secs_f64());
    Ok(done)
}
