//! Packs: one file with a study, its reports and their digests. `assay pack` writes it, and `assay verify` recomputes
//! everything in it.

mod arguments;
mod differences;
mod pack;
mod personal;
mod render;
mod verify;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, Group};

pub use arguments::{PackArgs, VerifyArgs};
pub use pack::is_packed;

impl Arguments for PackArgs {
    const NAME: &'static str = "pack";
    const ABOUT: &'static str =
        "Write a study, its reports and their digests to one file, without personal paths";
    const GROUP: Group = Group::Share;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        pack::pack(self, cache_dir)
    }
}

impl Arguments for VerifyArgs {
    const NAME: &'static str = "verify";
    const ABOUT: &'static str =
        "Compute every verdict of a pack or ledger again, and compare it with the record";
    const GROUP: Group = Group::Share;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        verify::verify(self)
    }
}
