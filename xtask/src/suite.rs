//! All tests as CI runs them: in a bare environment with a private home and server cache, several test files at once,
//! each in a process of its own. All files run even if one fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{cargo, root};

const NOBODY: u32 = 65534;

/// Files that run at once. Most of the time, a test waits for a server, a download or the end of a study: with three
/// files, two CPUs were idle for an eighth of the time.
const AT_ONCE: usize = 4;

/// The longest that a test file may take. The slowest takes four minutes on a busy machine; a server whose disk is full
/// waits for ever.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The same for ignored tests: those that kill studies a hundred times take most of an hour.
const LIMIT_OF_IGNORED: Duration = Duration::from_secs(3 * 60 * 60);

/// Time between two lines of a task that has nothing else to say.
const SILENCE: Duration = Duration::from_secs(2 * 60);

/// Packages that tests do not need: linters, and one that is not looked for.
const NOT_OF_TESTS: [&str; 3] = ["shellcheck", "golang-go", "libc6-dev"];

/// Name of the programs whose modules are test files.
const SUITE: &str = "suite";

/// Package and file of the slowest tests, which start first, so that none of them is left over at the end.
const LONGEST: [(&str, &str); 34] = [
    ("assay", "workload"),
    ("assay", "faults"),
    ("assay", "repro"),
    ("assay", "watch"),
    ("assay-load", "real_server"),
    ("assay", "study"),
    ("assay", "tpcc"),
    ("assay", "counting"),
    ("assay", "insert_bench"),
    ("assay-report", "browser"),
    ("assay", "lua"),
    ("assay", "configs"),
    ("assay-load", "hostile"),
    ("assay", "interrupt"),
    ("assay", "commands"),
    ("assay", "gate"),
    ("assay", "profile"),
    ("assay", "bisect"),
    ("assay-provision", "get"),
    ("assay-provision", "tarballs"),
    ("assay-provision", "faults"),
    ("assay-servers", "server"),
    ("assay-servers", "audit"),
    ("assay", "answers"),
    ("assay", "soaking"),
    ("assay", "feeds"),
    ("assay", "traps"),
    ("assay", "oltp"),
    ("assay", "usage"),
    ("assay", "ledgers"),
    ("assay", "running"),
    ("assay", "load_and_bench"),
    ("assay-servers", "status"),
    ("assay-wire", "faults"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestUser {
    Me,
    /// `nobody`, for root: most users of assay are plain users.
    Nobody,
}

impl TestUser {
    /// A plain user: root becomes one.
    pub fn plain() -> Result<Self> {
        Ok(if is_root()? { Self::Nobody } else { Self::Me })
    }
}

pub fn is_root() -> Result<bool> {
    let me = Command::new("id").arg("-u").output().context("cannot start id")?;
    Ok(me.stdout.trim_ascii() == b"0")
}

/// A test program, or one test file of a suite.
#[derive(Debug, Clone)]
pub struct TestProgram {
    program: PathBuf,
    /// The directory in which cargo would run it.
    package: PathBuf,
    /// The package, and the test file or the crate whose tests it has.
    pub name: (String, String),
    /// The tests of a file of a suite. Empty for a whole program.
    tests: Vec<String>,
    /// Options, which begin with a dash, and parts of the names of tests. Empty to run everything.
    arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct TestSelection<'a> {
    /// Empty for all.
    pub packages: &'a [String],
    /// Test files, or crates with unit tests, by name; empty for all.
    pub files: &'a [String],
    /// Options of cargo, such as `--lib` or `--test NAME`; empty for all targets.
    pub targets: &'a [String],
    /// Arguments of each program, such as a part of the names of its tests; empty for all.
    pub arguments: &'a [String],
}

impl<'a> TestSelection<'a> {
    /// Packages come first, then files. Words from the first dash on are for cargo, and those after `--` are for the
    /// programs.
    pub fn new(words: &'a [String]) -> Self {
        let (words, arguments) = match words.iter().position(|it| it == "--") {
            Some(at) => (words.get(..at), words.get(at + 1..)),
            None => (Some(words), None),
        };
        let words = words.unwrap_or_default();
        let is_package = |it: &String| it == "xtask" || it == "assay" || it.starts_with("assay-");
        let targets = words.iter().position(|it| it.starts_with('-')).unwrap_or(words.len());
        let (words, targets) = words.split_at(targets);
        let files = words.iter().position(|it| !is_package(it)).unwrap_or(words.len());
        let (packages, files) = words.split_at(files);
        Self { packages, files, targets, arguments: arguments.unwrap_or_default() }
    }
}

/// Fails if a program that tests use is missing, because a build takes long.
pub fn check_programs() -> Result<()> {
    let listed = Command::new(root().join(".ci/run")).arg("packages").output()?;
    ensure!(listed.status.success(), "`.ci/run packages` lists no packages ({})", listed.status);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let missing = listed.split_whitespace().filter(|name| !NOT_OF_TESTS.contains(name));
    let missing: Vec<&str> = missing.collect();
    ensure!(
        missing.is_empty(),
        "tests need programs that are missing: sudo apt-get install {}; or name the packages whose tests are wanted",
        missing.join(" ")
    );
    Ok(())
}

/// Does a task, and says every now and then that it still does.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
fn reported<T>(state: impl Fn() -> String + Send, task: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                println!("==> after {} min: {}", began.elapsed().as_secs() / 60, state());
            }
        });
        let result = task();
        drop(done);
        result
    })
}

pub fn build(wanted: TestSelection<'_>) -> Result<Vec<TestProgram>> {
    let mut command = cargo();
    command.args(["test", "--no-run", "--message-format=json"]);
    match wanted.packages {
        [] => command.arg("--workspace"),
        some => command.args(some.iter().flat_map(|it| ["-p", it])),
    };
    match wanted.targets {
        // Without it, cargo also links all examples.
        [] => command.arg("--tests"),
        some => command.args(some),
    };
    command.stderr(std::process::Stdio::inherit());
    let output = reported(|| "building the tests".to_owned(), || command.output());
    let output = output.context("cannot start cargo")?;
    ensure!(output.status.success(), "cannot build the tests ({})", output.status);
    let mut found = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).context("cargo's messages")?;
        if message["profile"]["test"] != true {
            continue;
        }
        let word = |value: &'_ Value| value.as_str().map(str::to_owned);
        let (Some(program), Some(manifest), Some(id), Some(test)) = (
            word(&message["executable"]),
            word(&message["manifest_path"]),
            word(&message["package_id"]),
            word(&message["target"]["name"]),
        ) else {
            continue;
        };
        let package = Path::new(&manifest).parent().context("a manifest without a folder")?;
        let name = package_name(&id).with_context(|| format!("`{id}` names no package"))?;
        let program = TestProgram {
            program: program.into(),
            package: package.to_owned(),
            name: (name.to_owned(), test),
            tests: Vec::new(),
            arguments: wanted.arguments.to_owned(),
        };
        found.extend(program.files()?);
    }
    for name in wanted.files {
        let exists = found.iter().any(|it| it.name.1 == *name);
        ensure!(exists, "no test file or crate has the name `{name}`");
    }
    found.retain(|it| wanted.files.is_empty() || wanted.files.contains(&it.name.1));
    found.retain(|it| it.tests.is_empty() || !it.selected().is_empty());
    let place = |it: &TestProgram| {
        let is_it = |(package, test): &(&str, &str)| it.name.0 == *package && it.name.1 == *test;
        LONGEST.iter().position(is_it).unwrap_or(LONGEST.len())
    };
    found.sort_by_key(|it| (place(it), it.name.0 != "assay", it.name.clone()));
    Ok(found)
}

/// The name in cargo's id of a package, which leaves out one that is also the name of the folder: `.../assay#0.1.0`
/// and `.../capture#assay-capture@0.1.0`.
fn package_name(id: &str) -> Option<&str> {
    let (url, version) = id.rsplit_once('#')?;
    version.split_once('@').map_or_else(|| url.rsplit('/').next(), |(name, _)| Some(name))
}

impl TestProgram {
    pub fn only(&self, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        Self { arguments, ..self.clone() }
    }

    /// Fails if one of the arguments matches no test.
    pub fn check_arguments(&self) -> Result<()> {
        for word in &self.arguments {
            let listed = self.list(word)?;
            let has_some = listed.iter().any(|it| self.tests.is_empty() || self.tests.contains(it));
            ensure!(has_some, "{} {} has no test `{word}`", self.name.0, self.name.1);
        }
        Ok(())
    }

    /// The tests with `part` in their name.
    fn list(&self, part: &str) -> Result<Vec<String>> {
        let listed = Command::new(&self.program).args(["--list", part]).output()?;
        ensure!(listed.status.success(), "{:?} lists no tests", self.program);
        let listed = String::from_utf8_lossy(&listed.stdout);
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// The files of a suite, and any other program as it is.
    fn files(self) -> Result<Vec<Self>> {
        if self.name.1 != SUITE {
            return Ok(vec![self]);
        }
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for test in self.list("")? {
            // The entry of supervisors is at the root.
            let file = test.split_once("::").map_or(SUITE, |(file, _)| file);
            files.entry(file.to_owned()).or_default().push(test);
        }
        let one_file = |(file, tests)| {
            let name = (self.name.0.clone(), file);
            Self { name, tests, ..self.clone() }
        };
        Ok(files.into_iter().map(one_file).collect())
    }

    /// Those tests of a file that the arguments select.
    fn selected(&self) -> Vec<&str> {
        let is_option = |it: &&String| it.starts_with('-');
        let parts: Vec<_> = self.arguments.iter().filter(|it| !is_option(it)).collect();
        let is_wanted =
            |test: &&str| parts.is_empty() || parts.iter().any(|it| test.contains(it.as_str()));
        self.tests.iter().map(String::as_str).filter(is_wanted).collect()
    }

    /// The arguments of the process. Several parts of names are alternatives for the harness, so that the name of the
    /// file cannot be one of them: all tests are named.
    fn words(&self) -> Vec<&str> {
        let arguments = self.arguments.iter().map(String::as_str);
        if self.tests.is_empty() {
            return arguments.collect();
        }
        let selected = self.selected();
        assert!(!selected.is_empty(), "without names, the harness runs all files");
        let options = arguments.filter(|it| it.starts_with('-'));
        options.chain(["--exact"]).chain(selected).collect()
    }
}

pub fn run(programs: &[TestProgram], user: TestUser) -> Result<()> {
    run_for(&[(user, programs)])
}

/// Runs test files of several users, each of whom has a home, side by side.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run_for(users: &[(TestUser, &[TestProgram])]) -> Result<()> {
    let homes = users.iter().map(|(user, _)| Home::new(*user)).collect::<Result<Vec<_>>>()?;
    let mut programs = Vec::new();
    for (home, (_, of_user)) in homes.iter().zip(users) {
        programs.extend(of_user.iter().map(|program| (home, program)));
    }
    println!("==> {} test files, {AT_ONCE} at once", programs.len());
    let (failed, running) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
    let (next, counts) = (AtomicUsize::new(0), Mutex::new([0; 3]));
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((home, program)) = programs.get(number) else { break };
            let name = format!("{} {}", program.name.0, program.name.1);
            locked(&running).insert(number, name.clone());
            let began = Instant::now();
            let scratch = home.scratch(number);
            let ended = scratch.and_then(|scratch| run_one(program, home, scratch.path()));
            let seconds = began.elapsed().as_secs_f64();
            locked(&running).remove(&number);
            let output = match ended {
                Ok((cpu_s, output)) => {
                    println!("==> ok after {seconds:.0} s, {cpu_s:.0} s of CPU: {name}");
                    output
                }
                Err(error) => {
                    println!("==> FAILED after {seconds:.0} s: {name}\n{error:#}");
                    locked(&failed).push(name);
                    format!("{error:#}")
                }
            };
            let mut all = locked(&counts);
            all.iter_mut().zip(test_counts(&output)).for_each(|(sum, count)| *sum += count);
        }
    };
    let state = || {
        let (started, all) = (next.load(Ordering::Relaxed).min(programs.len()), programs.len());
        let names: Vec<String> = locked(&running).values().cloned().collect();
        format!("{started} of {all} test files started, running: {}", names.join(", "))
    };
    let run_all = || {
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(worker);
            }
        });
    };
    reported(state, run_all);
    let [passed, broken, ignored] = *locked(&counts);
    println!("==> {passed} tests passed, {broken} failed, {ignored} ignored");
    let failed = locked(&failed);
    ensure!(
        failed.is_empty(),
        "{} of {} test files failed: {}",
        failed.len(),
        programs.len(),
        failed.join(", ")
    );
    Ok(())
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Numbers of tests that passed, failed and were ignored: of `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn test_counts(output: &str) -> [u64; 3] {
    let summary = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    ["passed", "failed", "ignored"].map(|word| {
        let end = format!(" {word};");
        let count = summary.and_then(|summary| summary.split_once(&end)?.0.rsplit(' ').next());
        // A program that was killed prints no summary.
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    })
}

/// Returns the CPU time used, seconds, and the output. The error contains the output.
fn run_one(program: &TestProgram, home: &Home, scratch: &Path) -> Result<(f64, String)> {
    let mut command = match home.user {
        TestUser::Me => Command::new(&program.program),
        TestUser::Nobody => as_nobody(&program.program),
    };
    let mut output = tempfile::tempfile()?;
    let copy = |file: &File| file.try_clone();
    command
        .args(program.words())
        .current_dir(&program.package)
        .env_clear()
        .envs(environment(home, &program.package))
        .env("TMPDIR", scratch)
        .stdin(std::process::Stdio::null())
        .stdout(copy(&output)?)
        .stderr(copy(&output)?);
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let pid = Pid::from_child(&child);
    let is_ignored = program.arguments.iter().any(|it| it == "--ignored");
    let limit = if is_ignored { LIMIT_OF_IGNORED } else { LIMIT };
    let has_ended = ends_in_time(pid, limit)?;
    if !has_ended {
        child.kill()?;
    }
    let cpu_s = cpu_seconds(pid);
    let status = child.wait()?;
    output.rewind()?;
    let mut text = Vec::new();
    output.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    if status.success() {
        return Ok((cpu_s, text));
    }
    ensure!(has_ended, "{text}\nended, because it had run for {} s", limit.as_secs());
    anyhow::bail!("{text}\n{status}: {command:?}");
}

/// Waits until a process has ended. The process remains, so that its times can be read.
fn ends_in_time(pid: Pid, limit: Duration) -> Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let timeout = Timespec::try_from(limit)?;
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout))?;
    Ok(ended > 0)
}

/// CPU time of an ended process and those it has waited for. Servers that outlive it do not count.
fn cpu_seconds(pid: Pid) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let stat = stat.unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // The state is the first of these; own and waited-for time, in user mode and in the kernel, are the 12th to 15th.
    let ticks: u64 = fields.skip(11).take(4).filter_map(|it| it.parse::<u64>().ok()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// A command run by `nobody`. The checkout and the toolchain may be where only root can look; `nobody` gets read access
/// and nothing more.
fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string()])
        .args(["--clear-groups", "--bounding-set=-all,+dac_read_search"])
        .args(["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"])
        .arg(program);
    command
}

/// The environment of tests: where programs and the toolchain are, a separate home, and how this machine reaches the
/// network.
fn environment(home: &Home, package: &Path) -> BTreeMap<OsString, OsString> {
    let is_of_network = |name: &str| {
        let name = name.to_lowercase();
        name.ends_with("_proxy")
            || name.starts_with("pip_")
            || name.starts_with("npm_config_")
            || name.contains("cert")
            || name.contains("ca_bundle")
    };
    let kept = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name == "PATH" || name == "ASSAY_PUBLISHED" || is_of_network(&name)
    });
    let root = package.ancestors().find(|it| it.join("Cargo.lock").exists()).unwrap_or(package);
    let own: [(&str, OsString); 9] = [
        ("HOME", home.path().join("home").into()),
        ("ASSAY_CACHE", home.path().join("cache").into()),
        ("CARGO", cargo().get_program().to_owned()),
        // mvn runs for seconds, and Java would spend as much again on faster code.
        ("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC".into()),
        // The snapshots are there, and a test that fails leaves nothing in the checkout.
        ("INSTA_WORKSPACE_ROOT", root.into()),
        ("INSTA_UPDATE", "no".into()),
        // By default git refuses to read a checkout of another user.
        ("GIT_CONFIG_COUNT", "1".into()),
        ("GIT_CONFIG_KEY_0", "safe.directory".into()),
        ("GIT_CONFIG_VALUE_0", root.into()),
    ];
    // `cargo` may be rustup's, which looks for its toolchains in the home, as cargo does for its downloads.
    let tools = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")].into_iter();
    let tools = tools.filter_map(|(name, folder)| {
        let usual = || Some(Path::new(&std::env::var_os("HOME")?).join(folder).into());
        Some((name, std::env::var_os(name).or_else(usual)?))
    });
    kept.chain(own.into_iter().chain(tools).map(|(name, value)| (name.into(), value))).collect()
}

/// A home and a server cache, both empty. Removed at the end, with all the read-only trees in them.
struct Home {
    dir: TempDir,
    user: TestUser,
    is_in_memory: bool,
}

/// MB that the files of all tests need at most, on a disk or in memory.
const FILES_MB: u64 = 14_000;

fn available_memory_mb() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kb = available.and_then(|it| it.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kb.unwrap_or(0) / 1024
}

/// Puts the files of tests into memory, which saves the suite a minute. Servers need a third as much in addition, and
/// only root can mount. Not `/dev/shm`, where MariaDB writes its log in another way.
fn mount_memory(dir: &Path) -> Result<bool> {
    if !is_root()? || available_memory_mb() < FILES_MB * 4 / 3 {
        return Ok(false);
    }
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("mode=0700,size={FILES_MB}m"), "assay-tests"]);
    Ok(mount.arg(dir).status()?.success())
}

/// The directory for temporary files of one test file, removed when its process has ended: a plain user's tests cannot
/// remove the read-only trees of servers there, and those of all files would fill a disk.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        make_writable(&self.0);
        // A server left by a failed test may still write there. The home is removed at the end.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn make_writable(tree: &Path) {
    // Anything that cannot be removed stays for the machine's owner: the checks are over.
    let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(tree).status();
}

impl Home {
    fn new(user: TestUser) -> Result<Self> {
        let dir = TempDir::with_prefix("assay-ci-")?;
        let is_in_memory = mount_memory(dir.path())?;
        let home = Self { dir, user, is_in_memory };
        fs::create_dir(home.path().join("home"))?;
        // Root's tests also run programs as `nobody`.
        fs::create_dir(home.path().join("t"))?;
        fs::set_permissions(home.path().join("t"), Permissions::from_mode(0o755))?;
        home.give_to_user(home.path())?;
        Ok(home)
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its path is short, because those of sockets are.
    fn scratch(&self, number: usize) -> Result<ScratchDir> {
        let scratch = ScratchDir(self.path().join("t").join(number.to_string()));
        fs::create_dir(&scratch.0)?;
        // Root's tests also run programs as `nobody`, so everybody may write there, as in `/tmp`.
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o1777))?;
        self.give_to_user(&scratch.0)?;
        Ok(scratch)
    }

    fn give_to_user(&self, tree: &Path) -> Result<()> {
        if self.user == TestUser::Nobody {
            let owner = format!("{NOBODY}:{NOBODY}");
            let status = Command::new("chown").arg("-R").arg(owner).arg(tree).status()?;
            ensure!(status.success(), "cannot give a directory to nobody ({status})");
        }
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.is_in_memory {
            // A program that a failed test left may still use it; it goes when that has ended.
            let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
        } else {
            make_writable(self.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_and_ignored_tests_are_counted() {
        let output = "test a ... ok\n\ntest result: FAILED. 31 passed; 1 failed; 2 ignored; 0 measured; \
            4 filtered out; finished in 0.01s\n\nexit status: 101";
        assert_eq!(test_counts(output), [31, 1, 2]);
        assert_eq!(test_counts("killed"), [0; 3]);
    }

    #[test]
    fn a_package_may_have_another_name_than_its_folder() {
        let id = |end: &str| package_name(&format!("path+file:///home/{end}")).map(str::to_owned);
        assert_eq!(id("crates/assay-load#0.1.0").unwrap(), "assay-load");
        assert_eq!(id("wings/upgrade/capture#assay-capture@0.1.0").unwrap(), "assay-capture");
    }

    #[test]
    fn a_selection_has_packages_then_files_then_targets_then_arguments_of_programs() {
        let parts = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|it| (*it).to_owned()).collect();
            let it = TestSelection::new(&words);
            [it.packages, it.files, it.targets, it.arguments].map(|part| part.join(" "))
        };
        assert_eq!(parts(&[]), ["", "", "", ""]);
        assert_eq!(parts(&["assay-report", "xtask"]), ["assay-report xtask", "", "", ""]);
        let all = ["assay", "study", "--test", "suite", "--lib", "--", "a_study", "--ignored"];
        assert_eq!(parts(&all), ["assay", "study", "--test suite --lib", "a_study --ignored"]);
        assert_eq!(parts(&["trend", "--", "tidy"]), ["", "trend", "", "tidy"]);
    }

    #[test]
    fn a_file_of_a_suite_runs_its_own_tests_only() {
        let words = |tests: &[&str], arguments: &[&str]| {
            let owned =
                |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
            let file = TestProgram {
                program: PathBuf::new(),
                package: PathBuf::new(),
                name: ("assay".to_owned(), "study".to_owned()),
                tests: owned(tests),
                arguments: owned(arguments),
            };
            file.words().join(" ")
        };
        let tests = ["study::a_kill", "study::a_result"];
        assert_eq!(words(&tests, &[]), "--exact study::a_kill study::a_result");
        assert_eq!(words(&tests, &["kill", "--ignored"]), "--ignored --exact study::a_kill");
        assert_eq!(words(&[], &["kill", "--ignored"]), "kill --ignored");
    }
}
