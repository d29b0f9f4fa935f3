//! Creates a data directory: with the server itself, or with the SQL scripts that come with it. The vendors' shell or
//! Perl scripts for it are not run.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use assay_model::Prefix;
use assay_terms::variable;
use fs_err as fs;

use super::command_line::{directories, program};
use crate::error::Error;
use crate::supervise::{Job, RunAs};

/// Input of a bootstrapping server, one statement per line, since it reads each line as one statement.
pub(crate) struct Scripts {
    pub(crate) before: &'static str,
    /// Files of the share directory in order, each with its new and its old name. Not every version has all of them.
    /// Help texts are left out.
    pub(crate) files: &'static [[&'static str; 2]],
    pub(crate) after: &'static str,
    pub(crate) options: &'static [&'static str],
}

/// For versions that do not create the tables by themselves.
pub(super) const OLD: Scripts = Scripts {
    before: "use mysql;\n",
    files: &[
        ["mysql_system_tables.sql", "mysql_system_tables.sql"],
        ["mysql_system_tables_data.sql", "mysql_system_tables_data.sql"],
    ],
    // These users let anybody in without a password.
    after: "DELETE FROM mysql.user WHERE User='';\n",
    options: &["--default-storage-engine=myisam"],
};

/// `options` are those of the servers that will run on the data directory.
pub(super) fn job(
    scripts: Option<Scripts>,
    prefix: &Prefix,
    data_dir: &Path,
    run_dir: &Path,
    options: &[String],
) -> Result<Job, Error> {
    fs::create_dir_all(data_dir)?;
    let tmp_dir = run_dir.join("tmp");
    fs::create_dir(&tmp_dir)?;
    let mut argv = program(prefix, RunAs::Caller);
    let mut stdin = None;
    match scripts {
        None => argv.push("--initialize-insecure".into()),
        Some(scripts) => {
            fs::create_dir(data_dir.join("mysql"))?;
            let script = run_dir.join("bootstrap.sql");
            scripts.write(&prefix.layout.share_dir, &script)?;
            stdin = Some(script);
            argv.push("--bootstrap".into());
            argv.extend(scripts.options.iter().map(OsString::from));
            argv.extend(["--max-allowed-packet=8M", "--net-buffer-length=16K"].map(OsString::from));
        }
    }
    let usual = options.iter().filter(|option| !breaks_initialization(option));
    argv.extend(usual.map(OsString::from));
    argv.extend(directories(prefix, data_dir, &tmp_dir));
    Ok(Job { stdin, ..Job::new(argv, run_dir.join("log")) })
}

/// Options of sessions and of access. A server that creates its own tables obeys them, and then cannot write, cannot
/// commit, or ends its own statements.
const NOT_FOR_INITIALIZATION: [&str; 24] = [
    "autocommit",
    "completion_type",
    "disabled_storage_engines",
    "event_scheduler",
    "general_log",
    "init_connect",
    "init_file",
    "innodb_force_primary_key",
    "innodb_read_only",
    "lock_wait_timeout",
    "max_execution_time",
    "max_join_size",
    "max_statement_time",
    "offline_mode",
    "read_only",
    "require_secure_transport",
    "slow_query_log",
    "sql_mode",
    "sql_require_primary_key",
    "super_read_only",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
];

fn breaks_initialization(option: &str) -> bool {
    let name = option.trim_start_matches("--").split('=').next().unwrap_or_default();
    let name = variable(name);
    let prefixes = ["loose_", "skip_", "disable_", "enable_"];
    let bare =
        prefixes.iter().fold(name.as_str(), |name, it| name.strip_prefix(it).unwrap_or(name));
    NOT_FOR_INITIALIZATION.binary_search(&bare).is_ok()
}

impl Scripts {
    fn write(&self, share_dir: &Path, script: &Path) -> Result<(), Error> {
        let mut out = fs::File::create(script)?;
        out.write_all(self.before.as_bytes())?;
        for names in self.files {
            let mut paths = names.iter().map(|name| share_dir.join(name));
            if let Some(path) = paths.find(|path| path.exists()) {
                out.write_all(&fs::read(path)?)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(out.write_all(self.after.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_initialised_gets_no_options_of_sessions() {
        assert!(NOT_FOR_INITIALIZATION.windows(2).all(|pair| pair[0] < pair[1]));
        for option in [
            "--autocommit=OFF",
            "--skip-autocommit",
            "--loose-max-execution-time=1",
            "--sql-mode=ANSI",
            "--read_only",
        ] {
            assert!(breaks_initialization(option), "{option}");
        }
        for option in ["--innodb-page-size=4k", "--lower-case-table-names=1", "--skip-log-bin"] {
            assert!(!breaks_initialization(option), "{option}");
        }
    }
}
