//! Server operations that differ between products.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Debug;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{Prefix, SystemSpec};
use assay_terms::Version;
use assay_wire::{ConnectOptions, Connection};

use crate::audit::ServerSettings;
use crate::error::{Result, ServersError};
use crate::site::ServerPaths;
use crate::supervise::{RunAs, ServerJob};

pub(crate) trait Servers: Debug + Sync {
    /// The job that creates an empty data directory, with the user `root` and no password. `options` are those of the
    /// servers that will run on it.
    fn initialize(
        &self,
        prefix: &Prefix,
        data_dir: &Path,
        run_dir: &Path,
        options: &[String],
    ) -> Result<ServerJob>;

    /// The job that runs a server, by default as the user that the product needs. `options` are those of
    /// [`assay_terms::Terms::render`]. Options for paths come last, where nothing can override them.
    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> ServerJob;

    fn counted_options(&self, _options: &[String]) -> Vec<String> {
        Vec::new()
    }

    fn socket_in(&self, socket_dir: &Path, listen: Listen) -> PathBuf;

    fn connect_options(&self, socket: PathBuf) -> ConnectOptions;

    fn protect(&self, control: &mut Connection, password: &str) -> Result<()>;

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
    ) -> Result<Vec<OsString>>;

    /// Whether that command line fails for an option that a version does not know.
    fn checks_names(&self, _version: Version) -> bool {
        true
    }

    /// How to find the threads that serve connections of the server `pid`.
    fn threads(&self, pid: i32, options: &ConnectOptions) -> Result<ConnectionThreads>;

    /// A query for a text that is equal for every way to connect to one database, and different for another one.
    fn identity(&self) -> &'static str;

    fn settings(&self, control: &mut Connection) -> Result<ServerSettings>;

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        log: &str,
    ) -> Result<ServerSettings>;

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<DrainResult>;

    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<()>;

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<DrainResult>;

    fn remove_binary_logs(&self, _control: &mut Connection) -> Result<()> {
        Ok(())
    }

    fn explain(
        &self,
        control: &mut Connection,
        sql: &str,
    ) -> Result<StatementExplanation, assay_wire::WireError>;

    /// `None` if a version does not publish its counters in time.
    fn counters(&self, control: &mut Connection) -> Result<Option<CounterQueries>>;
}

pub(crate) enum ConnectionThreads {
    /// By connection id, as the server reports them.
    Known(BTreeMap<u64, i32>),
    /// A pool serves all connections together.
    Shared,
    /// The server does not report them; its threads must be observed.
    Unreported,
}

pub(crate) struct CounterQueries {
    /// Their rows are names and values.
    pub(crate) queries: Vec<String>,
    pub(crate) known: BTreeSet<String>,
    /// The statement that every client must have executed before the counters are read, so that its work is in them.
    pub(crate) publish: Option<&'static str>,
    /// Name prefixes of the counters changed by reading.
    pub(crate) of_reading: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainResult {
    pub is_complete: bool,
    /// Transactions whose old row versions are not purged yet; on Postgres, remaining dead rows. `None` if the version
    /// does not report it.
    pub history_length: Option<u64>,
    /// Unwritten pages of the buffer pool.
    pub dirty_pages: u64,
    pub took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementExplanation {
    pub plan: String,
    /// Warnings of the planner, such as an index that it could not use.
    pub warnings: Vec<String>,
}

pub(crate) fn name_values(
    control: &mut Connection,
    sql: &str,
    prefix: &str,
) -> Result<ServerSettings> {
    let found = control.query(sql)?;
    let pair = |row| {
        let name = found.text(row, 0)?.to_ascii_lowercase();
        Some((format!("{prefix}{name}"), found.text(row, 1).unwrap_or_default().to_owned()))
    };
    Ok((0..found.rows.len()).filter_map(pair).collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    Socket,
    Loopback(u16),
}

impl Listen {
    /// Fails if another program listens on the port. Call it before anything is started.
    pub fn check(self) -> Result<()> {
        let Self::Loopback(port) = self else { return Ok(()) };
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_) => Ok(()),
            Err(source) => Err(ServersError::Port { port, source }),
        }
    }

    /// Turns the error of a server that has ended into [`ServersError::Port`] if its log shows that the port was
    /// unavailable.
    pub(crate) fn explain_end(self, error: ServersError) -> ServersError {
        let (Self::Loopback(port), ServersError::Ended { log, .. }) = (self, &error) else {
            return error;
        };
        match refusal_in(log) {
            Some(kind) => ServersError::Port { port, source: kind.into() },
            None => error,
        }
    }
}

/// All servers log the kernel's words.
fn refusal_in(log: &str) -> Option<ErrorKind> {
    let mut binding = log.lines().filter(|it| BINDING.iter().any(|words| it.contains(words)));
    binding.find_map(|line| match line {
        _ if line.contains("Address already in use") => Some(ErrorKind::AddrInUse),
        _ if line.contains("Permission denied") => Some(ErrorKind::PermissionDenied),
        _ => None,
    })
}

const BINDING: [&str; 2] = ["Bind on TCP/IP port", "could not bind"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unavailable_port_is_found_in_the_log() {
        for (line, expected) in [
            (
                "[ERROR] Can't start server: Bind on TCP/IP port: Address already in use",
                Some(ErrorKind::AddrInUse),
            ),
            (
                "[1] LOG:  could not bind IPv4 address \"127.0.0.1\": Permission denied",
                Some(ErrorKind::PermissionDenied),
            ),
            ("[ERROR] cannot open `x`: Permission denied", None),
        ] {
            assert_eq!(refusal_in(line), expected);
        }
    }
}
