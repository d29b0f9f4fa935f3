//! Causes that are planted on purpose, each with the terms of the account in which its change must come back.

use std::net::TcpListener;
use std::process::{Child, Command};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Assay;
use super::designs::{Plant, Planted};
use super::manual::Sandbox;
use crate::calibrate::machine;

/// The server that plants need which no option names.
const SYSTEM: &str = "mariadb@11.8";

/// Carries out the study of a cause.
pub(super) fn measure(assay: &Assay, planted: &Planted) -> Result<Value> {
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
            prefer(base.pid)?;
            let cpus = std::thread::available_parallelism().map_or(1, usize::from);
            let _hogs: Vec<Hog> = (0..cpus).map(Hog::on_cpu).collect::<Result<_>>()?;
            let urls = [base.url.clone(), other.url.clone()];
            of_running(
                assay,
                urls,
                planted,
                "the first one with priority over what keeps the CPUs busy",
            )?
        }
    };
    line["terms"] = planted.terms.into();
    Ok(line)
}

/// A study of two servers that run.
fn of_running(assay: &Assay, urls: [String; 2], planted: &Planted, how: &str) -> Result<Value> {
    let mut line = assay.compare(&[&urls[..], &planted.words].concat())?;
    line["words"] = format!("{SYSTEM} {SYSTEM} {}; {how}", planted.words.join(" ")).into();
    Ok(line)
}

/// The address of a sandbox on its port, given that of its socket.
fn by_tcp(url: &str, port: u16) -> Result<String> {
    let (login, rest) = url.split_once("@/").context("the address has no login")?;
    let database = rest.split('?').next().unwrap_or(rest);
    Ok(format!("{login}@127.0.0.1:{port}/{database}"))
}

/// Gives all threads of a process priority over others. Those that it starts have it too.
fn prefer(pid: u64) -> Result<()> {
    const PRIORITY: &str = "-15";
    let threads = fs_err::read_dir(format!("/proc/{pid}/task"))?;
    let names = threads.map(|thread| Ok(thread?.file_name())).collect::<Result<Vec<_>>>()?;
    machine::done(Command::new("renice").args(["-n", PRIORITY, "-p"]).args(names)).map(drop)
}

/// A process that computes until this is dropped.
struct Hog(Child);

impl Hog {
    fn on_cpu(cpu: usize) -> Result<Self> {
        let mut command = Command::new("taskset");
        // It ends with this process, however that ends.
        let script = format!("while kill -0 {} 2>/dev/null; do :; done", std::process::id());
        command.args(["-c", &cpu.to_string(), "sh", "-c", &script]);
        Ok(Self(command.spawn().context("cannot start a process that computes")?))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
