//! A control group that limits a process.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

const ROOT: &str = "/sys/fs/cgroup";

/// A limit in the two versions of control groups: files and their contents.
pub(super) struct Limit {
    /// In version 2.
    pub(super) controller: &'static str,
    pub(super) settings: Vec<(String, String)>,
    /// In version 1.
    pub(super) old_controller: &'static str,
    pub(super) old_settings: Vec<(String, String)>,
}

/// A group of one process; it ends when this is dropped.
pub(super) struct Group(PathBuf);

impl Group {
    /// Moves the process, with all its threads, into a new group.
    pub(super) fn new(pid: u64, limit: &Limit) -> Result<Self> {
        let root = Path::new(ROOT);
        let has_new = fs::read_to_string(root.join("cgroup.subtree_control"))
            .is_ok_and(|it| it.split_whitespace().any(|it| it == limit.controller));
        let (parent, settings) = match has_new {
            true => (root.to_owned(), &limit.settings),
            false => (root.join(limit.old_controller), &limit.old_settings),
        };
        let group = Self(parent.join(format!("assay-calibrate-{pid}")));
        fs::create_dir(&group.0)?;
        for (file, text) in settings {
            fs::write(group.0.join(file), text)?;
        }
        fs::write(group.0.join("cgroup.procs"), pid.to_string())?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group with processes cannot be removed: they move to the parent group, which has no limit.
        let parent = self.0.parent().map(|parent| parent.join("cgroup.procs"));
        let pids = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        if let Some(parent) = parent {
            for pid in pids.lines() {
                drop(fs::write(&parent, pid));
            }
        }
        drop(fs::remove_dir(&self.0));
    }
}
