//! Digest of a test's work: tests with equal digests do equal work.

use std::sync::Arc;

use assay_model::{
    Definition, Dialect, Engine, IbenchStep, Pacing, PerDialect, Product, Role, Schema, Setup,
    StatementMode, TableForm, Tpcc, Unit, UserData, UserRows,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::event::{Argument, EventBuf, Operation, ProgramClient};
use crate::ibench::{IbenchKeys, IbenchQueryText, IbenchRows, IbenchTable, RandomText};
use crate::program::EventProgram;
use crate::sbtest::{SbtestRow, create_table};
use crate::statement::ArgumentType;
use crate::tpcc::{TPCC_TABLES, TpccBatches, TpccClient, tpcc_procedures, tpcc_statements};

/// Rows, and events of one client, that enter the digest: enough to exercise every way of drawing.
const EXAMPLES: u32 = 16;
const SETUP: Setup = Setup { clients: 1, tables: 3, rows: 100_000 };

/// The digest of tables, rows, roles, statements and events, for both kinds of dialects, and of what is counted: 16
/// hexadecimal digits.
///
/// Only words written here enter it, so that it does not depend on the names of types. A user's workload is different:
/// its whole file enters it.
pub(crate) fn digest(definition: &Definition) -> String {
    let mut all = Sha256::new();
    all.update(match definition.unit {
        Unit::Query => "query\n",
        Unit::ThousandRows => "thousand-rows\n",
        Unit::InsertedRow => "inserted-row\n",
        Unit::IndexedRow => "indexed-row\n",
    });
    add_data(&definition.schema, &mut all);
    for (number, role) in definition.roles.iter().enumerate() {
        all.update(in_words(role));
        if matches!(definition.schema, Schema::Lua(_)) {
            continue;
        }
        if !role.script.mix.is_empty() {
            let mut mix = role.script.mix.clone();
            for kind in &mut mix {
                kind.logged = None;
                kind.captured.iter_mut().for_each(|it| it.file.path.clear());
            }
            all.update(json(&mix));
            continue;
        }
        if let Some(scratch) = &role.script.scratch {
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

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("definitions have only texts, numbers and lists")
}

fn in_words(role: &Role) -> String {
    let clients = role.clients.map_or("of the setup".to_owned(), |clients| clients.to_string());
    match role.pacing {
        Pacing::Closed => format!("clients {clients}, closed\n"),
        Pacing::Rate(rate) => format!("clients {clients}, {rate} events/s\n"),
    }
}

fn add_data(schema: &Schema, all: &mut Sha256) {
    match schema {
        Schema::Sbtest => {
            let form = TableForm::default();
            for dialect in Dialect::ALL {
                all.update(create_table(dialect, Engine::InnoDb, &form, 1));
            }
            for id in 1..=EXAMPLES {
                let SbtestRow { k, c, pad } = SbtestRow::new(1, 1, id, SETUP.rows);
                all.update(format!("\n{id} {k} "));
                all.update(c);
                all.update(pad);
            }
        }
        Schema::User(data) => add_user_data(data, all),
        Schema::Ibench(step) => add_queue(step, all),
        Schema::Lua(script) => all.update(script.work()),
        Schema::Tpcc(tpcc) => add_tpcc(tpcc, all),
    }
}

/// Everything about a user's tables except the paths of files. Samples would miss rare values.
fn add_user_data(data: &UserData, all: &mut Sha256) {
    let mut data = data.clone();
    data.name.clear();
    if let Some(PerDialect { mysql, postgres }) = &mut data.dump {
        mysql.iter_mut().chain(postgres).for_each(|dump| dump.file.path.clear());
    }
    for table in &mut data.tables {
        match &mut table.rows {
            UserRows::Csv { file, .. } => file.path.clear(),
            UserRows::Script(PerDialect { mysql, postgres }) => {
                mysql.iter_mut().chain(postgres).for_each(|file| file.path.clear());
            }
            UserRows::Generated { .. } => {}
        }
    }
    all.update(json(&data));
}

fn add_queue(step: &IbenchStep, all: &mut Sha256) {
    all.update(json(step));
    let text = RandomText::new(1);
    for dialect in Dialect::ALL {
        let table = IbenchTable::new(dialect, 1);
        let engine = Product::of_dialect(dialect).default_engine();
        let created = table.create(engine, &step.tables);
        let indexes = table.create_indexes(engine, step.tables.indexes);
        let reads = [table.lowest(), table.highest(), table.read_one()];
        for statement in created.iter().chain(&indexes).chain(&reads) {
            all.update(statement);
        }
        let rows = IbenchRows::new(&table, 1, "step", 1, Arc::clone(&text));
        let place = (1, "step", 1);
        let queries = step.queries;
        let queries =
            queries.map(|it| IbenchQueryText::new(&table, step.tables.indexes, it, place));
        let mut statement = Vec::new();
        for number in 0..u64::from(EXAMPLES) {
            rows.write(number, step.rows_per_statement(), "2026-05-01 12:00:00", &mut statement);
            all.update(&statement);
            table.delete(number, step.rows_per_statement(), &mut statement);
            all.update(&statement);
            if let Some(queries) = &queries {
                queries.write(number, IbenchKeys { lowest: 1, highest: 1000 }, &mut statement);
                all.update(&statement);
            }
        }
    }
}

/// The tables, the first rows, the statements or procedures, and the first inputs of two clients. The constants of the
/// non-uniform distributions follow from the seed.
fn add_tpcc(tpcc: &Tpcc, all: &mut Sha256) {
    all.update(json(tpcc));
    for dialect in Dialect::ALL {
        let engine = Product::of_dialect(dialect).default_engine();
        for table in &TPCC_TABLES {
            all.update(table.create(dialect, engine));
            all.update(table.create_index().unwrap_or_default());
        }
        match tpcc.procedures {
            true => tpcc_procedures(dialect).iter().for_each(|it| all.update(&it.create)),
            false => tpcc_statements(dialect).iter().for_each(|it| all.update(&it.sql)),
        }
    }
    all.update(TpccBatches::examples(EXAMPLES));
    for number in 0..2 {
        let mut client = TpccClient::new(1, tpcc.warehouses, number);
        for sequence in 0..10 * u64::from(EXAMPLES) {
            all.update(client.input(sequence).words());
        }
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
    use assay_model::{Test, TestSet};

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
            let of = |dialect| {
                [StatementMode::Prepared, StatementMode::Text]
                    .map(|mode| digest(dialect, test, mode))
            };
            let [mysql, postgres] = Dialect::ALL.map(of);
            assert_eq!(of(Dialect::MySql), mysql, "{test}");
            lines += &format!("{test} {} {}\n", mysql.join(" "), postgres.join(" "));
        }
        insta::assert_snapshot!(lines);
    }
}
