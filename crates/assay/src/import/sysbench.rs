//! Outputs of sysbench.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use assay_import::{NoRuns, study_of_runs, sysbench_run};
use assay_ledger::Ledger;
use sha2::{Digest as _, Sha256};

use super::common::{about, add, name, open, tell};
use crate::advice::Advised;
use crate::cli::ImportRuns;
use crate::exit::Exit;
use crate::{paths, report};

/// Adds outputs of sysbench to the ledger as one study, and shows it.
pub(super) fn run(args: &ImportRuns) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut runs = Vec::new();
    let mut digest = Sha256::new();
    for (file, name) in args.files.iter().zip(names(&args.files)) {
        let content = open(file).with_context(|| format!("cannot import `{}`", file.display()))?;
        let (run, faults) = sysbench_run(&file.display().to_string(), content)?;
        tell(&faults);
        digest.update(format!("{name} {run:?}\n"));
        runs.push((name, run));
    }
    let about = about("sysbench".to_owned(), digest, args.setup.setup());
    let file = |number: usize| args.files.get(number).map_or("", |it| it.to_str().unwrap_or(""));
    let record = study_of_runs(&runs, &about).map_err(|why| match why {
        NoRuns::Incomplete { number, why } => {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let what = format!("`{}` has no single report of sysbench{why}", file(number));
            Advised::new(what, "import the whole output of a run that ended by itself")
        }
        NoRuns::Different { number, what } => {
            let what = format!("`{}` has another {what} than the first output", file(number));
            Advised::new(what, "import runs that differ only in the server")
        }
    })?;
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    report::write(&add(&mut ledger, &record)?, &args.output)
}

/// The names of files that tell them apart: their own, or those of their directories, or numbered ones.
fn names(files: &[PathBuf]) -> Vec<String> {
    let are_different =
        |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let own = || files.iter().map(|file| name(file)).collect::<Vec<_>>();
    let of_directories =
        || files.iter().map(|file| file.parent().map_or_else(String::new, name)).collect();
    let numbered = || own().into_iter().zip(1..).map(|(name, number)| format!("{name} #{number}"));
    Some(own())
        .filter(are_different)
        .or_else(|| Some(of_directories()).filter(are_different))
        .unwrap_or_else(|| numbered().collect())
}
