//! What assay does with a server of a product: the seam between the servers of a study and the programs that run them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{Prefix, SystemSpec};
use assay_terms::Version;
use assay_wire::{ConnectOptions, Connection};

use crate::audit::Settings;
use crate::drained::Drained;
use crate::error::Error;
use crate::explained::Explained;
use crate::listen::Listen;
use crate::server_paths::ServerPaths;
use crate::supervise::{Job, RunAs};

/// A product whose servers assay can start, and what it asks of those that run.
pub(crate) trait Servers: Debug + Sync {
    /// The job that makes an empty data directory, with the user `root` and no password. `options` are those that
    /// servers on it will run with.
    fn initialize(
        &self,
        prefix: &Prefix,
        data_dir: &Path,
        run_dir: &Path,
        options: &[String],
    ) -> Result<Job, Error>;

    /// The job that runs a server, by default as the user that the product needs. `options` are those of
    /// [`assay_terms::Terms::render`]. Options for paths come last, where nothing can override them.
    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> Job;

    /// Options that a server needs besides these to run under valgrind.
    fn counted_options(&self, _options: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// The path of the socket in its directory.
    fn socket_in(&self, socket_dir: &Path, listen: Listen) -> PathBuf;

    /// How to connect as the superuser.
    fn connect_options(&self, socket: PathBuf) -> ConnectOptions;

    /// Requires the password for every login from now on.
    fn protect(&self, control: &mut Connection, password: &str) -> Result<(), Error>;

    /// The command line that lists all options of a server. It writes nothing into `directory`, which must exist.
    fn list_options(&self, prefix: &Prefix, directory: &Path) -> Vec<OsString>;

    /// Whether the options in that list come after a line of dashes.
    fn lists_after_dashes(&self) -> bool;

    /// The command line that reads options and ends, for which `directory` may be used.
    fn check_options(
        &self,
        prefix: &Prefix,
        directory: &Path,
        options: &[String],
    ) -> Result<Vec<OsString>, Error>;

    /// Whether that command line ends with an error if a version does not know an option.
    fn checks_names(&self, _version: Version) -> bool {
        true
    }

    /// How to find the threads that serve connections of the server `pid`.
    fn threads(&self, pid: i32, options: &ConnectOptions) -> Result<Threads, Error>;

    /// A query for a text that is the same for every way to connect to one database, and different for another one.
    fn identity(&self) -> &'static str;

    /// Every setting in effect; see [`crate::effective_settings`].
    fn settings(&self, control: &mut Connection) -> Result<Settings, Error>;

    /// What it answers about the options that were asked for; see [`crate::answers`].
    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        log: &str,
    ) -> Result<Settings, Error>;

    /// See [`crate::maintain`].
    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<Drained, Error>;

    /// See [`crate::take_statistics`].
    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<(), Error>;

    /// See [`crate::drain`].
    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<Drained, Error>;

    /// See [`crate::remove_binary_logs`].
    fn remove_binary_logs(&self, _control: &mut Connection) -> Result<(), Error> {
        Ok(())
    }

    /// The plan of a statement; see [`crate::explain`].
    fn explain(&self, control: &mut Connection, sql: &str) -> Result<Explained, assay_wire::Error>;

    /// How its counters are read; `None` if a version does not tell them in time.
    fn counters(&self, control: &mut Connection) -> Result<Option<Counters>, Error>;
}

/// The threads of a server that serve connections.
pub(crate) enum Threads {
    /// By connection id, as the server tells them.
    Told(BTreeMap<u64, i32>),
    /// A pool serves all connections together.
    Shared,
    /// The server does not tell; its threads must be observed.
    Untold,
}

/// The counters that a server keeps of its own work, and how they are read.
pub(crate) struct Counters {
    /// Queries for rows of names and values.
    pub(crate) queries: Vec<String>,
    /// The names of all counters.
    pub(crate) known: BTreeSet<String>,
    /// The statement that every client must have executed before the counters are read, so that its work is in them.
    pub(crate) publish: Option<&'static str>,
    /// How the names of counters begin that reading changes.
    pub(crate) of_reading: &'static [&'static str],
}
