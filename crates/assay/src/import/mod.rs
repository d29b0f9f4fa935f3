//! `assay import`: turns results of other tools into studies of the ledger.

mod common;
mod data_sets;
mod ledger;
mod mytools;
mod raw;
mod sysbench;
mod systems;
mod unread;

use anyhow::Result;

pub(crate) use common::published_id;

use crate::cli::ImportCommand;
use crate::exit::Exit;

pub(crate) fn run(command: &ImportCommand) -> Result<Exit> {
    match command {
        ImportCommand::Mytools(args) => mytools::run(args),
        ImportCommand::Sysbench(args) => sysbench::run(args),
        ImportCommand::Ledger(args) => ledger::run(args),
    }
}
