//! Digest of a test's work: tests with equal digests do equal work.

use std::sync::Arc;

use assay_model::{Definition, Dialect, Pacing, Renewal, Role, StatementMode, Unit};
use sha2::{Digest, Sha256};

use crate::event::{Argument, EventBuf, Operation, ProgramClient};
use crate::program::EventProgram;
use crate::statement::ArgumentType;
use crate::workload::{EXAMPLES, SETUP, definition_of, json};

/// The digest of tables, rows, roles, statements and events, for both kinds of dialects, and of what is counted: 16
/// hexadecimal digits.
///
/// Only words written in this crate enter it, so that it does not depend on the names of types. A user's workload is
/// different: its whole file enters it.
pub(crate) fn digest(definition: &Definition) -> String {
    let mut all = Sha256::new();
    all.update(match definition.unit {
        Unit::Query => "query\n",
        Unit::ThousandRows => "thousand-rows\n",
        Unit::InsertedRow => "inserted-row\n",
        Unit::IndexedRow => "indexed-row\n",
    });
    definition_of(&definition.schema).add_data(&mut all);
    for (number, role) in definition.roles.iter().enumerate() {
        all.update(in_words(role));
        if !role.script.mix.is_empty() {
            let mut mix = role.script.mix.clone();
            for kind in &mut mix {
                kind.logged = None;
                kind.captured.iter_mut().for_each(|it| it.file.path.clear());
            }
            all.update(json(&mix));
            continue;
        }
        for scratch in &role.script.scratch {
            all.update(json(scratch));
        }
        for dialect in Dialect::ALL {
            let program =
                EventProgram::of_role(definition, number, dialect, SETUP, StatementMode::Prepared);
            add_events(Arc::new(program), &mut all);
        }
    }
    let mut text = hex::encode(all.finalize());
    text.truncate(16);
    text
}

fn in_words(role: &Role) -> String {
    let clients = role.clients.map_or("of the setup".to_owned(), |clients| clients.to_string());
    match role.pacing {
        Pacing::Closed => format!("clients {clients}, closed\n"),
        Pacing::Rate(rate) => format!("clients {clients}, {rate} events/s\n"),
    }
}

fn add_events(program: Arc<EventProgram>, all: &mut Sha256) {
    for statement in program.statements() {
        all.update(match statement.mode {
            StatementMode::Prepared => "\nprepared ",
            StatementMode::Extended => "\nextended ",
            StatementMode::Text => "\ntext ",
        });
        all.update(&statement.sql);
        for param in &statement.params {
            all.update(match param {
                ArgumentType::Int => " int",
                ArgumentType::Text => " text",
                ArgumentType::Inferred => " inferred",
            });
        }
        if let Some(renewal) = statement.renews {
            all.update(match renewal {
                Renewal::Statement => " anew",
                Renewal::Connection => " on a new connection",
            });
        }
    }
    // One event that adds many rows is enough.
    let examples = if program.adds_rows() { 1 } else { EXAMPLES };
    let client = ProgramClient::new(program, 1, 1);
    let mut event = EventBuf::default();
    for sequence in 0..u64::from(examples) {
        client.write_event(sequence, 0, &mut event);
        add_event(&event, all);
    }
}

fn add_event(event: &EventBuf, all: &mut Sha256) {
    for operation in event.operations() {
        match operation {
            Operation::Query { statement, sql } => {
                all.update(format!("\n{statement} "));
                all.update(sql);
            }
            Operation::Execute { statement, arguments } => {
                all.update(format!("\n{statement} "));
                arguments.for_each(|argument| match argument {
                    Argument::Int(value) => all.update(format!("{value} ")),
                    Argument::Text(text) | Argument::Bare(text) => all.update(text),
                    Argument::Null => all.update("null "),
                    Argument::Raw(sql) => all.update(sql),
                    Argument::Kept(place) => all.update(format!("kept {place} ")),
                });
            }
            Operation::Sleep(time) => all.update(format!("\nsleep {} us", time.as_micros())),
            Operation::Pipeline(mark) => all.update(format!("\npipeline {mark:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Setup, Test, TestSet};

    use super::*;
    use crate::tests_of;

    fn digest(dialect: Dialect, test: Test, mode: StatementMode) -> String {
        let setup = Setup { clients: 4, tables: 3, rows: 100_000 };
        let program = Arc::new(EventProgram::new(dialect, test, setup, mode));
        let mut all = Sha256::new();
        for statement in program.statements() {
            all.update(format!("{:?} {:?} {}\n", statement.mode, statement.params, statement.sql));
        }
        let client = ProgramClient::new(program, 1, 1);
        let mut event = EventBuf::default();
        for sequence in 0..1000 {
            client.write_event(sequence, 0, &mut event);
            add_event(&event, &mut all);
            all.update("\n\n");
        }
        hex::encode(&all.finalize()[..8])
    }

    /// If a digest changes, so does the work.
    #[test]
    fn what_is_sent_is_what_was_sent() {
        let mut lines = String::new();
        for test in tests_of(TestSet::Set47) {
            let digests = |dialect| {
                [StatementMode::Prepared, StatementMode::Text]
                    .map(|mode| digest(dialect, test, mode))
            };
            let [mysql, postgres] = Dialect::ALL.map(digests);
            assert_eq!(digests(Dialect::MySql), mysql, "{test}");
            lines += &format!("{test} {} {}\n", mysql.join(" "), postgres.join(" "));
        }
        insta::assert_snapshot!(lines);
    }
}
