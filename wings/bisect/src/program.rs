//! The user's program to run on a finding.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use assay_model::NamedVersion;

use super::page::VersionStep;
use assay_run::advice::HintedError;

/// Refuses a program that cannot be run, before anything is measured.
pub fn check_program(program: Option<&str>) -> Result<()> {
    let Some(program) = program else { return Ok(()) };
    let name = program.split_whitespace().next().unwrap_or_default();
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = match name {
        "" => false,
        name if name.contains('/') => is_program(Path::new(name)),
        name => std::env::split_paths(&path).any(|folder| is_program(&folder.join(name))),
    };
    if !is_there {
        bail!(HintedError::new(
            format!("`--run-on-found`: there is no program `{name}`"),
            "name an executable file by its path, or a program in one of the directories of PATH"
        ));
    }
    Ok(())
}

/// Makes the path of a program absolute.
pub(super) fn from_anywhere(program: &str) -> String {
    let (name, words) = program.trim().split_once(' ').unwrap_or((program.trim(), ""));
    let path = Some(name).filter(|name| name.contains('/'));
    let path = path.and_then(|name| std::path::absolute(name).ok());
    let name = path.map_or_else(|| name.to_owned(), |path| path.display().to_string());
    format!("{name} {words}").trim_end().to_owned()
}

pub struct FoundChange<'a> {
    pub search: &'a str,
    pub test: &'a str,
    pub version: &'a NamedVersion,
    pub after: Option<&'a NamedVersion>,
    pub step: VersionStep,
}

impl FoundChange<'_> {
    /// Runs the program, which gets the change in its environment.
    pub fn run(&self, program: &str) -> Result<()> {
        let mut words = program.split_whitespace();
        let name = words.next().context("`--run-on-found` names no program")?;
        let environment = [
            ("ASSAY_SEARCH", self.search.to_owned()),
            ("ASSAY_TEST", self.test.to_owned()),
            ("ASSAY_VERSION", self.version.words.clone()),
            ("ASSAY_AFTER", self.after.map(|it| it.words.clone()).unwrap_or_default()),
            ("ASSAY_TITLE", self.version.title.clone().unwrap_or_default()),
            ("ASSAY_RATIO", self.step.ratio.value.to_string()),
            ("ASSAY_PROBABILITY", self.step.probability.to_string()),
        ];
        // stdout is for the result.
        let mut command = Command::new(name);
        command
            .args(words)
            .envs(environment)
            .env_remove("ASSAY_PASSWORD")
            .stdout(std::io::stderr());
        let status = command.status().with_context(|| format!("cannot run `{name}`"))?;
        anyhow::ensure!(status.success(), "`{name}` failed: {status}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_run_is_refused() {
        for fine in [None, Some("sh -c true"), Some("/bin/sh")] {
            assert!(check_program(fine).is_ok(), "{fine:?}");
        }
        assert_eq!(from_anywhere("/bin/sh -c true"), "/bin/sh -c true");
        assert_eq!(from_anywhere(" sh"), "sh");
        assert!(from_anywhere("./ticket 1").ends_with("/ticket 1"));
        assert!(from_anywhere("./ticket").starts_with('/'));
        for wrong in
            ["", " ", "/nowhere/ticket 1", "no-such-program-of-assay", "/etc/passwd", "/tmp"]
        {
            let refused = check_program(Some(wrong)).unwrap_err();
            assert!(!assay_command::errors::hints(&refused).is_empty(), "{wrong}");
        }
    }
}
