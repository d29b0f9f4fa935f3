//! `assay completions`: shell completion scripts, and the manual pages.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_command::exit::Exit;
use assay_command::report::write_stdout;
use assay_command::verb::{Arguments, CommandGroup};
use clap::{Args, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::{EnvCompleter, Fish, Shells, Zsh};

#[derive(Debug, Args)]
#[command(after_help = "\
The script asks assay itself what fits, so it knows the systems, tests and studies of this machine. To install it:
  bash  assay completions bash > ~/.local/share/bash-completion/completions/assay
  zsh   assay completions zsh > DIR/_assay, where DIR is in $fpath
  fish  assay completions fish > ~/.config/fish/completions/assay.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// A shell that completes words of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Bash 4 or later
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct ManPages {
    /// The directory to write the pages to
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

impl Arguments for Completions {
    const NAME: &'static str = "completions";
    const ABOUT: &'static str =
        "Print a script with which a shell completes systems, tests, studies and options";
    const GROUP: CommandGroup = CommandGroup::Other;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let shell: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &Bash,
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
        };
        let mut script = Vec::new();
        shell.write_registration(VARIABLE, "assay", "assay", "assay", &mut script)?;
        write_stdout(&String::from_utf8(script).context("the script is no text")?)?;
        Ok(Exit::Done)
    }
}

impl Arguments for ManPages {
    const NAME: &'static str = "man";
    const ABOUT: &'static str = "Write the pages of the manual";
    const GROUP: CommandGroup = CommandGroup::Hidden;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        fs_err::create_dir_all(&self.directory)?;
        let cannot = || format!("cannot write pages to `{}`", self.directory.display());
        clap_mangen::generate_to(assay_command::verb::root(), &self.directory)
            .with_context(cannot)?;
        Ok(Exit::Done)
    }
}

const VARIABLE: &str = "COMPLETE";

const SHELLS: Shells<'_> = Shells(&[&Bash, &Zsh, &Fish]);

/// Answers a shell that asks for completions; `false` if none does.
pub(crate) fn answered() -> Result<bool> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let asked = CompleteEnv::with_factory(assay_command::verb::root).var(VARIABLE).shells(SHELLS);
    let here = std::env::current_dir().ok();
    Ok(asked.try_complete(std::env::args_os(), here.as_deref())?)
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
