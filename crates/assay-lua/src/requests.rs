//! Requests of a script to its client, and their answers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Lua, LuaString, MultiValue, Table, Value as LuaValue};

use crate::sources::Sources;
use crate::watch::{NO_END, Watch};

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(Vec<u8>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// It has a result set, even an empty one.
    pub has_rows: bool,
    pub row_count: u64,
    /// 0 if unknown.
    pub columns: usize,
    /// The rows as text, unless they were only counted. `None` is NULL.
    pub rows: Option<Vec<Vec<Option<Vec<u8>>>>>,
    /// Further results, such as those of a procedure, unless they were only counted.
    pub rest: Vec<Answer>,
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
pub enum Rows {
    Keep,
    /// The script uses only their number.
    Count,
}

/// Sends a script's statements. Connections and statements have numbers assigned by the client.
pub trait Client {
    fn connect(&mut self) -> Result<usize, SqlError>;

    fn disconnect(&mut self, connection: usize);

    /// Reopens a connection. Its statements are gone.
    fn reconnect(&mut self, connection: usize) -> Result<(), SqlError>;

    fn query(&mut self, connection: usize, sql: &[u8], rows: Rows) -> Result<Answer, SqlError>;

    /// `sql` has `?` for its parameters.
    fn prepare(&mut self, connection: usize, sql: &[u8]) -> Result<usize, SqlError>;

    fn execute(
        &mut self,
        connection: usize,
        statement: usize,
        values: &[Value],
        rows: Rows,
    ) -> Result<Answer, SqlError>;

    fn close(&mut self, connection: usize, statement: usize);

    /// Sleeps. False if the pause was cut short, because the run is over.
    fn pause(&mut self, time: Duration) -> bool;
}

/// Fake client for inspecting a script: connections exist, and statements are refused.
#[derive(Debug, Default)]
pub struct NoServer {
    connections: usize,
}

impl Client for NoServer {
    fn connect(&mut self) -> Result<usize, SqlError> {
        self.connections += 1;
        Ok(self.connections - 1)
    }

    fn disconnect(&mut self, _: usize) {}

    fn reconnect(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn query(&mut self, _: usize, _: &[u8], _: Rows) -> Result<Answer, SqlError> {
        Err(no_server())
    }

    fn prepare(&mut self, _: usize, _: &[u8]) -> Result<usize, SqlError> {
        Ok(0)
    }

    fn execute(&mut self, _: usize, _: usize, _: &[Value], _: Rows) -> Result<Answer, SqlError> {
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
    static mut CLIENT: for<'a> &'a mut (dyn Client + 'a)
);

pub(crate) fn lend<R>(client: &mut dyn Client, call: impl FnOnce() -> R) -> R {
    CLIENT.set(client, call)
}

// Kinds of answers, as in `sql.lua`.
const NOTHING: i64 = 0;
const ROWS: i64 = 1;
const REFUSED: i64 = 2;

const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Parameters passed without an allocation; more of them cost one.
type Few = (LuaValue, LuaValue, LuaValue, MultiValue);

/// An answer: its kind, number of rows, number of columns, kept rows, and further results.
type Told = (i64, u64, usize, Option<Table>, Option<Table>);

pub(crate) struct Requests {
    pub(crate) watch: Rc<Watch>,
    pub(crate) sources: Rc<Sources>,
    values: RefCell<Vec<Value>>,
    refused: RefCell<Option<SqlError>>,
}

impl Requests {
    pub(crate) fn new(watch: Rc<Watch>, sources: Rc<Sources>) -> Self {
        Self { watch, sources, values: RefCell::default(), refused: RefCell::default() }
    }

    /// Calls the client, if it is currently lent. It is not while the garbage collector calls into a script.
    fn ask<R>(&self, ask: impl FnOnce(&mut dyn Client) -> R) -> mlua::Result<R> {
        if !CLIENT.is_set() {
            return Err(mlua::Error::runtime("statements cannot be sent from here"));
        }
        Ok(self.watch.lent(|| CLIENT.with(ask)))
    }

    fn ask_for_number(
        &self,
        ask: impl FnOnce(&mut dyn Client) -> Result<usize, SqlError>,
    ) -> mlua::Result<(i64, usize)> {
        Ok(match self.ask(ask)? {
            Ok(number) => (NOTHING, number),
            Err(error) => (self.refuse(error), 0),
        })
    }

    fn ask_for_answer(
        &self,
        lua: &Lua,
        ask: impl FnOnce(&mut dyn Client) -> Result<Answer, SqlError>,
    ) -> mlua::Result<Told> {
        match self.ask(ask)? {
            Ok(answer) => {
                self.watch.step();
                note(lua, answer)
            }
            Err(error) => Ok((self.refuse(error), 0, 0, None, None)),
        }
    }

    fn refuse(&self, error: SqlError) -> i64 {
        *self.refused.borrow_mut() = Some(error);
        REFUSED
    }

    /// How to treat rows: a script whose text has no function for reading them gets none.
    fn rows(&self) -> Rows {
        if self.sources.reads_rows() { Rows::Keep } else { Rows::Count }
    }

    fn execute(
        &self,
        lua: &Lua,
        (connection, statement, count, few): (usize, usize, usize, Few),
    ) -> mlua::Result<Told> {
        let (a, b, c, more) = few;
        let mut values = self.values.borrow_mut();
        values.clear();
        values.extend([a, b, c].into_iter().chain(more).take(count).map(value_of));
        let rows = self.rows();
        self.ask_for_answer(lua, |client| client.execute(connection, statement, &values, rows))
    }
}

pub(crate) fn add_requests(lua: &Lua, table: &Table, requests: &Rc<Requests>) -> mlua::Result<()> {
    let of = || Rc::clone(requests);
    let it = of();
    let connect = move |_: &Lua, ()| it.ask_for_number(|client| client.connect());
    table.set("connect", lua.create_function(connect)?)?;
    let it = of();
    let disconnect = move |_: &Lua, con: usize| it.ask(|client| client.disconnect(con));
    table.set("disconnect", lua.create_function(disconnect)?)?;
    let it = of();
    let reconnect =
        move |_: &Lua, con: usize| it.ask_for_number(|client| client.reconnect(con).map(|()| con));
    table.set("reconnect", lua.create_function(reconnect)?)?;
    let it = of();
    let query = move |lua: &Lua, (con, sql, has_one): (usize, LuaString, bool)| {
        let rows = if has_one { Rows::Keep } else { it.rows() };
        it.ask_for_answer(lua, |client| client.query(con, &sql.as_bytes(), rows))
    };
    table.set("query", lua.create_function(query)?)?;
    let it = of();
    let prepare = move |_: &Lua, (con, sql): (usize, LuaString)| {
        it.ask_for_number(|client| client.prepare(con, &sql.as_bytes()))
    };
    table.set("prepare", lua.create_function(prepare)?)?;
    let it = of();
    let execute = move |lua: &Lua, (con, statement, count, a, b, c, more)| {
        it.execute(lua, (con, statement, count, (a, b, c, more)))
    };
    table.set("execute", lua.create_function(execute)?)?;
    let it = of();
    let close = move |_: &Lua, (con, statement): (usize, usize)| {
        it.ask(|client| client.close(con, statement))
    };
    table.set("close", lua.create_function(close)?)?;
    let it = of();
    let pause = move |_: &Lua, us: f64| {
        let time = Duration::try_from_secs_f64(us / 1e6).unwrap_or(Duration::ZERO).min(PAUSE_MAX);
        if !it.watch.may_wait(time) {
            return Err(mlua::Error::runtime(NO_END));
        }
        // An event whose pause was cut short does not complete.
        if !it.ask(|client| client.pause(time))? {
            it.watch.cut_short();
            return Err(mlua::Error::runtime(NO_END));
        }
        Ok(())
    };
    table.set("pause", lua.create_function(pause)?)?;
    let it = of();
    let refusal = move |lua: &Lua, ()| {
        let SqlError { code, state, message, is_ignorable } =
            it.refused.take().unwrap_or_else(no_server);
        let message = lua.create_string(message)?;
        Ok((code, state, message, is_ignorable))
    };
    table.set("refusal", lua.create_function(refusal)?)
}

fn note(lua: &Lua, answer: Answer) -> mlua::Result<Told> {
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
fn rest_of(lua: &Lua, rest: Vec<Answer>) -> mlua::Result<Table> {
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

fn value_of(value: LuaValue) -> Value {
    match value {
        LuaValue::Integer(it) => Value::Int(it),
        // Lua has only one number type.
        LuaValue::Number(it) if it.fract() == 0.0 && it.abs() < 9e15 => Value::Int(it as i64),
        LuaValue::Number(it) => Value::Real(it),
        LuaValue::String(text) => Value::Text(text.as_bytes().to_vec()),
        LuaValue::Boolean(it) => Value::Int(i64::from(it)),
        _ => Value::Null,
    }
}
