//! Servers that outlive the command that started them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_wire::Stop;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde::{Deserialize, Serialize};

use crate::copy::move_tree;
use crate::error::{Result, ServersError};
use crate::site::{Site, log_tail};
use crate::supervise::{Ending, Sandbox, collect_unheld, create_private, prepare_root};

const RECORD: &str = "kept.json";

/// Time limit of a clean shutdown, in which a server writes all dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptServer {
    /// Unique among the servers left running.
    pub name: String,
    pub system: String,
    pub version: String,
    pub socket: PathBuf,
    /// TCP port on the loopback interface.
    pub port: Option<u16>,
    pub url: String,
    pub pid: i32,
    pub datadir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    pub kept: KeptServer,
    /// `None` while it runs.
    pub ended: Option<Ending>,
    run_dir: PathBuf,
}

pub(crate) fn record(run_dir: &Path, kept: &KeptServer) -> Result<()> {
    let json = serde_json::to_vec(kept).map_err(std::io::Error::from)?;
    // Renamed into place, so that no process reads a partial file.
    let unfinished = run_dir.join("kept.new");
    // It may contain the password of a server on a port.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(&json)?;
    Ok(fs::rename(unfinished, run_dir.join(RECORD))?)
}

pub fn kept_servers(run_root: &Path) -> Result<Vec<FoundServer>> {
    prepare_root(run_root)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(run_root)? {
        let run_dir = entry?.path();
        // Another kind of run directory, or one that is being removed.
        let Ok(bytes) = fs::read(run_dir.join(RECORD)) else { continue };
        let Ok(kept) = serde_json::from_slice(&bytes) else { continue };
        let Ok(mut sandbox) = Sandbox::attach(&run_dir) else { continue };
        found.push(FoundServer { kept, ended: sandbox.ending()?, run_dir });
    }
    found.sort_by(|a, b| a.kept.name.cmp(&b.kept.name));
    Ok(found)
}

impl FoundServer {
    /// Shuts the server down cleanly if it still runs, and removes its run directory and its data; or moves the data to
    /// `keep_in`, which must not exist. If it does not stop in time, its supervisor is gone, or the data cannot be
    /// moved, they stay where they are.
    pub fn stop(self, keep_in: Option<&Path>) -> Result<()> {
        let mut sandbox = Sandbox::attach(&self.run_dir).map_err(ServersError::SupervisorGone)?;
        if sandbox.ending()?.is_none() {
            sandbox.terminate()?;
            let ended = sandbox.ended_within(STOP_LIMIT)?;
            if ended.is_none() {
                let log = log_tail(&self.run_dir.join("log"));
                sandbox.end()?;
                return Err(ServersError::NoStop { limit: STOP_LIMIT, log });
            }
        }
        if let Some(target) = keep_in {
            if let Some(parent) = target.parent() {
                create_private(parent, true)?;
            }
            move_tree(&self.kept.datadir, target, &Stop::default())?;
        }
        sandbox.end()
    }
}

/// Removes data of servers that were running when the machine was shut down: directories of `site.data_root` that no
/// supervisor holds and that belong to no run directory.
pub fn collect_kept_data(site: &Site) -> Result<()> {
    collect_unheld(&site.data_root, |name| !site.run_root.join(name).exists())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn records_of_kept_servers_are_private() {
        let run_dir = tempfile::tempdir().unwrap();
        let kept = KeptServer {
            name: "a".to_owned(),
            system: "mariadb@11.8".to_owned(),
            version: "11.8.6".to_owned(),
            socket: PathBuf::new(),
            port: Some(1),
            url: "mysql://root:secret@127.0.0.1:1/assay".to_owned(),
            pid: 1,
            datadir: PathBuf::new(),
        };
        record(run_dir.path(), &kept).unwrap();
        let mode = fs::metadata(run_dir.path().join(RECORD)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
