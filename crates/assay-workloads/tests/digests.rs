//! Pins the work of every test: if a digest changes, so does the work.

use std::sync::Arc;

use assay_model::{Product, Setup, StatementMode, Test};
use assay_workloads::{Argument, Client, EventBuf, Operation, Program, all_tests};
use sha2::{Digest, Sha256};

/// The digest of the first 1,000 events of client 1, with every statement and the mode that it is sent in.
fn digest(product: Product, test: Test, mode: StatementMode) -> String {
    let setup = Setup { clients: 4, tables: 3, rows: 100_000 };
    let program = Arc::new(Program::new(product, test, setup, mode));
    let mut all = Sha256::new();
    for statement in program.statements() {
        all.update(format!("{:?} {:?} {}\n", statement.mode, statement.params, statement.sql));
    }
    let client = Client::new(Arc::clone(&program), 1, 1);
    let mut event = EventBuf::default();
    for sequence in 0..1000 {
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
        all.update("\n\n");
    }
    all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_is_sent_is_what_was_sent() {
    let mut lines = String::new();
    for test in all_tests().iter().copied() {
        let of = |product| {
            [StatementMode::Prepared, StatementMode::Text].map(|mode| digest(product, test, mode))
        };
        let [mysql, postgres] = [Product::MySql, Product::Postgres].map(of);
        assert_eq!(of(Product::MariaDb), mysql, "{test}");
        lines += &format!("{test} {} {}\n", mysql.join(" "), postgres.join(" "));
    }
    insta::assert_snapshot!(lines);
}
