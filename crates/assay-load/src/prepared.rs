//! A connection on which the statements of a program are prepared.

use std::sync::Arc;

use assay_wire::Error as WireError;
use assay_wire::{ConnectOptions, Connection, Param, ParamType, Protocol, Reply, StatementId};
use assay_workloads::{Argument, Mode, Operation, Program, Statement};

use crate::error::{Error, Result};

/// The server cannot prepare this statement (MySQL: `BEGIN`).
const CANNOT_PREPARE: u32 = 1295;

/// Sends the operations of a program.
pub(crate) struct PreparedConnection {
    pub(crate) wire: Connection,
    program: Arc<Program>,
    /// By statement index; `None` for a statement that is sent as text.
    handles: Vec<Option<StatementId>>,
    /// Empty between operations; kept for its memory.
    params: Vec<Param<'static>>,
}

impl PreparedConnection {
    /// Connects client number `client` and prepares every statement of the program.
    pub(crate) fn open(
        options: &ConnectOptions,
        program: Arc<Program>,
        client: u32,
    ) -> Result<Self> {
        let mut wire =
            Connection::connect(options).map_err(|source| Error::Connect { client, source })?;
        let prepare = |statement| prepare(&mut wire, statement);
        let handles = program.statements().iter().map(prepare).collect::<Result<_>>()?;
        Ok(Self { wire, program, handles, params: Vec::new() })
    }

    /// Sends one operation and receives its reply.
    #[inline]
    pub(crate) fn send(&mut self, operation: Operation<'_>) -> Result<Reply, WireError> {
        let (statement, arguments) = match operation {
            Operation::Query { sql, .. } => return self.wire.execute_text(sql),
            Operation::Execute { statement, arguments } => (statement, arguments),
        };
        let Some(handle) = self.handles[statement] else {
            let sql = self.program.statements()[statement].sql.as_bytes();
            return self.wire.execute_text(sql);
        };
        let mut params = recycle(std::mem::take(&mut self.params));
        params.extend(arguments.map(param));
        let reply = self.wire.execute(handle, &params);
        self.params = recycle(params);
        reply
    }

    /// Makes the connection ready for a retry of the event. MySQL and MariaDB have rolled back what must be, and
    /// `BEGIN` commits the rest. Postgres needs a `ROLLBACK`; the reference client (sysbench) sends one even if the
    /// event is no transaction.
    pub(crate) fn give_up_event(&mut self) -> Result<(), WireError> {
        match self.wire.protocol() {
            Protocol::MySql => Ok(()),
            Protocol::Postgres => self.wire.execute_text(b"ROLLBACK").map(drop),
        }
    }

    /// Statements that should be prepared but that the server refuses to prepare. They are sent as text each time.
    pub(crate) fn unprepared(&self) -> Vec<String> {
        let statements = self.program.statements().iter().zip(&self.handles);
        let refused = statements
            .filter(|(statement, handle)| statement.mode == Mode::Prepared && handle.is_none());
        refused.map(|(statement, _)| statement.sql.clone()).collect()
    }

    /// The text of a statement, with placeholders for its parameters.
    pub(crate) fn sql(&self, statement: usize) -> &str {
        &self.program.statements()[statement].sql
    }
}

/// Prepares a statement, unless its mode is text. A statement without parameters that the server refuses to prepare is
/// sent as text.
fn prepare(wire: &mut Connection, statement: &Statement) -> Result<Option<StatementId>> {
    if statement.mode == Mode::Text {
        return Ok(None);
    }
    let params: Vec<ParamType> = statement.params.iter().map(|param| param_type(*param)).collect();
    match wire.prepare(&statement.sql, &params) {
        Ok(handle) => Ok(Some(handle)),
        Err(error) if params.is_empty() && error.server_code() == Some(CANNOT_PREPARE) => Ok(None),
        Err(source) => Err(Error::Prepare { sql: statement.sql.clone(), source }),
    }
}

fn param_type(param: assay_workloads::ParamType) -> ParamType {
    match param {
        assay_workloads::ParamType::Int => ParamType::Int,
        assay_workloads::ParamType::Text => ParamType::Text,
    }
}

fn param(argument: Argument<'_>) -> Param<'_> {
    match argument {
        Argument::Int(value) => Param::Int(value),
        Argument::Text(value) => Param::Text(value),
    }
}

/// Empties a vector and reuses its memory for values of another lifetime: collecting in place does not allocate.
fn recycle<'a>(mut params: Vec<Param<'_>>) -> Vec<Param<'a>> {
    params.clear();
    params.into_iter().map(|_| Param::Int(0)).collect()
}
