//! Runs the fuzzers on the stable toolchain, with the coverage flags that they need.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{self, cargo, root};

const FLAGS: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
];

/// The host is named, so that the flags do not reach build scripts.
const HOST: &str = "x86_64-unknown-linux-gnu";

const SECONDS: &str = "60";

/// Builds all fuzzers and runs one or all of them: `[TARGET] [--seconds N]`.
pub fn run(arguments: &[String]) -> Result<()> {
    let (target, seconds) = match arguments {
        [] => (None, SECONDS),
        [target] => (Some(target), SECONDS),
        [flag, seconds] if flag == "--seconds" => (None, seconds.as_str()),
        [target, flag, seconds] if flag == "--seconds" => (Some(target), seconds.as_str()),
        _ => bail!("usage: cargo xtask fuzz [TARGET] [--seconds N]"),
    };
    seconds.parse::<u32>().with_context(|| format!("`{seconds}` is not a number of seconds"))?;
    let root = root();
    let names = names(&root.join("fuzz/fuzz_targets"))?;
    let chosen: Vec<_> =
        names.iter().filter(|name| target.is_none_or(|target| target == *name)).collect();
    if chosen.is_empty() {
        bail!("no such target; the targets are {}", names.join(", "));
    }
    let built = root.join("fuzz/target");
    let mut build = cargo();
    build.args(["build", "--release", "--target", HOST, "--target-dir"]).arg(&built);
    build.env("RUSTFLAGS", FLAGS.join(" ")).current_dir(root.join("fuzz"));
    command::run(&mut build).context("the fuzzers do not build")?;
    for name in chosen {
        fuzz(&root.join("fuzz"), &built.join(HOST).join("release").join(name), name, seconds)?;
    }
    Ok(())
}

fn fuzz(fuzz: &Path, program: &Path, name: &str, seconds: &str) -> Result<()> {
    let found = fuzz.join("found").join(name);
    let artifacts = fuzz.join("artifacts").join(name);
    fs_err::create_dir_all(&found)?;
    fs_err::create_dir_all(&artifacts)?;
    let status = Command::new(program)
        .arg(&found)
        .arg(fuzz.join("corpus").join(name))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=10", "-print_final_stats=1"])
        .status()
        .with_context(|| format!("cannot start `{}`", program.display()))?;
    if !status.success() {
        bail!("`{name}` found something: see `{}`", artifacts.display());
    }
    Ok(())
}

fn names(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
