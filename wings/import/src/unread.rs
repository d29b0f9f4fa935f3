//! Files of a directory that are in no study.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::counted;

use super::common::open;
use assay_run::progress::print;

#[derive(Debug, Default)]
pub(super) struct Unread {
    results: Vec<String>,
    /// Counts of all others by kind, such as `sb.time.*`.
    others: BTreeMap<String, u64>,
}

const TOLD: usize = 20;

const KINDS: usize = 30;

const PACKED: [&str; 10] =
    [".xz", ".zst", ".bz2", ".zip", ".tar", ".tgz", ".7z", ".lz4", ".Z", ".rar"];

impl Unread {
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
        for result in self.results.iter().take(TOLD) {
            print(&format!("warning: left out: {result}"));
        }
        if let Some(more) = self.results.len().checked_sub(TOLD).filter(|more| *more > 0) {
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

    fn unread(names: &[&str], read: &[&str]) -> Unread {
        let folder = tempfile::tempdir().unwrap();
        let table = "sb.r.qps.a.pk1\n900\t1700\tx\n\nsb.r.qps.b.pk1\n9\t8\t7\tx\n";
        let mut files = BTreeMap::new();
        for name in names {
            let path = folder.path().join(name);
            fs_err::write(&path, table).unwrap();
            files.insert((*name).to_owned(), path);
        }
        let read: BTreeSet<&Path> = read.iter().map(|it| files[*it].as_path()).collect();
        let mut unread = Unread::default();
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
