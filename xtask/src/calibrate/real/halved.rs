//! A server that gets half a CPU, against one that gets as much as it can use.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use anyhow::{Context as _, Result};
use fs_err as fs;
use serde_json::Value;

use super::Assay;
use super::manual::Sandbox;

/// The server may run for half of each period, microseconds. The kernel's usual period of 100 ms would be one long
/// stall after the other.
const PERIOD_US: u32 = 10_000;

/// The server that is compared.
const SYSTEM: &str = "mariadb@11.8";

/// Compares two servers of the same version. The second one has half a CPU.
pub(super) fn compare(assay: &Assay, words: &[String]) -> Result<Value> {
    let base = Sandbox::start(assay, SYSTEM)?;
    let other = Sandbox::start(assay, SYSTEM)?;
    let limit = Limit::new(other.pid)?;
    let systems = [base.url.clone(), other.url.clone()];
    let mut line = assay.compare(&[&systems[..], words].concat())?;
    line["words"] = format!("{SYSTEM} {SYSTEM} {}; {}", words.join(" "), limit.in_words()).into();
    Ok(line)
}

/// What keeps a server from using more; it ends when this is dropped.
enum Limit {
    /// A control group with a quota.
    Group(PathBuf),
    /// Where no control group may be made: a shell that stops and continues the server in turn.
    Stopped(Child, u64),
}

impl Limit {
    fn new(pid: u64) -> Result<Self> {
        let group = Self::group(pid);
        match group {
            Ok(group) => Ok(Self::Group(group)),
            Err(_) => Self::stopped(pid),
        }
    }

    fn in_words(&self) -> &'static str {
        match self {
            Self::Group(_) => "half a CPU by quota, in periods of 10 ms",
            Self::Stopped(..) => "stopped for half of every 10 ms by SIGSTOP",
        }
    }

    /// Version 2 of control groups, or version 1.
    fn group(pid: u64) -> Result<PathBuf> {
        let [root, old] = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"].map(Path::new);
        let has_new = fs::read_to_string(root.join("cgroup.subtree_control"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|it| it == "cpu"));
        let group = if has_new { root } else { old }.join(format!("assay-calibrate-{pid}"));
        let made = fs::create_dir(&group).map_err(anyhow::Error::from).and_then(|()| {
            let quota_us = PERIOD_US / 2;
            if has_new {
                fs::write(group.join("cpu.max"), format!("{quota_us} {PERIOD_US}"))?;
            } else {
                fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
                fs::write(group.join("cpu.cfs_quota_us"), quota_us.to_string())?;
            }
            // Moves all threads of the process.
            Ok(fs::write(group.join("cgroup.procs"), pid.to_string())?)
        });
        if made.is_err() {
            drop(fs::remove_dir(&group));
        }
        made.map(|()| group)
    }

    fn stopped(pid: u64) -> Result<Self> {
        let script =
            format!("while kill -STOP {pid}; do sleep 0.005; kill -CONT {pid}; sleep 0.005; done");
        let shell = Command::new("sh").args(["-c", &script]).spawn();
        Ok(Self::Stopped(shell.context("cannot start a shell")?, pid))
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        match self {
            Self::Group(group) => {
                // A group with processes cannot be removed: the server moves to the group above, which has no quota.
                let parent = group.parent().map(|parent| parent.join("cgroup.procs"));
                let pids = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
                if let Some(parent) = parent {
                    for pid in pids.lines() {
                        drop(fs::write(&parent, pid));
                    }
                }
                drop(fs::remove_dir(group));
            }
            Self::Stopped(shell, pid) => {
                drop(shell.kill());
                drop(shell.wait());
                let mut command = Command::new("kill");
                drop(command.args(["-CONT", &pid.to_string()]).status());
            }
        }
    }
}
