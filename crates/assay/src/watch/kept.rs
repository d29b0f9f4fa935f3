//! What a watch keeps beside its ledger: a lock, because a timer may start it while it still runs, and the searches
//! whose changes it has told.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fs_err as fs;

use crate::advice::Advised;
use crate::paths;
use crate::state_lock::{Locked, StateLock};
use crate::systems::key;

/// A watch of this process.
pub(super) struct Kept {
    _lock: StateLock,
    told: PathBuf,
}

impl Kept {
    /// Takes the watch with this name in this ledger.
    pub(super) fn take(ledger: &Path, name: &str) -> Result<Self> {
        let ledger = std::path::absolute(ledger)?;
        let file = key(&[&ledger.to_string_lossy(), name]);
        let path = paths::state_dir()?.join("watches").join(file);
        let told = path.with_extension("told");
        let lock =
            StateLock::take(path, true).map_err(|error| match error.downcast::<Locked>() {
                Ok(Locked { pid }) => {
                    let by = pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
                    let hint = "wait until that ends, or give one of two files another `name` in `[watch]`";
                    Advised::new(format!("the watch `{name}` runs already{by}"), hint).into()
                }
                Err(error) => error,
            })?;
        Ok(Self { _lock: lock.context("the watch cannot be locked")?, told })
    }

    /// The searches whose changes were told.
    pub(super) fn told(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.told).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Notes that the changes of a search were told.
    pub(super) fn tell(&self, search: &str) -> Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.told)?;
        writeln!(file, "{search}")?;
        Ok(())
    }
}
