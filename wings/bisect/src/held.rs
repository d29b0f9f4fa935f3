//! State of a search in progress: a lock for one process, and the versions found unusable. A version that does not
//! build is in no study until the next one begins.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::{BisectMeasure, BisectVersion};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::own;
use super::state::Search;
use assay_run::advice::Advised;
use assay_run::paths;
use assay_run::state_lock::StateLock;
use assay_run::systems::key;

pub(super) struct Held {
    lock: StateLock,
    skipped: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Skipped {
    words: String,
    why: String,
}

impl Held {
    pub(super) fn take(
        ledger: &Path,
        range: &str,
        measure: BisectMeasure,
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
            Advised::new(what, hint)
        })?;
        Ok(Self { lock, skipped })
    }

    pub(super) fn skip(&self, version: &BisectVersion, why: &str) -> Result<()> {
        let line = Skipped { words: version.words.clone(), why: why.to_owned() };
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.skipped)?;
        writeln!(file, "{}", serde_json::to_string(&line)?)?;
        Ok(())
    }

    pub(super) fn skipped(&self, versions: &[BisectVersion]) -> Vec<(usize, String)> {
        let text = fs::read_to_string(&self.skipped).unwrap_or_default();
        // The last line is incomplete if the process was killed while it wrote it.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Skipped>(line).ok());
        let place = |it: &Skipped| versions.iter().position(|version| version.words == it.words);
        lines.filter_map(|it| Some((place(&it)?, it.why))).collect()
    }

    /// Forgets versions skipped since the last comparison: the cause was not in the versions.
    pub(super) fn forget(&self) {
        if let Err(error) = fs::remove_file(&self.skipped) {
            log::debug!("{error}");
        }
    }

    /// The search has ended: the next one of the same range starts anew.
    pub(super) fn end(self, search: &Search) {
        self.forget();
        own::end(search);
        self.lock.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time_has_a_search_and_knows_what_was_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let take = || Held::at(folder.path().join("searches/x"), "a..b", "scan");
        let version = |name: &str| BisectVersion {
            words: format!("mysql@git:x#{name}"),
            name: name.to_owned(),
            title: None,
        };
        let versions = ["a", "b", "c"].map(version);
        let held = take().unwrap();
        let refused = take().err().unwrap();
        let message = format!("by process {}", std::process::id());
        assert!(refused.to_string().ends_with(&message), "{refused}");
        assert!(!assay_command::errors::hints(&refused).is_empty());
        held.skip(&versions[1], "broken").unwrap();
        held.skip(&version("elsewhere"), "broken").unwrap();
        let path = held.skipped.clone();
        drop(held);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"wor").unwrap();
        let held = take().unwrap();
        assert_eq!(held.skipped(&versions), [(1, "broken".to_owned())]);
        held.forget();
        drop(held);
        assert!(take().unwrap().skipped(&versions).is_empty());
    }
}
