//! Servers of Postgres: command lines, the data directory, the user to run them as, and maintenance.

mod explain;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::{Prefix, SystemSpec};
use assay_terms::{Version, variable, version_number};
use assay_wire::{ConnectOptions, Connection, Protocol};
use fs_err as fs;
use rustix::process::Pid;

use crate::audit::ServerSettings;
use crate::error::Result;
use crate::products::kind::{
    ConnectionThreads, CounterQueries, DrainResult, Listen, Servers, StatementExplanation,
};
use crate::site::{ServerPaths, with_path};
use crate::supervise::{RunAs, ServerJob, StopBy, below};

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
    ) -> Result<ServerJob> {
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
        let of_data = arguments(version_number(&prefix.version), options);
        argv.extend(of_data.into_iter().map(OsString::from));
        Ok(ServerJob { run_as: run_as(), ..ServerJob::new(argv, run_dir.join("log")) })
    }

    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> ServerJob {
        let mut argv = vec![prefix.layout.program("postgres").into_os_string(), "-D".into()];
        argv.push((&places.data_dir).into());
        argv.extend(for_servers(options).map(OsString::from));
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
        ServerJob { run_as, stop_by: StopBy::Interrupt, ..ServerJob::new(argv, places.log.clone()) }
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

    fn protect(&self, control: &mut Connection, password: &str) -> Result<()> {
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
    ) -> Result<Vec<OsString>> {
        let config = directory.join("empty.conf");
        fs::write(&config, "")?;
        let mut argv = vec![prefix.layout.program("postgres").into_os_string()];
        argv.extend(["-C", "max_connections", "-D"].map(OsString::from));
        argv.push(directory.into());
        argv.push(with_path("--config-file=", &config));
        argv.extend(for_servers(options).map(OsString::from));
        Ok(argv)
    }

    /// The id of a connection is that of its process, which has one thread.
    fn threads(&self, pid: i32, _options: &ConnectOptions) -> Result<ConnectionThreads> {
        let pids = Pid::from_raw(pid).map(below).transpose()?;
        let pids = pids.into_iter().flatten().map(|pid| pid.as_raw_nonzero().get());
        let message = pids.filter_map(|pid| Some((u64::try_from(pid).ok()?, pid)));
        Ok(ConnectionThreads::Known(message.collect()))
    }

    fn identity(&self) -> &'static str {
        "SELECT concat_ws(' ', system_identifier, current_database()) FROM pg_control_system()"
    }

    fn settings(&self, control: &mut Connection) -> Result<ServerSettings> {
        settings::effective_settings(control)
    }

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        _log: &str,
    ) -> Result<ServerSettings> {
        settings::sources(control, spec)
    }

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<DrainResult> {
        let began = Instant::now();
        self.take_statistics(control, tables)?;
        // This cleans again only if necessary: a later VACUUM reads only a part of a table and estimates its rows from
        // that.
        finish(control, began, limit)
    }

    /// Also removes dead rows.
    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<()> {
        control.set_timeout(MAINTENANCE_TIMEOUT)?;
        let skips_indexes = major(control) >= SKIPS_INDEXES;
        let options = if skips_indexes { "(ANALYZE, INDEX_CLEANUP ON)" } else { "(ANALYZE)" };
        for table in tables {
            control.query(&format!("VACUUM {options} \"{}\"", table.replace('"', "\"\"")))?;
        }
        Ok(())
    }

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<DrainResult> {
        let began = Instant::now();
        control.set_timeout(MAINTENANCE_TIMEOUT)?;
        control.query("VACUUM")?;
        finish(control, began, limit)
    }

    fn explain(
        &self,
        control: &mut Connection,
        sql: &str,
    ) -> Result<StatementExplanation, assay_wire::WireError> {
        explain::explain(control, sql)
    }

    fn counters(&self, control: &mut Connection) -> Result<Option<CounterQueries>> {
        Ok(settings::counters(major(control)))
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

pub(crate) const OF_DATA: [&str; 5] =
    ["data_checksums", "lc_collate", "lc_ctype", "server_encoding", "wal_segment_size"];

/// The first version with page checksums by default, and the first in which they can be disabled.
const CHECKSUMS_SINCE: Version = (18, 0, 0);

/// Arguments of `initdb`. Strings are in byte order and pages have checksums, unless options request something else.
fn arguments(version: Version, options: &[String]) -> Vec<String> {
    let asked = |name: &str| {
        let mut all = options.iter().rev().filter_map(|option| split(option));
        all.find(|(other, _)| *other == name).map(|(_, value)| value)
    };
    let mut words = vec![
        format!("--encoding={}", asked("server_encoding").unwrap_or("SQL_ASCII")),
        "--locale=C".to_owned(),
    ];
    let of_locale = [("lc_collate", "--lc-collate"), ("lc_ctype", "--lc-ctype")];
    words.extend(
        of_locale.iter().filter_map(|(name, word)| Some(format!("{word}={}", asked(name)?))),
    );
    let is_off =
        |value: &str| ["off", "false", "no", "0"].contains(&value.to_ascii_lowercase().as_str());
    if !asked("data_checksums").is_some_and(is_off) {
        words.push("--data-checksums".to_owned());
    } else if version >= CHECKSUMS_SINCE {
        words.push("--no-data-checksums".to_owned());
    }
    words.extend(
        asked("wal_segment_size").and_then(megabytes).map(|mb| format!("--wal-segsize={mb}")),
    );
    words
}

fn for_servers(options: &[String]) -> impl Iterator<Item = &String> {
    options.iter().filter(|option| split(option).is_none())
}

/// `None` for options that do not belong to the data directory.
fn split(option: &str) -> Option<(&'static str, &str)> {
    let (name, value) = option.trim_start_matches("--").split_once('=')?;
    let name = variable(name);
    OF_DATA.into_iter().find(|of_data| *of_data == name).map(|name| (name, value))
}

/// Parses a size such as `64MB`, in MB. A bare number is bytes, as servers count them.
fn megabytes(value: &str) -> Option<u64> {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: u64 = number.parse().ok()?;
    match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => Some(number >> 20),
        "MB" | "M" => Some(number),
        "GB" | "G" => number.checked_mul(1024),
        _ => None,
    }
}

/// First version that skips the cleaning of indexes by default.
const SKIPS_INDEXES: u32 = 12;

/// Timeout of maintenance statements. A server is silent while it cleans or writes.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Number of checks after which remaining dead rows are assumed to be visible to a transaction.
const CHECKS: u32 = 10;

const AGAIN_AFTER: Duration = Duration::from_millis(100);

fn finish(control: &mut Connection, began: Instant, limit: Duration) -> Result<DrainResult> {
    let dead_rows = loop {
        // The server counts them with a delay.
        let mut dead_rows = dead_rows(control)?;
        for _ in 0..CHECKS {
            if dead_rows == Some(0) {
                break;
            }
            std::thread::sleep(AGAIN_AFTER);
            dead_rows = self::dead_rows(control)?;
        }
        if dead_rows == Some(0) || began.elapsed() > limit {
            break dead_rows;
        }
        control.query("VACUUM")?;
    };
    control.query("CHECKPOINT")?;
    let is_complete = dead_rows == Some(0);
    let took = began.elapsed();
    Ok(DrainResult { is_complete, history_length: dead_rows, dirty_pages: 0, took })
}

fn dead_rows(control: &mut Connection) -> Result<Option<u64>> {
    let found =
        control.query_catalog("SELECT COALESCE(SUM(n_dead_tup), 0) FROM pg_stat_user_tables")?;
    Ok(found.text(0, 0).and_then(|it| it.parse().ok()))
}

/// 18 for `18.6 (Debian 18.6-1)`, and 9 for all versions before 10.
fn major(control: &Connection) -> u32 {
    let digits = control.server_version().split(|it: char| !it.is_ascii_digit()).next();
    digits.and_then(|it| it.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_data_goes_to_initdb() {
        let options = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let message = |version, all: &[&str]| arguments(version, &options(all)).join(" ");
        assert_eq!(message((16, 1, 0), &[]), "--encoding=SQL_ASCII --locale=C --data-checksums");
        let all = ["--data_checksums=off", "--server_encoding=UTF8", "--work_mem=1MB"];
        assert_eq!(message((16, 1, 0), &all), "--encoding=UTF8 --locale=C");
        assert_eq!(message((18, 1, 0), &all), "--encoding=UTF8 --locale=C --no-data-checksums");
        let all = ["--wal_segment_size=64MB", "--lc_collate=de_DE.UTF-8", "--data-checksums=on"];
        assert_eq!(
            message((17, 0, 0), &all),
            "--encoding=SQL_ASCII --locale=C --lc-collate=de_DE.UTF-8 --data-checksums --wal-segsize=64"
        );
        let all = options(&["--work_mem=1MB", "--wal_segment_size=64MB"]);
        assert_eq!(for_servers(&all).collect::<Vec<_>>(), ["--work_mem=1MB"]);
    }
}
