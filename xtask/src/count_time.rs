//! The time of a count of instructions, by its steps, and beside another build of assay.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::command::{self, cargo, root};

const SYSTEMS: [&str; 2] = ["mariadb@10.11", "mariadb@11.8"];

/// 20 reads.
const TESTS: &str = "point-query,hot-points,points-covered-pk,points-notcovered-pk,points-covered-si,\
                     points-notcovered-si,range-covered-pk,range-notcovered-pk,range-covered-si,\
                     range-notcovered-si,random-points_range=10,random-points_range=100,random-points_range=1000,\
                     read-only_range=10,read-only_range=100,read-only_range=10000,read-only-simple,read-only-sum,\
                     read-only-order,scan";

/// `[--against PROGRAM] [SYSTEM...]`: counts with this version, and with another build of assay. Prints the seconds of
/// both and their ratio. assay itself prints the seconds of each step.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(words: &[String]) -> Result<()> {
    let (against, systems) = match words {
        [option, program, systems @ ..] if option == "--against" => (Some(program), systems),
        systems => (None, systems),
    };
    let named = systems.iter().map(String::as_str);
    let systems: Vec<&str> = if systems.is_empty() { SYSTEMS.to_vec() } else { named.collect() };
    command::run(
        cargo().args(["build", "--quiet", "--release", "-p", "assay"]).current_dir(root()),
    )?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let own = target.unwrap_or_else(|| root().join("target")).join("release/assay");
    // Fetches servers and makes templates, which later counts find.
    seconds(&own, &systems, "point-query")?;
    let took = seconds(&own, &systems, TESTS)?;
    println!("{}: {took:.0} s", own.display());
    if let Some(program) = against {
        let other = seconds(Path::new(program), &systems, TESTS)?;
        println!("{program}: {other:.0} s, ratio {:.2}", took / other);
    }
    Ok(())
}

fn seconds(assay: &Path, systems: &[&str], tests: &str) -> Result<f64> {
    let ledger = tempfile::tempdir()?;
    let mut count = Command::new(assay);
    count.arg("count").args(systems).args(["--tests", tests, "--ledger"]);
    count.arg(ledger.path().join("ledger.db")).stdout(Stdio::null());
    let began = Instant::now();
    let status = count.status().with_context(|| format!("cannot start `{}`", assay.display()))?;
    let took = began.elapsed().as_secs_f64();
    ensure!(status.success(), "`{}`: {status}", assay.display());
    Ok(took)
}
