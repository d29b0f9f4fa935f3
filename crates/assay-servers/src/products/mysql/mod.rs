//! Servers of MySQL, and the parts that MariaDB shares: command lines and system tables.

mod answers;
mod command_line;
mod explain;
mod initialize;
mod maintain;
mod settings;
mod status;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{Prefix, SystemSpec};
use assay_terms::{Version, version_number};
use assay_wire::{ConnectOptions, Connection};

pub(super) use initialize::Scripts;

use self::command_line::{directories, program};
use super::kind::{Counters, Servers, Threads};
use crate::audit::Settings;
use crate::drained::Drained;
use crate::error::Error;
use crate::explained::Explained;
use crate::listen::Listen;
use crate::server_paths::{ServerPaths, with_path};
use crate::supervise::{Job, RunAs};

#[derive(Debug)]
pub(super) struct Family {
    /// The scripts from which a version creates its system tables; `None` if it creates them by itself.
    pub(super) scripts: fn(Version) -> Option<Scripts>,
    /// The first version that can only check its options.
    pub(super) validates_since: Option<Version>,
    /// Whether its process list has thread ids.
    pub(super) tells_threads: bool,
}

pub(super) const SERVERS: Family = Family {
    scripts: |version| (version < (5, 7, 6)).then_some(initialize::OLD),
    validates_since: Some((8, 0, 16)),
    tells_threads: false,
};

impl Servers for Family {
    fn initialize(
        &self,
        prefix: &Prefix,
        data_dir: &Path,
        run_dir: &Path,
        options: &[String],
    ) -> Result<Job, Error> {
        let scripts = (self.scripts)(version_number(&prefix.version));
        initialize::job(scripts, prefix, data_dir, run_dir, options)
    }

    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> Job {
        let run_as = run_as.unwrap_or(RunAs::Caller);
        let mut argv = program(prefix, run_as);
        argv.extend(options.iter().map(OsString::from));
        argv.extend(directories(prefix, &places.data_dir, &places.tmp_dir));
        argv.push(with_path("--socket=", &self.socket_in(&places.socket_dir, listen)));
        argv.push(with_path("--pid-file=", &places.socket_dir.join("pid")));
        match listen {
            Listen::Socket => argv.push("--skip-networking".into()),
            Listen::Loopback(port) => {
                argv.push("--bind-address=127.0.0.1".into());
                argv.push(format!("--port={port}").into());
            }
        }
        Job { run_as, ..Job::new(argv, places.log.clone()) }
    }

    /// Valgrind 3.19 does not support all that the kernel's asynchronous input and output need, and has no room for the
    /// addresses that a server reserves for a larger buffer pool.
    fn counted_options(&self, options: &[String]) -> Vec<String> {
        const POOL: &str = "--innodb-buffer-pool-size=";
        let pool = options.iter().rev().find_map(|option| option.strip_prefix(POOL));
        let most = pool.map(|size| format!("--loose-innodb-buffer-pool-size-max={size}"));
        let aio = "--loose-innodb-use-native-aio=0".to_owned();
        most.into_iter().chain([aio]).collect()
    }

    fn socket_in(&self, socket_dir: &Path, _listen: Listen) -> PathBuf {
        socket_dir.join("s")
    }

    fn connect_options(&self, socket: PathBuf) -> ConnectOptions {
        ConnectOptions::unix(socket, "root")
    }

    /// Old versions have a `root` for every name of the machine, and some builds have anonymous accounts.
    fn protect(&self, control: &mut Connection, password: &str) -> Result<(), Error> {
        let found = control.query("SELECT Host FROM mysql.user WHERE User = ''")?;
        for row in 0..found.rows.len() {
            let Some(host) = found.text(row, 0) else { continue };
            control.query(&format!("DROP USER ''@'{host}'"))?;
        }
        let found = control.query("SELECT Host FROM mysql.user WHERE User = 'root'")?;
        for row in 0..found.rows.len() {
            let Some(host) = found.text(row, 0) else { continue };
            let user = format!("'root'@'{host}'");
            match control.query(&format!("ALTER USER {user} IDENTIFIED BY '{password}'")) {
                // Before MySQL 5.7.6 and MariaDB 10.2.0.
                Err(error) if error.server_code() == Some(PARSE_ERROR) => {
                    control.query(&format!("SET PASSWORD FOR {user} = PASSWORD('{password}')"))?;
                }
                done => drop(done?),
            }
        }
        Ok(())
    }

    fn list_options(&self, prefix: &Prefix, directory: &Path) -> Vec<OsString> {
        let mut argv = program(prefix, RunAs::Caller);
        argv.extend(directories(prefix, directory, directory));
        argv.extend(["--verbose", "--help"].map(OsString::from));
        argv
    }

    fn lists_after_dashes(&self) -> bool {
        true
    }

    fn check_options(
        &self,
        prefix: &Prefix,
        directory: &Path,
        options: &[String],
    ) -> Result<Vec<OsString>, Error> {
        let mut argv = program(prefix, RunAs::Caller);
        argv.extend(directories(prefix, directory, directory));
        argv.extend(options.iter().map(OsString::from));
        // Others report errors before they print help.
        let version = version_number(&prefix.version);
        let validates = self.validates_since.is_some_and(|since| version >= since);
        argv.extend(match validates {
            // Includes warnings, which name deprecated options.
            true => vec!["--log-error-verbosity=2".into(), "--validate-config".into()],
            false => vec!["--verbose".into(), "--help".into()],
        });
        Ok(argv)
    }

    /// The first releases of MySQL 8.0 print their help whatever the options are.
    fn checks_names(&self, version: Version) -> bool {
        let has = |since: Version| version >= since || version.0 < since.0;
        self.validates_since.is_none_or(has)
    }

    fn threads(&self, _pid: i32, options: &ConnectOptions) -> Result<Threads, Error> {
        let mut control = Connection::control(options)?;
        let handling = control.query("SELECT @@thread_handling")?.first_string();
        if handling.as_deref() != Some("one-thread-per-connection") {
            return Ok(Threads::Shared);
        }
        if !self.tells_threads {
            return Ok(Threads::Untold);
        }
        let found = control.query("SELECT ID, TID FROM information_schema.PROCESSLIST")?;
        let pair =
            |row| Some((found.text(row, 0)?.parse().ok()?, found.text(row, 1)?.parse().ok()?));
        Ok(Threads::Known((0..found.rows.len()).filter_map(pair).collect()))
    }

    fn identity(&self) -> &'static str {
        "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id, DATABASE())"
    }

    fn settings(&self, control: &mut Connection) -> Result<Settings, Error> {
        settings::effective_settings(control)
    }

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        log: &str,
    ) -> Result<Settings, Error> {
        answers::answers(control, spec, log)
    }

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<Drained, Error> {
        maintain::maintain(control, tables, limit)
    }

    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<(), Error> {
        maintain::take_statistics(control, tables)
    }

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<Drained, Error> {
        maintain::drain(control, limit)
    }

    fn remove_binary_logs(&self, control: &mut Connection) -> Result<(), Error> {
        maintain::remove_binary_logs(control).map(drop)
    }

    fn explain(&self, control: &mut Connection, sql: &str) -> Result<Explained, assay_wire::Error> {
        explain::explain(control, sql)
    }

    fn counters(&self, control: &mut Connection) -> Result<Option<Counters>, Error> {
        status::counters(control).map(Some)
    }
}

/// The server's error for a statement that it does not know.
const PARSE_ERROR: u32 = 1064;
