//! Finds the data sets in a directory, by file names.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_import::{metrics, qps_table};
use assay_model::counted;
use assay_model::limits::CLIENTS;

use super::common::{name, open, plain_name};
use assay_run::progress::print;

const DEEPEST: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultFiles {
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

impl ResultFiles {
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

pub(super) fn named(path: &Path) -> ResultFiles {
    let name = plain_name(path);
    let path = path.to_owned();
    if name.starts_with("mrg.") {
        ResultFiles::Steps(vec![path])
    } else if name.starts_with("o.sum.") {
        ResultFiles::Servers(vec![path])
    } else if name == RATES {
        ResultFiles::Rates { inserts: beside(&path, INSERTS), rates: path }
    } else if is_metrics(&name) {
        ResultFiles::Metrics(path)
    } else {
        ResultFiles::Table { metrics: metrics_beside(&path), table: path }
    }
}

const RATES: &str = "tput.tsv";
const INSERTS: &str = "iput.tsv";

/// All data sets in a directory and those below it, ordered by name.
pub(super) fn found(directory: &Path, unread: &mut UnreadFiles) -> Result<Vec<ResultFiles>> {
    let mut sets = Vec::new();
    let files = files(directory)?;
    if is_raw(&files) {
        unread_of_runs(&files, unread)?;
        return Ok(vec![ResultFiles::RawRuns(vec![directory.to_owned()])]);
    }
    if has_steps(&files)? {
        return Ok(vec![ResultFiles::RawSteps(vec![directory.to_owned()])]);
    }
    search(directory, DEEPEST, &mut sets, unread)?;
    Ok(sets)
}

fn unread_of_runs(files: &BTreeMap<String, PathBuf>, unread: &mut UnreadFiles) -> Result<()> {
    let is_read = |name: &str| {
        let belongs = |word: &str, of_run: &str| {
            let run = name.strip_prefix(word)?;
            files.contains_key(&format!("{of_run}{run}")).then_some(())
        };
        let is_sampled = || {
            let run = name.strip_prefix("sb.vm.").or_else(|| name.strip_prefix("sb.io."))?;
            let has_metrics = files.contains_key(&format!("sb.met.{run}"));
            (files.contains_key(&format!("sb.o.{run}")) && !has_metrics).then_some(())
        };
        name.starts_with("sb.o.") || belongs("sb.met.", "sb.o.").or_else(is_sampled).is_some()
    };
    unread.add_no_files(files);
    let read = files.iter().filter(|(name, _)| is_read(name)).map(|(_, path)| path.as_path());
    unread.add(files, &read.collect())
}

fn search(
    directory: &Path,
    deepest: usize,
    sets: &mut Vec<ResultFiles>,
    unread: &mut UnreadFiles,
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
        (false, _) => sets.push(ResultFiles::Steps(steps)),
        (true, false) => sets.push(ResultFiles::Servers(servers)),
        (true, true) => sets.extend(rates.iter().map(|it| named(it))),
    }
    let read = sets.get(before..).unwrap_or_default().iter().flat_map(ResultFiles::files);
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
        sets.push(ResultFiles::RawRuns(raw));
    }
    if !steps.is_empty() {
        sets.push(ResultFiles::RawSteps(steps));
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

/// Metrics of a table: `o.met.all` for `qps.abs.all.tsv`, or those without a word, or those with its rates.
fn metrics_beside(table: &Path) -> Option<PathBuf> {
    let name = plain_name(table);
    let word = name.strip_prefix("qps.abs.")?.rsplit_once('.')?.0.to_owned();
    [format!("o.met.{word}"), format!("met.{word}.txt"), "o.met".to_owned()]
        .iter()
        .find_map(|name| beside(table, name))
        .or_else(|| metrics_with_rates_of(table))
}

fn metrics_with_rates_of(table: &Path) -> Option<PathBuf> {
    let (rates, _) = qps_table("", open(table).ok()?).ok()?;
    let has_rates = |path: &PathBuf| {
        let found = open(path).ok().and_then(|it| metrics("", it).ok());
        found.is_some_and(|(found, _)| found.has_rates_of(&rates))
    };
    let folder = table.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = files(folder).ok()?.into_iter().filter(|(name, _)| is_metrics(name));
    files.map(|(_, path)| path).find(has_rates)
}

/// The number of clients that the name of the file or of a directory above it tells: `dop8`, or a part such as `16u` of
/// `sep25.16u.8t.10m`. The nearest one counts.
pub(super) fn clients_by_name(path: &Path) -> Option<u32> {
    let path = fs_err::canonicalize(path).ok()?;
    path.ancestors().find_map(|it| clients_of_name(it.file_name()?.to_str()?))
}

fn clients_of_name(name: &str) -> Option<u32> {
    name.split('.').find_map(|part| {
        let number = part.strip_prefix("dop").or_else(|| part.strip_suffix('u'))?;
        number.parse().ok().filter(|clients| CLIENTS.contains(clients))
    })
}

fn beside(path: &Path, name: &str) -> Option<PathBuf> {
    let names = [name.to_owned(), format!("{name}.gz")];
    names.iter().map(|name| path.with_file_name(name)).find(|it| it.is_file())
}

#[derive(Debug, Default)]
pub(super) struct UnreadFiles {
    results: Vec<String>,
    /// Counts of all others by kind, such as `sb.time.*`.
    others: BTreeMap<String, u64>,
}

const LISTED_MAX: usize = 20;

const KINDS: usize = 30;

const PACKED: [&str; 10] =
    [".xz", ".zst", ".bz2", ".zip", ".tar", ".tgz", ".7z", ".lz4", ".Z", ".rar"];

impl UnreadFiles {
    pub(super) fn add(
        &mut self,
        files: &BTreeMap<String, PathBuf>,
        read: &BTreeSet<&Path>,
    ) -> Result<()> {
        for (file, path) in files.iter().filter(|(_, path)| path.is_file()) {
            if read.contains(path.as_path()) {
                continue;
            }
            match lost(file, path, files)? {
                Some(why) => self.results.push(format!("{}: {why}", path.display())),
                None => *self.others.entry(kind(file)).or_default() += 1,
            }
        }
        Ok(())
    }

    pub(super) fn add_no_files(&mut self, entries: &BTreeMap<String, PathBuf>) {
        for path in entries.values().filter(|path| !path.is_file()) {
            let why = if path.is_dir() {
                "it is a directory among the outputs of a server, which are not searched"
            } else {
                "it is not a regular file"
            };
            self.results.push(format!("{}: {why}", path.display()));
        }
    }

    /// Prints the unread files. Returns whether results are among them.
    pub(super) fn tell(&self) -> bool {
        for result in self.results.iter().take(LISTED_MAX) {
            print(&format!("warning: left out: {result}"));
        }
        if let Some(more) = self.results.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
            print(&format!("warning: left out: {}", counted(more as u64, "more file")));
        }
        if !self.others.is_empty() {
            let kinds = self.others.iter().take(KINDS).map(|(kind, count)| match count {
                1 => kind.clone(),
                count => format!("{count} {kind}"),
            });
            let mut kinds: Vec<String> = kinds.collect();
            if let Some(more) = self.others.len().checked_sub(KINDS).filter(|more| *more > 0) {
                kinds.push(format!("{more} other kinds"));
            }
            print(&format!("note: files that no study has: {}", kinds.join(", ")));
        }
        !self.results.is_empty()
    }
}

/// Why an unread file has results that no other file has; `None` if assay knows of none.
fn lost(file: &str, path: &Path, files: &BTreeMap<String, PathBuf>) -> Result<Option<String>> {
    let has = |begin: &str| files.keys().any(|name| name.starts_with(begin));
    let is = |begin: &str| file.starts_with(begin);
    if let Some(ending) = PACKED.iter().find(|ending| file.ends_with(*ending)) {
        return Ok(Some(format!(
            "files ending in `{ending}` are not unpacked; unpack it, or use gzip"
        )));
    }
    let run = |word: &str| file.strip_prefix(word).map(|rest| format!("sb.o.{rest}"));
    if let Some(output) = ["sb.met.", "sb.vm.", "sb.io."].iter().find_map(|word| run(word)) {
        return Ok((!files.contains_key(&output)).then(|| format!("there is no `{output}`")));
    }
    Ok(match file {
        _ if is("o.qps") => Some(clients_in_columns(path)?),
        _ if is("sb.r.qps.") && !has("sb.o.") => {
            Some("without `sb.o.*`, runs have no times and counts".to_owned())
        }
        _ if is("qps.rel.") && !has("qps.abs.") => {
            Some("no rates follow from ratios; import `qps.abs.*`".to_owned())
        }
        _ if (is("o.met") || is("met.")) && !is("met.rel") => {
            Some("no table has its name, so its metrics belong to none".to_owned())
        }
        _ if is("rel.") && !has("mrg.") => {
            Some("no rates follow from ratios; import `mrg.*`".to_owned())
        }
        _ if is("iput.") && file.ends_with(".tsv") && !has("tput.tsv") && !has("mrg.") => {
            Some("there is no `tput.tsv`".to_owned())
        }
        _ if is("o.ib.dop") => Some("it is in no directory of a step".to_owned()),
        _ => None,
    })
}

/// Describes a table of rates by numbers of clients: lines `sb.r.qps.TEST`, each followed by rows of rates.
fn clients_in_columns(path: &Path) -> Result<String> {
    let (mut tests, mut least, mut most) = (0_u64, usize::MAX, 0);
    for line in open(path)?.lines().take(100_000) {
        let Ok(line) = line else { break };
        let line = line.trim();
        let rates = line.split_whitespace().filter(|it| it.parse::<f64>().is_ok()).count();
        tests += u64::from(line.starts_with("sb."));
        if rates > 0 {
            (least, most) = (least.min(rates), most.max(rates));
        }
    }
    let columns = match least.min(most) {
        fewest if fewest < most => format!("{fewest} to {most}"),
        _ => most.to_string(),
    };
    Ok(format!(
        "this layout is not read, because it does not name the numbers of clients of its columns: {} at {columns} \
         numbers of clients are left out; import `sb.o.*`, or a table `qps.abs.NAME.tsv` for each number with \
         `--clients`",
        counted(tests, "test"),
    ))
}

/// The prefix shared by files of a kind.
fn kind(file: &str) -> String {
    let mut parts = file.split('.');
    let first = parts.next().unwrap_or_default();
    let second = parts.next();
    match (first, second, parts.next()) {
        ("sb" | "o" | "qps", Some(second), Some(_)) => format!("{first}.{second}.*"),
        ("mrg" | "rel" | "met", Some(_), _) => format!("{first}.*"),
        _ => assay_model::shortened(file).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let name = |path: &PathBuf| super::super::common::name(path);
        let all = |paths: &[PathBuf]| paths.iter().map(name).collect::<Vec<_>>().join("+");
        let set = |set: ResultFiles| match set {
            ResultFiles::Table { table, metrics } => {
                format!("{} {}", name(&table), metrics.as_ref().map_or_else(String::new, name))
            }
            ResultFiles::Metrics(path) => name(&path),
            ResultFiles::Steps(paths)
            | ResultFiles::Servers(paths)
            | ResultFiles::RawRuns(paths)
            | ResultFiles::RawSteps(paths) => all(&paths),
            ResultFiles::Rates { rates, inserts } => {
                format!("{} {}", name(&rates), inserts.as_ref().map_or_else(String::new, name))
            }
        };
        found(directory, &mut UnreadFiles::default()).unwrap().into_iter().map(set).collect()
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
        let rates = "col-1 : x.my1\n9\tinsert_range=100\n";
        let metrics = |rate| {
            format!("sb.met.insert.range100.pk1.dop4\n--- absolute\no/s\tdbms\n{rate}\tx.my1\n")
        };
        fs_err::write(folder.path().join("a/qps.abs.two.tsv"), rates).unwrap();
        fs_err::write(folder.path().join("a/o.met.near"), metrics(8)).unwrap();
        fs_err::write(folder.path().join("a/o.met.rates"), metrics(9)).unwrap();
        assert_eq!(
            names(folder.path()),
            [
                "qps.abs.one.tsv o.met.one",
                "qps.abs.two.tsv o.met.rates",
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

    #[test]
    fn a_name_may_tell_the_number_of_clients() {
        for (name, clients) in [
            ("dop40", Some(40)),
            ("sep25.sb.pg.16u.8t.10m", Some(16)),
            ("24_05_14.1u.1tno.mem.pn53.my", Some(1)),
            ("qps.abs.dop8.tsv", Some(8)),
            ("dec25.sb.socket.my", None),
            ("qps.abs.my.80.tsv", None),
            ("0u.9999u.menu", None),
        ] {
            assert_eq!(clients_of_name(name), clients, "{name}");
        }
    }

    fn unread(names: &[&str], read: &[&str]) -> UnreadFiles {
        let folder = tempfile::tempdir().unwrap();
        let table = "sb.r.qps.a.pk1\n900\t1700\tx\n\nsb.r.qps.b.pk1\n9\t8\t7\tx\n";
        let mut files = BTreeMap::new();
        for name in names {
            let path = folder.path().join(name);
            fs_err::write(&path, table).unwrap();
            files.insert((*name).to_owned(), path);
        }
        let read: BTreeSet<&Path> = read.iter().map(|it| files[*it].as_path()).collect();
        let mut unread = UnreadFiles::default();
        unread.add(&files, &read).unwrap();
        unread
    }

    #[test]
    fn results_are_told_with_the_reason() {
        let found = unread(&["o.qps.abs", "a.txt", "o.met"], &["o.met"]);
        let [lost] = found.results.as_slice() else { panic!("{found:?}") };
        assert!(
            lost.contains("o.qps.abs: ") && lost.contains("2 tests at 2 to 3 numbers"),
            "{lost}"
        );
        assert!(found.tell());
        for (names, why) in [
            (vec!["qps.abs.a.tsv.xz"], "not unpacked"),
            (vec!["sb.vm.a.dop1", "sb.o.b.dop1"], "there is no `sb.o.a.dop1`"),
            (vec!["sb.r.qps.a"], "without `sb.o.*`"),
            (vec!["qps.rel.a.tsv"], "ratios"),
            (vec!["met.other.txt"], "no table has its name"),
        ] {
            let found = unread(&names, &[]);
            assert!(found.results.iter().any(|it| it.contains(why)), "{names:?}: {found:?}");
        }
    }

    #[test]
    fn everything_else_is_counted_by_its_kind() {
        let all =
            ["sb.time.a.dop1", "sb.time.b.dop1", "qps.abs.a.tsv", "qps.rel.a.tsv", "conf.diff"];
        let found = unread(&all, &["qps.abs.a.tsv"]);
        assert!(!found.tell());
        let kinds: Vec<_> =
            found.others.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!(kinds, [("conf.diff", 1), ("qps.rel.*", 1), ("sb.time.*", 2)]);
    }
}
