//! Servers of Postgres: command lines, the data directory, and the user to run them as.

mod answers;
mod explain;
mod initdb;
mod maintain;
mod settings;
mod status;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{Prefix, SystemSpec};
use assay_terms::{Version, version_number};
use assay_wire::{ConnectOptions, Connection, Protocol};
use fs_err as fs;
use rustix::process::Pid;

pub(crate) use self::initdb::OF_DATA;
use super::kind::{Counters, Servers, Threads};
use crate::audit::Settings;
use crate::drained::Drained;
use crate::error::Error;
use crate::explained::Explained;
use crate::listen::Listen;
use crate::server_paths::{ServerPaths, with_path};
use crate::supervise::{Job, RunAs, StopBy, below};

const USER: &str = "root";

const DATABASE: &str = "postgres";

/// The port in the socket's name if the server listens on no port.
const PORT: u16 = 5432;

/// First version that allocates shared memory after its start.
const DYNAMIC_MEMORY: Version = (9, 4, 0);

#[derive(Debug)]
pub(super) struct Postgres;

impl Servers for Postgres {
    /// Passwords are required on TCP only, since sockets are in private directories.
    fn initialize(
        &self,
        prefix: &Prefix,
        data_dir: &Path,
        run_dir: &Path,
        options: &[String],
    ) -> Result<Job, Error> {
        let mut argv = vec![prefix.layout.program("initdb").into_os_string()];
        argv.push(with_path("--pgdata=", data_dir));
        let words = [
            "--username=root",
            "--auth-local=trust",
            // Accepts passwords in any stored form.
            "--auth-host=md5",
            "-N",
        ];
        argv.extend(words.map(OsString::from));
        let of_data = initdb::arguments(version_number(&prefix.version), options);
        argv.extend(of_data.into_iter().map(OsString::from));
        Ok(Job { run_as: run_as(), ..Job::new(argv, run_dir.join("log")) })
    }

    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> Job {
        let mut argv = vec![prefix.layout.program("postgres").into_os_string(), "-D".into()];
        argv.push((&places.data_dir).into());
        argv.extend(initdb::for_servers(options).map(OsString::from));
        argv.push(with_path("--unix_socket_directories=", &places.socket_dir));
        argv.push(format!("--port={}", port(listen)).into());
        argv.push(match listen {
            Listen::Socket => "--listen_addresses=".into(),
            Listen::Loopback(_) => "--listen_addresses=127.0.0.1".into(),
        });
        if version_number(&prefix.version) >= DYNAMIC_MEMORY {
            // Its files are removed with the data. Those in `/dev/shm` would stay if the server is killed.
            argv.push("--dynamic_shared_memory_type=mmap".into());
        }
        // SIGINT means a clean shutdown that does not wait for clients.
        let run_as = run_as.unwrap_or_else(self::run_as);
        Job { run_as, stop_by: StopBy::Interrupt, ..Job::new(argv, places.log.clone()) }
    }

    fn socket_in(&self, socket_dir: &Path, listen: Listen) -> PathBuf {
        socket_dir.join(format!(".s.PGSQL.{}", port(listen)))
    }

    fn connect_options(&self, socket: PathBuf) -> ConnectOptions {
        ConnectOptions {
            protocol: Protocol::Postgres,
            database: Some(DATABASE.to_owned()),
            ..ConnectOptions::unix(socket, USER)
        }
    }

    fn protect(&self, control: &mut Connection, password: &str) -> Result<(), Error> {
        control.query(&format!("ALTER USER root PASSWORD '{password}'"))?;
        Ok(())
    }

    /// Root may run it.
    fn list_options(&self, prefix: &Prefix, _directory: &Path) -> Vec<OsString> {
        vec![prefix.layout.program("postgres").into_os_string(), "--describe-config".into()]
    }

    fn lists_after_dashes(&self) -> bool {
        false
    }

    /// Postgres also does this as root, if its first word is `-C`.
    fn check_options(
        &self,
        prefix: &Prefix,
        directory: &Path,
        options: &[String],
    ) -> Result<Vec<OsString>, Error> {
        let config = directory.join("empty.conf");
        fs::write(&config, "")?;
        let mut argv = vec![prefix.layout.program("postgres").into_os_string()];
        argv.extend(["-C", "max_connections", "-D"].map(OsString::from));
        argv.push(directory.into());
        argv.push(with_path("--config-file=", &config));
        argv.extend(initdb::for_servers(options).map(OsString::from));
        Ok(argv)
    }

    /// The id of a connection is that of its process, which has one thread.
    fn threads(&self, pid: i32, _options: &ConnectOptions) -> Result<Threads, Error> {
        let pids = Pid::from_raw(pid).map(below).transpose()?;
        let pids = pids.into_iter().flatten().map(|pid| pid.as_raw_nonzero().get());
        let message = pids.filter_map(|pid| Some((u64::try_from(pid).ok()?, pid)));
        Ok(Threads::Known(message.collect()))
    }

    fn identity(&self) -> &'static str {
        "SELECT concat_ws(' ', system_identifier, current_database()) FROM pg_control_system()"
    }

    fn settings(&self, control: &mut Connection) -> Result<Settings, Error> {
        settings::effective_settings(control)
    }

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        _log: &str,
    ) -> Result<Settings, Error> {
        answers::sources(control, spec)
    }

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<Drained, Error> {
        maintain::maintain(control, tables, limit)
    }

    /// Also removes dead rows.
    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<(), Error> {
        maintain::clean(control, tables)
    }

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
        maintain::drain(control, limit)
    }

    fn explain(&self, control: &mut Connection, sql: &str) -> Result<Explained, assay_wire::Error> {
        explain::explain(control, sql)
    }

    fn counters(&self, control: &mut Connection) -> Result<Option<Counters>, Error> {
        Ok(status::counters(maintain::major(control)))
    }
}

fn port(listen: Listen) -> u16 {
    match listen {
        Listen::Socket => PORT,
        Listen::Loopback(port) => port,
    }
}

/// Postgres refuses to run as root or as a user without an entry in the list of users.
fn run_as() -> RunAs {
    let user = rustix::process::geteuid();
    if user.is_root() || !is_listed(user.as_raw()) { RunAs::Nobody } else { RunAs::Caller }
}

/// Returns whether `/etc/passwd` has the user. A user known only to a network service also runs Postgres in a
/// namespace, which does no harm.
fn is_listed(user: u32) -> bool {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    list.lines().any(|line| line.split(':').nth(2).is_some_and(|it| it.parse() == Ok(user)))
}
