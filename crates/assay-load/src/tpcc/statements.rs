//! Statements as a client sends them: prepared, or as text with their values.

use assay_model::Dialect;
use assay_wire::{
    Connection, Error as WireError, Param, ParamType, Protocol, Reply, ResultSet, StatementId,
};
use assay_workloads::{Statement, push_quoted};

use crate::actor::{Line, Refused};
use crate::error::{Error, Result};

pub(super) struct Statements {
    all: Vec<Statement>,
    /// Of the current connection; empty if statements are sent as text.
    prepared: Vec<StatementId>,
    as_text: bool,
    has_escapes: bool,
    /// A statement with its values; kept to reuse its memory.
    text: Vec<u8>,
}

impl Statements {
    pub(super) fn new(dialect: Dialect, all: Vec<Statement>, as_text: bool) -> Self {
        let has_escapes = dialect.has_escapes();
        Self { all, prepared: Vec::new(), as_text, has_escapes, text: Vec::new() }
    }

    pub(super) fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.prepared.clear();
        if self.as_text {
            return Ok(());
        }
        for statement in &self.all {
            let kinds: Vec<ParamType> = statement.params.iter().map(kind).collect();
            let prepared = wire.prepare(&statement.sql, &kinds);
            let sql = || statement.sql.clone();
            self.prepared.push(prepared.map_err(|source| Error::Prepare { sql: sql(), source })?);
        }
        Ok(())
    }

    pub(super) fn execute(
        &mut self,
        line: &mut Line<'_>,
        number: usize,
        params: &[Param<'_>],
    ) -> Result<Reply, Refused> {
        let done = match self.prepared.get(number) {
            Some(id) => line.execute(*id, params),
            None => {
                self.render(number, params);
                line.execute_text(&self.text)
            }
        };
        done.map_err(Refused::by(self.sql(number)))
    }

    /// Like `execute`, but keeps the rows of the result.
    pub(super) fn query(
        &mut self,
        line: &mut Line<'_>,
        number: usize,
        params: &[Param<'_>],
    ) -> Result<ResultSet, Refused> {
        let found = match self.prepared.get(number) {
            Some(id) => line.query_prepared(*id, params),
            None => {
                self.render(number, params);
                let sql = std::str::from_utf8(&self.text);
                sql.map_err(|_| WireError::Usage("a text that is not UTF-8"))
                    .and_then(|sql| line.query(sql))
            }
        };
        found.map_err(Refused::by(self.sql(number)))
    }

    pub(super) fn sql(&self, number: usize) -> &str {
        self.all.get(number).map_or("", |statement| &statement.sql)
    }

    fn render(&mut self, number: usize, params: &[Param<'_>]) {
        self.text.clear();
        let Some(statement) = self.all.get(number) else { return };
        let mut params = params.iter();
        for (place, piece) in statement.pieces.iter().enumerate() {
            if place > 0 {
                match params.next() {
                    Some(Param::Int(value)) => {
                        self.text.extend_from_slice(value.to_string().as_bytes());
                    }
                    Some(Param::Text(value)) => {
                        push_quoted(&mut self.text, self.has_escapes, value)
                    }
                    Some(Param::Null) | None => self.text.extend_from_slice(b"NULL"),
                }
            }
            self.text.extend_from_slice(piece.as_bytes());
        }
    }
}

fn kind(param: &assay_workloads::ParamType) -> ParamType {
    match param {
        assay_workloads::ParamType::Int => ParamType::Int,
        assay_workloads::ParamType::Text => ParamType::Text,
        assay_workloads::ParamType::Inferred => ParamType::Inferred,
    }
}

/// Ends a transaction after an error. MySQL and MariaDB may have rolled back only a part of it.
pub(super) fn give_up(wire: &mut Connection) -> Result<(), WireError> {
    match wire.protocol() {
        Protocol::MySql | Protocol::Postgres => wire.execute_text(b"ROLLBACK").map(drop),
    }
}
