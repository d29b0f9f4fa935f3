//! What is particular to the programs of the MySQL family: command lines and system tables.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use assay_model::{Prefix, Product};
use fs_err as fs;

use crate::supervise::{Ending, Job, Sandbox, unique_name};
use crate::{Error, Site};

/// How long the bootstrap may take; it takes a second.
const INITIALIZE_LIMIT: Duration = Duration::from_secs(180);

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

/// Makes an empty data directory at `target`, with the user `root` and no password, ready to be a template.
///
/// `options` are those that servers on it will run with. Nothing is left of one that fails.
///
/// # Errors
/// When the server program fails; its last log lines are in the error.
pub fn initialize(
    site: &Site,
    prefix: &Prefix,
    options: &[String],
    target: &Path,
) -> Result<(), Error> {
    if prefix.product != Product::MariaDb {
        return Err(Error::Unsupported(prefix.product));
    }
    let name = unique_name();
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    // Beside the target, so that it appears there by one rename, complete.
    let unfinished = parent.join(format!(".new-{name}"));
    let mut sandbox = Sandbox::new(site, &name, vec![unfinished.clone()])?;
    fs::create_dir_all(unfinished.join("mysql"))?;
    let script = sandbox.run_dir().join("bootstrap.sql");
    write_script(&prefix.layout.share_dir, &script)?;
    let tmp_dir = sandbox.run_dir().join("tmp");
    fs::create_dir(&tmp_dir)?;
    let mut argv = command(prefix, &unfinished, &tmp_dir);
    argv.extend(["--bootstrap", "--enforce-storage-engine="].map(OsString::from));
    argv.extend(["--max-allowed-packet=8M", "--net-buffer-length=16K"].map(OsString::from));
    argv.extend(options.iter().map(OsString::from));
    let log = sandbox.run_dir().join("log");
    sandbox.run(Job { argv, stdin: Some(script), log: log.clone() })?;
    let limit = INITIALIZE_LIMIT;
    match sandbox.ended_within(limit)? {
        Some(Ending::Code(0)) => Ok(fs::rename(&unfinished, target)?),
        Some(ending) => Err(Error::Initialize { ending, log: log_tail(&log) }),
        None => Err(Error::NoStop { limit, log: log_tail(&log) }),
    }
}

/// The command line that every use of a server program begins with.
pub(crate) fn command(prefix: &Prefix, data_dir: &Path, tmp_dir: &Path) -> Vec<OsString> {
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

/// The last lines of a log, indented; empty when there is none.
pub(crate) fn log_tail(log: &Path) -> String {
    const LINES: usize = 12;
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
