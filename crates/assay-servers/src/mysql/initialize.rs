//! Creates a data directory: with the server itself, or with the SQL scripts that come with it.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use assay_model::{Prefix, Product};
use assay_terms::version_number;
use fs_err as fs;

use super::{directories, program};
use crate::error::Error;
use crate::supervise::{Job, RunAs};

/// How a version creates its system tables. The vendors' programs for it are shell or Perl scripts, which are not run.
enum Way {
    /// The server does it by itself.
    Itself,
    /// The server reads scripts from its standard input.
    Scripts(Scripts),
}

/// The input of a bootstrapping server, one statement per line, since it reads each line as one statement.
struct Scripts {
    before: &'static str,
    /// Files of the share directory in order, each with its new and its old name. Not every version has all of them.
    /// Help texts are left out.
    files: &'static [[&'static str; 2]],
    after: &'static str,
    /// Options besides `--bootstrap`.
    options: &'static [&'static str],
}

const MARIADB: Scripts = Scripts {
    before: "create database if not exists mysql;
use mysql;
SET @auth_root_socket=NULL;
SET @skip_auth_anonymous=1;
",
    files: &[
        ["mariadb_system_tables.sql", "mysql_system_tables.sql"],
        ["mariadb_performance_tables.sql", "mysql_performance_tables.sql"],
        ["mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"],
        ["maria_add_gis_sp_bootstrap.sql", "maria_add_gis_sp_bootstrap.sql"],
        ["mariadb_sys_schema.sql", "mysql_sys_schema.sql"],
    ],
    after: "",
    options: &["--enforce-storage-engine="],
};

const MYSQL: Scripts = Scripts {
    before: "use mysql;\n",
    files: &[
        ["mysql_system_tables.sql", "mysql_system_tables.sql"],
        ["mysql_system_tables_data.sql", "mysql_system_tables_data.sql"],
    ],
    // These users let anybody in without a password.
    after: "DELETE FROM mysql.user WHERE User='';\n",
    options: &["--default-storage-engine=myisam"],
};

impl Way {
    fn of(prefix: &Prefix) -> Self {
        match prefix.product {
            Product::MySql if version_number(&prefix.version) >= (5, 7, 6) => Self::Itself,
            Product::MySql => Self::Scripts(MYSQL),
            _ => Self::Scripts(MARIADB),
        }
    }
}

/// The job that makes an empty data directory. `options` are those that servers on it will run with.
pub(crate) fn initialize_job(
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
    match Way::of(prefix) {
        Way::Itself => argv.push("--initialize-insecure".into()),
        Way::Scripts(scripts) => {
            fs::create_dir(data_dir.join("mysql"))?;
            let script = run_dir.join("bootstrap.sql");
            scripts.write(&prefix.layout.share_dir, &script)?;
            stdin = Some(script);
            argv.push("--bootstrap".into());
            argv.extend(scripts.options.iter().map(OsString::from));
            argv.extend(["--max-allowed-packet=8M", "--net-buffer-length=16K"].map(OsString::from));
        }
    }
    argv.extend(options.iter().map(OsString::from));
    argv.extend(directories(prefix, data_dir, &tmp_dir));
    Ok(Job { stdin, ..Job::new(argv, run_dir.join("log")) })
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
