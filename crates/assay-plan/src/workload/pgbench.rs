//! Parser of pgbench scripts.

mod branches;
mod builtin;
mod commands;
mod expression;
mod functions;
mod known;
mod reader;
mod results;
mod sets;
mod state;
mod statements;
mod tables;

use assay_model::limits::user::{STEPS, VARIABLES};
use assay_model::{Transaction, UserTable};

use self::state::Script;
use super::options::ScriptOptions;
use crate::document::Fault;

pub use builtin::{PGBENCH_SCRIPTS, pgbench_script};
pub use known::script_variable;

const BYTES_MAX: usize = 16 << 20;

pub(super) struct Read {
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
) -> Result<Read, Fault> {
    if text.len() > BYTES_MAX {
        return Err(Fault::of_file(format!("a script may have at most {BYTES_MAX} bytes")));
    }
    let known = known::given(scale_of(options), &options.define);
    let script = reader::read(text, known);
    let Script { variables, steps, is_write, names_tables, faults, .. } = script;
    if let Some(fault) = Fault::of_all(faults) {
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
        return Err(Fault::of_file("the script has no statement"));
    }
    debug_assert!(transaction.steps.len() <= STEPS && transaction.variables.len() <= VARIABLES);
    if transaction.most_pause_us() > sets::SLEEP_MAX_US as u64 {
        return Err(Fault::of_file("the pauses of a script may last 60 seconds in all"));
    }
    Ok(Read { transaction, is_write, names_tables })
}

pub(super) fn tables(options: &ScriptOptions) -> Vec<UserTable> {
    tables::tables(scale_of(options))
}

fn scale_of(options: &ScriptOptions) -> u32 {
    options.scale.unwrap_or(1)
}
