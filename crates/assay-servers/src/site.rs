//! The place where servers run, their files, and their logs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_wire::Stop;
use fs_err as fs;

use crate::supervise::{ServerBinding, Supervisor, hand_over};

#[derive(Debug, Clone)]
pub struct Site {
    pub supervisor: Supervisor,
    /// Directory for sockets: short, private, and created if missing. See [`crate::run_root()`].
    pub run_root: PathBuf,
    /// Directory for the data of instances, best on the file system of the templates. Created if missing.
    pub data_root: PathBuf,
    /// CPUs and memory nodes of every server that starts here.
    pub binding: ServerBinding,
    /// Ends everything that runs here at once, and removes it.
    pub stop: Stop,
}

pub(crate) struct ServerPaths {
    pub(crate) data_dir: PathBuf,
    pub(crate) tmp_dir: PathBuf,
    pub(crate) socket_dir: PathBuf,
    pub(crate) log: PathBuf,
}

/// Name of the socket's directory. It is in the run directory, the rest of which the server cannot write to.
pub(crate) const SOCKET_DIR: &str = "u";

impl ServerPaths {
    pub(crate) fn new(instance_dir: &Path, run_dir: &Path) -> Self {
        Self {
            data_dir: instance_dir.join("data"),
            tmp_dir: instance_dir.join("tmp"),
            socket_dir: run_dir.join(SOCKET_DIR),
            log: run_dir.join("log"),
        }
    }

    /// Makes `nobody` the owner of all files that the server writes to, before it runs as that user.
    pub(crate) fn hand_over(&self) -> std::io::Result<()> {
        [&self.data_dir, &self.tmp_dir, &self.socket_dir]
            .into_iter()
            .try_for_each(|it| hand_over(it))
    }
}

/// `--option=` followed by a path, which need not be UTF-8.
pub(crate) fn with_path(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// The relevant lines of a log, indented: its last errors, or its last lines if it has no errors. After its errors, a
/// failing server logs much that does not matter.
pub(crate) fn log_tail(log: &Path) -> String {
    tail_of(&String::from_utf8_lossy(&fs::read(log).unwrap_or_default()))
}

fn tail_of(text: &str) -> String {
    const ERRORS: usize = 4;
    const LINES: usize = 12;
    let is_error = |line: &&str| ["[ERROR]", "FATAL:", "PANIC:"].iter().any(|it| line.contains(it));
    let last = |lines: Vec<&str>, most: usize| {
        let from = lines.len().saturating_sub(most);
        let message = lines.into_iter().skip(from).map(|line| format!("  {line}"));
        message.collect::<Vec<_>>().join("\n")
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let errors: Vec<_> = lines.clone().filter(is_error).collect();
    if errors.is_empty() { last(lines.collect(), LINES) } else { last(errors, ERRORS) }
}

#[cfg(test)]
mod tests {
    use super::tail_of;

    #[test]
    fn a_log_is_summarised_by_its_errors() {
        let noise = "[Note] tidying up\n".repeat(20);
        let text = format!("[ERROR] no memory\n{noise}[ERROR] aborting\n");
        assert_eq!(tail_of(&text), "  [ERROR] no memory\n  [ERROR] aborting");
        assert_eq!(tail_of(&noise).lines().count(), 12);
        let crash = format!("[ERROR] error 28\n[ERROR] mysqld got signal 6\n{noise}");
        assert_eq!(tail_of(&crash), "  [ERROR] error 28\n  [ERROR] mysqld got signal 6");
        assert_eq!(tail_of(""), "");
    }
}
