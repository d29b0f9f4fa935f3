//! The command lines of studies on many machines.

use std::path::PathBuf;
use std::str::FromStr;

use assay_plan::Request;
use clap::{Arg, Args};
use clap_complete::engine::ArgValueCompleter;

use assay_command::args::{Asked, LedgerArg, Measuring, SYSTEMS, SYSTEMS_SHORT, ShapeArg};
use assay_command::candidates;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardNumber {
    /// From 1.
    pub number: u32,
    pub of: u32,
}

impl FromStr for ShardNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("a shard is its number and how many there are, such as `2/6`"),
        }
    }
}

/// `assay submit`.
#[derive(Debug, Args)]
#[command(after_help = SYSTEMS_SHORT, after_long_help = SYSTEMS)]
#[command(mut_args(of_submit))]
pub struct Submit {
    /// A study file, or the base and the systems to compare with it as in `assay compare`
    #[arg(required = true, value_name = "STUDY.toml|SYSTEM")]
    pub study: Vec<String>,

    /// Submit to Slurm, as one array job with a task for each node
    #[arg(long, required = true)]
    pub slurm: bool,

    /// Nodes to measure on, each a shard of the study [default: those that `sinfo` counts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,

    /// Print the files and the command, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Directory for the job, its logs and its ledgers, which all nodes share
    ///
    /// [default: `jobs` in the user's state directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Directory on each node's own disk for servers and their data, instead of the cache
    ///
    /// `sbcast` brings the servers there, and the loaded data that the cache has. A task removes the directory when it
    /// ends.
    #[arg(long, value_name = "DIR")]
    pub node_dir: Option<PathBuf>,

    #[command(flatten)]
    asked: Asked,

    #[command(flatten)]
    pub measuring: Measuring,

    /// Options of `sbatch`, such as `--partition=bench --time=2:00:00`
    #[arg(last = true, value_name = "SBATCH OPTION")]
    pub sbatch: Vec<String>,
}

/// `submit` shows no result, and its short help leaves out rarely used options.
fn of_submit(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "format" | "output" => option.hide(true),
        "threshold" | "twin" | "profile" | "terms" => option.hide_short_help(true),
        _ => option,
    }
}

impl Submit {
    pub fn request(&self, systems: &[String]) -> Request {
        self.asked.request(systems, &self.measuring)
    }
}

/// `assay collect`.
#[derive(Debug, Args)]
pub struct Collect {
    #[command(flatten)]
    pub shards: ShardsArg,

    #[command(flatten)]
    pub shape: ShapeArg,

    #[command(flatten)]
    pub ledger: LedgerArg,
}

/// `assay status`.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    pub shards: ShardsArg,

    #[command(flatten)]
    pub shape: ShapeArg,
}

/// Which study, and where its shards are.
#[derive(Debug, Args)]
pub struct ShardsArg {
    /// The study, or the beginning of its name [default: the one submitted last, or with `--dir` the only one there]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub study: Option<String>,

    /// Read the ledgers in this directory, or this ledger, instead of those of the job
    #[arg(long, value_name = "PATH")]
    pub dir: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_and_how_many_there_are() {
        assert_eq!("2/6".parse(), Ok(ShardNumber { number: 2, of: 6 }));
        for wrong in ["", "2", "0/6", "7/6", "2/", "/6", "2/6/1", "-1/6", "2/99999999999"] {
            assert!(wrong.parse::<ShardNumber>().is_err(), "{wrong}");
        }
    }
}
