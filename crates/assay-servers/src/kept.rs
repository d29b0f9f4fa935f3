//! Servers that outlive the command that started them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_wire::Stop;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde::{Deserialize, Serialize};

use crate::copy::move_tree;
use crate::error::Error;
use crate::server_log::log_tail;
use crate::site::Site;
use crate::supervise::{Ending, Sandbox, collect_unheld, create_private, prepare_root};

/// File in the run directory that holds the record.
const RECORD: &str = "kept.json";

/// How long a server may take for a clean shutdown, in which it writes all dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(600);

/// The record of a server that was left running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptServer {
    /// Its name, which no other such server has.
    pub name: String,
    /// The system, as the user named it.
    pub system: String,
    /// Version of the server.
    pub version: String,
    /// Its unix socket.
    pub socket: PathBuf,
    /// Its TCP port on the loopback interface, if it has one.
    pub port: Option<u16>,
    /// How clients reach it.
    pub url: String,
    /// Process id.
    pub pid: i32,
    /// The directory that holds its data.
    pub datadir: PathBuf,
}

/// A server that was left running, and whether it still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Its record.
    pub kept: KeptServer,
    /// How it ended; `None` while it runs.
    pub ended: Option<Ending>,
    run_dir: PathBuf,
}

/// Writes the record of a server into its run directory.
pub(crate) fn record(run_dir: &Path, kept: &KeptServer) -> Result<(), Error> {
    let json = serde_json::to_vec(kept).map_err(std::io::Error::from)?;
    // Renamed into place, so that nobody reads half of it.
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

/// The servers that were left running below `run_root`, by name.
pub fn kept(run_root: &Path) -> Result<Vec<FoundServer>, Error> {
    prepare_root(run_root)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(run_root)? {
        let run_dir = entry?.path();
        // Another kind of run directory, or one that is being removed.
        let Ok(bytes) = fs::read(run_dir.join(RECORD)) else { continue };
        let Ok(kept) = serde_json::from_slice(&bytes) else { continue };
        let Ok(mut sandbox) = Sandbox::attach(&run_dir) else { continue };
        found.push(FoundServer { kept, ended: sandbox.tell()?, run_dir });
    }
    found.sort_by(|a, b| a.kept.name.cmp(&b.kept.name));
    Ok(found)
}

impl FoundServer {
    /// Shuts the server down cleanly if it still runs, and removes its data and its run directory. Its data move to
    /// `keep_in` instead, if that is given: a directory that must not exist.
    ///
    /// # Errors
    /// When it does not stop in time, its supervisor is gone, or the data cannot be moved. They stay where they are
    /// then.
    pub fn stop(self, keep_in: Option<&Path>) -> Result<(), Error> {
        let mut sandbox = Sandbox::attach(&self.run_dir).map_err(Error::SupervisorGone)?;
        if sandbox.tell()?.is_none() {
            sandbox.terminate()?;
            let ended = sandbox.ended_within(STOP_LIMIT)?;
            if ended.is_none() {
                let log = log_tail(&self.run_dir.join("log"));
                sandbox.end()?;
                return Err(Error::NoStop { limit: STOP_LIMIT, log });
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
pub fn collect_kept_data(site: &Site) -> Result<(), Error> {
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
