//! Gets, starts and compares every available server, with the program itself.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::command::build_assay;

/// A server of each family and one through each client, the smallest ones.
const SHORT: [&str; 5] =
    ["mariadb@10.11", "mysql@5.7", "postgres@15", "postgres@17.10", "postgres@18.4"];

const BASES: [(&str, &str); 3] =
    [("mariadb", "mariadb@10.11"), ("mysql", "mysql@5.7"), ("postgres", "postgres@16")];

const ENGINES: [&str; 2] = ["mariadb@10.11/rocksdb", "mariadb@11.8/rocksdb"];

/// Enough tests to load, change and read every kind of thing.
const TESTS: &str = "update-index,read-write_range=100,scan,point-query,delete,insert";

const EXPIRED: &str = "--accept-expired-index";

/// Gets servers, starts each on a new data directory, compares each with one of its family, and prints a Markdown
/// table: `[--all] [--accept-expired-index] [SYSTEM...]`. Fails if any of them is unavailable or could not be started
/// or compared; the table names it.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(arguments: &[String]) -> Result<()> {
    let flag = |name: &str| arguments.iter().any(|word| word == name);
    let assay = Assay::build(flag(EXPIRED))?;
    let mut systems: Vec<String> =
        arguments.iter().filter(|word| !word.starts_with("--")).cloned().collect();
    if systems.is_empty() && flag("--all") {
        for (product, _) in BASES {
            systems.extend(assay.available(product)?);
        }
        systems.extend(ENGINES.map(str::to_owned));
    } else if systems.is_empty() {
        systems.extend(SHORT.map(str::to_owned));
    }
    println!("| system | source | build | size, MB | first query after | smoke compare |");
    println!("|---|---|---|---:|---:|---|");
    let mut failed = 0;
    for system in systems {
        let row = assay.row(&system).unwrap_or_else(|error| {
            failed += 1;
            format!("| {system} | | | | | {} |", format!("{error:#}").replace(['|', '\n'], " "))
        });
        println!("{row}");
    }
    ensure!(failed == 0, "{failed} servers could not be fetched, started or compared");
    Ok(())
}

struct Assay {
    program: PathBuf,
    accepts_expired: bool,
}

impl Assay {
    fn build(accepts_expired: bool) -> Result<Self> {
        Ok(Self { program: build_assay()?, accepts_expired })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null());
        command
    }

    fn done(mut command: Command) -> Result<Output> {
        let output = command.output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let is_why = |line: &&str| line.starts_with("error") || line.contains(" failed: ");
            bail!("{}: {}", output.status, message.lines().find(is_why).unwrap_or_default());
        }
        Ok(output)
    }

    /// Versions of a product whose checksums are known in advance.
    fn available(&self, product: &str) -> Result<Vec<String>> {
        let list = ["server", "list", "--available", product, "--format", "json"];
        let found: Value = serde_json::from_slice(&Self::done(self.command(&list))?.stdout)?;
        let verified = found.as_array().into_iter().flatten().filter(|it| it["verified"] == true);
        let mut systems: Vec<_> =
            verified.filter_map(|it| Some(it["system"].as_str()?.to_owned())).collect();
        systems.dedup();
        Ok(systems)
    }

    fn row(&self, system: &str) -> Result<String> {
        let got = self.get(system)?;
        let text = |name: &str| got[name].as_str().unwrap_or_default().to_owned();
        let server = PathBuf::from(text("server"));
        let in_cache = |it: &&Path| it.parent().is_some_and(|it| it.ends_with("prefixes"));
        let prefix = server.ancestors().find(in_cache).context("the server is in no cache")?;
        let prefixes = prefix.parent().context("a cache of servers")?;
        let megabytes = bytes(prefix)? >> 20;
        // A separate cache, which only shares its servers with the user's, and their lock.
        let place = TempDir::new()?;
        symlink(prefixes, place.path().join("prefixes"))?;
        symlink(prefixes.with_file_name("provision.lock"), place.path().join("provision.lock"))?;
        let seconds = self.start(system, place.path())?;
        self.compare(system, place.path())?;
        let (source, build) = (text("source"), text("build"));
        let (client, place) = source.split_once(' ').unwrap_or((&source, ""));
        Ok(format!(
            "| {system} | {client} `{place}` | `{build}` | {megabytes} | {seconds:.1} s | ok |"
        ))
    }

    fn get(&self, system: &str) -> Result<Value> {
        let mut command = self.command(&["server", "get", system, "--quiet", "--format", "json"]);
        command.args(self.accepts_expired.then_some(EXPIRED));
        let output = Self::done(command).context("cannot be fetched")?;
        let got: Value = serde_json::from_slice(&output.stdout)?;
        Ok(got[0].clone())
    }

    fn command_in(&self, place: &Path, words: &[&str]) -> Command {
        let mut command = self.command(words);
        command.env("ASSAY_CACHE", place).env("XDG_STATE_HOME", place.join("state"));
        command.env("ASSAY_LEDGER", place.join("ledger.db"));
        command
    }

    /// Seconds until a server without a data directory answers a query.
    fn start(&self, system: &str, place: &Path) -> Result<f64> {
        let began = Instant::now();
        let start = ["server", "start", system, "--name", "one", "--quiet", "--offline"];
        Self::done(self.command_in(place, &start)).context("does not start")?;
        let seconds = began.elapsed().as_secs_f64();
        let stop = ["server", "stop", "one"];
        Self::done(self.command_in(place, &stop)).context("does not stop")?;
        Ok(seconds)
    }

    fn compare(&self, system: &str, place: &Path) -> Result<()> {
        let base = BASES.iter().find(|(product, _)| system.starts_with(product));
        let (_, base) = base.context("a system without a family")?;
        let mut compare = self.command_in(place, &["compare", base, system, "--preset", "smoke"]);
        compare.args(["--tests", TESTS, "--offline"]);
        Self::done(compare).context("cannot be compared")?;
        Ok(())
    }
}

fn bytes(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs_err::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sum += bytes(&entry.path())?;
        } else if kind.is_file() {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
