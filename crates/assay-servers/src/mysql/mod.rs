//! The programs of the MySQL family: command lines and system tables.

mod initialize;
mod maintain;
mod settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_model::{Prefix, Product};
use assay_terms::version_number;
use assay_wire::Connection;

pub(crate) use initialize::initialize_job;
pub(crate) use maintain::{drain, maintain, remove_binary_logs, take_statistics};
pub(crate) use settings::effective_settings;

use crate::error::Error;
use crate::listen::Listen;
use crate::server_paths::ServerPaths;
use crate::supervise::{Job, RunAs};

/// The path of the socket in its directory.
pub(crate) fn socket_in(socket_dir: &Path) -> PathBuf {
    socket_dir.join("s")
}

/// The job that runs a server. `options` are those of [`assay_terms::Terms::render`].
pub(crate) fn server_job(
    prefix: &Prefix,
    places: &ServerPaths,
    listen: Listen,
    options: &[String],
    run_as: RunAs,
) -> Job {
    let mut argv = program(prefix, run_as);
    argv.extend(options.iter().map(OsString::from));
    argv.extend(directories(prefix, &places.data_dir, &places.tmp_dir));
    argv.push(with_path("--socket=", &socket_in(&places.socket_dir)));
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

/// The command line that lists all options of a server. It writes nothing into `directory`, which must exist.
pub(crate) fn list_options(prefix: &Prefix, directory: &Path) -> Vec<OsString> {
    let mut argv = program(prefix, RunAs::Caller);
    argv.extend(directories(prefix, directory, directory));
    argv.extend(["--verbose", "--help"].map(OsString::from));
    argv
}

/// The command line that reads options and ends. It writes nothing into `directory`, which must exist.
pub(crate) fn check_options(
    prefix: &Prefix,
    directory: &Path,
    options: &[String],
) -> Vec<OsString> {
    let mut argv = program(prefix, RunAs::Caller);
    argv.extend(directories(prefix, directory, directory));
    argv.extend(options.iter().map(OsString::from));
    // Others say what is wrong before they print help.
    let validates =
        prefix.product == Product::MySql && version_number(&prefix.version) >= (8, 0, 16);
    argv.extend(match validates {
        true => vec!["--validate-config".into()],
        false => vec!["--verbose".into(), "--help".into()],
    });
    argv
}

/// The server's error for a statement that it does not know.
const PARSE_ERROR: u32 = 1064;

/// Allows only `root` to log in, with the password. Old versions have a `root` for every name of the machine, and some
/// builds have anonymous accounts.
pub(crate) fn protect(control: &mut Connection, password: &str) -> Result<(), Error> {
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

/// The beginning of every command line. Options for paths come last, where nothing can override them.
fn program(prefix: &Prefix, run_as: RunAs) -> Vec<OsString> {
    let layout = &prefix.layout;
    let mut argv = Vec::new();
    if let Some(loader) = &layout.loader {
        let mut library_path = OsString::new();
        for (at, directory) in layout.library_path.iter().enumerate() {
            library_path.push(if at == 0 { "" } else { ":" });
            library_path.push(directory);
        }
        argv.extend([loader.into(), "--library-path".into(), library_path]);
    }
    argv.extend([layout.server.clone().into_os_string(), "--no-defaults".into()]);
    if run_as == RunAs::Caller && rustix::process::geteuid().is_root() {
        argv.push("--user=root".into());
    }
    argv
}

/// The directories of a server.
fn directories(prefix: &Prefix, data_dir: &Path, tmp_dir: &Path) -> [OsString; 7] {
    let layout = &prefix.layout;
    [
        ("--basedir=", layout.basedir.as_path()),
        ("--datadir=", data_dir),
        ("--tmpdir=", tmp_dir),
        ("--lc-messages-dir=", &layout.share_dir),
        ("--character-sets-dir=", &layout.charsets_dir),
        ("--plugin-dir=", &layout.plugin_dir),
        // No statement may read or write files elsewhere. The default of some builds is a directory that does not
        // exist.
        ("--secure-file-priv=", tmp_dir),
    ]
    .map(|(option, path)| with_path(option, path))
}

/// `--option=` followed by a path, which need not be text.
pub(crate) fn with_path(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}
