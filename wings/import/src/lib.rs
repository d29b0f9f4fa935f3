//! `assay import`: turns results of other tools into studies of the ledger.

mod arguments;
mod common;
mod data_sets;
mod ledger;
mod mytools;
mod raw;
mod sysbench;
mod systems;
mod unread;

use std::path::Path;

use anyhow::Result;

use arguments::ImportCommand;
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, Group};

pub use arguments::Import;

impl Arguments for Import {
    const NAME: &'static str = "import";
    const ABOUT: &'static str = "Add results that other tools have published to the ledger";
    const GROUP: Group = Group::Share;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        match &self.command {
            ImportCommand::Mytools(args) => mytools::run(args),
            ImportCommand::Sysbench(args) => sysbench::run(args),
            ImportCommand::Ledger(args) => ledger::run(args),
        }
    }
}
