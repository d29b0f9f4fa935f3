//! What a script asks of its client, and how it is answered.

use std::time::Duration;

use mlua::{Lua, MultiValue, Value as LuaValue};

/// A value of a statement's parameter, or of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Real(f64),
    /// A text, in bytes.
    Text(Vec<u8>),
}

/// How a statement was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether it has a result set, even an empty one.
    pub has_rows: bool,
    /// Number of rows.
    pub row_count: u64,
    /// Number of columns; 0 where it is not known.
    pub columns: usize,
    /// The rows as text, unless they were only counted. `None` is NULL.
    pub rows: Option<Vec<Vec<Option<Vec<u8>>>>>,
}

/// An error of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// The server's number of the error.
    pub code: u32,
    /// The SQL state.
    pub state: String,
    /// The server's own words.
    pub message: String,
    /// Whether the event is to be started again after it.
    pub is_ignorable: bool,
}

/// The client that a script sends its statements with. Connections and statements have numbers that the client gives.
pub trait Client {
    /// Opens a connection.
    fn connect(&mut self) -> Result<usize, SqlError>;

    /// Closes a connection.
    fn disconnect(&mut self, connection: usize);

    /// Closes a connection and opens it again. Its statements are gone.
    fn reconnect(&mut self, connection: usize) -> Result<(), SqlError>;

    /// Sends a statement as text, and keeps the rows that it returns.
    fn query(&mut self, connection: usize, sql: &[u8]) -> Result<Answer, SqlError>;

    /// Prepares a statement, with `?` for its parameters.
    fn prepare(&mut self, connection: usize, sql: &[u8]) -> Result<usize, SqlError>;

    /// Executes a prepared statement, and counts the rows that it returns.
    fn execute(
        &mut self,
        connection: usize,
        statement: usize,
        values: &[Value],
    ) -> Result<Answer, SqlError>;

    /// Forgets a prepared statement.
    fn close(&mut self, connection: usize, statement: usize);

    /// Sends nothing for some time.
    fn pause(&mut self, time: Duration);
}

// Numbers of requests and answers, as in `prelude.lua`.
const CONNECT: i64 = 1;
const DISCONNECT: i64 = 2;
const RECONNECT: i64 = 3;
const QUERY: i64 = 4;
const PREPARE: i64 = 5;
const EXECUTE: i64 = 6;
const CLOSE: i64 = 7;
const PAUSE: i64 = 8;
const NOTHING: i64 = 0;
const ROWS: i64 = 1;
const REFUSED: i64 = 2;

/// The longest pause of a script.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What a request shows of a script's progress.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Progress {
    /// Nothing: it failed, or asked for nothing that a server does.
    None,
    /// A server has answered.
    Answered,
    /// The script has waited.
    Paused(Duration),
}

/// Carries out a request, and says in `done` what that shows.
pub(crate) fn carry_out(
    lua: &Lua,
    client: &mut dyn Client,
    values: &mut Vec<Value>,
    mut request: MultiValue,
    done: &mut Progress,
) -> mlua::Result<MultiValue> {
    *done = Progress::None;
    let kind = whole(request.pop_front());
    if kind == CONNECT {
        return match client.connect() {
            Ok(number) => Ok([NOTHING, number as i64].map(LuaValue::Integer).into_iter().collect()),
            Err(error) => refused(lua, &error),
        };
    }
    if kind == PAUSE {
        let us = match request.pop_front() {
            Some(LuaValue::Integer(us)) => us as f64,
            Some(LuaValue::Number(us)) => us,
            _ => 0.0,
        };
        let time = Duration::try_from_secs_f64(us / 1e6).unwrap_or(Duration::ZERO);
        let time = time.min(PAUSE_MAX);
        client.pause(time);
        *done = Progress::Paused(time);
        return Ok(MultiValue::new());
    }
    let connection = number(request.pop_front());
    let answer = match kind {
        DISCONNECT => {
            client.disconnect(connection);
            Ok(Answer::default())
        }
        RECONNECT => client.reconnect(connection).map(|()| Answer::default()),
        QUERY => client.query(connection, &bytes(request.pop_front())),
        PREPARE => match client.prepare(connection, &bytes(request.pop_front())) {
            Ok(statement) => {
                let numbers = [NOTHING, statement as i64];
                return Ok(numbers.map(LuaValue::Integer).into_iter().collect());
            }
            Err(error) => Err(error),
        },
        EXECUTE => {
            let statement = number(request.pop_front());
            values.clear();
            values.extend(request.into_iter().map(value_of));
            client.execute(connection, statement, values)
        }
        CLOSE => {
            client.close(connection, number(request.pop_front()));
            Ok(Answer::default())
        }
        _ => return Err(mlua::Error::runtime("an unknown request")),
    };
    match answer {
        Ok(answer) => {
            *done = Progress::Answered;
            answered(lua, answer)
        }
        Err(error) => refused(lua, &error),
    }
}

fn answered(lua: &Lua, answer: Answer) -> mlua::Result<MultiValue> {
    if !answer.has_rows {
        return Ok(std::iter::once(LuaValue::Integer(NOTHING)).collect());
    }
    let rows = match answer.rows {
        None => LuaValue::Nil,
        Some(rows) => {
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
            LuaValue::Table(all)
        }
    };
    let numbers = [ROWS, answer.row_count as i64, answer.columns as i64];
    Ok(numbers.map(LuaValue::Integer).into_iter().chain([rows]).collect())
}

fn refused(lua: &Lua, error: &SqlError) -> mlua::Result<MultiValue> {
    let text = |it: &str| Ok::<_, mlua::Error>(LuaValue::String(lua.create_string(it)?));
    Ok([
        LuaValue::Integer(REFUSED),
        LuaValue::Integer(i64::from(error.code)),
        text(&error.state)?,
        text(&error.message)?,
        LuaValue::Boolean(error.is_ignorable),
    ]
    .into_iter()
    .collect())
}

fn whole(value: Option<LuaValue>) -> i64 {
    match value {
        Some(LuaValue::Integer(it)) => it,
        Some(LuaValue::Number(it)) => it as i64,
        _ => -1,
    }
}

fn number(value: Option<LuaValue>) -> usize {
    usize::try_from(whole(value)).unwrap_or(usize::MAX)
}

fn bytes(value: Option<LuaValue>) -> Vec<u8> {
    match value {
        Some(LuaValue::String(text)) => text.as_bytes().to_vec(),
        _ => Vec::new(),
    }
}

fn value_of(value: LuaValue) -> Value {
    match value {
        LuaValue::Integer(it) => Value::Int(it),
        // Lua has one kind of numbers.
        LuaValue::Number(it) if it.fract() == 0.0 && it.abs() < 9e15 => Value::Int(it as i64),
        LuaValue::Number(it) => Value::Real(it),
        LuaValue::String(text) => Value::Text(text.as_bytes().to_vec()),
        LuaValue::Boolean(it) => Value::Int(i64::from(it)),
        _ => Value::Null,
    }
}
