//! Outputs of sysbench and pgbench.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_import::{
    ClientRun, OutputKind, SystemRun, output, pgbench_run, study_of_runs, sysbench_run,
};
use assay_ledger::Ledger;
use clap::Args;
use sha2::{Digest as _, Sha256};

use super::common::{SetupArgs, about, add, cannot_import, name, open, parsed};
use super::data_sets::files;
use assay_command::args::{FormatWord, LedgerArg, Output};
use assay_command::exit::Exit;
use assay_command::report;
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::progress::print;

/// `assay import sysbench`.
#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(FormatWord::without_stacks())))]
pub struct ImportRuns {
    /// Outputs of sysbench 0.5, 1.0 or 1.1, or of pgbench: those of the base, then others. Runs of one system, named
    /// as `SYSTEM=FILE` or by a directory, are a sweep over clients, or repeats
    #[arg(required = true, value_name = "[SYSTEM=]FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub setup: SetupArgs,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

pub(super) fn run(args: &ImportRuns) -> Result<Exit> {
    report::check(&args.output, None, &args.ledger)?;
    let mut outputs: Vec<(OutputFile, ClientRun)> = Vec::new();
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
                    outputs.push((OutputFile { path, system }, run));
                }
                Err(error) => {
                    print(&format!("warning: left out: {error:#}"));
                    exit = Exit::Incomplete;
                }
            }
        }
    }
    if outputs.is_empty() {
        bail!(HintedError::new(
            "there is no output to import",
            "name files, or directories with the files of one system each: \
             `assay import sysbench OLD_DIRECTORY NEW_DIRECTORY`",
        ));
    }
    let named: Vec<(OutputFile, Option<u32>)> =
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
    let about = about(runs[0].run.client.to_string(), args.setup.setup());
    let record =
        study_of_runs(&runs, &about).map_err(|why| HintedError::new(why.what, why.hint))?;
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
    let mut content = open(path).with_context(|| cannot_import(path))?;
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
    let cannot = || cannot_import(path);
    let found = output(open(path).with_context(cannot)?).with_context(cannot)?;
    let refused = match found {
        OutputKind::Sysbench => return parsed(path, sysbench_run).with_context(cannot),
        OutputKind::Pgbench => return parsed(path, pgbench_run).with_context(cannot),
        OutputKind::Other(other) => HintedError::new(format!("it is {}", other.what), other.hint),
        OutputKind::Unknown => HintedError::new(
            "it is not the output of a benchmark that assay knows",
            "import outputs of sysbench 0.5, 1.0 or 1.1, or summaries of pgbench",
        ),
    };
    Err(refused).with_context(cannot)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputFile {
    pub(super) path: PathBuf,
    pub(super) system: Option<String>,
}

pub(super) fn given(argument: &Path) -> OutputFile {
    let text = argument.to_str().filter(|_| !argument.exists());
    match text.and_then(|it| it.split_once('=')).filter(|(system, _)| !system.is_empty()) {
        Some((system, file)) => {
            OutputFile { path: PathBuf::from(file), system: Some(system.to_owned()) }
        }
        None => OutputFile { path: argument.to_owned(), system: None },
    }
}

/// The system of every output. Outputs of one system are its runs with other numbers of clients, and repeats.
pub(super) fn systems(outputs: &[(OutputFile, Option<u32>)]) -> Vec<String> {
    let unnamed: Vec<(&Path, Option<u32>)> = outputs
        .iter()
        .filter(|(given, _)| given.system.is_none())
        .map(|(given, clients)| (given.path.as_path(), *clients))
        .collect();
    let mut found = unnamed_systems(&unnamed).into_iter();
    let system = |(given, _): &(OutputFile, Option<u32>)| match &given.system {
        Some(system) => system.clone(),
        None => found.next().expect("each unnamed output has a system"),
    };
    outputs.iter().map(system).collect()
}

fn unnamed_systems(files: &[(&Path, Option<u32>)]) -> Vec<String> {
    let own: Vec<String> = files.iter().map(|(path, _)| name(path)).collect();
    let parents: Vec<Option<&Path>> = files.iter().map(|(path, _)| path.parent()).collect();
    let of_directories = || {
        let name = |parent: &Option<&Path>| parent.map_or_else(String::new, name);
        parents.iter().map(name).collect::<Vec<_>>()
    };
    let directories: BTreeSet<_> = parents.iter().collect();
    let names = of_directories();
    let are_named = names.iter().collect::<BTreeSet<_>>().len() == directories.len();
    if directories.len() > 1 && directories.len() < files.len() && are_named {
        return names;
    }
    if directories.len() == 1
        && let Some(systems) = swept(&own, files).or_else(|| repeated(&own))
    {
        return systems;
    }
    let are_different =
        |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let numbered = || own.iter().zip(1..).map(|(name, number)| format!("{name} #{number}"));
    Some(own.clone())
        .filter(are_different)
        .or_else(|| Some(names).filter(are_different))
        .unwrap_or_else(|| numbered().collect())
}

const CLIENTS: [&str; 14] = [
    "t", "th", "thr", "thds", "thread", "threads", "c", "cl", "client", "clients", "dop", "conn",
    "u", "vu",
];

const REPEATS: [&str; 10] =
    ["r", "run", "rep", "repeat", "iter", "iteration", "try", "pass", "round", "sample"];

const ENDINGS: [&str; 6] = ["gz", "txt", "log", "out", "output", "res"];

fn parts(name: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = name.split(['-', '_', '.', ' ']).collect();
    while parts.len() > 1 && parts.last().is_some_and(|last| ENDINGS.contains(last)) {
        parts.pop();
    }
    parts
}

/// Removes a number with one of these words around it, in one part or two: `t8`, `8threads`, `threads-8`.
fn without_number(parts: &[&str], words: &[&str], is: &dyn Fn(u32) -> bool) -> Option<String> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|it| is(*it));
    let has_word = |part: &str| {
        let lower = part.to_ascii_lowercase();
        words.iter().any(|word| {
            let rest = lower.strip_prefix(word).or_else(|| lower.strip_suffix(word));
            rest.and_then(number).is_some()
        })
    };
    let is_word = |part: &str| words.contains(&part.to_ascii_lowercase().as_str());
    let rest = |from: usize, to: usize| {
        let kept = parts.iter().enumerate().filter(|(at, _)| !(from..to).contains(at));
        kept.map(|(_, part)| *part).collect::<Vec<_>>().join("-")
    };
    let at = (0..parts.len()).rev().find(|at| has_word(parts[*at]));
    let pair = || {
        let is_pair = |pair: &[&str]| {
            is_word(pair[0]) && number(pair[1]).is_some()
                || is_word(pair[1]) && number(pair[0]).is_some()
        };
        parts.windows(2).rposition(is_pair)
    };
    at.map(|at| rest(at, at + 1)).or_else(|| pair().map(|at| rest(at, at + 2)))
}

/// Names without numbers of clients, and without numbers of repeats, if they form a sweep.
fn swept(own: &[String], files: &[(&Path, Option<u32>)]) -> Option<Vec<String>> {
    let mut counts: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    let mut systems = Vec::new();
    for (name, (path, clients)) in own.iter().zip(files) {
        let clients = (*clients)?;
        let parts = parts(name);
        let is = |number| number == clients;
        let bare = || {
            let (last, rest) = parts.split_last()?;
            (last.parse() == Ok(clients)).then(|| rest.join("-"))
        };
        let plain = without_number(&parts, &CLIENTS, &is).or_else(bare)?;
        let plain = without_number(&self::parts(&plain), &REPEATS, &|_| true).unwrap_or(plain);
        let system = if plain.is_empty() { directory_name(path) } else { plain };
        counts.entry(system.clone()).or_default().insert(clients);
        systems.push(system);
    }
    counts.values().any(|it| it.len() > 1).then_some(systems)
}

fn directory_name(path: &Path) -> String {
    let directory = path.parent().map(name).filter(|it| !it.is_empty());
    directory.unwrap_or_else(|| "runs".to_owned())
}

/// Names without numbers of repeats: beside a word, `old-run1`, or alone, if there are several systems, each with the
/// repeats 1, 2 and so on. `mysql-5.6` and `mysql-5.7` are no repeats.
fn repeated(own: &[String]) -> Option<Vec<String>> {
    let of_words = own.iter().map(|name| without_number(&parts(name), &REPEATS, &|_| true));
    if let Some(systems) = of_words.collect::<Option<Vec<String>>>() {
        let different: BTreeSet<&String> = systems.iter().collect();
        let are_named = systems.iter().all(|it| !it.is_empty());
        if are_named && different.len() < systems.len() {
            return Some(systems);
        }
    }
    let mut repeats: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut systems = Vec::new();
    for name in own {
        let parts = parts(name);
        let (last, rest) = parts.split_last()?;
        let is_version = rest.last()?.bytes().last()?.is_ascii_digit();
        let number = last.parse().ok().filter(|_| !is_version)?;
        let system = rest.join("-");
        repeats.entry(system.clone()).or_default().push(number);
        systems.push(system);
    }
    let are_repeats = |numbers: &mut Vec<u32>| {
        numbers.sort_unstable();
        numbers.len() > 1 && numbers.iter().zip(1..).all(|(number, expected)| *number == expected)
    };
    (repeats.len() > 1 && repeats.values_mut().all(are_repeats)).then_some(systems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, u32)]) -> Vec<String> {
        let outputs = files.iter().map(|(file, clients)| {
            (OutputFile { path: PathBuf::from(file), system: None }, Some(*clients))
        });
        systems(&outputs.collect::<Vec<_>>())
    }

    #[test]
    fn files_are_systems_unless_their_names_say_otherwise() {
        assert_eq!(found(&[("old.txt", 1), ("new.txt", 1)]), ["old.txt", "new.txt"]);
        assert_eq!(found(&[("a/run.txt", 1), ("b/run.txt", 1)]), ["a", "b"]);
        assert_eq!(found(&[("a/old.txt", 1), ("b/new.txt", 1)]), ["old.txt", "new.txt"]);
        let versions = [("mysql-5.6.txt", 6), ("mysql-5.7.txt", 6)];
        assert_eq!(found(&versions), ["mysql-5.6.txt", "mysql-5.7.txt"]);
        assert_eq!(found(&[("pg-15.txt", 4), ("pg-16.txt", 4)]), ["pg-15.txt", "pg-16.txt"]);
        assert_eq!(found(&[("x", 1), ("x", 1)]), ["x #1", "x #2"]);
    }

    #[test]
    fn numbers_of_clients_in_names_make_a_sweep() {
        let sweep = [("old-t1.txt", 1), ("old-t8.txt", 8), ("new-t1.txt", 1), ("new-t8.txt", 8)];
        assert_eq!(found(&sweep), ["old", "old", "new", "new"]);
        assert_eq!(
            found(&[("my-8.0.threads8.log", 8), ("my-8.0.threads16.log", 16)]),
            ["my-8-0"; 2]
        );
        assert_eq!(found(&[("d/1.log", 1), ("d/8.log", 8)]), ["d", "d"]);
        assert_eq!(found(&[("t1.log", 1), ("t8.log", 8)]), ["runs", "runs"]);
        let directories = [("a/t1", 1), ("a/t8", 8), ("b/t1", 1), ("b/t8", 8)];
        assert_eq!(found(&directories), ["a", "a", "b", "b"]);
    }

    #[test]
    fn numbers_of_repeats_make_repeats() {
        let words = [("old-run1.txt", 4), ("old-run2.txt", 4), ("new-run1.txt", 4)];
        assert_eq!(found(&words), ["old", "old", "new"]);
        let bare = [("old-1.txt", 4), ("old-2.txt", 4), ("new-1.txt", 4), ("new-2.txt", 4)];
        assert_eq!(found(&bare), ["old", "old", "new", "new"]);
        let given = given(Path::new("my80=no/such/file.txt"));
        assert_eq!(
            (given.system.as_deref(), given.path.to_str()),
            (Some("my80"), Some("no/such/file.txt"))
        );
    }
}
