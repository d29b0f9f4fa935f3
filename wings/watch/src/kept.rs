//! Files of a watch beside its ledger: a lock, because a timer may start it while it still runs, and a list of the
//! searches whose changes it has reported.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use assay_run::advice::Advised;
use assay_run::paths;
use assay_run::state_lock::StateLock;
use assay_run::systems::key;

pub(super) struct Kept {
    _lock: StateLock,
    reported: PathBuf,
}

impl Kept {
    pub(super) fn take(ledger: &Path, name: &str) -> Result<Self> {
        let ledger = std::path::absolute(ledger)?;
        let file = key(&[&ledger.to_string_lossy(), name]);
        let path = paths::state_dir()?.join("watches").join(file);
        let reported = path.with_extension("reported");
        let lock = StateLock::hold(path, |by| {
            let hint = "wait until that ends, or give one of two files another `name` in `[watch]`";
            Advised::new(format!("the watch `{name}` runs already{by}"), hint)
        })?;
        Ok(Self { _lock: lock, reported })
    }

    pub(super) fn reported(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(&self.reported).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn report(&self, search: &str) -> Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.reported)?;
        writeln!(file, "{search}")?;
        Ok(())
    }
}
