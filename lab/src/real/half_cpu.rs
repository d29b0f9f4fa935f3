//! A server limited to half a CPU, against one without a limit.

use std::process::{Child, Command};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Assay;
use super::group::{Group, Limit};
use super::manual::Sandbox;

/// The server may run for half of each period, microseconds. The kernel's usual period of 100 ms would be one long
/// stall after the other.
const PERIOD_US: u32 = 10_000;

const SYSTEM: &str = "mariadb@11.8";

/// Compares two servers of the same version. The second one has half a CPU.
pub(super) fn compare(assay: &Assay, words: &[String]) -> Result<Value> {
    let base = Sandbox::start(assay, SYSTEM)?;
    let other = Sandbox::start(assay, SYSTEM)?;
    let half = Half::new(other.pid)?;
    let systems = [base.url.clone(), other.url.clone()];
    let mut line = assay.compare(&[&systems[..], words].concat())?;
    line["words"] = format!("{SYSTEM} {SYSTEM} {}; {}", words.join(" "), half.in_words()).into();
    Ok(line)
}

/// Limits a server; the limit ends when this is dropped.
enum Half {
    Quota(#[expect(dead_code, reason = "it ends the quota when it is dropped")] Group),
    /// Without control groups: a shell that alternately stops and continues the server.
    Stopped(Child, u64),
}

impl Half {
    fn new(pid: u64) -> Result<Self> {
        let quota_us = PERIOD_US / 2;
        let limit = Limit {
            controller: "cpu",
            settings: vec![("cpu.max".to_owned(), format!("{quota_us} {PERIOD_US}"))],
            old_controller: "cpu",
            old_settings: vec![
                ("cpu.cfs_period_us".to_owned(), PERIOD_US.to_string()),
                ("cpu.cfs_quota_us".to_owned(), quota_us.to_string()),
            ],
        };
        match Group::new(pid, &limit) {
            Ok(group) => Ok(Self::Quota(group)),
            Err(_) => Self::stopped(pid),
        }
    }

    fn in_words(&self) -> &'static str {
        match self {
            Self::Quota(_) => "half a CPU by quota, in periods of 10 ms",
            Self::Stopped(..) => "stopped for half of every 10 ms by SIGSTOP",
        }
    }

    fn stopped(pid: u64) -> Result<Self> {
        let script =
            format!("while kill -STOP {pid}; do sleep 0.005; kill -CONT {pid}; sleep 0.005; done");
        let shell = Command::new("sh").args(["-c", &script]).spawn();
        Ok(Self::Stopped(shell.context("cannot start a shell")?, pid))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        if let Self::Stopped(shell, pid) = self {
            drop(shell.kill());
            drop(shell.wait());
            let mut command = Command::new("kill");
            drop(command.args(["-CONT", &pid.to_string()]).status());
        }
    }
}
