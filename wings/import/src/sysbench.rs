//! Outputs of sysbench and pgbench.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_import::{
    ClientRun, NoRuns, Output, SystemRun, output, pgbench_run, study_of_runs, sysbench_run,
};
use assay_ledger::Ledger;
use sha2::{Digest as _, Sha256};

use super::common::{about, add, name, open, tell};
use super::data_sets::files;
use super::systems::{Given, given, systems};
use crate::arguments::ImportRuns;
use assay_command::exit::Exit;
use assay_command::report;
use assay_run::advice::Advised;
use assay_run::paths;
use assay_run::progress::print;

pub(super) fn run(args: &ImportRuns) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut outputs: Vec<(Given, ClientRun)> = Vec::new();
    let mut exit = Exit::Done;
    for given in args.files.iter().map(|it| given(it)) {
        if !given.path.is_dir() {
            let run = read(&given.path)?;
            outputs.push((given, run));
            continue;
        }
        for path in files(&given.path)?.into_values() {
            if !path.is_file() {
                print(&format!("warning: left out: `{}` {}", path.display(), no_file(&path)));
                exit = Exit::Incomplete;
                continue;
            }
            match read(&path) {
                Ok(run) => {
                    let system = given.system.clone();
                    let system = Some(system.unwrap_or_else(|| name(&given.path)));
                    outputs.push((Given { path, system }, run));
                }
                Err(error) => {
                    print(&format!("warning: left out: {error:#}"));
                    exit = Exit::Incomplete;
                }
            }
        }
    }
    if outputs.is_empty() {
        bail!(Advised::new(
            "there is no output to import",
            "name files, or directories with the files of one system each: \
             `assay import sysbench OLD_DIRECTORY NEW_DIRECTORY`",
        ));
    }
    let named: Vec<(Given, Option<u32>)> =
        outputs.iter().map(|(given, run)| (given.clone(), run.threads)).collect();
    let named: Vec<(String, PathBuf, ClientRun)> = systems(&named)
        .into_iter()
        .zip(outputs)
        .map(|(system, (given, run))| (system, given.path, run))
        .collect();
    let runs: Vec<SystemRun> = without_copies(named)?
        .into_iter()
        .map(|(system, path, run)| SystemRun { system, file: shown(&path, args), run })
        .collect();
    let client = runs.first().map(|it| it.run.client).unwrap_or_default();
    let about = about(client.to_string(), args.setup.setup());
    let record = study_of_runs(&runs, &about).map_err(|why| refusal(&why, &runs))?;
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let written = report::write(&add(&mut ledger, &record)?, &args.output)?;
    Ok(if exit == Exit::Done { written } else { exit })
}

/// Drops duplicate outputs: a copy of a run is no repeat.
fn without_copies(
    outputs: Vec<(String, PathBuf, ClientRun)>,
) -> Result<Vec<(String, PathBuf, ClientRun)>> {
    let mut seen: BTreeMap<(String, Vec<u8>), PathBuf> = BTreeMap::new();
    let mut kept = Vec::with_capacity(outputs.len());
    for (system, path, run) in outputs {
        match seen.entry((system.clone(), digest(&path)?)) {
            Entry::Vacant(entry) => {
                entry.insert(path.clone());
                kept.push((system, path, run));
            }
            Entry::Occupied(entry) if *entry.get() == path => {
                print(&format!("warning: `{}` is named twice, and counts once", path.display()));
            }
            Entry::Occupied(entry) => print(&format!(
                "warning: left out: `{}` has the same content as `{}`",
                path.display(),
                entry.get().display()
            )),
        }
    }
    Ok(kept)
}

fn digest(path: &Path) -> Result<Vec<u8>> {
    let mut content = open(path).with_context(|| format!("cannot import `{}`", path.display()))?;
    let mut digest = Sha256::new();
    loop {
        let length = {
            let part = content.fill_buf()?;
            digest.update(part);
            part.len()
        };
        if length == 0 {
            return Ok(digest.finalize().to_vec());
        }
        content.consume(length);
    }
}

fn no_file(path: &Path) -> &'static str {
    if path.is_dir() {
        "is a directory: name it, and it is a system of its own"
    } else {
        "is not a regular file"
    }
}

/// Name of a file in messages, with its directory if another file has the same name.
fn shown(path: &Path, args: &ImportRuns) -> String {
    let own = name(path);
    let same = args.files.iter().filter(|it| name(it) == own).count();
    match path.parent().map(name).filter(|_| same > 1) {
        Some(directory) if !directory.is_empty() => format!("{directory}/{own}"),
        _ => own,
    }
}

fn read(path: &Path) -> Result<ClientRun> {
    let cannot = || format!("cannot import `{}`", path.display());
    let found = output(open(path).with_context(cannot)?).with_context(cannot)?;
    let file = path.display().to_string();
    let (run, faults) = match found {
        Output::Sysbench => sysbench_run(&file, open(path).with_context(cannot)?)?,
        Output::Pgbench => pgbench_run(&file, open(path).with_context(cannot)?)?,
        Output::Other(other) => {
            let refused = Advised::new(format!("it is {}", other.name()), other.hint());
            return Err(refused).with_context(cannot);
        }
        Output::Unknown => {
            let hint = "import outputs of sysbench 0.5, 1.0 or 1.1, or summaries of pgbench";
            let refused =
                Advised::new("it is not the output of a benchmark that assay knows", hint);
            return Err(refused).with_context(cannot);
        }
    };
    tell(&faults);
    Ok(run)
}

fn refusal(why: &NoRuns, runs: &[SystemRun]) -> Advised {
    let file = |number: usize| runs.get(number).map_or("", |it| it.file.as_str());
    match why {
        NoRuns::Incomplete { number, reports, why: Some(why) } => {
            let report = if *reports == 0 { "has no report" } else { "failed" };
            Advised::new(
                format!("`{}` {report}: {why}", file(*number)),
                "import the whole output of a run that ended by itself",
            )
        }
        NoRuns::Incomplete { number, reports, why: None } => match reports {
            0 => Advised::new(
                format!(
                    "`{}` has no report: its run did not end, or the file is cut off",
                    file(*number)
                ),
                "import the whole output of a run that ended by itself",
            ),
            1 => Advised::new(
                format!("`{}` is cut off: its report lacks counts or the time", file(*number)),
                "import the whole output of a run that ended by itself",
            ),
            many => Advised::new(
                format!(
                    "`{}` has {many} reports: of several runs, or of `--report-checkpoints`",
                    file(*number)
                ),
                "split it, and import each run as a file of its own: `assay import sysbench NAME=FILE NAME=FILE`",
            ),
        },
        NoRuns::Contradiction { number, what } => Advised::new(
            format!("`{}` contradicts itself: {}", file(*number), what.join("; ")),
            "import the output as the program wrote it",
        ),
        NoRuns::Different { number, what } => Advised::new(
            format!("`{}` cannot be compared: {what}", file(*number)),
            "import runs that differ only in the server, or in the number of clients",
        ),
        NoRuns::NoCommonClients => {
            let clients = |it: &SystemRun| {
                format!(
                    "{} {}",
                    it.file,
                    it.run.threads.map_or("?".to_owned(), |it| it.to_string())
                )
            };
            let message: Vec<String> = runs.iter().map(clients).collect();
            Advised::new(
                format!("the runs have different numbers of clients: {}", message.join(", ")),
                "to import a sweep of one system, name it: `assay import sysbench NAME=FILE NAME=FILE`",
            )
        }
    }
}
