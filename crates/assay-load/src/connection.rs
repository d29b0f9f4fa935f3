//! A connection with a program's statements prepared on it.

use std::sync::Arc;

use assay_wire::Error as WireError;
use assay_wire::{ConnectOptions, Hot, Param, ParamType, Reply, StatementId};
use assay_workloads::{Argument, Mode, Operation, Program, Statement};

use crate::{Error, Result};

/// The server cannot prepare this statement (MySQL: `BEGIN`).
const CANNOT_PREPARE: u32 = 1295;

/// Sends the operations of a program.
pub(crate) struct Connection {
    pub(crate) hot: Hot,
    program: Arc<Program>,
    /// By statement index; none where the text is sent.
    handles: Vec<Option<StatementId>>,
    /// Empty between operations; kept for its room.
    params: Vec<Param<'static>>,
}

impl Connection {
    /// Connects client number `client` and prepares every statement of the program.
    pub(crate) fn open(
        options: &ConnectOptions,
        program: Arc<Program>,
        client: u32,
    ) -> Result<Self> {
        let mut hot = Hot::connect(options).map_err(|source| Error::Connect { client, source })?;
        let prepare = |statement| prepare(&mut hot, statement);
        let handles = program.statements().iter().map(prepare).collect::<Result<_>>()?;
        Ok(Self { hot, program, handles, params: Vec::new() })
    }

    /// Sends one operation and receives its reply.
    #[inline]
    pub(crate) fn send(&mut self, operation: Operation<'_>) -> Result<Reply, WireError> {
        let (statement, arguments) = match operation {
            Operation::Query { sql, .. } => return self.hot.query(sql),
            Operation::Execute { statement, arguments } => (statement, arguments),
        };
        let Some(handle) = self.handles[statement] else {
            return self.hot.query(self.program.statements()[statement].sql.as_bytes());
        };
        let mut params = recycle(std::mem::take(&mut self.params));
        params.extend(arguments.map(param));
        let reply = self.hot.execute(handle, &params);
        self.params = recycle(params);
        reply
    }

    /// Makes the connection ready for the event to be begun again. MySQL and MariaDB have rolled back what must be,
    /// and `BEGIN` commits the rest; Postgres wants to be told, also where the event is no transaction, as the
    /// reference client (sysbench) does.
    pub(crate) fn give_up_event(&mut self) -> Result<(), WireError> {
        match self.hot {
            Hot::MySql(_) => Ok(()),
            Hot::Postgres(_) => self.hot.query(b"ROLLBACK").map(drop),
        }
    }

    /// Statements meant to be prepared that the server refuses to: they go as text each time.
    pub(crate) fn unprepared(&self) -> Vec<String> {
        let statements = self.program.statements().iter().zip(&self.handles);
        let refused = statements
            .filter(|(statement, handle)| statement.mode == Mode::Prepared && handle.is_none());
        refused.map(|(statement, _)| statement.sql.clone()).collect()
    }

    /// The text of a statement, with marks for its parameters.
    pub(crate) fn sql(&self, statement: usize) -> &str {
        &self.program.statements()[statement].sql
    }
}

/// Prepares a statement where it is to be prepared. One without parameters that the server refuses
/// is sent as text.
fn prepare(hot: &mut Hot, statement: &Statement) -> Result<Option<StatementId>> {
    if statement.mode == Mode::Text {
        return Ok(None);
    }
    let params: Vec<ParamType> = statement.params.iter().map(|param| param_type(*param)).collect();
    match hot.prepare(&statement.sql, &params) {
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

/// Empties a vector and gives its room to values of another lifetime: collecting in place does not
/// allocate.
fn recycle<'a>(mut params: Vec<Param<'_>>) -> Vec<Param<'a>> {
    params.clear();
    params.into_iter().map(|_| Param::Int(0)).collect()
}
