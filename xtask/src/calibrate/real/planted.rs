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
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
            let base = Sandbox::start(assay, SYSTEM)?;
            let other = Sandbox::start_with(assay, SYSTEM, &["--port", &port])?;
            of_running(assay, [&base, &other], planted, "the second one by TCP")?
        }
        Plant::Hog => {
            let base = Sandbox::start(assay, SYSTEM)?;
            let other = Sandbox::start(assay, SYSTEM)?;
            on_cpu(base.pid, 0)?;
            on_cpu(other.pid, 1)?;
            let _hog = Hog::on_cpu(1)?;
            of_running(
                assay,
                [&base, &other],
                planted,
                "each on a CPU, that of the second one busy",
            )?
        }
    };
    line["terms"] = planted.terms.into();
    Ok(line)
}

/// A study of two servers that run.
fn of_running(
    assay: &Assay,
    servers: [&Sandbox<'_>; 2],
    planted: &Planted,
    how: &str,
) -> Result<Value> {
    let urls = servers.map(|it| it.url.clone());
    let mut line = assay.compare(&[&urls[..], &planted.words].concat())?;
    line["words"] = format!("{SYSTEM} {SYSTEM} {}; {how}", planted.words.join(" ")).into();
    Ok(line)
}

/// Puts all threads of a process on a CPU. Those that it starts stay there.
fn on_cpu(pid: u64, cpu: u32) -> Result<()> {
    let words = ["-a", "-p", "-c", &cpu.to_string(), &pid.to_string()].map(str::to_owned);
    machine::done(Command::new("taskset").args(words)).map(drop)
}

/// A process that computes until this is dropped.
struct Hog(Child);

impl Hog {
    fn on_cpu(cpu: u32) -> Result<Self> {
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
