//! Connections like those of a workload's clients, with the session's settings and the program's statements prepared.

use std::sync::Arc;

use assay_model::{Renewal, Scratch, Sending, SessionSetting, SettingForm, StatementMode};
use assay_wire::{
    ConnectOptions, Connection, Param, ParamType, Protocol, Reply, ResultSet, StatementId,
    WireError,
};
use assay_workloads::{
    Argument, ArgumentType, EventProgram, Operation, OperationArguments, ProgramStatement,
    modes_of, set_statements,
};

use crate::control::{connect, dialect_of, execute, query, run};
use crate::error::{LoadError, NO_SUCH_TABLE, Result};
use crate::user::{WITH_BACKSLASHES, begin_session};

/// MySQL's code for a statement that cannot be prepared, such as `BEGIN`.
const CANNOT_PREPARE: u32 = 1295;

pub(crate) struct PreparedProgram {
    program: Arc<EventProgram>,
    /// The number of the client that sends it.
    client: u32,
    /// Its own tables are created.
    has_scratch: bool,
    /// By statement index; `None` for a statement that is sent as text.
    handles: Vec<Option<StatementId>>,
    /// Empty between operations; kept to reuse its memory.
    params: Vec<Param<'static>>,
    /// Values returned by statements of the event, for later ones.
    kept: Vec<Option<Vec<u8>>>,
    /// A statement with its values; kept to reuse its memory.
    text: Vec<u8>,
}

impl PreparedProgram {
    pub(crate) fn new(program: Arc<EventProgram>, client: u32) -> Self {
        let places = program.statements().iter().flat_map(|statement| &statement.keep);
        let kept = places.max().map_or(0, |last| *last as usize + 1);
        Self {
            handles: vec![None; program.statements().len()],
            params: Vec::new(),
            kept: vec![None; kept],
            text: Vec::new(),
            has_scratch: false,
            client,
            program,
        }
    }

    pub(crate) fn prepare(&mut self, wire: &mut Connection, session: usize) -> Result<()> {
        if self.program.is_own() {
            begin_user_session(wire, &self.program.sessions()[session])?;
        }
        self.drop_left_databases(wire)?;
        self.prepare_scratch(wire)?;
        for (handle, statement) in self.handles.iter_mut().zip(self.program.statements()) {
            if statement.session == session && is_sent_by(statement, self.client) {
                *handle = prepare(wire, statement)?;
            }
        }
        Ok(())
    }

    pub(crate) fn sessions(&self) -> usize {
        self.program.sessions().len()
    }

    /// A client that is cut off between two statements of an event may leave a database.
    fn drop_left_databases(&self, wire: &mut Connection) -> Result<()> {
        let all = self.program.statements().iter();
        let own = all.filter(|statement| statement.client == Some(self.client));
        let mut created = own.filter_map(|statement| {
            statement.sql.strip_prefix("CREATE DATABASE ")?.split(' ').next()
        });
        created.try_for_each(|name| drop_left_database(wire, name))
    }

    /// Creates the client's own tables, on its first connection, replacing those of an earlier run.
    fn prepare_scratch(&mut self, wire: &mut Connection) -> Result<()> {
        let tables: Vec<Scratch> = self.program.scratch(self.client).collect();
        if tables.is_empty() {
            return Ok(());
        }
        if let Some(engine) = engine_of_tables(wire)? {
            // Also for tables that events create.
            run(wire, &format!("SET SESSION default_storage_engine = {engine}"))?;
        }
        if self.has_scratch {
            return Ok(());
        }
        tables.iter().try_for_each(|table| refuse_other_scratch(wire, table))?;
        for Scratch { name, .. } in tables.iter().rev() {
            run(wire, &format!("DROP TABLE IF EXISTS {name}"))?;
        }
        tables.iter().try_for_each(|table| create_scratch(wire, table))?;
        self.has_scratch = true;
        Ok(())
    }

    #[inline]
    pub(crate) fn begin_event(&mut self) {
        self.kept.iter_mut().for_each(|value| *value = None);
    }

    pub(crate) fn keep(&mut self, kept: &[Option<Vec<u8>>]) {
        self.kept.clear();
        self.kept.extend_from_slice(kept);
    }

    pub(crate) fn renewal(&self, statement: usize) -> Option<Renewal> {
        self.program.statements()[statement].renews
    }

    /// Whether a statement or a connection is made for some of its steps.
    pub(crate) fn renews(&self) -> bool {
        self.program.statements().iter().any(|statement| statement.renews.is_some())
    }

    pub(crate) fn has_prepared(&self, statement: usize) -> bool {
        self.handles[statement].is_some()
    }

    #[inline]
    pub(crate) fn send(
        &mut self,
        wire: &mut Connection,
        operation: Operation<'_>,
    ) -> Result<Reply, WireError> {
        let (statement, arguments) = match operation {
            Operation::Query { sql, .. } => return wire.execute_text(sql),
            Operation::Execute { statement, arguments } => (statement, arguments),
            // The worker sleeps, and begins and ends pipelines.
            Operation::Sleep(_) | Operation::Pipeline(_) => return Ok(Reply::default()),
        };
        let Some(handle) = self.handles[statement] else {
            return self.send_text(wire, statement, arguments);
        };
        let mut params = recycle(std::mem::take(&mut self.params));
        params.extend(arguments.map(|argument| param(argument, &self.kept)));
        let reply = wire.execute(handle, &params);
        self.params = recycle(params);
        reply
    }

    /// Like `send`, with a statement that is prepared for this execution and closed after it.
    pub(crate) fn send_anew(
        &mut self,
        wire: &mut Connection,
        operation: Operation<'_>,
    ) -> Result<Reply, WireError> {
        let Operation::Execute { statement, arguments } = operation else {
            return self.send(wire, operation);
        };
        let statement = &self.program.statements()[statement];
        let handle = wire.prepare(&statement.sql, &param_types(statement))?;
        let params: Vec<_> = arguments.map(|argument| param(argument, &self.kept)).collect();
        let reply = wire.execute(handle, &params)?;
        wire.close(handle)?;
        Ok(reply)
    }

    pub(crate) fn queue(
        &mut self,
        wire: &mut Connection,
        operation: Operation<'_>,
    ) -> Result<(), WireError> {
        let Operation::Execute { statement, arguments } = operation else { return Ok(()) };
        let handle = self.handles[statement].ok_or(WireError::Usage(NO_PIPELINE))?;
        let params: Vec<_> = arguments.map(|argument| param(argument, &self.kept)).collect();
        wire.queue(handle, &params)
    }

    pub(crate) fn kept(&self) -> &[Option<Vec<u8>>] {
        &self.kept
    }

    pub(crate) fn query(
        &mut self,
        wire: &mut Connection,
        operation: Operation<'_>,
    ) -> Result<ResultSet, WireError> {
        let (statement, arguments) = match operation {
            Operation::Query { sql, .. } => return wire.query(utf8(sql)?),
            Operation::Execute { statement, arguments } => (statement, arguments),
            Operation::Sleep(_) | Operation::Pipeline(_) => return Ok(ResultSet::default()),
        };
        let Some(handle) = self.handles[statement] else {
            return wire.query(&self.program.statements()[statement].sql);
        };
        let params: Vec<_> = arguments.map(|argument| param(argument, &self.kept)).collect();
        wire.query_prepared(handle, &params)
    }

    fn send_text(
        &mut self,
        wire: &mut Connection,
        statement: usize,
        arguments: OperationArguments<'_>,
    ) -> Result<Reply, WireError> {
        let statement = &self.program.statements()[statement];
        let keep = &statement.keep;
        if statement.pieces.is_empty() {
            return wire.execute_text(statement.sql.as_bytes());
        }
        self.text.clear();
        let has_escapes = wire.protocol() == Protocol::MySql;
        statement.push_text(has_escapes, arguments, &self.kept, &mut self.text);
        if keep.is_empty() {
            return wire.execute_text(&self.text);
        }
        let sql = utf8(&self.text)?;
        let results = match statement.sending {
            Sending::Alone => vec![wire.query(sql)?],
            Sending::Combined | Sending::LastRows => wire.query_all(sql)?,
        };
        let reply = Reply {
            result_set: results.iter().any(|result| !result.columns.is_empty()),
            rows: results.iter().map(|result| result.rows.len() as u64).sum(),
            affected: results.iter().fold(0, |sum, result| sum.saturating_add(result.affected)),
        };
        keep.iter().for_each(|place| self.kept[*place as usize] = None);
        for (place, value) in keep.iter().zip(kept_values(statement.sending, results)) {
            self.kept[*place as usize] = value;
        }
        Ok(reply)
    }

    /// Prepares the connection for a retry of the event. MySQL and MariaDB have rolled back what they must, and `BEGIN`
    /// commits the rest. Postgres needs a `ROLLBACK`; sysbench, the reference client, sends one even if the event is no
    /// transaction.
    pub(crate) fn give_up_event(&self, wire: &mut Connection) -> Result<(), WireError> {
        wire.forget_pipeline();
        match wire.protocol() {
            // The next event of a user's workload may not begin a transaction.
            Protocol::MySql if !self.program.is_own() => Ok(()),
            Protocol::MySql | Protocol::Postgres => wire.execute_text(b"ROLLBACK").map(drop),
        }
    }

    pub(crate) fn unprepared(&self) -> Vec<String> {
        let statements = self.program.statements().iter().zip(&self.handles);
        let refused = statements.filter(|(statement, handle)| {
            statement.mode == StatementMode::Prepared
                && handle.is_none()
                && is_sent_by(statement, self.client)
        });
        refused.map(|(statement, _)| statement.sql.clone()).collect()
    }

    pub(crate) fn sql(&self, statement: usize) -> &str {
        &self.program.statements()[statement].sql
    }
}

const NO_PIPELINE: &str =
    "a pipeline has prepared statements only: leave `--db-ps-mode disable` (`-M simple`) out";

fn kept_values(sending: Sending, results: Vec<ResultSet>) -> Vec<Option<Vec<u8>>> {
    match sending {
        Sending::Alone if results.iter().all(|it| it.columns.is_empty()) => {
            // The number that an `INSERT` generated on MySQL or MariaDB.
            let number = results.iter().map(|it| it.last_insert_id).find(|it| *it > 0);
            vec![number.map(|it| it.to_string().into_bytes())]
        }
        Sending::Alone | Sending::Combined => {
            let last = results.into_iter().rev().find(|it| !it.columns.is_empty());
            last.and_then(|it| it.rows.into_iter().next()).unwrap_or_default()
        }
        Sending::LastRows => {
            let last_row = |mut it: ResultSet| {
                let row = it.rows.pop().unwrap_or_default();
                let missing = it.columns.len().saturating_sub(row.len());
                row.into_iter().chain(std::iter::repeat_n(None, missing))
            };
            results.into_iter().flat_map(last_row).collect()
        }
    }
}

fn is_sent_by(statement: &ProgramStatement, client: u32) -> bool {
    statement.client.is_none_or(|only| only == client)
}

/// Drops a database if it is certainly a client's, which is always empty; on Postgres, where the content of another
/// database cannot be seen, nobody may connect to it. `-2` is what an interrupted `DROP DATABASE` leaves.
fn drop_left_database(wire: &mut Connection, name: &str) -> Result<()> {
    let is_ours = match wire.protocol() {
        Protocol::MySql => format!(
            "SELECT NOT EXISTS (SELECT 1 FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = '{name}') FROM information_schema.SCHEMATA \
             WHERE SCHEMA_NAME = '{name}'"
        ),
        Protocol::Postgres => format!(
            "SELECT CASE WHEN datconnlimit IN (0, -2) THEN 1 ELSE 0 END FROM pg_database \
             WHERE datname = '{name}'"
        ),
    };
    match query(wire, &is_ours)?.text(0, 0) {
        None => Ok(()),
        Some("1") => run(wire, &format!("DROP DATABASE {name}")),
        Some(_) => Err(LoadError::OtherDatabase(name.to_owned())),
    }
}

/// Refuses to replace a table of another shape: another program created it.
fn refuse_other_scratch(wire: &mut Connection, table: &Scratch) -> Result<()> {
    let Scratch { name, columns, .. } = table;
    let there = format!("SELECT * FROM {name} LIMIT 0");
    match wire.query(&there) {
        Ok(found) if found.columns.iter().eq(columns.iter().map(|(name, _)| name)) => Ok(()),
        Ok(_) => Err(LoadError::OtherScratch(name.clone())),
        Err(error) if error.server_code().is_some_and(|code| NO_SUCH_TABLE.contains(&code)) => {
            Ok(())
        }
        Err(error) => Err(LoadError::query(there.as_bytes(), error)),
    }
}

fn create_scratch(wire: &mut Connection, table: &Scratch) -> Result<()> {
    let Scratch { name, columns, rows, then } = table;
    let typed: Vec<String> = columns.iter().map(|(name, sql)| format!("{name} {sql}")).collect();
    run(wire, &format!("CREATE TABLE {name} ({})", typed.join(", ")))?;
    if let (Some(rows), Some((id, _))) = (rows, columns.first()) {
        let numbers: Vec<String> = (1..=*rows).map(|number| format!("({number})")).collect();
        let insert = format!("INSERT INTO {name} ({id}) VALUES {}", numbers.join(", "));
        execute(wire, insert.as_bytes())?;
    }
    let dialect = dialect_of(wire.protocol());
    let statements = then.iter().map(|statement| statement.sql(dialect));
    statements.filter(|sql| !sql.is_empty()).try_for_each(|sql| run(wire, sql))
}

/// The engine of `sbtest1`; `None` if there is no such table, or the server has no engines.
fn engine_of_tables(wire: &mut Connection) -> Result<Option<String>> {
    if wire.protocol() == Protocol::Postgres {
        return Ok(None);
    }
    let sql = "SELECT ENGINE FROM information_schema.TABLES \
               WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sbtest1'";
    let found = query(wire, sql)?;
    let is_name = |engine: &&str| engine.chars().all(|c| c.is_ascii_alphanumeric());
    Ok(found.text(0, 0).filter(is_name).map(str::to_owned))
}

/// Prepares a statement, unless its mode is text. A statement without parameters that the server refuses to prepare is
/// sent as text.
fn prepare(wire: &mut Connection, statement: &ProgramStatement) -> Result<Option<StatementId>> {
    if statement.mode == StatementMode::Text {
        return Ok(None);
    }
    let params = param_types(statement);
    let prepared = match statement.mode {
        StatementMode::Extended => wire.parse_each_time(&statement.sql, &params),
        StatementMode::Prepared | StatementMode::Text => wire.prepare(&statement.sql, &params),
    };
    match prepared {
        Ok(handle) => Ok(Some(handle)),
        Err(error) if params.is_empty() && error.server_code() == Some(CANNOT_PREPARE) => Ok(None),
        Err(source) => Err(LoadError::Prepare { sql: statement.sql.clone(), source }),
    }
}

pub(crate) fn param_types(statement: &ProgramStatement) -> Vec<ParamType> {
    let param_type = |param: &ArgumentType| match param {
        ArgumentType::Int => ParamType::Int,
        ArgumentType::Text => ParamType::Text,
        ArgumentType::Inferred => ParamType::Inferred,
    };
    statement.params.iter().map(param_type).collect()
}

pub(crate) fn utf8(sql: &[u8]) -> Result<&str, WireError> {
    std::str::from_utf8(sql).map_err(|_| WireError::Usage("a text that is not UTF-8"))
}

fn param<'a>(argument: Argument<'a>, kept: &'a [Option<Vec<u8>>]) -> Param<'a> {
    match argument {
        Argument::Int(value) => Param::Int(value),
        Argument::Text(value) | Argument::Bare(value) | Argument::Raw(value) => Param::Text(value),
        Argument::Null => Param::Null,
        Argument::Kept(place) => {
            kept.get(place as usize).and_then(Option::as_deref).map_or(Param::Null, Param::Text)
        }
    }
}

/// Empties a vector and reuses its memory for values of another lifetime: collecting in place does not allocate.
fn recycle<'a>(mut params: Vec<Param<'_>>) -> Vec<Param<'a>> {
    params.clear();
    params.into_iter().map(|_| Param::Int(0)).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSetting {
    pub setting: SessionSetting,
    /// Refused modes, if the others are accepted.
    pub modes: Vec<String>,
    pub message: String,
}

/// Begins a client's session with these settings. Refused settings are skipped and returned: the application would get
/// the same error.
pub(crate) fn begin_user_session(
    wire: &mut Connection,
    settings: &[SessionSetting],
) -> Result<Vec<RefusedSetting>> {
    begin_session(wire)?;
    let mut refused = Vec::new();
    for setting in settings {
        let Some(message) = set(wire, setting)? else { continue };
        let modes = match setting.form() {
            SettingForm::Modes => set_modes(wire, setting)?,
            _ => Vec::new(),
        };
        refused.push(RefusedSetting { setting: setting.clone(), modes, message });
    }
    Ok(refused)
}

/// Returns the server's error if it refuses the value.
fn set(wire: &mut Connection, setting: &SessionSetting) -> Result<Option<String>> {
    for sql in set_statements(dialect_of(wire.protocol()), setting) {
        match wire.query(&sql) {
            Ok(_) => {}
            Err(error) if error.server_code().is_some() => return Ok(Some(error.to_string())),
            Err(error) => return Err(LoadError::query(sql.as_bytes(), error)),
        }
    }
    Ok(None)
}

/// Sets the modes that the server accepts, and returns the others.
fn set_modes(wire: &mut Connection, setting: &SessionSetting) -> Result<Vec<String>> {
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for mode in modes_of(setting) {
        let word = mode.trim_start_matches(['+', '-']);
        let alone = SessionSetting::new(setting.name(), word);
        let is_refused = match alone {
            Ok(alone) if !mode.starts_with('-') => set(wire, &alone)?.is_some(),
            Ok(_) => false,
            Err(_) => true,
        };
        if is_refused { refused.push(word.to_owned()) } else { taken.push(mode) }
    }
    // The trials replaced the modes.
    for sql in ["SET SESSION sql_mode = DEFAULT", WITH_BACKSLASHES] {
        run(wire, sql)?;
    }
    if let Ok(rest) = SessionSetting::new(setting.name(), &taken.join(",")) {
        set(wire, &rest)?;
    }
    Ok(refused)
}

/// A connection like those of a test's clients, with the statements of its program prepared that run with the same
/// settings.
pub struct Rehearsal {
    wire: Connection,
    prepared: PreparedProgram,
}

impl Rehearsal {
    /// `None` if the server refuses to prepare one of the statements.
    pub fn open(
        options: &ConnectOptions,
        program: Arc<EventProgram>,
        session: usize,
    ) -> Result<Option<Self>> {
        let mut wire = connect(options, 0)?;
        let mut prepared = PreparedProgram::new(program, 0);
        match prepared.prepare(&mut wire, session) {
            Ok(()) => Ok(Some(Self { wire, prepared })),
            Err(LoadError::Prepare { source, .. }) if source.server_code().is_some() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn wire(&mut self) -> &mut Connection {
        &mut self.wire
    }

    pub fn has_prepared(&self, statement: usize) -> bool {
        self.prepared.has_prepared(statement)
    }

    pub fn execute(
        &mut self,
        operation: Operation<'_>,
        kept: &[Option<Vec<u8>>],
    ) -> Result<(), WireError> {
        self.prepared.keep(kept);
        self.prepared.send(&mut self.wire, operation).map(drop)
    }
}

/// Connects with a session like those of a program's clients: `session` is an index into its sets of settings.
pub fn connect_as_client(
    options: &ConnectOptions,
    program: &EventProgram,
    session: usize,
) -> Result<Connection> {
    let mut wire = connect(options, 0)?;
    if program.is_own() {
        begin_user_session(&mut wire, &program.sessions()[session])?;
    }
    Ok(wire)
}

pub fn refused_settings(
    options: &ConnectOptions,
    sessions: &[Vec<SessionSetting>],
) -> Result<Vec<RefusedSetting>> {
    let mut refused: Vec<RefusedSetting> = Vec::new();
    for settings in sessions.iter().filter(|settings| !settings.is_empty()) {
        for found in begin_user_session(&mut connect(options, 0)?, settings)? {
            if !refused.contains(&found) {
                refused.push(found);
            }
        }
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_rows_that_are_kept() {
        let result = |columns: usize, rows: &[&str]| ResultSet {
            columns: vec!["c".to_owned(); columns],
            rows: rows.iter().map(|it| vec![Some(it.as_bytes().to_vec()); columns]).collect(),
            ..ResultSet::default()
        };
        let inserted = vec![ResultSet { last_insert_id: 7, ..ResultSet::default() }];
        assert_eq!(kept_values(Sending::Alone, inserted), [Some(b"7".to_vec())]);
        let results =
            vec![result(1, &["a", "b"]), result(2, &[]), result(0, &[]), result(1, &["c", "d"])];
        let kept_texts = |sending| -> Vec<Option<String>> {
            let values = kept_values(sending, results.clone()).into_iter();
            values.map(|it| it.map(|it| String::from_utf8(it).unwrap())).collect()
        };
        let kept = |text: &str| Some(text.to_owned());
        assert_eq!(kept_texts(Sending::Combined), [kept("c")]);
        assert_eq!(kept_texts(Sending::LastRows), [kept("b"), None, None, kept("d")]);
    }
}
