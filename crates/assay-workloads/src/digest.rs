//! What a test sends, in a few characters: tests with equal digests do equal work.

use std::fmt::Write as _;
use std::sync::Arc;

use assay_model::{Definition, Engine, IdKey, Product, Setup, StatementMode};
use sha2::{Digest, Sha256};

use crate::event::{Argument, Client, EventBuf, Operation};
use crate::program::Program;
use crate::rows::Row;
use crate::schema::create_table;

/// Events of one client whose content is part of the digest: enough to meet every way of drawing.
const EVENTS: u64 = 16;
/// Data that their parameters are drawn over.
const SETUP: Setup = Setup { clients: 1, tables: 3, rows: 100_000 };

/// The digest of tables, the first rows, statements, pacing and the first events, for both kinds of products: 16
/// hexadecimal digits.
pub(crate) fn digest(definition: &Definition) -> String {
    let mut all = Sha256::new();
    for (number, role) in definition.roles.iter().enumerate() {
        all.update(format!("{:?} {:?} {:?}\n", definition.schema, role.clients, role.pacing));
        for product in [Product::MySql, Product::Postgres] {
            let program =
                Program::of_role(definition, number, product, SETUP, StatementMode::Prepared);
            add_events(Arc::new(program), &mut all);
            let tables = create_table(product, Engine::InnoDb, IdKey::Primary, 1);
            all.update(tables.join("\n"));
        }
    }
    for id in 1..=EVENTS as u32 {
        all.update(format!("{:?}\n", Row::new(1, 1, id, SETUP.rows)));
    }
    all.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn add_events(program: Arc<Program>, all: &mut Sha256) {
    for statement in program.statements() {
        all.update(format!("{:?} {:?} {}\n", statement.mode, statement.params, statement.sql));
    }
    let client = Client::new(program, 1, 1);
    let mut event = EventBuf::default();
    for sequence in 0..EVENTS {
        client.write_event(sequence, 0, &mut event);
        for operation in event.operations() {
            all.update(format!("\n{} ", operation.statement()));
            match operation {
                Operation::Query { sql, .. } => all.update(sql),
                Operation::Execute { arguments, .. } => {
                    arguments.for_each(|argument| match argument {
                        Argument::Int(value) => all.update(format!("{value} ")),
                        Argument::Text(text) => all.update(text),
                    })
                }
            }
        }
    }
}
