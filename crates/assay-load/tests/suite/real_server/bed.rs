//! A database of a real server with a control connection, and the expected events of a session.

use std::sync::Arc;

use assay_load::{ClientSession, ClientWork, LoadReport, TableContent, Tables, content, fill};
use assay_model::{DataSet, Dialect, Product, Setup, StatementMode, TableForm, Test};
use assay_testkit::{TestServer, database};
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::{
    Argument, EventBuf, EventProgram, Operation, ProgramClient, SbtestRow, test_by_name,
};

pub(crate) const SEED: u64 = 11;

pub(crate) struct Bed {
    pub(crate) options: ConnectOptions,
    pub(crate) control: Connection,
    product: Product,
    /// `None` for a server that all tests share.
    _server: Option<TestServer>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::shared(Product::MariaDb, "10.11")
    }

    /// An empty database on a server that other tests use at the same time.
    pub(crate) fn shared(product: Product, version: &str) -> Self {
        let database = database(product, version);
        let (options, control) = (database.connect_options(), database.connect());
        Self { options, control, product, _server: None }
    }

    /// For a test that reads counters of the whole server or sets its variables.
    pub(crate) fn alone(product: Product, version: &str) -> Self {
        Self::alone_with(product, version, &[])
    }

    pub(crate) fn alone_with(product: Product, version: &str, options: &[&str]) -> Self {
        let server = assay_testkit::start(product, version, options);
        let (options, control) = (server.connect_options(), server.connect());
        Self { options, control, product, _server: Some(server) }
    }

    pub(crate) fn database(&self) -> &str {
        self.options.database.as_deref().unwrap()
    }

    /// Loads tables in the usual form.
    pub(crate) fn load(&self, tables: u32, rows: u32, seed: u64) -> LoadReport {
        self.load_in_form(&self.tables(DataSet { tables, rows }, seed))
    }

    pub(crate) fn tables(&self, data: DataSet, seed: u64) -> Tables {
        let (dialect, engine) = (self.product.dialect(), self.product.default_engine());
        Tables { dialect, engine, form: TableForm::default(), data, seed }
    }

    pub(crate) fn load_in_form(&self, tables: &Tables) -> LoadReport {
        fill(&self.options, tables, &mut |_| ()).unwrap()
    }

    pub(crate) fn content(&self, data: DataSet) -> TableContent {
        content(&self.options, self.product.dialect(), data).unwrap()
    }

    pub(crate) fn open(&self, test: Test, setup: Setup) -> ClientSession {
        self.open_as(test, setup, StatementMode::Prepared)
    }

    pub(crate) fn open_as(
        &self,
        test: Test,
        setup: Setup,
        statements: StatementMode,
    ) -> ClientSession {
        let work = ClientWork { dialect: self.product.dialect(), ..work(test, setup, statements) };
        ClientSession::open(&self.options, &work, &[]).unwrap()
    }

    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let text = |value: Option<Vec<u8>>| String::from_utf8(value.unwrap_or_default()).unwrap();
        let set = self.control.query(sql).unwrap();
        set.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
    }

    /// The only number of a query's result.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        self.rows(sql)[0][0].parse().unwrap()
    }

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

pub(crate) fn work(test: Test, setup: Setup, statements: StatementMode) -> ClientWork {
    ClientWork { dialect: Dialect::MySql, test, setup, statements, seed: SEED }
}

pub(crate) fn test(name: &str) -> Test {
    test_by_name(name).unwrap()
}

/// An expected operation: its SQL pattern, its integers, its table, and whether it is only sent as text.
pub(crate) struct SentOperation {
    pub(crate) sql: String,
    pub(crate) numbers: Vec<i64>,
    pub(crate) table: u32,
    pub(crate) always_text: bool,
}

pub(crate) fn sent(
    test: Test,
    setup: Setup,
    client: u32,
    sequences: std::ops::Range<u64>,
) -> Vec<SentOperation> {
    let program = EventProgram::new(Dialect::MySql, test, setup, StatementMode::Prepared);
    let program = Arc::new(program);
    let client = ProgramClient::new(Arc::clone(&program), SEED, client);
    let mut event = EventBuf::default();
    let mut all = Vec::new();
    for sequence in sequences {
        client.write_event(sequence, 0, &mut event);
        all.extend(event.operations().map(|operation| describe(&program, operation)));
    }
    all
}

fn describe(program: &EventProgram, operation: Operation<'_>) -> SentOperation {
    let always_text = matches!(operation, Operation::Query { .. });
    let sql = program.statements()[operation.statement().unwrap()].sql.clone();
    let numbers = match operation {
        Operation::Query { .. } | Operation::Sleep(_) | Operation::Pipeline(_) => Vec::new(),
        Operation::Execute { arguments, .. } => arguments.filter_map(number).collect(),
    };
    let name = sql.split("sbtest").nth(1).and_then(|rest| rest.split(' ').next());
    let table = name.and_then(|number| number.parse().ok()).unwrap_or(0);
    SentOperation { sql, numbers, table, always_text }
}

fn number(argument: Argument<'_>) -> Option<i64> {
    match argument {
        Argument::Int(value) => Some(value),
        Argument::Text(_)
        | Argument::Bare(_)
        | Argument::Raw(_)
        | Argument::Null
        | Argument::Kept(_) => None,
    }
}

pub(crate) fn loaded_k(table: u32, rows: u32) -> Vec<i64> {
    (1..=rows).map(|id| i64::from(SbtestRow::new(SEED, table, id, rows).k)).collect()
}
