//! `assay completions` and `assay man`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `assay completions`.
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

/// `assay man`.
#[derive(Debug, Args)]
pub(crate) struct ManPages {
    /// The directory to write the pages to
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
