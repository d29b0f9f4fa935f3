//! The programs of Postgres: command lines, the data directory, and the user to run them as.

mod maintain;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_model::Prefix;
use assay_terms::{Version, version_number};
use assay_wire::{ConnectOptions, Protocol};
use fs_err as fs;

pub(crate) use maintain::{clean, drain, maintain, major};
pub(crate) use settings::effective_settings;

use crate::listen::Listen;
use crate::mysql::with_path;
use crate::server_paths::ServerPaths;
use crate::supervise::{Job, RunAs, StopBy};

/// The superuser.
const USER: &str = "root";

/// A database that every server has.
const DATABASE: &str = "postgres";

/// The port in the socket's name if the server listens on no port.
const PORT: u16 = 5432;

/// The path of the socket in its directory.
pub(crate) fn socket_in(socket_dir: &Path, listen: Listen) -> PathBuf {
    socket_dir.join(format!(".s.PGSQL.{}", port(listen)))
}

fn port(listen: Listen) -> u16 {
    match listen {
        Listen::Socket => PORT,
        Listen::Loopback(port) => port,
    }
}

/// How to connect as the superuser.
pub(crate) fn connect_options(socket: PathBuf) -> ConnectOptions {
    ConnectOptions {
        protocol: Protocol::Postgres,
        database: Some(DATABASE.to_owned()),
        ..ConnectOptions::unix(socket, USER)
    }
}

/// The job that makes an empty data directory, with strings in byte order, page checksums, and passwords required on
/// TCP only, since sockets are in private directories.
pub(crate) fn initialize_job(prefix: &Prefix, data_dir: &Path, log: PathBuf) -> Job {
    let mut argv = vec![prefix.layout.program("initdb").into_os_string()];
    argv.push(with_path("--pgdata=", data_dir));
    let words = [
        "--username=root",
        "--auth-local=trust",
        // Accepts passwords in any stored form.
        "--auth-host=md5",
        "--encoding=SQL_ASCII",
        "--locale=C",
        "--data-checksums",
        "-N",
    ];
    argv.extend(words.map(OsString::from));
    Job { run_as: run_as(), ..Job::new(argv, log) }
}

/// First version that allocates shared memory after its start.
const DYNAMIC_MEMORY: Version = (9, 4, 0);

/// The job that runs a server. `options` are those of [`assay_terms::Terms::render`]. Options for paths come last,
/// where nothing can override them.
pub(crate) fn server_job(
    prefix: &Prefix,
    places: &ServerPaths,
    listen: Listen,
    options: &[String],
    run_as: RunAs,
) -> Job {
    let mut argv = vec![prefix.layout.program("postgres").into_os_string(), "-D".into()];
    argv.push((&places.data_dir).into());
    argv.extend(options.iter().map(OsString::from));
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
    Job { run_as, stop_by: StopBy::Interrupt, ..Job::new(argv, places.log.clone()) }
}

/// The command line that lists all options of a server. Root may run it.
pub(crate) fn list_options(prefix: &Prefix) -> Vec<OsString> {
    vec![prefix.layout.program("postgres").into_os_string(), "--describe-config".into()]
}

/// The command line that reads options and ends. Postgres does this as root, too, if its first word is `-C`.
pub(crate) fn check_options(prefix: &Prefix, config: &Path, options: &[String]) -> Vec<OsString> {
    let mut argv = vec![prefix.layout.program("postgres").into_os_string()];
    argv.extend(["-C", "max_connections", "-D"].map(OsString::from));
    argv.push(config.parent().unwrap_or(config).into());
    let mut file = OsString::from("--config-file=");
    file.push(config);
    argv.push(file);
    argv.extend(options.iter().map(OsString::from));
    argv
}

/// Postgres refuses to run as root or as a user without an entry in the list of users.
pub(crate) fn run_as() -> RunAs {
    let user = rustix::process::geteuid();
    if user.is_root() || !is_listed(user.as_raw()) { RunAs::Nobody } else { RunAs::Caller }
}

/// Whether `/etc/passwd` has the user. A user that only a network service knows runs Postgres in a namespace too, which
/// does no harm.
fn is_listed(user: u32) -> bool {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    list.lines().any(|line| line.split(':').nth(2).is_some_and(|it| it.parse() == Ok(user)))
}
