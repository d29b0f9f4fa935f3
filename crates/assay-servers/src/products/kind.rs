//! Server operations that differ between products.

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

pub(crate) trait Servers: Debug + Sync {
    /// The job that creates an empty data directory, with the user `root` and no password. `options` are those of the
    /// servers that will run on it.
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

    fn counted_options(&self, _options: &[String]) -> Vec<String> {
        Vec::new()
    }

    fn socket_in(&self, socket_dir: &Path, listen: Listen) -> PathBuf;

    fn connect_options(&self, socket: PathBuf) -> ConnectOptions;

    fn protect(&self, control: &mut Connection, password: &str) -> Result<(), Error>;

    /// The command line that lists all options of a server. It writes nothing into `directory`, which must exist.
    fn list_options(&self, prefix: &Prefix, directory: &Path) -> Vec<OsString>;

    /// Whether the options in that list come after a line of dashes.
    fn lists_after_dashes(&self) -> bool;

    /// The command line that reads options and ends. It may use `directory`.
    fn check_options(
        &self,
        prefix: &Prefix,
        directory: &Path,
        options: &[String],
    ) -> Result<Vec<OsString>, Error>;

    /// Whether that command line fails for an option that a version does not know.
    fn checks_names(&self, _version: Version) -> bool {
        true
    }

    /// How to find the threads that serve connections of the server `pid`.
    fn threads(&self, pid: i32, options: &ConnectOptions) -> Result<Threads, Error>;

    /// A query for a text that is equal for every way to connect to one database, and different for another one.
    fn identity(&self) -> &'static str;

    fn settings(&self, control: &mut Connection) -> Result<Settings, Error>;

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        log: &str,
    ) -> Result<Settings, Error>;

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<Drained, Error>;

    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<(), Error>;

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<Drained, Error>;

    fn remove_binary_logs(&self, _control: &mut Connection) -> Result<(), Error> {
        Ok(())
    }

    fn explain(&self, control: &mut Connection, sql: &str) -> Result<Explained, assay_wire::Error>;

    /// `None` if a version does not publish its counters in time.
    fn counters(&self, control: &mut Connection) -> Result<Option<Counters>, Error>;
}

pub(crate) enum Threads {
    /// By connection id, as the server reports them.
    Known(BTreeMap<u64, i32>),
    /// A pool serves all connections together.
    Shared,
    /// The server does not report them; its threads must be observed.
    Untold,
}

pub(crate) struct Counters {
    /// Their rows are names and values.
    pub(crate) queries: Vec<String>,
    pub(crate) known: BTreeSet<String>,
    /// The statement that every client must have executed before the counters are read, so that its work is in them.
    pub(crate) publish: Option<&'static str>,
    /// Name prefixes of the counters changed by reading.
    pub(crate) of_reading: &'static [&'static str],
}
