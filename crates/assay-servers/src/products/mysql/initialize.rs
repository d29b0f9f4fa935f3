//! Creates a data directory: with the server itself, or with the SQL scripts that come with it. The vendors' programs
//! for it are shell or Perl scripts, which are not run.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use assay_model::Prefix;
use fs_err as fs;

use super::command_line::{directories, program};
use crate::error::Error;
use crate::supervise::{Job, RunAs};

/// The input of a bootstrapping server, one statement per line, since it reads each line as one statement.
pub(crate) struct Scripts {
    pub(crate) before: &'static str,
    /// Files of the share directory in order, each with its new and its old name. Not every version has all of them.
    /// Help texts are left out.
    pub(crate) files: &'static [[&'static str; 2]],
    pub(crate) after: &'static str,
    /// Options besides `--bootstrap`.
    pub(crate) options: &'static [&'static str],
}

/// The scripts of versions that do not make the tables by themselves.
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

/// The job that makes an empty data directory. `options` are those that servers on it will run with.
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
