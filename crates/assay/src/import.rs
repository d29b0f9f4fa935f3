//! `assay import`: results that other tools have published become studies of the ledger.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_import::{
    About, Fault, NoRuns, NoStudy, qps_table, study_of, study_of_runs, sysbench_run,
};
use assay_ledger::Ledger;
use assay_model::{Setup, StudyRecord, counted};
use sha2::{Digest as _, Sha256};

use crate::advice::Advised;
use crate::cli::{ImportCommand, ImportRuns, ImportTables};
use crate::clock::now_ms;
use crate::exit::Exit;
use crate::progress::print;
use crate::{paths, report};

/// Bad lines of a file that are shown.
const FAULTS_SHOWN: usize = 10;

/// Deepest directory below a named one that is searched.
const DEEPEST: usize = 8;

/// Adds results to the ledger.
pub(crate) fn run(command: &ImportCommand) -> Result<Exit> {
    match command {
        ImportCommand::Mytools(args) => tables(args),
        ImportCommand::Sysbench(args) => runs(args),
    }
}

/// Adds published tables to the ledger, and shows the study if it is one.
fn tables(args: &ImportTables) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut files = Vec::new();
    for path in &args.paths {
        match path.is_dir() {
            true => find_tables(path, DEEPEST, &mut files)?,
            false => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        bail!(Advised::new(
            "there is no table of queries per second in these directories",
            "tables are called `qps.abs.NAME.tsv`; name the file if yours has another name"
        ));
    }
    let setup = args.setup.setup();
    let read = |file: &PathBuf| {
        read_table(file, setup).with_context(|| format!("cannot import `{}`", file.display()))
    };
    let records: Vec<StudyRecord> = files.iter().map(read).collect::<Result<_>>()?;
    let is_shaped = args.output.format.is_some() || args.output.output.is_some();
    if records.len() > 1 && is_shaped {
        bail!(Advised::new(
            format!("`--format` and `-o` show one study, and these are {} tables", records.len()),
            "leave them out, then use `assay report STUDY --format html -o FILE`"
        ));
    }
    let mut ledger = Ledger::open(&paths::ledger_file(args.ledger.file.as_deref())?)?;
    let added = records.iter().map(|record| add(&mut ledger, record));
    let added: Vec<StudyRecord> = added.collect::<Result<_>>()?;
    if let [record] = added.as_slice() {
        return report::write(record, &args.output);
    }
    for record in &added {
        let (cells, systems) = (record.study.cells.len() as u64, record.systems.len() as u64);
        let what = format!("{} of {}", counted(cells, "test"), counted(systems, "system"));
        print(&format!("{}: {what}, from {}", record.study.id, place(record)));
    }
    Ok(Exit::Done)
}

/// Adds outputs of sysbench to the ledger as one study, and shows it.
fn runs(args: &ImportRuns) -> Result<Exit> {
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

/// Where the results of a study were published.
fn place(record: &StudyRecord) -> &str {
    record.systems.first().map_or("", |it| it.artifact.channel())
}

/// The tables in a directory, in the order of their names.
fn find_tables(directory: &Path, deepest: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link && deepest > 0 {
            find_tables(&path, deepest - 1, found)?;
        } else if path.is_file() && name.starts_with("qps.abs.") && name.ends_with(".tsv") {
            found.push(path);
        }
    }
    Ok(())
}

fn read_table(path: &Path, setup: Setup) -> Result<StudyRecord> {
    let (table, faults) = qps_table(&path.display().to_string(), open(path)?)?;
    tell(&faults);
    let mut digest = Sha256::new();
    for server in &table.servers {
        digest.update(format!("{server}\n"));
    }
    for row in &table.rows {
        digest.update(format!("{} {:?}\n", row.test, row.values));
    }
    let about = about(name(path), digest, setup);
    study_of(&table, &about).map_err(|why| {
        let (what, hint) = match why {
            NoStudy::Relative => (
                "its numbers are ratios, from which no rates follow",
                "import the absolute ones, which are called `qps.abs.NAME.tsv`",
            ),
            NoStudy::NoServers => (
                "it has no names of servers",
                "import the tsv file, which lists them as `col-1 : NAME`",
            ),
            NoStudy::NoTests => (
                "it has no rows that can be read",
                "a row is tab-separated: a number for each server, then the test",
            ),
        };
        Advised::new(what, hint).into()
    })
}

/// Names the first bad lines.
fn tell(faults: &[Fault]) {
    for fault in faults.iter().take(FAULTS_SHOWN) {
        print(&format!("warning: {fault}"));
    }
    if let Some(more @ 1..) = faults.len().checked_sub(FAULTS_SHOWN) {
        print(&format!("warning: {} more", counted(more as u64, "bad line")));
    }
}

fn open(path: &Path) -> Result<BufReader<fs_err::File>> {
    let file = fs_err::File::open(path)?;
    // A device or a pipe may have no end.
    anyhow::ensure!(file.metadata()?.is_file(), "it is not a regular file");
    Ok(BufReader::new(file))
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

/// The name of a file. Where it lies on this machine is nobody else's business.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the results do not tell. The same results make a study of the same name.
fn about(reported_in: String, mut digest: Sha256, setup: Setup) -> About {
    digest.update(setup.to_string());
    let mut id = hex::encode(digest.finalize());
    id.truncate(12);
    About {
        reported_in,
        id: format!("imported-{id}"),
        imported_ms: now_ms(),
        setup,
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Adds a study unless it is there, and returns it as it is stored.
fn add(ledger: &mut Ledger, record: &StudyRecord) -> Result<StudyRecord> {
    let id = &record.study.id;
    if !ledger.studies()?.iter().any(|it| it.id == *id) {
        ledger.add_record(record)?;
    }
    report::read(ledger, id)
}
