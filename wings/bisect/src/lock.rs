//! Files of a search in progress: a lock for one process, the versions found unusable, and a mark that this user's
//! assay began it. A version that does not build is in no study until the next one begins.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::{NamedVersion, SearchMeasure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::program::from_anywhere;
use super::search::{VersionSearch, request_text};
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::state_lock::StateLock;
use assay_run::systems::key;

pub(super) struct SearchLock {
    lock: StateLock,
    skipped: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct SkippedVersion {
    words: String,
    why: String,
}

impl SearchLock {
    pub(super) fn take(
        ledger: &Path,
        range: &str,
        measure: SearchMeasure,
        test: &str,
    ) -> Result<Self> {
        let ledger = std::path::absolute(ledger)?;
        let name = key(&[&ledger.to_string_lossy(), range, measure.word(), test]);
        Self::at(paths::state_dir()?.join("searches").join(name), range, test)
    }

    fn at(path: PathBuf, range: &str, test: &str) -> Result<Self> {
        let skipped = path.with_extension("skipped");
        let lock = StateLock::hold(path, |by| {
            let what = format!("`{range}` is being searched for the change of `{test}`{by}");
            let hint = "wait until it ends, or interrupt it and run this again to go on with it";
            HintedError::new(what, hint)
        })?;
        Ok(Self { lock, skipped })
    }

    pub(super) fn skip(&self, version: &NamedVersion, why: &str) -> Result<()> {
        let line = SkippedVersion { words: version.words.clone(), why: why.to_owned() };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.skipped)?;
        writeln!(file, "{}", serde_json::to_string(&line)?)?;
        Ok(())
    }

    pub(super) fn skipped(&self, versions: &[NamedVersion]) -> Vec<(usize, String)> {
        let text = fs::read_to_string(&self.skipped).unwrap_or_default();
        // The last line is incomplete if the process was killed while it wrote it.
        let lines =
            text.lines().filter_map(|line| serde_json::from_str::<SkippedVersion>(line).ok());
        let place =
            |it: &SkippedVersion| versions.iter().position(|version| version.words == it.words);
        lines.filter_map(|it| Some((place(&it)?, it.why))).collect()
    }

    /// Forgets versions skipped since the last comparison: the cause was not in the versions.
    pub(super) fn forget(&self) {
        if let Err(error) = fs::remove_file(&self.skipped) {
            log::debug!("{error}");
        }
    }

    /// The search has ended: the next one of the same range starts anew.
    pub(super) fn end(self, search: &VersionSearch) {
        self.forget();
        if let Err(error) = mark(search).and_then(|mark| Ok(fs::remove_file(mark)?)) {
            log::debug!("{error}");
        }
        self.lock.remove();
    }
}

/// Marks a search as begun by this user's assay. A search downloads versions and builds commits, so assay continues
/// only its own, and only reads one in a ledger from elsewhere.
pub(super) fn mark_own(search: &VersionSearch) -> Result<()> {
    let mark = mark(search)?;
    fs::create_dir_all(mark.parent().unwrap_or(&mark))?;
    fs::write(mark, "")?;
    Ok(())
}

/// Remembers the program to run on findings: `assay resume` runs it too.
pub(super) fn remember_program(search: &VersionSearch, program: Option<&str>) -> Result<()> {
    fs::write(mark(search)?, program.map(from_anywhere).unwrap_or_default())?;
    Ok(())
}

pub(super) fn remembered_program(search: &VersionSearch) -> Option<String> {
    let program = mark(search).and_then(|mark| Ok(fs::read_to_string(mark)?)).ok();
    program.filter(|_| is_own(search)).filter(|program| !program.is_empty())
}

/// Whether this user's assay began a search with the same versions and work.
pub(super) fn is_own(search: &VersionSearch) -> bool {
    let is_marked = || mark(search).is_ok_and(|mark| mark.exists());
    search.has_known_versions() && is_marked()
}

fn mark(search: &VersionSearch) -> Result<PathBuf> {
    let first = search.ranges.first().into_iter().flat_map(|range| &range.versions);
    let words: Vec<&str> = first.map(|version| version.words.as_str()).collect();
    let parts = [
        &search.id,
        &search.words,
        search.terms.measure.word(),
        &words.join("\n"),
        &search.releases.join("\n"),
        &request_text(&search.request)?,
    ];
    Ok(paths::state_dir()?.join("searches").join(key(&parts)).with_extension("own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_a_search_and_knows_what_was_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let take = || SearchLock::at(folder.path().join("searches/x"), "a..b", "scan");
        let version = |name: &str| NamedVersion {
            words: format!("mysql@git:x#{name}"),
            name: name.to_owned(),
            title: None,
        };
        let versions = ["a", "b", "c"].map(version);
        let lock = take().unwrap();
        let refused = take().err().unwrap();
        let message = format!("by process {}", std::process::id());
        assert!(refused.to_string().ends_with(&message), "{refused}");
        assert!(!assay_command::errors::hints(&refused).is_empty());
        lock.skip(&versions[1], "broken").unwrap();
        lock.skip(&version("elsewhere"), "broken").unwrap();
        let path = lock.skipped.clone();
        drop(lock);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"wor").unwrap();
        let lock = take().unwrap();
        assert_eq!(lock.skipped(&versions), [(1, "broken".to_owned())]);
        lock.forget();
        drop(lock);
        assert!(take().unwrap().skipped(&versions).is_empty());
    }
}
