//! What is particular to the programs of the MySQL family: command lines and system tables.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use assay_model::Prefix;
use fs_err as fs;

use crate::Error;
use crate::server::Listen;
use crate::supervise::Job;

/// Scripts with the system tables, each under its new or old name, in order. Help texts are left out.
const SCRIPTS: [[&str; 2]; 5] = [
    ["mariadb_system_tables.sql", "mysql_system_tables.sql"],
    ["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
    ["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
    ["maria_add_gis_sp_bootstrap.sql", "maria_add_gis_sp_bootstrap.sql"],
    ["mariadb_sys_schema.sql", "mysql_sys_schema.sql"],
];

/// One statement a line: a bootstrapping server takes what shares a line for one statement.
const PRELUDE: &str = "create database if not exists mysql;
use mysql;
SET @auth_root_socket=NULL;
SET @skip_auth_anonymous=1;
";

/// The job that makes an empty data directory. `options` are those that servers on it will run with.
pub(crate) fn initialize_job(
    prefix: &Prefix,
    data_dir: &Path,
    run_dir: &Path,
    options: &[String],
) -> Result<Job, Error> {
    fs::create_dir_all(data_dir.join("mysql"))?;
    let script = run_dir.join("bootstrap.sql");
    write_script(&prefix.layout.share_dir, &script)?;
    let tmp_dir = run_dir.join("tmp");
    fs::create_dir(&tmp_dir)?;
    let mut argv = command(prefix, data_dir, &tmp_dir);
    argv.extend(["--bootstrap", "--enforce-storage-engine="].map(OsString::from));
    argv.extend(["--max-allowed-packet=8M", "--net-buffer-length=16K"].map(OsString::from));
    argv.extend(options.iter().map(OsString::from));
    Ok(Job { stdin: Some(script), ..Job::new(argv, run_dir.join("log")) })
}

/// The socket in a run directory.
pub(crate) fn socket_in(run_dir: &Path) -> PathBuf {
    run_dir.join("s")
}

/// The job that runs a server. `options` are those of [`crate::render`].
pub(crate) fn server_job(
    prefix: &Prefix,
    data_dir: &Path,
    tmp_dir: &Path,
    run_dir: &Path,
    listen: Listen,
    options: &[String],
) -> Job {
    let mut argv = command(prefix, data_dir, tmp_dir);
    argv.push(with_path("--socket=", &socket_in(run_dir)));
    argv.push(with_path("--pid-file=", &run_dir.join("pid")));
    match listen {
        Listen::Socket => argv.push("--skip-networking".into()),
        Listen::Loopback(port) => {
            argv.push("--bind-address=127.0.0.1".into());
            argv.push(format!("--port={port}").into());
        }
    }
    // No statement reads or writes files elsewhere.
    argv.push(with_path("--secure-file-priv=", tmp_dir));
    argv.extend(options.iter().map(OsString::from));
    Job::new(argv, run_dir.join("log"))
}

/// The command line that every use of a server program begins with.
fn command(prefix: &Prefix, data_dir: &Path, tmp_dir: &Path) -> Vec<OsString> {
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
    let paths = [
        ("--basedir=", layout.basedir.as_path()),
        ("--datadir=", data_dir),
        ("--tmpdir=", tmp_dir),
        ("--lc-messages-dir=", &layout.share_dir),
        ("--character-sets-dir=", &layout.charsets_dir),
        ("--plugin-dir=", &layout.plugin_dir),
    ];
    argv.extend(paths.map(|(option, path)| with_path(option, path)));
    if rustix::process::geteuid().is_root() {
        argv.push("--user=root".into());
    }
    argv
}

/// `--option=` followed by a path, which need not be text.
pub(crate) fn with_path(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

fn write_script(share_dir: &Path, script: &Path) -> Result<(), Error> {
    let mut out = fs::File::create(script)?;
    out.write_all(PRELUDE.as_bytes())?;
    for names in SCRIPTS {
        let mut paths = names.iter().map(|name| share_dir.join(name));
        if let Some(path) = paths.find(|path| path.exists()) {
            out.write_all(&fs::read(path)?)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
