//! Planted causes, each with the terms of the account to which its change must be attributed.

use std::net::TcpListener;
use std::process::{Child, Command};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Assay;
use super::designs::{Plant, PlantedCause};
use super::group::{Group, Limit};
use super::manual::Sandbox;
use crate::machine;

/// The server for plants that no option names.
const SYSTEM: &str = "mariadb@11.8";

const CPU: &str = "0";

/// Priority of a process that computes: it gets nine tenths of a CPU that it shares.
const PRIORITY: &str = "-10";

/// Reads of a slow disk, and writes of another one, per second.
const READS_S: u32 = 2000;
const WRITES_S: u32 = 500;

pub(super) fn measure(assay: &Assay, planted: &PlantedCause) -> Result<Value> {
    let mut line = match planted.plant {
        Plant::Named => assay.compare(&planted.words)?,
        Plant::Tcp => {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let base = Sandbox::start(assay, SYSTEM)?;
            let other = Sandbox::start_with(assay, SYSTEM, &["--port", &port.to_string()])?;
            let by_tcp = by_tcp(&other.url, port)?;
            let urls = [base.url.clone(), by_tcp];
            of_running(assay, urls, planted, "the second one by TCP")?
        }
        Plant::Hog => {
            let base = Sandbox::start(assay, SYSTEM)?;
            let other = Sandbox::start(assay, SYSTEM)?;
            for pid in [base.pid, other.pid] {
                set(Command::new("taskset").args(["-a", "-c", "-p", CPU]), pid)?;
            }
            set(Command::new("chrt").args(["-a", "-f", "-p", "1"]), base.pid)?;
            let _hog = Hog::on_cpu(CPU)?;
            let urls = [base.url.clone(), other.url.clone()];
            let how = "on one CPU with a process that computes, before it and after it";
            of_running(assay, urls, planted, how)?
        }
        Plant::SlowReads => {
            let system = format!("{SYSTEM}+innodb_buffer_pool_size=8M");
            let base = Sandbox::start(assay, &system)?;
            let other = Sandbox::start(assay, &system)?;
            let _slow = limited(&other, "read", READS_S)?;
            let urls = [base.url.clone(), other.url.clone()];
            let how = format!(
                "both with 8 MB of buffer pool, the second one with {READS_S} reads per second"
            );
            of_running(assay, urls, planted, &how)?
        }
        Plant::SlowFlushes => {
            let base = Sandbox::start(assay, SYSTEM)?;
            let durable = format!("{SYSTEM}+innodb_flush_log_at_trx_commit=1");
            let other = Sandbox::start(assay, &durable)?;
            let _slow = (limited(&base, "write", WRITES_S)?, limited(&other, "write", WRITES_S)?);
            let urls = [base.url.clone(), other.url.clone()];
            let how = format!(
                "both with {WRITES_S} writes per second, the second one with innodb_flush_log_at_trx_commit=1"
            );
            of_running(assay, urls, planted, &how)?
        }
    };
    line["terms"] = planted.terms.into();
    Ok(line)
}

fn of_running(
    assay: &Assay,
    urls: [String; 2],
    planted: &PlantedCause,
    how: &str,
) -> Result<Value> {
    let mut line = assay.compare(&[&urls[..], &planted.words].concat())?;
    line["words"] = format!("{SYSTEM} {SYSTEM} {}; {how}", planted.words.join(" ")).into();
    Ok(line)
}

/// The TCP address of a sandbox, from that of its socket.
fn by_tcp(url: &str, port: u16) -> Result<String> {
    let (login, rest) = url.split_once("@/").context("the address has no login")?;
    let database = rest.split('?').next().unwrap_or(rest);
    Ok(format!("{login}@127.0.0.1:{port}/{database}"))
}

/// Changes how the threads of a process, including future ones, are scheduled.
fn set(command: &mut Command, pid: u64) -> Result<()> {
    machine::done(command.arg(pid.to_string())).map(drop)
}

/// Limits how often a server may `read` or `write` on the disk that holds its data.
fn limited(server: &Sandbox<'_>, way: &str, per_s: u32) -> Result<Group> {
    let data = fs_err::read_link(format!("/proc/{}/cwd", server.pid))?;
    let mut command = Command::new("findmnt");
    let disk =
        machine::done(command.args(["--noheadings", "--output", "MAJ:MIN", "-T"]).arg(data))?;
    let disk = disk.trim();
    let first = way.get(..1).unwrap_or_default();
    let limit = Limit {
        controller: "io",
        settings: vec![("io.max".to_owned(), format!("{disk} {first}iops={per_s}"))],
        old_controller: "blkio",
        old_settings: vec![(
            format!("blkio.throttle.{way}_iops_device"),
            format!("{disk} {per_s}"),
        )],
    };
    Group::new(server.pid, &limit)
}

/// A process that computes until this is dropped.
struct Hog(Child);

impl Hog {
    fn on_cpu(cpu: &str) -> Result<Self> {
        let mut command = Command::new("nice");
        command.args(["-n", PRIORITY, "taskset", "-c", cpu, "sh", "-c"]);
        // It ends with this process, however that ends.
        command.arg(format!("while kill -0 {} 2>/dev/null; do :; done", std::process::id()));
        Ok(Self(command.spawn().context("cannot start a process that computes")?))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
