//! `assay completions`: shell completion scripts, and the manual pages.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Fish, Shells, Zsh};

use crate::cli::{self, Completions, ManPages, Shell};
use crate::exit::Exit;
use crate::report::write_stdout;

const VARIABLE: &str = "COMPLETE";

const SHELLS: Shells<'_> = Shells(&[&Bash, &Zsh, &Fish]);

/// Answers a shell that asks for completions; `false` if none does.
pub(crate) fn answered() -> Result<bool> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let asked = CompleteEnv::with_factory(cli::command).var(VARIABLE).shells(SHELLS);
    let here = std::env::current_dir().ok();
    Ok(asked.try_complete(std::env::args_os(), here.as_deref())?)
}

pub(crate) fn run(args: &Completions) -> Result<Exit> {
    let shell: &dyn EnvCompleter = match args.shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "assay", "assay", "assay", &mut script)?;
    write_stdout(&String::from_utf8(script).context("the script is no text")?)?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManPages) -> Result<Exit> {
    fs_err::create_dir_all(&args.directory)?;
    let cannot = || format!("cannot write pages to `{}`", args.directory.display());
    clap_mangen::generate_to(cli::command(), &args.directory).with_context(cannot)?;
    Ok(Exit::Done)
}

/// Bash, which by default ends words at `@`, `=` and `:`. Systems have all three.
struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        variable: &str,
        name: &str,
        program: &str,
        completer: &str,
        to: &mut dyn io::Write,
    ) -> io::Result<()> {
        let script = include_str!("completions.bash")
            .replace("VARIABLE", variable)
            .replace("NAME", name)
            .replace("COMPLETER", completer)
            .replace("PROGRAM", program);
        to.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        to: &mut dyn io::Write,
    ) -> io::Result<()> {
        let last = words.len().saturating_sub(1);
        for candidate in clap_complete::engine::complete(command, words, last, directory)? {
            writeln!(to, "{}", candidate.get_value().to_string_lossy())?;
        }
        Ok(())
    }
}
