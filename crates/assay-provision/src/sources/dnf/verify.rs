//! Signatures of indexes and packages, checked by `gpg` and `rpmkeys` against a repository's keys, in private
//! databases.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::machine::Repository;
use crate::error::Error;
use crate::programs;

pub(super) struct Keys<'a> {
    repository: &'a Repository,
    files: Vec<PathBuf>,
    place: TempDir,
}

impl<'a> Keys<'a> {
    pub(super) fn of(repository: &'a Repository) -> Result<Self, Error> {
        let files = repository.key_files();
        let place = tempfile::Builder::new().prefix("assay-keys-").tempdir()?;
        for directory in ["gpg", "rpm"] {
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(place.path().join(directory))?;
        }
        Ok(Self { repository, files, place })
    }

    /// Reports an unreadable key. Otherwise, the error would blame the signature.
    fn imported(&self, key: &Path, output: &Output) -> Result<(), Error> {
        if output.status.success() {
            return Ok(());
        }
        let what = format!("key `{}` of repository `{}`", key.display(), self.repository.id);
        Err(Error::malformed(what, String::from_utf8_lossy(&output.stderr).trim()))
    }

    pub(super) fn check_index(
        &self,
        release: &str,
        index: &Path,
        signature: &Path,
    ) -> Result<(), Error> {
        let home = self.place.path().join("gpg");
        let gpg = |arguments: &[&Path]| {
            let mut command = Command::new("gpg");
            command.arg("--homedir").arg(&home).args([
                "--batch",
                "--no-autostart",
                "--status-fd=1",
            ]);
            output(command.args(arguments), "gpg", "gnupg")
        };
        for key in &self.files {
            self.imported(key, &gpg(&[Path::new("--import"), key])?)?;
        }
        let output = gpg(&[Path::new("--verify"), signature, index])?;
        let said = String::from_utf8_lossy(&output.stdout);
        // gpg accepts a signature by an expired key, but it is not `GOODSIG`.
        let is_good = said.lines().any(|line| line.starts_with("[GNUPG:] GOODSIG "));
        if output.status.success() && is_good {
            return Ok(());
        }
        let detail =
            format!("the index of repository `{}` has no valid signature", self.repository.id);
        let hint =
            "update the package that has the keys of the distribution, such as `fedora-gpg-keys`";
        Err(Error::UnverifiedIndex { release: release.to_owned(), detail, hint })
    }

    /// Keys that are not in files must be in the machine's database, where their user has put them.
    pub(super) fn check_packages(&self, release: &str, packages: &[PathBuf]) -> Result<(), Error> {
        let rpmkeys = || {
            let mut command = Command::new("rpmkeys");
            if !self.files.is_empty() {
                command.arg("--dbpath").arg(self.place.path().join("rpm"));
            }
            command
        };
        for key in &self.files {
            let imported = output(rpmkeys().arg("--import").arg(key), "rpmkeys", "rpm")?;
            self.imported(key, &imported)?;
        }
        for package in packages {
            let mut command = rpmkeys();
            // Otherwise, a package without a signature passes.
            command.args(["--define", "_pkgverify_level all", "--checksig"]).arg(package);
            let output = output(&mut command, "rpmkeys", "rpm")?;
            let said = String::from_utf8_lossy(&output.stdout);
            // The line begins with the file name, which may contain any words.
            let said = said.replace(&package.display().to_string(), "");
            // Faults are in capitals. Older programs use the second word.
            let is_signed = said.contains(" signatures OK") || said.contains(" pgp ");
            if !output.status.success() || !is_signed {
                let name = package.file_name().unwrap_or_default().display();
                let repository = &self.repository.id;
                let detail =
                    format!("package `{name}` of repository `{repository}` has no valid signature");
                return Err(Error::Altered { release: release.to_owned(), detail });
            }
        }
        Ok(())
    }
}

fn output(
    command: &mut Command,
    program: &'static str,
    package: &'static str,
) -> Result<Output, Error> {
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    programs::output(command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::ClientMissing { program, package },
        _ => Error::Io(error),
    })
}
