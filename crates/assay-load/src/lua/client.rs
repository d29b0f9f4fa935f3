//! The client lent to a script, which sends the script's statements.

use std::ops::Range;
use std::time::Duration;

use assay_lua::{IgnoredErrors, RowUse, ScriptAnswer, ScriptClient, ScriptValue, SqlError};
use assay_model::{Dialect, StatementMode, WorkCounters};
use assay_wire::{
    ConnectOptions, Connection, Param, ParamType, Reply, ResultSet, StatementId, WireError,
};
use assay_workloads::push_quoted;
use assay_workloads::sql::marks;

use crate::actor::EventWire;
use crate::policy::USUAL;
use crate::tally::count_reply;

pub(crate) const CONNECTIONS: usize = 4;

/// MySQL client library code for a lost connection; used for errors that come from no server.
const LOST: u32 = 2013;

/// MySQL's code for a statement that cannot be prepared.
const NOT_PREPARABLE: u32 = 1295;

const STATEMENTS: usize = 10_000;

pub(super) struct ScriptConnections {
    options: ConnectOptions,
    dialect: Dialect,
    mode: StatementMode,
    ignored: IgnoredErrors,
    connections: Vec<ConnectionSlot>,
    failed: Option<(Vec<u8>, WireError)>,
    /// The parameters of a statement as text, and their ranges.
    text: Vec<u8>,
    places: Vec<Range<usize>>,
}

struct ConnectionSlot {
    link: Link,
    statements: Vec<ScriptStatement>,
}

enum Link {
    /// The client's connection, which is the script's first.
    OfClient,
    Own(Box<Connection>),
    Closed,
}

struct ScriptStatement {
    sql: Vec<u8>,
    /// Closed by the script. The server keeps it for reuse.
    is_closed: bool,
    marks: Vec<Range<usize>>,
    sent: StatementForm,
}

enum StatementForm {
    /// Not sent yet, because the types of its parameters are unknown.
    Nothing,
    /// Prepared on the server, with parameters of these types.
    As(StatementId, Vec<ParamType>),
    Text,
}

pub(super) struct LentClient<'k, 'c> {
    kept: &'k mut ScriptConnections,
    wire: Wire<'k, 'c>,
}

/// The client's own connection. Statements are counted during and after the events.
pub(super) enum Wire<'k, 'c> {
    Idle(&'k mut Connection),
    Event(&'k mut EventWire<'c>),
    Last(&'k mut Connection, &'k mut WorkCounters),
}

impl ScriptConnections {
    pub(super) fn new(
        options: ConnectOptions,
        dialect: Dialect,
        mode: StatementMode,
        ignored: IgnoredErrors,
    ) -> Self {
        let (connections, failed) = (Vec::new(), None);
        let (text, places) = (Vec::new(), Vec::new());
        Self { options, dialect, mode, ignored, connections, failed, text, places }
    }

    /// Clears all connections of the script, and closes those it opened.
    pub(super) fn forget(&mut self) {
        self.connections.clear();
        self.failed = None;
    }

    pub(super) fn take_failed(&mut self) -> Option<(Vec<u8>, WireError)> {
        self.failed.take()
    }

    pub(super) fn lend<'k, 'c>(&'k mut self, wire: Wire<'k, 'c>) -> LentClient<'k, 'c> {
        self.failed = None;
        LentClient { kept: self, wire }
    }

    /// Rolls back transactions on the connections that the script opened itself.
    pub(super) fn roll_back_own(&mut self) {
        for slot in &mut self.connections {
            if let Link::Own(own) = &mut slot.link
                && own.execute_text(b"ROLLBACK").is_err()
            {
                slot.link = Link::Closed;
            }
        }
    }

    fn refused(&mut self, sql: &[u8], error: WireError) -> SqlError {
        let note = self.sql_error(&error);
        self.failed = Some((sql.to_vec(), error));
        note
    }

    fn sql_error(&self, error: &WireError) -> SqlError {
        match error {
            WireError::Server { code, state, message } => SqlError {
                code: *code,
                state: state.clone(),
                message: message.clone(),
                is_ignorable: self.ignored.contain(*code, &USUAL),
            },
            other => SqlError {
                code: LOST,
                state: "HY000".to_owned(),
                message: other.to_string(),
                is_ignorable: false,
            },
        }
    }
}

fn usage(message: &str) -> SqlError {
    let (state, message) = ("HY000".to_owned(), message.to_owned());
    SqlError { code: 0, state, message, is_ignorable: false }
}

/// Counts a reply, unless it precedes the events.
fn count(wire: &mut Wire<'_, '_>, reply: &Reply) {
    match wire {
        Wire::Idle(_) => {}
        Wire::Event(line) => line.tally.count_reply(reply),
        Wire::Last(_, counters) => count_reply(counters, reply),
    }
}

fn link<'l>(slot: &'l mut Link, wire: &'l mut Wire<'_, '_>) -> Option<&'l mut Connection> {
    match (slot, wire) {
        (Link::OfClient, Wire::Idle(wire) | Wire::Last(wire, _)) => Some(wire),
        (Link::OfClient, Wire::Event(line)) => Some(line.wire),
        (Link::Own(own), _) => Some(own),
        (Link::Closed, _) => None,
    }
}

impl ScriptClient for LentClient<'_, '_> {
    fn connect(&mut self) -> Result<usize, SqlError> {
        let connections = &mut self.kept.connections;
        let open = connections.iter().filter(|it| !matches!(it.link, Link::Closed)).count();
        if open == CONNECTIONS {
            return Err(usage(&format!("a script may keep {CONNECTIONS} connections open")));
        }
        let link = match connections.is_empty() {
            true => Link::OfClient,
            false => match Connection::connect(&self.kept.options) {
                Ok(own) => Link::Own(Box::new(own)),
                Err(error) => return Err(self.kept.refused(b"(connecting)", error)),
            },
        };
        let slot = ConnectionSlot { link, statements: Vec::new() };
        // Reuse the slot of a closed connection, except the client's.
        let free = connections.iter().skip(1).position(|it| matches!(it.link, Link::Closed));
        match free.and_then(|at| connections.get_mut(at + 1)) {
            Some(place) => {
                *place = slot;
                Ok(free.map_or(0, |at| at + 1))
            }
            None => {
                connections.push(slot);
                Ok(connections.len() - 1)
            }
        }
    }

    fn disconnect(&mut self, connection: usize) {
        if let Some(slot) = self.kept.connections.get_mut(connection) {
            // The client's own connection stays open but is no longer used. Its locks would block others.
            if matches!(slot.link, Link::OfClient)
                && let Some(wire) = link(&mut slot.link, &mut self.wire)
            {
                let _ = wire.execute_text(b"ROLLBACK");
            }
            *slot = ConnectionSlot { link: Link::Closed, statements: Vec::new() };
        }
    }

    fn reconnect(&mut self, connection: usize) -> Result<(), SqlError> {
        self.disconnect(connection);
        match Connection::connect(&self.kept.options) {
            Ok(own) => {
                if let Some(slot) = self.kept.connections.get_mut(connection) {
                    slot.link = Link::Own(Box::new(own));
                }
                if let Wire::Event(line) = &mut self.wire {
                    line.tally.reconnects += 1;
                }
                Ok(())
            }
            Err(error) => Err(self.kept.refused(b"(connecting)", error)),
        }
    }

    fn query(
        &mut self,
        connection: usize,
        sql: &[u8],
        rows: RowUse,
    ) -> Result<ScriptAnswer, SqlError> {
        let slot = self.kept.connections.get_mut(connection);
        let found = slot.and_then(|slot| link(&mut slot.link, &mut self.wire));
        let wire = found.ok_or_else(closed)?;
        let answered = match (rows, std::str::from_utf8(sql)) {
            (RowUse::Keep, Ok(text)) => wire.query_all(text).map(kept),
            _ => wire.execute_text(sql).map(|reply| (reply, counted(&reply))),
        };
        match answered {
            Ok((reply, answer)) => {
                self.kept.failed = None;
                count(&mut self.wire, &reply);
                Ok(answer)
            }
            Err(error) => Err(self.kept.refused(sql, error)),
        }
    }

    fn prepare(&mut self, connection: usize, sql: &[u8]) -> Result<usize, SqlError> {
        let ScriptConnections { dialect, mode, connections, .. } = &mut *self.kept;
        let slot = connections.get_mut(connection).ok_or_else(closed)?;
        let Ok(text) = std::str::from_utf8(sql) else {
            return Err(usage("a statement that is prepared must be UTF-8"));
        };
        let again = |it: &ScriptStatement| it.is_closed && it.sql == sql;
        if let Some(number) = slot.statements.iter().position(again) {
            slot.statements.iter_mut().skip(number).take(1).for_each(|it| it.is_closed = false);
            return Ok(number);
        }
        if slot.statements.len() == STATEMENTS {
            return Err(usage(&format!("a script may prepare {STATEMENTS} different statements")));
        }
        let marks = marks(text, *dialect, |rest| rest.starts_with('?').then_some(1));
        let sent = match *mode {
            StatementMode::Prepared => StatementForm::Nothing,
            // Plans do not allow `Extended` with scripts.
            StatementMode::Text | StatementMode::Extended => StatementForm::Text,
        };
        let has_parameters = !marks.is_empty();
        slot.statements.push(ScriptStatement { sql: sql.to_vec(), is_closed: false, marks, sent });
        let statement = slot.statements.len() - 1;
        if !has_parameters {
            self.send(connection, statement, &[])?;
        }
        Ok(statement)
    }

    fn execute(
        &mut self,
        connection: usize,
        statement: usize,
        values: &[ScriptValue],
        rows: RowUse,
    ) -> Result<ScriptAnswer, SqlError> {
        let slot = self.kept.connections.get(connection).ok_or_else(closed)?;
        let marks = slot.statements.get(statement).map_or(0, |it| it.marks.len());
        // MySQL's client library ignores excess parameters.
        let values = values.get(..marks).unwrap_or(values);
        self.send(connection, statement, values)?;
        let ScriptConnections { dialect, connections, text, places, .. } = &mut *self.kept;
        let slot = connections.get_mut(connection).ok_or_else(closed)?;
        let wire = link(&mut slot.link, &mut self.wire).ok_or_else(closed)?;
        let prepared = slot.statements.get(statement).filter(|it| !it.is_closed);
        let prepared = prepared.ok_or_else(|| usage("the statement is closed"))?;
        write_texts(values, text, places);
        let executed = match &prepared.sent {
            StatementForm::As(id, types) => {
                let param = |((value, kind), place): (
                    (&ScriptValue, &ParamType),
                    &Range<usize>,
                )| match (value, kind) {
                    (ScriptValue::Null, _) => Param::Null,
                    (ScriptValue::Int(it), ParamType::Int | ParamType::Inferred) => Param::Int(*it),
                    _ => Param::Text(&text[place.clone()]),
                };
                let params: Vec<Param<'_>> =
                    values.iter().zip(types).zip(places.iter()).map(param).collect();
                match rows {
                    RowUse::Keep => wire.query_prepared(*id, &params).map(|it| {
                        // Results of Postgres have no column names.
                        let has_rows = !it.columns.is_empty() || !it.rows.is_empty();
                        kept_one(it, has_rows)
                    }),
                    RowUse::Count => wire.execute(*id, &params).map(|it| (it, counted(&it))),
                }
            }
            StatementForm::Nothing | StatementForm::Text => {
                let sql = with_values(prepared, *dialect, values);
                match (rows, std::str::from_utf8(&sql)) {
                    (RowUse::Keep, Ok(text)) => wire.query_all(text).map(kept),
                    _ => wire.execute_text(&sql).map(|it| (it, counted(&it))),
                }
            }
        };
        match executed {
            Ok((reply, answer)) => {
                self.kept.failed = None;
                count(&mut self.wire, &reply);
                Ok(answer)
            }
            Err(error) => {
                let sql = prepared.sql.clone();
                Err(self.kept.refused(&sql, error))
            }
        }
    }

    fn close(&mut self, connection: usize, statement: usize) {
        let slot = self.kept.connections.get_mut(connection);
        if let Some(prepared) = slot.and_then(|slot| slot.statements.get_mut(statement)) {
            prepared.is_closed = true;
        }
    }

    fn pause(&mut self, time: Duration) -> bool {
        match &self.wire {
            Wire::Event(line) => line.pause(time),
            Wire::Idle(_) | Wire::Last(..) => {
                std::thread::sleep(time);
                true
            }
        }
    }
}

impl LentClient<'_, '_> {
    /// Prepares a statement on the server for values like these, unless that is done.
    fn send(
        &mut self,
        connection: usize,
        statement: usize,
        values: &[ScriptValue],
    ) -> Result<(), SqlError> {
        let dialect = self.kept.dialect;
        let slot = self.kept.connections.get_mut(connection).ok_or_else(closed)?;
        let found = slot.statements.get_mut(statement).filter(|it| !it.is_closed);
        let prepared = found.ok_or_else(|| usage("the statement is closed"))?;
        if prepared.marks.len() != values.len() {
            let message = format!(
                "the statement has {} parameters, and {} are bound",
                prepared.marks.len(),
                values.len()
            );
            return Err(usage(&message));
        }
        match &prepared.sent {
            StatementForm::Text => return Ok(()),
            StatementForm::As(_, types)
                if values.iter().zip(types).all(|(value, kind)| fits(value, *kind)) =>
            {
                return Ok(());
            }
            StatementForm::As(..) | StatementForm::Nothing => {}
        }
        let types: Vec<ParamType> = match &prepared.sent {
            // Any later value fits a type inferred by the server.
            StatementForm::As(_, before) => {
                let kept = values.iter().zip(before);
                kept.map(
                    |(value, kind)| if fits(value, *kind) { *kind } else { ParamType::Inferred },
                )
                .collect()
            }
            StatementForm::Nothing | StatementForm::Text => values.iter().map(type_of).collect(),
        };
        let sql = with_numbers(prepared, dialect);
        let wire = link(&mut slot.link, &mut self.wire).ok_or_else(closed)?;
        match wire.prepare(&sql, &types) {
            Ok(id) => prepared.sent = StatementForm::As(id, types),
            Err(error) if error.server_code() == Some(NOT_PREPARABLE) => {
                prepared.sent = StatementForm::Text
            }
            Err(error) => return Err(self.kept.refused(sql.as_bytes(), error)),
        }
        Ok(())
    }
}

fn closed() -> SqlError {
    usage("the connection is closed")
}

fn counted(reply: &Reply) -> ScriptAnswer {
    ScriptAnswer { has_rows: reply.result_set, row_count: reply.rows, ..ScriptAnswer::default() }
}

fn type_of(value: &ScriptValue) -> ParamType {
    match value {
        ScriptValue::Int(_) => ParamType::Int,
        ScriptValue::Text(_) => ParamType::Text,
        ScriptValue::Null | ScriptValue::Real(_) => ParamType::Inferred,
    }
}

fn fits(value: &ScriptValue, kind: ParamType) -> bool {
    match (value, kind) {
        (ScriptValue::Null, _) | (_, ParamType::Inferred) => true,
        _ => type_of(value) == kind,
    }
}

/// The first result, chained to the others, and their combined counts.
fn kept(results: Vec<ResultSet>) -> (Reply, ScriptAnswer) {
    let mut all = results.into_iter().map(|result| {
        let has_rows = !result.columns.is_empty();
        kept_one(result, has_rows)
    });
    let Some((mut reply, mut answer)) = all.next() else { return Default::default() };
    for (next, more) in all {
        reply.result_set |= next.result_set;
        reply.rows = reply.rows.saturating_add(next.rows);
        reply.affected = reply.affected.saturating_add(next.affected);
        answer.rest.push(more);
    }
    (reply, answer)
}

fn kept_one(result: ResultSet, has_rows: bool) -> (Reply, ScriptAnswer) {
    let ResultSet { columns, rows, affected, .. } = result;
    let row_count = rows.len() as u64;
    let columns = columns.len().max(rows.first().map_or(0, Vec::len));
    let reply = Reply { result_set: has_rows, rows: row_count, affected };
    let rows = has_rows.then_some(rows);
    (reply, ScriptAnswer { has_rows, row_count, columns, rows, rest: Vec::new() })
}

fn write_texts(values: &[ScriptValue], text: &mut Vec<u8>, places: &mut Vec<Range<usize>>) {
    text.clear();
    places.clear();
    for value in values {
        let from = text.len();
        match value {
            ScriptValue::Null => {}
            ScriptValue::Int(it) => text.extend_from_slice(it.to_string().as_bytes()),
            ScriptValue::Real(it) => text.extend_from_slice(it.to_string().as_bytes()),
            ScriptValue::Text(it) => text.extend_from_slice(it),
        }
        places.push(from..text.len());
    }
}

fn with_numbers(prepared: &ScriptStatement, dialect: Dialect) -> String {
    let mark = |number: usize| match dialect {
        Dialect::MySql => "?".to_owned(),
        Dialect::Postgres => format!("${number}"),
    };
    let mut number = 0;
    let text = replaced(prepared, |out| {
        number += 1;
        out.extend_from_slice(mark(number).as_bytes());
    });
    String::from_utf8_lossy(&text).into_owned()
}

fn with_values(prepared: &ScriptStatement, dialect: Dialect, values: &[ScriptValue]) -> Vec<u8> {
    let mut values = values.iter();
    replaced(prepared, |out| match values.next() {
        None | Some(ScriptValue::Null) => out.extend_from_slice(b"NULL"),
        Some(ScriptValue::Int(it)) => out.extend_from_slice(it.to_string().as_bytes()),
        Some(ScriptValue::Real(it)) => out.extend_from_slice(it.to_string().as_bytes()),
        Some(ScriptValue::Text(it)) => push_quoted(out, dialect.has_escapes(), it),
    })
}

fn replaced(prepared: &ScriptStatement, mut put: impl FnMut(&mut Vec<u8>)) -> Vec<u8> {
    let mut text = Vec::with_capacity(prepared.sql.len() + 16);
    let mut copied = 0;
    for mark in &prepared.marks {
        text.extend_from_slice(&prepared.sql[copied..mark.start]);
        put(&mut text);
        copied = mark.end;
    }
    text.extend_from_slice(&prepared.sql[copied..]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(sql: &str, dialect: Dialect) -> ScriptStatement {
        let marks = marks(sql, dialect, |rest| rest.starts_with('?').then_some(1));
        ScriptStatement { sql: sql.into(), is_closed: false, marks, sent: StatementForm::Nothing }
    }

    #[test]
    fn parameters_are_marked_as_the_dialect_wants_it() {
        let sql = "SELECT '?' FROM t WHERE a = ? AND b BETWEEN ? AND ?";
        let numbered = with_numbers(&prepared(sql, Dialect::Postgres), Dialect::Postgres);
        assert_eq!(numbered, "SELECT '?' FROM t WHERE a = $1 AND b BETWEEN $2 AND $3");
        assert_eq!(with_numbers(&prepared(sql, Dialect::MySql), Dialect::MySql), sql);
        let values = [ScriptValue::Text(b"o'k".to_vec()), ScriptValue::Int(-3), ScriptValue::Null];
        let text = with_values(&prepared(sql, Dialect::Postgres), Dialect::Postgres, &values);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "SELECT '?' FROM t WHERE a = 'o''k' AND b BETWEEN -3 AND NULL"
        );
    }

    #[test]
    fn a_statement_is_prepared_again_for_values_of_another_type() {
        assert!(
            fits(&ScriptValue::Null, ParamType::Int)
                && fits(&ScriptValue::Int(1), ParamType::Inferred)
        );
        assert!(!fits(&ScriptValue::Text(Vec::new()), ParamType::Int));
        let (mut text, mut places) = (Vec::new(), Vec::new());
        write_texts(
            &[ScriptValue::Real(0.5), ScriptValue::Null, ScriptValue::Int(7)],
            &mut text,
            &mut places,
        );
        assert_eq!((text.as_slice(), places), (&b"0.57"[..], vec![0..3, 3..3, 3..4]));
    }
}
