//! A real server, a control connection to ask it things, and the events a session will have sent.

use std::sync::Arc;

use assay_load::{Checksum, LoadReport, Session, Tables, Work, content, fill};
use assay_model::{DataSet, Engine, IdKey, Microbenchmark, Product, Setup, StatementMode};
use assay_testkit::TestServer;
use assay_wire::mysql::{ConnectOptions, Control};
use assay_workloads::{Argument, Client, EventBuf, Operation, Program, Row};

/// Seed of data and events in all tests.
pub(crate) const SEED: u64 = 11;

/// A server of its own, with an empty database.
pub(crate) struct Bed {
    pub(crate) options: ConnectOptions,
    pub(crate) control: Control,
    _server: TestServer,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::of_version("10.11")
    }

    pub(crate) fn of_version(version: &str) -> Self {
        let server = assay_testkit::mariadb_version(version, &[]);
        Self { options: server.connect_options(), control: server.connect(), _server: server }
    }

    pub(crate) fn load(&self, tables: u32, rows: u32, seed: u64) -> LoadReport {
        self.load_with(IdKey::Primary, tables, rows, seed)
    }

    pub(crate) fn load_with(&self, id_key: IdKey, tables: u32, rows: u32, seed: u64) -> LoadReport {
        let of = Tables {
            product: Product::MariaDb,
            engine: Engine::InnoDb,
            id_key,
            data: DataSet { tables, rows },
            seed,
        };
        fill(&self.options, &of, &mut |_| ()).unwrap()
    }

    /// What the tables hold.
    pub(crate) fn content(&self, tables: u32) -> Checksum {
        // The rows as loaded do not matter for what is there.
        let data = DataSet { tables, rows: 0 };
        content(&self.options, Product::MariaDb, data).unwrap()
    }

    pub(crate) fn open(&self, test: Microbenchmark, setup: Setup) -> Session {
        self.open_in(StatementMode::Prepared, test, setup)
    }

    pub(crate) fn open_in(
        &self,
        statements: StatementMode,
        test: Microbenchmark,
        setup: Setup,
    ) -> Session {
        self.try_open(statements, test, setup).unwrap()
    }

    pub(crate) fn try_open(
        &self,
        statements: StatementMode,
        test: Microbenchmark,
        setup: Setup,
    ) -> assay_load::Result<Session> {
        let work = Work { product: Product::MariaDb, test, setup, statements, seed: SEED };
        Session::open(&self.options, &work, None)
    }

    /// The rows of a query, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
        let set = self.control.query(sql).unwrap();
        set.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
    }

    /// The only number of a query.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        self.rows(sql)[0][0].parse().unwrap()
    }

    /// A counter of the whole server.
    pub(crate) fn status(&mut self, name: &str) -> u64 {
        self.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))[0][1].parse().unwrap()
    }

    pub(crate) fn sum(&mut self, tables: u32, expression: &str) -> i64 {
        (1..=tables)
            .map(|table| {
                self.number(&format!("SELECT COALESCE({expression}, 0) FROM sbtest{table}"))
            })
            .sum()
    }
}

pub(crate) fn test(name: &str) -> Microbenchmark {
    Microbenchmark::by_name(name).unwrap()
}

/// An operation that a session will send: its SQL pattern, its integers, and the table.
pub(crate) struct Sent {
    pub(crate) sql: String,
    pub(crate) numbers: Vec<i64>,
    pub(crate) table: u32,
}

/// The operations of a client's events.
pub(crate) fn sent(
    test: Microbenchmark,
    setup: Setup,
    client: u32,
    sequences: std::ops::Range<u64>,
) -> Vec<Sent> {
    let program = Arc::new(Program::new(Product::MariaDb, test, setup, StatementMode::Prepared));
    let client = Client::new(Arc::clone(&program), SEED, client);
    let mut event = EventBuf::default();
    let mut all = Vec::new();
    for sequence in sequences {
        client.write_event(sequence, 0, &mut event);
        for operation in event.operations() {
            let (statement, numbers) = match operation {
                Operation::Query { statement, .. } => (statement, Vec::new()),
                Operation::Execute { statement, arguments } => (
                    statement,
                    arguments
                        .filter_map(|argument| match argument {
                            Argument::Int(value) => Some(value),
                            Argument::Text(_) => None,
                        })
                        .collect(),
                ),
            };
            let sql = program.statements()[statement].sql.clone();
            let table = sql
                .split("sbtest")
                .nth(1)
                .and_then(|rest| rest.split(' ').next()?.parse().ok())
                .unwrap_or(0);
            all.push(Sent { sql, numbers, table });
        }
    }
    all
}

/// The values of `k` in a freshly loaded table.
pub(crate) fn loaded_k(table: u32, rows: u32) -> Vec<i64> {
    (1..=rows).map(|id| i64::from(Row::new(SEED, table, id, rows).k)).collect()
}
