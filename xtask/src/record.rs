//! Measures the study that tests of reports and packs read.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use crate::command::{self, build_assay, cargo, root};

/// A small study with a twin: two products' versions, a read and a write of each kind.
const COMPARE: [&str; 8] = [
    "compare",
    "mariadb@10.11",
    "mariadb@11.8",
    "--preset",
    "smoke",
    "--tests",
    "point-query,scan,update-index,read-only_range=10",
    "--twin",
];

/// The ledger and the id of its study, as tests expect them.
const FOLDER: &str = "crates/assay-ledger/tests/recorded";

/// Also writes the snapshots of its output.
pub fn run() -> Result<()> {
    let root = &root();
    let temporary = tempfile::tempdir()?;
    let ledger = temporary.path().join("ledger.db");
    let assay = build_assay()?;
    command::run(Command::new(&assay).args(COMPARE).arg("--ledger").arg(&ledger))?;
    let studies = Command::new(&assay)
        .args(["studies", "--format", "json", "--ledger"])
        .arg(&ledger)
        .output()
        .context("cannot start assay")?;
    let studies: serde_json::Value = serde_json::from_slice(&studies.stdout)?;
    let id = studies["studies"][0]["id"].as_str().context("the ledger has no study")?;
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(&fs_err::read(&ledger)?)?;
    let folder = root.join(FOLDER);
    fs_err::write(folder.join("study.db.gz"), packed.finish()?)?;
    fs_err::write(folder.join("study.id"), id)?;
    let corpus = ["run", "--quiet", "-p", "assay-fuzz", "--example", "corpus", "ledgers"];
    command::run(cargo().args(corpus).current_dir(root))?;
    // The page on pandas shows its figures.
    let suite = ["test", "--quiet", "-p", "assay", "--test", "suite", "--"];
    let mut tests = cargo();
    tests.args(suite).args(["recorded_study::", "notebooks::"]).env("INSTA_UPDATE", "always");
    command::run(tests.current_dir(root))
}
