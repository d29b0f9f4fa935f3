//! Errors while loading data or driving work.

use std::time::Duration;

use assay_model::{Dialect, Engine, Hint, counted};
use assay_wire::{WireError, code_of_state};
use assay_workloads::{RowsChecksum, ScriptError};

pub type Result<T, E = LoadError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("client {client} cannot connect")]
    Connect { client: u32, source: WireError },
    #[error("cannot prepare `{sql}`")]
    Prepare { sql: String, source: WireError },
    #[error("query `{sql}` failed: {cause}")]
    Query { sql: String, cause: WireError },
    #[error("`{0}` exists and is not an ordinary table")]
    NoTable(String),
    #[error("table `{0}` exists with other columns, so this test does not replace it")]
    OtherScratch(String),
    #[error("database `{0}` exists and is in use, so this test does not drop it")]
    OtherDatabase(String),
    #[error("these tables have other columns than those of assay and sysbench: {}", some_of(.0))]
    OtherTables(Vec<String>),
    #[error(
        "this test lets the server number the rows, but the server does not number those of `{0}`"
    )]
    NotNumbered(String),
    #[error("the database already has tables with these names, which no load of this workload made: {}", some_of(.0))]
    NotOurs(Vec<String>),
    #[error("nothing in the workload creates its table `{0}`")]
    NotMade(String),
    #[error("`{path}` cannot be used: {why}")]
    File { path: String, why: String },
    #[error("`{path}`, line {line}: no answer to `{sql}`")]
    Dump {
        path: String,
        line: u64,
        sql: String,
        #[source]
        cause: assay_wire::WireError,
    },
    #[error("a client has ended before all its events were carried out")]
    EndedEarly,
    #[error("{place}: {error}")]
    At { place: String, error: Box<Self> },
    #[error(transparent)]
    Lua(#[from] assay_lua::LuaError),
    #[error("`{path}` cannot be used in the SQL of {}: {why}", .dialect.scheme())]
    Script { path: String, dialect: Dialect, why: ScriptError },
    #[error("table `{table}` has {found} rows after {sent} were sent")]
    RowsDiffer { table: String, sent: u64, found: u64 },
    #[error("the tables do not hold what was loaded: they have {found}, not {expected}")]
    WrongContent { found: String, expected: String },
    #[error("consistency condition {number} does not hold: {demands}, but {found}")]
    Inconsistent { number: u32, demands: &'static str, found: String },
    #[error(
        "wrong answer to {test}: `{}` returned {}; expected {}",
        shortened(sql),
        in_words(found),
        in_words(expected)
    )]
    WrongAnswer { test: &'static str, sql: String, found: RowsChecksum, expected: RowsChecksum },
    #[error("assay does not know what `{}` of {test} should return", shortened(sql))]
    UnknownAnswer { test: &'static str, sql: String },
    #[error(
        "wrong answer to {test}: `{}` returned {} as a prepared statement, but {} as text",
        shortened(sql),
        in_words(prepared),
        in_words(text)
    )]
    AnswersDiffer { test: &'static str, sql: String, prepared: RowsChecksum, text: RowsChecksum },
    #[error("the server has no storage engine `{}`", .0.word())]
    NoEngine(Engine),
    #[error("cannot pin a client to CPU {cpu}")]
    Pin { cpu: usize, source: rustix::io::Errno },
    #[error("cannot start a client thread")]
    Thread(#[source] std::io::Error),
    #[error(
        "`{0}` has roles that assay cannot drive yet: it supports one role, with the setup's clients and no rate"
    )]
    Roles(&'static str),
    #[error("the tables of `--suite insert-bench` are loaded only on servers that assay starts")]
    OnlyOwnServers,
    #[error("a client thread ended unexpectedly")]
    ClientLost,
    #[error("the server did not finish in time; clients cut off: {clients}")]
    CutOff { clients: u32 },
    /// An event exceeded its time and was cancelled on the server.
    #[error("{why}")]
    Unanswered {
        why: String,
        /// Events that ended since the work was last taken.
        events: u64,
        /// Time the clients spent on them and on the unfinished one.
        elapsed: Duration,
    },
    #[error("stopped")]
    Stopped,
    #[error("latency histogram: {0}")]
    Histogram(String),
}

const LISTED: usize = 5;

fn some_of(all: &[String]) -> String {
    let more = all.len().saturating_sub(LISTED);
    let shown = all[..all.len().min(LISTED)].join("; ");
    if more == 0 { shown } else { format!("{shown}; and {more} more") }
}

/// A test's statement, which is ASCII, for messages.
fn shortened(sql: &str) -> String {
    sql.get(..SHOWN).map_or_else(|| sql.to_owned(), |start| format!("{start} ..."))
}

fn in_words(answer: &RowsChecksum) -> String {
    format!("{} with checksum {:016x}", counted(answer.rows, "row"), answer.checksum)
}

const SHOWN: usize = 200;

impl LoadError {
    pub(crate) fn query(sql: &[u8], cause: WireError) -> Self {
        let shown = String::from_utf8_lossy(&sql[..sql.len().min(SHOWN)]);
        let end = if sql.len() > SHOWN { " ..." } else { "" };
        Self::Query { sql: format!("{shown}{end}"), cause }
    }

    pub(crate) fn at(self, place: Option<String>) -> Self {
        match (place, &self) {
            // A script's message includes its place.
            (_, Self::Lua(error)) if error.has_place() => self,
            (Some(place), _) => Self::At { place, error: Box::new(self) },
            (None, _) => self,
        }
    }

    fn bare(&self) -> &Self {
        match self {
            Self::At { error, .. } => error.bare(),
            other => other,
        }
    }

    pub(crate) fn is_ended_script(&self) -> bool {
        matches!(self.bare(), Self::Lua(assay_lua::LuaError::Ended { .. }))
    }

    pub(crate) fn unfinished(&self) -> Option<String> {
        match self {
            Self::At { place, error } => Some(match error.unfinished() {
                Some(what) => format!("{place}, {what}"),
                None => place.clone(),
            }),
            Self::Query { sql, .. } | Self::Prepare { sql, .. } => Some(format!("`{sql}`")),
            Self::Lua(
                assay_lua::LuaError::Ended { place }
                | assay_lua::LuaError::Endless { place, .. }
                | assay_lua::LuaError::Stuck { place },
            ) => place.clone(),
            _ => None,
        }
    }

    pub(crate) fn is_silence(&self) -> bool {
        matches!(
            self.bare(),
            Self::Query { cause: WireError::Timeout { .. }, .. }
                | Self::Connect { source: WireError::Timeout { .. }, .. }
                | Self::Prepare { source: WireError::Timeout { .. }, .. }
        )
    }

    pub(crate) fn silence(&self, waited: Duration) -> Option<String> {
        let seconds = |time: Duration| time.as_secs_f64().round();
        match self.bare() {
            Self::CutOff { .. } => {
                Some(format!("an event had not ended after {} s", seconds(waited)))
            }
            Self::Query { sql, cause: WireError::Timeout { limit, .. } } => {
                Some(format!("no answer to `{sql}` within {} s", seconds(*limit)))
            }
            _ => None,
        }
    }

    pub fn server_code(&self) -> Option<u32> {
        match self.bare() {
            Self::Connect { source, .. }
            | Self::Prepare { source, .. }
            | Self::Query { cause: source, .. } => source.server_code(),
            _ => None,
        }
    }

    /// Whether a server refused unknown syntax, functions or types: the statement may be valid in the other dialect.
    pub fn may_be_of_other_dialect(&self) -> bool {
        self.server_code().is_some_and(|code| OTHER_DIALECT.contains(&code))
    }
}

/// MySQL, MariaDB and Postgres codes for unknown syntax, functions, variables and types.
const OTHER_DIALECT: [u32; 10] = [
    1064,
    1128,
    1193,
    1235,
    1305,
    1630,
    4161,
    sqlstate("42601"),
    sqlstate("42704"),
    sqlstate("42883"),
];

/// MySQL and Postgres codes for a missing table and for too many connections.
pub(crate) const NO_SUCH_TABLE: [u32; 2] = [1146, sqlstate("42P01")];
pub(crate) const TOO_MANY_CONNECTIONS: [u32; 2] = [1040, sqlstate("53300")];
const TOO_MANY_PREPARED: u32 = 1461;

const DUPLICATE_KEY: u32 = 1062;

/// Packs a valid SQLSTATE into a number.
pub(crate) const fn sqlstate(state: &str) -> u32 {
    match code_of_state(state) {
        Some(code) => code,
        None => 0,
    }
}

const INCONSISTENT: &str = "if somebody else has changed the tables, load them again; otherwise the server has lost \
                            or repeated a part of a transaction";

const WRONG: &str = "run the statement by hand: either the server is wrong, or its tables do not come from \
                     `assay load` with this seed";

impl Hint for LoadError {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Lua(error) => error.hints(),
            Self::At { error, .. } => error.hints(),
            _ => self.own_hints(),
        }
    }
}

const NO_EARLY_END: &str =
    "an `event` of a script that returns a value ends its client; studies need scripts that go on";

const ENDS_THE_SERVER: &str =
    "take this statement, or the one before it, out of the dump if it ends the server (`SHUTDOWN`)";

impl LoadError {
    fn own_hints(&self) -> Vec<String> {
        let hint = match (self, self.server_code()) {
            (Self::EndedEarly, _) => NO_EARLY_END,
            (Self::Pin { .. }, _) => "choose a CPU that assay may use, or `--placement free`",
            (Self::OtherTables(_), _) => {
                "name another database in the URL; `assay load URL --replace` drops these tables, with their contents"
            }
            (Self::NoTable(_) | Self::OtherScratch(_), _) => {
                "drop or rename it, or name another database in the URL"
            }
            (Self::OtherDatabase(_), _) => "drop or rename the database, or leave this test out",
            (Self::NotNumbered(_), _) => {
                "if the tables were loaded with `--auto-inc=off`, give that option here as well; otherwise load them \
                 again"
            }
            (Self::NotOurs(_), _) => {
                "name another database in the URL; `assay load URL --workload FILE --replace` drops these tables, with \
                 their contents"
            }
            (Self::Dump { .. }, _) => ENDS_THE_SERVER,
            (Self::File { .. }, _) => "start a new study with the file as it is now",
            (Self::Script { .. }, _) => {
                "name a script for each product: `script = { mysql = \"a.sql\", postgres = \"b.sql\" }`"
            }
            (Self::RowsDiffer { .. }, _) => {
                "check whether rows are dropped because of a key, as with `INSERT IGNORE`, or added by a trigger"
            }
            (Self::WrongContent { .. }, _) => {
                "load the tables again with `assay load`: tests that write change them; if they were loaded with \
                 another seed, give it with `--seed`"
            }
            (Self::Inconsistent { .. }, _) => INCONSISTENT,
            (Self::WrongAnswer { .. } | Self::AnswersDiffer { .. }, _) => WRONG,
            (Self::NoEngine(_), _) => "leave `--engine` out, or start the server with the engine",
            (_, Some(DUPLICATE_KEY)) => {
                "if clients replace rows, two of them may have replaced the same one, which happens on small tables \
                 and with skewed distributions: use more rows; `assay bench --ignore-errors 1213,1020,1205,1062` \
                 starts such events again"
            }
            (_, Some(code)) if NO_SUCH_TABLE.contains(&code) => "create and fill the tables first",
            (_, Some(code)) if TOO_MANY_CONNECTIONS.contains(&code) => {
                "use fewer clients, or raise `max_connections`"
            }
            (_, Some(TOO_MANY_PREPARED)) => {
                "use fewer clients or tables, or raise `max_prepared_stmt_count`"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
