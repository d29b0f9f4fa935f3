//! Runs the real program in separate directories, and checks for leftovers.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod disk;

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Instant;

use assay_ledger::{Ledger, Problem};
use assay_model::{Product, Slice, SliceOutcome, StudyRecord};
use assay_testkit::PATIENCE;
use assay_wire::ConnectOptions;
use disk::SmallDisk;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::{NamedTempFile, TempDir};

/// Directories of one test. It has its own cache, except for the servers, which all tests share. On drop, whatever
/// still runs there is killed: a failing test leaves nothing behind.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Shares loaded data with other tests, in both directions.
    pub(crate) fn new() -> Self {
        let place = Self::bare();
        link_templates(&place.cache());
        place
    }

    /// Without any data: for tests of loading, and of the cache's content.
    pub(crate) fn bare() -> Self {
        let folder = TempDir::new().unwrap();
        let cache = folder.path().join("cache");
        for dir in [&cache, &folder.path().join("run")] {
            fs_err::create_dir(dir).unwrap();
        }
        link_servers(&cache);
        Self { folder }
    }

    /// The same with a cache on a disk of this size. The servers stay where all tests have them.
    pub(crate) fn on_small_disk(bytes: u64) -> (Self, SmallDisk) {
        let place = Self::bare();
        let disk = SmallDisk::mount(place.cache(), bytes);
        link_servers(&place.cache());
        (place, disk)
    }

    /// The same, with another server in the cache, such as `postgres@16`.
    pub(crate) fn with(system: &str) -> Self {
        let (product, version) = system.split_once('@').unwrap();
        let product = Product::ALL.into_iter().find(|it| it.word() == product).unwrap();
        let _ = assay_testkit::product_prefix(product, version);
        Self::new()
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    /// This test's own measuring lock, so that tests need not wait for each other: none of them depends on a quiet
    /// machine.
    pub(crate) fn machine_lock(&self) -> PathBuf {
        self.folder.path().join("measures.lock")
    }

    /// Sockets and locks of this test's servers. It is part of every server's command line.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(args)
            .env("ASSAY_CACHE", self.cache())
            .env("ASSAY_LEDGER", self.ledger())
            .env("ASSAY_MACHINE_LOCK", self.machine_lock())
            .env("XDG_RUNTIME_DIR", self.run())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env_remove("RUST_LOG")
            .env_remove("DEBUGINFOD_URLS")
            .stdin(Stdio::null())
            .process_group(0);
        command
    }

    #[track_caller]
    pub(crate) fn run_to_end(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Number of slices in the ledger, over all cells and systems of all studies.
    pub(crate) fn slices(&self) -> u64 {
        let studies = self.opened().map_or_else(Vec::new, |it| it.studies().unwrap());
        studies.iter().map(|study| study.slices).sum()
    }

    pub(crate) fn finished(&self) -> Vec<bool> {
        let studies = self.opened().map_or_else(Vec::new, |it| it.studies().unwrap());
        studies.iter().map(|study| study.finished).collect()
    }

    pub(crate) fn failed_slices(&self) -> usize {
        let failed = |slice: &&Slice| matches!(slice.outcome, SliceOutcome::Failed(_));
        self.all_slices().iter().filter(failed).count()
    }

    pub(crate) fn all_slices(&self) -> Vec<Slice> {
        self.records().into_iter().flat_map(|record| record.slices).collect()
    }

    pub(crate) fn records(&self) -> Vec<StudyRecord> {
        let Some(ledger) = self.opened() else { return Vec::new() };
        let studies = ledger.studies().unwrap();
        studies.iter().map(|study| ledger.read(&study.id).unwrap()).collect()
    }

    /// Imports copies of all studies of the ledger under other names, like forgeries by somebody who knows them.
    #[track_caller]
    pub(crate) fn import_forged(&self) {
        let copy = self.ledger().with_file_name("forged.db");
        let ledger = Connection::open(self.ledger()).unwrap();
        ledger.execute("VACUUM INTO ?", [copy.to_str().unwrap()]).unwrap();
        let copied = Connection::open(&copy).unwrap();
        copied.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        let ids: Vec<String> = self.records().into_iter().map(|record| record.study.id).collect();
        for (number, id) in ids.iter().enumerate() {
            for table in OF_STUDIES {
                let column = if table == "study" { "id" } else { "study" };
                let sql = format!("UPDATE {table} SET {column} = ? WHERE {column} = ?");
                copied.execute(&sql, [&format!("forged-{number}"), id]).unwrap();
            }
        }
        drop(copied);
        let imported = self.run_to_end(&["import", "ledger", copy.to_str().unwrap()]);
        assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    }

    fn opened(&self) -> Option<Ledger> {
        if !self.ledger().exists() {
            return None;
        }
        // At first, the file exists but is empty.
        match Ledger::open_read_only(&self.ledger()) {
            Err(error) if matches!(error.problem, Problem::NotALedger) => None,
            opened => Some(opened.unwrap()),
        }
    }

    pub(crate) fn running(&self) -> Vec<Pid> {
        let run = self.run().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in fs_err::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
            let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            if line.contains(&run) && line.contains("--datadir=") {
                found.extend(Pid::from_raw(pid));
            }
        }
        found
    }

    /// Connections to servers that are not frozen.
    pub(crate) fn awake(&self) -> impl Iterator<Item = assay_wire::Connection> {
        let is_awake = |server: &Pid| {
            let state = fs_err::read_to_string(format!("/proc/{}/stat", server.as_raw_nonzero()));
            state.is_ok_and(|it| {
                it.rsplit(')').next().is_some_and(|it| !it.trim_start().starts_with('T'))
            })
        };
        self.running().into_iter().filter(is_awake).filter_map(|server| {
            let line = fs_err::read(format!("/proc/{}/cmdline", server.as_raw_nonzero())).ok()?;
            let line = String::from_utf8(line).ok()?;
            let socket = line.split('\0').find_map(|word| word.strip_prefix("--socket="))?;
            // One that is frozen meanwhile answers when it gets its next turn, or ends.
            let timeout = std::time::Duration::from_secs(10);
            let options = ConnectOptions { timeout, ..ConnectOptions::unix(socket, "root") };
            assay_wire::Connection::connect(&options).ok()
        })
    }

    /// `state` is `fresh` or `aged`.
    pub(crate) fn templates(&self, state: &str) -> Vec<PathBuf> {
        let dirs = fs_err::read_dir(self.cache().join("templates")).into_iter().flatten().flatten();
        dirs.map(|dir| dir.path().join(state)).filter(|data| data.is_dir()).collect()
    }

    #[track_caller]
    pub(crate) fn wait_for_slices(&self, count: u64, measuring: &mut Child) {
        self.wait_while_measuring(measuring, &format!("{count} slices"), || self.slices() >= count);
    }

    /// Waits for a condition while `measuring` runs. There is no limit as long as slices are recorded: the machine may
    /// be busy, and another assay may measure first.
    #[track_caller]
    pub(crate) fn wait_while_measuring(
        &self,
        measuring: &mut Child,
        what: &str,
        is_true: impl Fn() -> bool,
    ) {
        let (mut slices, mut since) = (0, Instant::now());
        while !is_true() {
            assert!(measuring.try_wait().unwrap().is_none(), "ended before: {what}");
            let now = self.slices();
            if now > slices {
                (slices, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < PATIENCE, "no slice for {PATIENCE:?}, and not yet: {what}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    #[track_caller]
    pub(crate) fn measure_more(&self, what: &str, is_enough: impl Fn() -> bool) {
        let mut command = self.command(&["resume", "latest", "--more", "1h", "--offline"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.wait_while_measuring(&mut child, what, is_enough);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(4));
    }

    /// Waits until nothing of this place is left: no process, no run directory, no data directory.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind: {left:#?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    fn left(&self) -> Vec<String> {
        let mut left: Vec<String> =
            processes_naming(self.folder.path()).into_iter().map(|(_, message)| message).collect();
        left.extend(children(&self.run().join("assay")));
        left.extend(children(&self.cache().join("instances")));
        left
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Supervisors come and go until the last of them has ended its server.
        for _ in 0..100 {
            let left = processes_naming(self.folder.path());
            if left.is_empty() {
                break;
            }
            for (pid, _) in left {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}

const OF_STUDIES: [&str; 15] = [
    "study",
    "test",
    "cell",
    "system",
    "run",
    "block",
    "content",
    "instance",
    "setting",
    "audit",
    "event",
    "counter_names",
    "slice",
    "verdict",
    "document",
];

/// Links the templates that all tests share into a cache. Each is made once, by the test that needs it first, as by
/// several assays with one cache. A data directory becomes a template by a rename, so a test whose cache is on another
/// file system loads its own data.
fn link_templates(cache: &Path) {
    let shared = servers().with_file_name("testkit").join("templates");
    fs_err::create_dir_all(&shared).unwrap();
    fs_err::set_permissions(&shared, Permissions::from_mode(0o700)).unwrap();
    let probe = NamedTempFile::new_in(shared.parent().unwrap()).unwrap();
    let linked = cache.join("probe");
    if fs_err::hard_link(probe.path(), &linked).is_ok() {
        fs_err::remove_file(linked).unwrap();
        fs_err::os::unix::fs::symlink(&shared, cache.join("templates")).unwrap();
    }
}

/// Links the shared servers into a cache, with their lock: it keeps others from taking a server that is not finished
/// for garbage.
fn link_servers(cache: &Path) {
    let shared = servers();
    fs_err::os::unix::fs::symlink(shared, cache.join("prefixes")).unwrap();
    let lock = shared.with_file_name("provision.lock");
    fs_err::os::unix::fs::symlink(lock, cache.join("provision.lock")).unwrap();
}

fn servers() -> &'static Path {
    static SERVERS: LazyLock<PathBuf> = LazyLock::new(|| {
        // Panics with the reason if a server is not available.
        let [path, _] = ["10.11", "11.8"].map(|series| assay_testkit::prefix(series).path);
        path.parent().unwrap().to_owned()
    });
    &SERVERS
}

/// Processes whose command line or environment names `path`, or that have files open there: supervisors have neither
/// arguments nor an environment. Each with a description.
fn processes_naming(path: &Path) -> Vec<(Pid, String)> {
    let wanted = path.as_os_str().as_encoded_bytes();
    let is_in = |content: &[u8]| content.windows(wanted.len()).any(|window| window == wanted);
    let names = |file: PathBuf| is_in(&fs_err::read(file).unwrap_or_default());
    let has_open = |process: &Path| {
        let files = fs_err::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let mut targets = files.filter_map(|file| fs_err::read_link(file.path()).ok());
        // The threads of this test do not count.
        !process.ends_with(std::process::id().to_string())
            && targets.any(|target| is_in(target.as_os_str().as_encoded_bytes()))
    };
    let mut found = Vec::new();
    for entry in fs_err::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let Some(pid) = Pid::from_raw(pid) else { continue };
        let is_named = || names(process.join("cmdline")) || names(process.join("environ"));
        if is_named() || has_open(&process) {
            let line = fs_err::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push((pid, format!("{line}[{}]", thread_states(&process))));
        }
    }
    found
}

fn thread_states(process: &Path) -> String {
    let mut states = BTreeMap::<String, usize>::new();
    for thread in fs_err::read_dir(process.join("task")).into_iter().flatten().flatten() {
        let read = |name| fs_err::read_to_string(thread.path().join(name)).unwrap_or_default();
        let status = read("status");
        let field = |key| status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("gone");
        let pending = [field("SigPnd:"), field("ShdPnd:")].map(str::trim).join("/");
        let state = format!("{} {} pending {pending}", field("State:").trim(), read("wchan"));
        *states.entry(state).or_default() += 1;
    }
    states.iter().map(|(state, count)| format!("{count} x {state}")).collect::<Vec<_>>().join(", ")
}

fn children(path: &Path) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(path) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path().display().to_string())
        .collect()
}

#[track_caller]
pub(crate) fn printed(output: &Output, code: i32) -> serde_json::Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}
