//! The real program in a place of its own, and what it may not leave behind.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longest wait for processes to be gone after their assay was killed.
const GONE_LIMIT: Duration = Duration::from_secs(20);

/// Directories of one test. The servers come from the cache that all tests share.
pub(crate) struct Place {
    folder: TempDir,
    cache: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let cache = match std::env::var_os("ASSAY_CACHE") {
            Some(path) => path.into(),
            None => std::env::home_dir().unwrap().join(".cache/assay"),
        };
        fs_err::create_dir(folder.path().join("run")).unwrap();
        Self { folder, cache }
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    /// Where sockets and locks of this test's servers are: part of every server's command line.
    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command
            .args(args)
            .env("ASSAY_CACHE", &self.cache)
            .env("ASSAY_LEDGER", self.ledger())
            .env("XDG_RUNTIME_DIR", self.run())
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .process_group(0);
        command
    }

    #[track_caller]
    pub(crate) fn run_to_end(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Whether the ledger holds at least one slice.
    pub(crate) fn has_slices(&self) -> bool {
        // Read by the program itself: a ledger is only ever opened through it.
        let output = self.run_to_end(&["report", "--format", "json"]);
        let Ok(report) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
            return false;
        };
        report["cells"].as_array().is_some_and(|cells| {
            cells.iter().any(|cell| cell["slices"].as_u64().is_some_and(|slices| slices > 0))
        })
    }

    /// Waits until nothing of this place is left: no process, no run directory, no data directory.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        let deadline = Instant::now() + GONE_LIMIT;
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind: {left:#?}");
            std::thread::yield_now();
        }
    }

    fn left(&self) -> Vec<String> {
        let mut left = processes_naming(&self.run());
        left.extend(children(&self.run().join("assay")));
        left.extend(children(&self.cache.join("instances")));
        left
    }
}

/// Processes whose command line or environment names `path`.
fn processes_naming(path: &Path) -> Vec<String> {
    let wanted = path.as_os_str().as_encoded_bytes();
    let names = |file: PathBuf| {
        let content = fs_err::read(file).unwrap_or_default();
        content.windows(wanted.len()).any(|window| window == wanted)
    };
    let mut found = Vec::new();
    for entry in fs_err::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        let is_process =
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        if is_process && (names(process.join("cmdline")) || names(process.join("environ"))) {
            let line = fs_err::read(process.join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}

fn children(path: &Path) -> Vec<String> {
    let Ok(entries) = fs_err::read_dir(path) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path().display().to_string())
        .collect()
}
