//! Everything that must hold before a change lands, on a machine without any server yet.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use tempfile::TempDir;

/// The tests that depend on a user's rights, by crate: they get servers, start them and use them.
const OF_USERS: [(&str, &[&str]); 3] = [
    ("assay-provision", &["assay_provision", "get", "tarballs"]),
    ("assay-servers", &["assay_servers", "server", "postgres", "port", "crash"]),
    ("assay", &["commands", "load_and_bench", "secrets", "usage"]),
];

/// User and group `nobody`.
const NOBODY: u32 = 65534;

/// Checks formatting, lints, the README's test command with an empty server cache, and the tests that need the machine
/// for themselves. If root runs it, it then runs the tests of [`OF_USERS`] as a plain user, again with an empty cache.
///
/// # Errors
/// The first check that fails.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run() -> Result<()> {
    step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("lints", cargo().args(lints))?;
    let cache = Cache::new()?;
    step("tests", cargo().args(["test", "--workspace"]).env("ASSAY_CACHE", cache.path()))?;
    drop(cache);
    if !is_root()? {
        println!(
            "==> all tests ran as a plain user, those that need root did not; root's `cargo xtask ci` runs all"
        );
        return Ok(());
    }
    // This test sets the clock of the machine for a moment, which would disturb other work on it.
    let clock = ["test", "--workspace", "--test", "clock", "--", "--ignored"];
    step("the clock", cargo().args(clock))?;
    as_plain_user()
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs one check, and prints its name and duration.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
fn step(what: &str, command: &mut Command) -> Result<()> {
    println!("==> {what}: {command:?}");
    let began = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{what} failed ({status}): {command:?}");
    println!("==> ok after {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

fn is_root() -> Result<bool> {
    let me = Command::new("id").arg("-u").output().context("cannot start id")?;
    Ok(me.stdout.trim_ascii() == b"0")
}

/// Runs the tests of [`OF_USERS`] as `nobody`, because newcomers are plain users.
fn as_plain_user() -> Result<()> {
    let home = Cache::new()?;
    fs::create_dir(home.path().join("home"))?;
    own(home.path())?;
    for test in test_programs()? {
        let mut command = Command::new("setpriv");
        // The checkout and the toolchain may lie where only root can look. `nobody` may read there, and nothing more.
        command
            .args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string()])
            .args(["--clear-groups", "--bounding-set=-all,+dac_read_search"])
            .args(["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"])
            .arg(&test.program)
            .current_dir(&test.package)
            .env("ASSAY_CACHE", home.path().join("cache"))
            .env("HOME", home.path().join("home"))
            .env_remove("XDG_RUNTIME_DIR");
        step("as a plain user", &mut command)?;
    }
    Ok(())
}

/// A test program that is built.
struct TestProgram {
    program: PathBuf,
    /// The directory in which cargo would run it.
    package: PathBuf,
}

/// The test programs of [`OF_USERS`].
fn test_programs() -> Result<Vec<TestProgram>> {
    // This builds the whole workspace, because parts of it would be built again with other features.
    let output = cargo()
        .args(["test", "--workspace", "--no-run", "--message-format=json"])
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "cannot build the tests ({})", output.status);
    let mut found = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).context("cargo's messages")?;
        if message["profile"]["test"] != true {
            continue;
        }
        let word = |value: &'_ Value| value.as_str().map(str::to_owned);
        let (Some(program), Some(manifest), Some(test)) = (
            word(&message["executable"]),
            word(&message["manifest_path"]),
            word(&message["target"]["name"]),
        ) else {
            continue;
        };
        let package = Path::new(&manifest).parent().context("a manifest without a folder")?;
        let is_wanted = |(name, tests): &(&str, &[&str])| {
            package.ends_with(name) && tests.contains(&test.as_str())
        };
        if OF_USERS.iter().any(is_wanted) {
            found.push(TestProgram { program: program.into(), package: package.to_owned() });
        }
    }
    let wanted: usize = OF_USERS.iter().map(|(_, tests)| tests.len()).sum();
    ensure!(found.len() == wanted, "cargo named {} of {wanted} test programs", found.len());
    Ok(found)
}

/// Gives a directory, with everything in it, to `nobody`.
fn own(directory: &Path) -> Result<()> {
    let user = format!("{NOBODY}:{NOBODY}");
    step("a home", Command::new("chown").args(["-R", &user]).arg(directory))
}

/// An empty directory. At the end it is removed, with all the read-only trees in it.
struct Cache(TempDir);

impl Cache {
    fn new() -> Result<Self> {
        Ok(Self(TempDir::with_prefix("assay-ci-")?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // Anything that cannot be removed stays for the machine's owner: the checks are over.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.path()).status();
    }
}
