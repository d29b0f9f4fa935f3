//! The statements of a test, each with the values of the first event that has it.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use assay_model::{Dialect, Sending};
use assay_wire::Connection;
use assay_workloads::sql::{is_control, only_reads, statements};
use assay_workloads::{Client, EventBuf, Operation, Program, Statement};

/// Events of a user's test that are looked at for its statements: some kinds of events are rare.
const EVENTS: u64 = 1000;

/// A statement of an event, with its values.
pub(super) struct Found<'a> {
    pub(super) statement: &'a Statement,
    pub(super) operation: Operation<'a>,
    /// What earlier statements of the event returned.
    pub(super) kept: &'a [Option<Vec<u8>>],
}

impl Found<'_> {
    /// The statement as text, with its values in it; `None` for an operation that has no text.
    pub(super) fn text(&self, dialect: Dialect) -> Option<String> {
        let mut text = Vec::new();
        match &self.operation {
            Operation::Query { sql, .. } => text.extend_from_slice(sql),
            Operation::Execute { arguments, .. } => {
                if self.statement.pieces.is_empty() && !self.statement.params.is_empty() {
                    return None;
                }
                let has_escapes = dialect.has_escapes();
                self.statement.push_text(has_escapes, arguments.clone(), self.kept, &mut text);
            }
            Operation::Sleep(_) | Operation::Pipeline(_) => return None,
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// What is done with each statement of a test: its number, and the statement with its values.
pub(super) type Act<'a, C> = dyn FnMut(&mut C, usize, &Found<'_>) -> Result<()> + 'a;

/// Does something with each statement of a test that works on rows, once, with the values of the first event that has
/// it. Statements whose results later ones need are executed, if they only read.
pub(super) fn walk<C>(
    dialect: Dialect,
    program: &Arc<Program>,
    seed: u64,
    (connection, wire): (&mut C, fn(&mut C) -> &mut Connection),
    act: &mut Act<'_, C>,
) -> Result<()> {
    let mut left: BTreeSet<usize> = (0..program.statements().len()).collect();
    let client = Client::new(Arc::clone(program), seed, 0);
    let mut event = EventBuf::default();
    let places = program.statements().iter().flat_map(|it| &it.keep);
    let places = places.max().map_or(0, |last| *last as usize + 1);
    for sequence in 0..if program.is_own() { EVENTS } else { 1 } {
        client.write_event(sequence, 0, &mut event);
        let mut kept: Vec<Option<Vec<u8>>> = vec![None; places];
        for operation in event.operations() {
            let Some(number) = operation.statement() else { continue };
            let Some(statement) = program.statements().get(number) else { continue };
            // `EXPLAIN` would explain the first of several statements, and the server would carry out the others.
            if statement.sending == Sending::Combined
                || statements(&statement.sql, dialect).len() > 1
            {
                left.remove(&number);
                continue;
            }
            let found = Found { statement, operation, kept: &kept };
            if left.remove(&number) && !is_control(&statement.sql, dialect) {
                act(connection, number, &found)?;
            }
            // A later statement would have another plan with NULL. What writes is not carried out for that.
            if !statement.keep.is_empty() && only_reads(&statement.sql, dialect) {
                let Some(sql) = found.text(dialect) else { continue };
                let row = match wire(connection).query(&sql) {
                    Ok(found) => found.rows.into_iter().next().unwrap_or_default(),
                    // It may need what was not carried out, such as the number of an inserted row.
                    Err(error) if error.server_code().is_some() => continue,
                    Err(error) => return Err(error.into()),
                };
                for (place, value) in statement.keep.iter().zip(row) {
                    kept[*place as usize] = value;
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}
