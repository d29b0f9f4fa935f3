//! Requests of a script to its client, and their answers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Lua, LuaString, MultiValue, Table, Value as LuaValue};

use crate::interface::add_function;
use crate::sources::ScriptSources;
use crate::watch::{NO_END, ScriptWatch};

#[derive(Debug, Clone, PartialEq)]
pub enum ScriptValue {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptAnswer {
    /// It has a result set, even an empty one.
    pub has_rows: bool,
    pub row_count: u64,
    /// 0 if unknown.
    pub columns: usize,
    /// The rows as text, unless they were only counted. `None` is NULL.
    pub rows: Option<Vec<Vec<Option<Vec<u8>>>>>,
    /// Further results, such as those of a procedure, unless they were only counted.
    pub rest: Vec<ScriptAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    pub code: u32,
    pub state: String,
    pub message: String,
    /// The event is retried after it.
    pub is_ignorable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowUse {
    Keep,
    /// The script uses only their number.
    Count,
}

/// Sends a script's statements. Connections and statements have numbers assigned by the client.
pub trait ScriptClient {
    fn connect(&mut self) -> Result<usize, SqlError>;

    fn disconnect(&mut self, connection: usize);

    /// Reopens a connection. Its statements are gone.
    fn reconnect(&mut self, connection: usize) -> Result<(), SqlError>;

    fn query(
        &mut self,
        connection: usize,
        sql: &[u8],
        rows: RowUse,
    ) -> Result<ScriptAnswer, SqlError>;

    /// `sql` has `?` for its parameters.
    fn prepare(&mut self, connection: usize, sql: &[u8]) -> Result<usize, SqlError>;

    fn execute(
        &mut self,
        connection: usize,
        statement: usize,
        values: &[ScriptValue],
        rows: RowUse,
    ) -> Result<ScriptAnswer, SqlError>;

    fn close(&mut self, connection: usize, statement: usize);

    /// Sleeps. False if the pause was cut short, because the run is over.
    fn pause(&mut self, time: Duration) -> bool;
}

/// Fake client for inspecting a script: connections exist, and statements are refused.
#[derive(Debug, Default)]
pub struct NoServer {
    connections: usize,
}

impl ScriptClient for NoServer {
    fn connect(&mut self) -> Result<usize, SqlError> {
        self.connections += 1;
        Ok(self.connections - 1)
    }

    fn disconnect(&mut self, _: usize) {}

    fn reconnect(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn query(&mut self, _: usize, _: &[u8], _: RowUse) -> Result<ScriptAnswer, SqlError> {
        Err(no_server())
    }

    fn prepare(&mut self, _: usize, _: &[u8]) -> Result<usize, SqlError> {
        Ok(0)
    }

    fn execute(
        &mut self,
        _: usize,
        _: usize,
        _: &[ScriptValue],
        _: RowUse,
    ) -> Result<ScriptAnswer, SqlError> {
        Err(no_server())
    }

    fn close(&mut self, _: usize, _: usize) {}

    fn pause(&mut self, _: Duration) -> bool {
        true
    }
}

fn no_server() -> SqlError {
    SqlError {
        code: 0,
        state: "HY000".to_owned(),
        message: "statements can be sent only in functions that sysbench calls, not while the script is read"
            .to_owned(),
        is_ignorable: false,
    }
}

scoped_tls_hkt::scoped_thread_local!(
    // The client lent to the script of this thread for a call.
    static mut CLIENT: for<'a> &'a mut (dyn ScriptClient + 'a)
);

pub(crate) fn lend<R>(client: &mut dyn ScriptClient, call: impl FnOnce() -> R) -> R {
    CLIENT.set(client, call)
}

// Kinds of answers, as in `sql.lua`.
const NOTHING: i64 = 0;
const ROWS: i64 = 1;
const REFUSED: i64 = 2;

const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Parameters passed without an allocation; more of them cost one.
type FirstParameters = (LuaValue, LuaValue, LuaValue, MultiValue);

/// An answer: its kind, number of rows, number of columns, kept rows, and further results.
type AnswerParts = (i64, u64, usize, Option<Table>, Option<Table>);

pub(crate) struct Requests {
    pub(crate) watch: Rc<ScriptWatch>,
    pub(crate) sources: Rc<ScriptSources>,
    values: RefCell<Vec<ScriptValue>>,
    refused: RefCell<Option<SqlError>>,
}

impl Requests {
    pub(crate) fn new(watch: Rc<ScriptWatch>, sources: Rc<ScriptSources>) -> Self {
        Self { watch, sources, values: RefCell::default(), refused: RefCell::default() }
    }

    /// Calls the client, if it is currently lent. It is not while the garbage collector calls into a script.
    fn ask<R>(&self, ask: impl FnOnce(&mut dyn ScriptClient) -> R) -> mlua::Result<R> {
        if !CLIENT.is_set() {
            return Err(mlua::Error::runtime("statements cannot be sent from here"));
        }
        Ok(self.watch.lent(|| CLIENT.with(ask)))
    }

    fn ask_for_number(
        &self,
        ask: impl FnOnce(&mut dyn ScriptClient) -> Result<usize, SqlError>,
    ) -> mlua::Result<(i64, usize)> {
        Ok(match self.ask(ask)? {
            Ok(number) => (NOTHING, number),
            Err(error) => (self.refuse(error), 0),
        })
    }

    fn ask_for_answer(
        &self,
        lua: &Lua,
        ask: impl FnOnce(&mut dyn ScriptClient) -> Result<ScriptAnswer, SqlError>,
    ) -> mlua::Result<AnswerParts> {
        match self.ask(ask)? {
            Ok(answer) => {
                self.watch.step();
                parts_of(lua, answer)
            }
            Err(error) => Ok((self.refuse(error), 0, 0, None, None)),
        }
    }

    fn refuse(&self, error: SqlError) -> i64 {
        *self.refused.borrow_mut() = Some(error);
        REFUSED
    }

    /// How to treat rows: a script whose text has no function for reading them gets none.
    fn rows(&self) -> RowUse {
        if self.sources.reads_rows() { RowUse::Keep } else { RowUse::Count }
    }

    fn execute(
        &self,
        lua: &Lua,
        (connection, statement, count, few): (usize, usize, usize, FirstParameters),
    ) -> mlua::Result<AnswerParts> {
        let (a, b, c, more) = few;
        let mut values = self.values.borrow_mut();
        values.clear();
        values.extend([a, b, c].into_iter().chain(more).take(count).map(value_of));
        let rows = self.rows();
        self.ask_for_answer(lua, |client| client.execute(connection, statement, &values, rows))
    }
}

pub(crate) fn add_requests(lua: &Lua, table: &Table, requests: &Rc<Requests>) -> mlua::Result<()> {
    add_function(lua, table, "connect", requests, |requests, _, ()| {
        requests.ask_for_number(|client| client.connect())
    })?;
    add_function(lua, table, "disconnect", requests, |requests, _, con: usize| {
        requests.ask(|client| client.disconnect(con))
    })?;
    add_function(lua, table, "reconnect", requests, |requests, _, con: usize| {
        requests.ask_for_number(|client| client.reconnect(con).map(|()| con))
    })?;
    type Query = (usize, LuaString, bool);
    add_function(lua, table, "query", requests, |requests, lua, (con, sql, has_one): Query| {
        let rows = if has_one { RowUse::Keep } else { requests.rows() };
        requests.ask_for_answer(lua, |client| client.query(con, &sql.as_bytes(), rows))
    })?;
    add_function(
        lua,
        table,
        "prepare",
        requests,
        |requests, _, (con, sql): (usize, LuaString)| {
            requests.ask_for_number(|client| client.prepare(con, &sql.as_bytes()))
        },
    )?;
    let execute = |requests: &Rc<Requests>, lua: &Lua, (con, statement, count, a, b, c, more)| {
        requests.execute(lua, (con, statement, count, (a, b, c, more)))
    };
    add_function(lua, table, "execute", requests, execute)?;
    add_function(lua, table, "close", requests, |requests, _, (con, statement)| {
        requests.ask(|client| client.close(con, statement))
    })?;
    add_function(lua, table, "pause", requests, |requests, _, us: f64| {
        let time = Duration::try_from_secs_f64(us / 1e6).unwrap_or(Duration::ZERO).min(PAUSE_MAX);
        if !requests.watch.may_wait(time) {
            return Err(mlua::Error::runtime(NO_END));
        }
        // An event whose pause was cut short does not complete.
        if !requests.ask(|client| client.pause(time))? {
            requests.watch.cut_short();
            return Err(mlua::Error::runtime(NO_END));
        }
        Ok(())
    })?;
    add_function(lua, table, "refusal", requests, |requests, lua, ()| {
        let SqlError { code, state, message, is_ignorable } =
            requests.refused.take().unwrap_or_else(no_server);
        Ok((code, state, lua.create_string(message)?, is_ignorable))
    })
}

fn parts_of(lua: &Lua, answer: ScriptAnswer) -> mlua::Result<AnswerParts> {
    let rest = match answer.rest.as_slice() {
        [] => None,
        _ => Some(rest_of(lua, answer.rest)?),
    };
    if !answer.has_rows {
        return Ok((NOTHING, 0, 0, None, rest));
    }
    let rows = answer.rows.map(|rows| table_of(lua, rows)).transpose()?;
    Ok((ROWS, answer.row_count, answer.columns, rows, rest))
}

/// Further results, the last one first.
fn rest_of(lua: &Lua, rest: Vec<ScriptAnswer>) -> mlua::Result<Table> {
    let all = lua.create_table_with_capacity(rest.len(), 0)?;
    for (at, answer) in (1..).zip(rest.into_iter().rev()) {
        let one = lua.create_table()?;
        one.raw_set("has_rows", answer.has_rows)?;
        one.raw_set("nrows", answer.row_count)?;
        one.raw_set("nfields", answer.columns)?;
        one.raw_set("rows", answer.rows.map(|rows| table_of(lua, rows)).transpose()?)?;
        all.raw_set(at, one)?;
    }
    Ok(all)
}

fn table_of(lua: &Lua, rows: Vec<Vec<Option<Vec<u8>>>>) -> mlua::Result<Table> {
    let all = lua.create_table_with_capacity(rows.len(), 0)?;
    for (at, row) in (1..).zip(rows) {
        let one = lua.create_table_with_capacity(row.len(), 0)?;
        for (column, value) in (1..).zip(row) {
            if let Some(value) = value {
                one.raw_set(column, lua.create_string(&value)?)?;
            }
        }
        all.raw_set(at, one)?;
    }
    Ok(all)
}

fn value_of(value: LuaValue) -> ScriptValue {
    match value {
        LuaValue::Integer(it) => ScriptValue::Int(it),
        // Lua has only one number type.
        LuaValue::Number(it) if it.fract() == 0.0 && it.abs() < 9e15 => ScriptValue::Int(it as i64),
        LuaValue::Number(it) => ScriptValue::Real(it),
        LuaValue::String(text) => ScriptValue::Text(text.as_bytes().to_vec()),
        LuaValue::Boolean(it) => ScriptValue::Int(i64::from(it)),
        _ => ScriptValue::Null,
    }
}
