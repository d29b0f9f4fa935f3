//! Parser of pgbench scripts.

mod builtin;
mod commands;
mod expression;
mod reader;
mod state;
mod variables;

use assay_model::limits::user::{SCALE, STEPS, VARIABLES};
use assay_model::{Transaction, UserTable};
use assay_options::whole;
use clap::Args;

use self::state::ScriptState;
use crate::document::{FileFault, FileResult};

pub use builtin::{PGBENCH_SCRIPTS, pgbench_script};
pub(crate) use variables::script_variable;

const BYTES_MAX: usize = 16 << 20;

/// Options for the scripts of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[group(skip)]
pub struct ScriptOptions {
    /// Scale factor of the tables of pgbench scripts [default: 1]
    #[arg(long, value_name = "N", value_parser = whole(SCALE))]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub scale: Option<u32>,

    /// Define a variable for pgbench scripts
    #[arg(long, short = 'D', value_name = "NAME=VALUE", value_parser = script_variable)]
    #[arg(hide_short_help = true)]
    pub define: Vec<String>,
}

impl ScriptOptions {
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { scale: Some(_), .. } => Some("--scale"),
            Self { define, .. } => (!define.is_empty()).then_some("--define"),
        }
    }
}

pub(super) struct PgbenchScript {
    pub(super) transaction: Transaction,
    pub(super) is_write: bool,
    /// Whether its statements name a table made by `pgbench -i`.
    pub(super) names_tables: bool,
}

pub(super) fn read(
    name: &str,
    text: &str,
    weight: f64,
    options: &ScriptOptions,
) -> FileResult<PgbenchScript> {
    if text.len() > BYTES_MAX {
        return Err(FileFault::of_file(format!("a script may have at most {BYTES_MAX} bytes")));
    }
    let known = variables::given(scale_of(options), &options.define);
    let script = reader::read(text, known);
    let ScriptState { variables, steps, is_write, names_tables, faults, .. } = script;
    if let Some(fault) = FileFault::of_all(faults) {
        return Err(fault);
    }
    let transaction = Transaction {
        name: name.to_owned(),
        weight,
        variables,
        steps,
        captured: None,
        session: Vec::new(),
        logged: None,
    };
    if transaction.statements() == 0 {
        return Err(FileFault::of_file("the script has no statement"));
    }
    debug_assert!(transaction.steps.len() <= STEPS && transaction.variables.len() <= VARIABLES);
    if transaction.most_pause_us() > commands::SLEEP_MAX_US as u64 {
        return Err(FileFault::of_file("the pauses of a script may last 60 seconds in all"));
    }
    Ok(PgbenchScript { transaction, is_write, names_tables })
}

pub(super) fn tables(options: &ScriptOptions) -> Vec<UserTable> {
    builtin::tables(scale_of(options))
}

fn scale_of(options: &ScriptOptions) -> u32 {
    options.scale.unwrap_or(1)
}
