//! Finds the data sets in a directory, by file names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::common::{name, plain_name};
use super::unread::Unread;
use assay_run::progress::print;

const DEEPEST: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DataSet {
    /// Queries per second, with the metrics of the same runs if there are any.
    Table {
        table: PathBuf,
        metrics: Option<PathBuf>,
    },
    /// Metrics without a table. They include the rates.
    Metrics(PathBuf),
    /// Rows of steps of the Insert Benchmark, a file for each step.
    Steps(Vec<PathBuf>),
    /// Rows of steps of the Insert Benchmark, a file for each server.
    Servers(Vec<PathBuf>),
    /// Rates of the steps of the Insert Benchmark, and those of the background inserts if present.
    Rates {
        rates: PathBuf,
        inserts: Option<PathBuf>,
    },
    RawRuns(Vec<PathBuf>),
    /// Directories of raw Insert Benchmark runs, one for each server, with a directory for each step.
    RawSteps(Vec<PathBuf>),
}

impl DataSet {
    fn files(&self) -> Vec<&Path> {
        match self {
            Self::Table { table, metrics } => {
                std::iter::once(table).chain(metrics).map(PathBuf::as_path).collect()
            }
            Self::Metrics(path) => vec![path],
            Self::Rates { rates, inserts } => {
                std::iter::once(rates).chain(inserts).map(PathBuf::as_path).collect()
            }
            Self::Steps(paths)
            | Self::Servers(paths)
            | Self::RawRuns(paths)
            | Self::RawSteps(paths) => paths.iter().map(PathBuf::as_path).collect(),
        }
    }
}

pub(super) fn named(path: &Path) -> DataSet {
    let name = plain_name(path);
    let path = path.to_owned();
    if name.starts_with("mrg.") {
        DataSet::Steps(vec![path])
    } else if name.starts_with("o.sum.") {
        DataSet::Servers(vec![path])
    } else if name == RATES {
        DataSet::Rates { inserts: beside(&path, INSERTS), rates: path }
    } else if is_metrics(&name) {
        DataSet::Metrics(path)
    } else {
        DataSet::Table { metrics: metrics_beside(&path), table: path }
    }
}

const RATES: &str = "tput.tsv";
const INSERTS: &str = "iput.tsv";

/// All data sets in a directory and those below it, ordered by name.
pub(super) fn found(directory: &Path, unread: &mut Unread) -> Result<Vec<DataSet>> {
    let mut sets = Vec::new();
    let files = files(directory)?;
    if is_raw(&files) {
        unread_of_runs(&files, unread)?;
        return Ok(vec![DataSet::RawRuns(vec![directory.to_owned()])]);
    }
    if has_steps(&files)? {
        return Ok(vec![DataSet::RawSteps(vec![directory.to_owned()])]);
    }
    search(directory, DEEPEST, &mut sets, unread)?;
    Ok(sets)
}

fn unread_of_runs(files: &BTreeMap<String, PathBuf>, unread: &mut Unread) -> Result<()> {
    let is_read = |name: &str| {
        let of = |word: &str, of_run: &str| {
            let run = name.strip_prefix(word)?;
            files.contains_key(&format!("{of_run}{run}")).then_some(())
        };
        let is_sampled = || {
            let run = name.strip_prefix("sb.vm.").or_else(|| name.strip_prefix("sb.io."))?;
            let has_metrics = files.contains_key(&format!("sb.met.{run}"));
            (files.contains_key(&format!("sb.o.{run}")) && !has_metrics).then_some(())
        };
        name.starts_with("sb.o.") || of("sb.met.", "sb.o.").or_else(is_sampled).is_some()
    };
    unread.add_no_files(files);
    let read = files.iter().filter(|(name, _)| is_read(name)).map(|(_, path)| path.as_path());
    unread.add(files, &read.collect())
}

fn search(
    directory: &Path,
    deepest: usize,
    sets: &mut Vec<DataSet>,
    unread: &mut Unread,
) -> Result<()> {
    let before = sets.len();
    let files = files(directory)?;
    let with = |is: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        let wanted = files.iter().filter(|(name, path)| is(name) && path.is_file());
        wanted.map(|(_, path)| path.clone()).collect()
    };
    let tables = with(&|name| name.starts_with("qps.abs.") && name.ends_with(".tsv"));
    // A table without names of servers is read only if there is no other.
    let is_alone = |path: &PathBuf| {
        let named = plain_name(path).trim_end_matches("csv").to_owned() + "tsv";
        !files.contains_key(&named)
    };
    let plain = with(&|name| name.starts_with("qps.abs.") && name.ends_with(".csv"));
    sets.extend(tables.iter().map(|it| named(it)));
    sets.extend(plain.iter().filter(|it| is_alone(it)).map(|it| named(it)));
    if tables.is_empty() {
        sets.extend(with(&is_metrics).iter().map(|it| named(it)));
    }
    // `mrg.qr100.L1.rt.query` has response times.
    let steps = with(&|name| name.starts_with("mrg.") && !name.contains(".rt."));
    let servers = with(&|name| name.starts_with("o.sum."));
    let rates = with(&|name| name == RATES);
    match (steps.is_empty(), servers.is_empty()) {
        (false, _) => sets.push(DataSet::Steps(steps)),
        (true, false) => sets.push(DataSet::Servers(servers)),
        (true, true) => sets.extend(rates.iter().map(|it| named(it))),
    }
    let read = sets.get(before..).unwrap_or_default().iter().flat_map(DataSet::files);
    let read: BTreeSet<&Path> = read.collect();
    unread.add(&files, &read)?;
    let (mut raw, mut steps) = (Vec::new(), Vec::new());
    for path in files.values().filter(|path| path.is_dir() && !path.is_symlink()) {
        let below = self::files(path)?;
        if is_raw(&below) {
            if tables.is_empty() {
                unread_of_runs(&below, unread)?;
            }
            raw.push(path.clone());
        } else if has_steps(&below)? {
            steps.push(path.clone());
        } else if deepest > 0 {
            search(path, deepest - 1, sets, unread)?;
        } else {
            print(&format!("warning: `{}` is too deep to be searched", path.display()));
        }
    }
    // Raw runs beside a table are its sources.
    if !raw.is_empty() && tables.is_empty() {
        sets.push(DataSet::RawRuns(raw));
    }
    if !steps.is_empty() {
        sets.push(DataSet::RawSteps(steps));
    }
    Ok(())
}

/// The entries of a directory by name, without the extension of gzip.
pub(super) fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let entries = fs_err::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = entries.collect::<Result<_>>()?;
    let mut files: BTreeMap<String, PathBuf> =
        paths.iter().map(|path| (name(path), path.clone())).collect();
    for path in paths {
        let plain = plain_name(&path);
        if plain != name(&path) && !files.contains_key(&plain) {
            files.remove(&name(&path));
            files.insert(plain, path);
        }
    }
    Ok(files)
}

fn has_steps(entries: &BTreeMap<String, PathBuf>) -> Result<bool> {
    for path in entries.values().filter(|path| path.is_dir() && !path.is_symlink()) {
        if files(path)?.keys().any(|name| name.starts_with(CLIENT)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Prefix of the name of a client's output.
pub(super) const CLIENT: &str = "o.ib.dop";

fn is_raw(files: &BTreeMap<String, PathBuf>) -> bool {
    files.keys().any(|name| name.starts_with("sb.o."))
}

fn is_metrics(name: &str) -> bool {
    name == "o.met"
        || name.starts_with("o.met.")
        || (name.starts_with("met.") && name.ends_with(".txt"))
}

/// Metrics of a table: `o.met.all` for `qps.abs.all.tsv`, or those without a word.
fn metrics_beside(table: &Path) -> Option<PathBuf> {
    let name = plain_name(table);
    let word = name.strip_prefix("qps.abs.")?.rsplit_once('.')?.0.to_owned();
    [format!("o.met.{word}"), format!("met.{word}.txt"), "o.met".to_owned()]
        .iter()
        .find_map(|name| beside(table, name))
}

fn beside(path: &Path, name: &str) -> Option<PathBuf> {
    let names = [name.to_owned(), format!("{name}.gz")];
    names.iter().map(|name| path.with_file_name(name)).find(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let name = |path: &PathBuf| super::super::common::name(path);
        let all = |paths: &[PathBuf]| paths.iter().map(name).collect::<Vec<_>>().join("+");
        let set = |set: DataSet| match set {
            DataSet::Table { table, metrics } => {
                format!("{} {}", name(&table), metrics.as_ref().map_or_else(String::new, name))
            }
            DataSet::Metrics(path) => name(&path),
            DataSet::Steps(paths)
            | DataSet::Servers(paths)
            | DataSet::RawRuns(paths)
            | DataSet::RawSteps(paths) => all(&paths),
            DataSet::Rates { rates, inserts } => {
                format!("{} {}", name(&rates), inserts.as_ref().map_or_else(String::new, name))
            }
        };
        found(directory, &mut Unread::default()).unwrap().into_iter().map(set).collect()
    }

    #[test]
    fn data_sets_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        };
        for name in [
            "a/qps.abs.one.tsv",
            "a/qps.abs.one.csv",
            "a/qps.abs.two.tsv",
            "a/qps.rel.two.tsv",
            "a/o.met.one",
            "b/o.met.all",
            "c/mrg.l.i0",
            "c/mrg.qr100.L1",
            "c/mrg.qr100.L1.rt.query",
            "c/tput.tsv",
            "d/tput.tsv",
            "d/iput.tsv",
            "e/x.my1/sb.o.a.pk1.dop1",
            "e/x.my2/sb.o.a.pk1.dop1",
            "f/o.sum.t.20m.pg131.cx5",
            "g/1m.pg1/l.i0/o.ib.dop1.1",
            "g/1m.pg2/l.i0/o.ib.dop1.1",
        ] {
            file(name);
        }
        assert_eq!(
            names(folder.path()),
            [
                "qps.abs.one.tsv o.met.one",
                "qps.abs.two.tsv ",
                "o.met.all",
                "mrg.l.i0+mrg.qr100.L1",
                "tput.tsv iput.tsv",
                "x.my1+x.my2",
                "o.sum.t.20m.pg131.cx5",
                "1m.pg1+1m.pg2",
            ]
        );
        assert_eq!(names(&folder.path().join("e/x.my1")), ["x.my1"]);
    }
}
