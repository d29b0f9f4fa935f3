//! Errors while loading data or driving work.

use std::time::Duration;

use assay_model::{Dialect, Engine, Hint, counted};
use assay_wire::{Error as WireError, code_of_state};
use assay_workloads::{Answer, ScriptError};

use crate::unfit::UnfitReason;

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why data could not be loaded, or work could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A client could not connect.
    #[error("client {client} cannot connect")]
    Connect {
        /// Number of the client, from 0.
        client: u32,
        /// The cause.
        source: WireError,
    },
    /// The server refused to prepare a statement.
    #[error("cannot prepare `{sql}`")]
    Prepare {
        /// The statement.
        sql: String,
        /// The cause.
        source: WireError,
    },
    /// A statement failed, and not in a way that is retried.
    #[error("query `{sql}` failed: {cause}")]
    Query {
        /// The statement, shortened when long.
        sql: String,
        /// The cause, with the server's code and text.
        cause: WireError,
    },
    /// This database takes no tables.
    #[error("cannot load into `{database}`: {}", unfit.words())]
    Unfit {
        /// The name of the database, with that of the schema if there is one.
        database: String,
        /// The reason.
        unfit: UnfitReason,
    },
    /// Tables or other objects that no earlier load has made, each with a description.
    #[error("other objects in the database already have the names of the tables: {}", some_of(.0))]
    Foreign(Vec<String>),
    /// A table that a client would replace has other columns than its own.
    #[error("table `{0}` exists with other columns, so this test does not replace it")]
    OtherScratch(String),
    /// Tables that neither assay nor sysbench made and whose rows a test would change, each with a description.
    #[error("this test changes rows, and neither assay nor sysbench made these tables: {}", some_of(.0))]
    OtherTables(Vec<String>),
    /// The server does not number the rows of this table, as the test needs.
    #[error(
        "this test lets the server number the rows, but the server does not number those of `{0}`"
    )]
    NotNumbered(String),
    /// Tables with names of the workload's that no load of it has made.
    #[error("the database already has tables with these names, which no load of this workload made: {}", some_of(.0))]
    NotOurs(Vec<String>),
    /// The next load could not replace the tables, because options of the user gave them another form.
    #[error(
        "with these `--create-table-options`, assay could not replace the tables in the next block"
    )]
    UnknownForm(#[source] Box<Self>),
    /// Nothing made a table of the workload.
    #[error("nothing in the workload creates its table `{0}`")]
    NotMade(String),
    /// A file with rows cannot be used.
    #[error("`{path}` cannot be used: {why}")]
    File {
        /// Where it is.
        path: String,
        /// The reason.
        why: String,
    },
    /// A server did not live through a statement of a dump, or did not answer it.
    #[error("`{path}`, line {line}: no answer to `{sql}`")]
    Dump {
        /// Where the dump is.
        path: String,
        /// The line where the statement begins.
        line: u64,
        /// Its first line.
        sql: String,
        /// What the connection says.
        #[source]
        cause: assay_wire::Error,
    },
    /// A client had no more events, although more of them were to be carried out.
    #[error("a client has ended before all its events were carried out")]
    EndedEarly,
    /// The same, with the place in the user's file.
    #[error("{place}: {error}")]
    At {
        /// File and line.
        place: String,
        /// What failed.
        error: Box<Self>,
    },
    /// A script of sysbench cannot be used.
    #[error(transparent)]
    Lua(#[from] assay_lua::Error),
    /// A script that makes rows is one of another dialect.
    #[error("`{path}` cannot be used in the SQL of {}: {why}", .dialect.scheme())]
    Script {
        /// Where it is.
        path: String,
        /// The dialect of the server that should have run it.
        dialect: Dialect,
        /// The reason.
        why: ScriptError,
    },
    /// A table does not hold the rows that were sent to it.
    #[error("table `{table}` has {found} rows after {sent} were sent")]
    RowsDiffer {
        /// Its name.
        table: String,
        /// Rows that were sent.
        sent: u64,
        /// Rows that it has.
        found: u64,
    },
    /// The tables do not hold what was loaded.
    #[error("the tables do not hold what was loaded: they have {found}, not {expected}")]
    WrongContent {
        /// Rows and checksum that they have, in words.
        found: String,
        /// Those that were loaded.
        expected: String,
    },
    /// The tables do not meet a condition that they must meet whenever no transaction is in progress.
    #[error("consistency condition {number} does not hold: {demands}, but {found}")]
    Inconsistent {
        /// Its number.
        number: u32,
        /// What it demands.
        demands: &'static str,
        /// What violates it.
        found: String,
    },
    /// A statement returned a result that differs from the loaded data.
    #[error(
        "wrong answer to {test}: `{}` returned {}; expected {}",
        shortened(sql),
        in_words(found),
        in_words(expected)
    )]
    WrongAnswer {
        /// The test.
        test: &'static str,
        /// The statement.
        sql: String,
        /// What it returned.
        found: Answer,
        /// What it should have returned.
        expected: Answer,
    },
    /// Nothing is known about what a statement should return.
    #[error("assay does not know what `{}` of {test} should return", shortened(sql))]
    UnknownAnswer {
        /// The test.
        test: &'static str,
        /// The statement.
        sql: String,
    },
    /// A prepared statement and the same statement sent as text returned different results.
    #[error(
        "wrong answer to {test}: `{}` returned {} as a prepared statement, but {} as text",
        shortened(sql),
        in_words(prepared),
        in_words(text)
    )]
    AnswersDiffer {
        /// The test.
        test: &'static str,
        /// The statement.
        sql: String,
        /// What the prepared statement returned.
        prepared: Answer,
        /// What the text returned.
        text: Answer,
    },
    /// The server has no such storage engine.
    #[error("the server has no storage engine `{}`", .0.word())]
    NoEngine(Engine),
    /// An object that stays refers to a table that is to be dropped.
    #[error("cannot replace `{table}`: {by}")]
    Referenced {
        /// The table to be dropped.
        table: String,
        /// The object that refers to it, and how.
        by: String,
    },
    /// The user may not see triggers, and tables to be dropped may have some.
    #[error(
        "this user lacks the TRIGGER privilege in {database}, so triggers of the tables cannot be seen"
    )]
    Blind {
        /// The database, quoted.
        database: String,
    },
    /// The user may not create the tables.
    #[error("this user may not create tables in the schema {schema}")]
    MayNotCreate {
        /// The schema, quoted.
        schema: String,
    },
    /// Some objects were dropped, then the server refused to drop another.
    #[error("cannot drop `{name}`: {cause}; dropped already: {}", gone.join(", "))]
    HalfDropped {
        /// The first object that is left.
        name: String,
        /// The objects that were dropped.
        gone: Vec<String>,
        /// The cause, with the server's code and text.
        cause: WireError,
    },
    /// A client thread could not be confined to its CPU.
    #[error("cannot pin a client to CPU {cpu}")]
    Pin {
        /// Number of the CPU.
        cpu: usize,
        /// The cause.
        source: rustix::io::Errno,
    },
    /// A client thread could not be started.
    #[error("cannot start a client thread")]
    Thread(#[source] std::io::Error),
    /// A test that has more than one role, or a role other than the setup's clients in a closed loop.
    #[error(
        "`{0}` has roles that assay cannot drive yet: it supports one role, with the setup's clients and no rate"
    )]
    Roles(&'static str),
    /// A client thread ended before its work was done.
    #[error("a client thread ended unexpectedly")]
    ClientLost,
    /// Events did not end in time, and their connections were closed.
    #[error("the server did not finish in time; clients cut off: {clients}")]
    CutOff {
        /// How many clients were in such an event.
        clients: u32,
    },
    /// An event took longer than it may, and was cancelled on the server.
    #[error("{why}")]
    Unanswered {
        /// What was not answered, and for how long.
        why: String,
        /// Events that ended since the work was last taken.
        events: u64,
        /// For how long the clients worked on them and on the one that did not end.
        elapsed: Duration,
    },
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// The latency histogram could not be made or written.
    #[error("latency histogram: {0}")]
    Histogram(String),
}

/// The description of a table whose triggers cannot be seen.
pub(crate) const UNSEEN: &str = "may have triggers, which this user may not see";

/// Largest number of objects that a message lists.
const LISTED: usize = 5;

fn some_of(all: &[String]) -> String {
    let more = all.len().saturating_sub(LISTED);
    let shown = all.get(..LISTED).unwrap_or(all).join("; ");
    if more == 0 { shown } else { format!("{shown}; and {more} more") }
}

/// A statement of a test, which is ASCII, as messages show it.
fn shortened(sql: &str) -> String {
    sql.get(..SHOWN).map_or_else(|| sql.to_owned(), |start| format!("{start} ..."))
}

fn in_words(answer: &Answer) -> String {
    format!("{} with checksum {:016x}", counted(answer.rows, "row"), answer.checksum)
}

/// Longest part of a statement in a message, bytes.
const SHOWN: usize = 200;

impl Error {
    pub(crate) fn query(sql: &[u8], cause: WireError) -> Self {
        let shown = String::from_utf8_lossy(&sql[..sql.len().min(SHOWN)]);
        let end = if sql.len() > SHOWN { " ..." } else { "" };
        Self::Query { sql: format!("{shown}{end}"), cause }
    }

    /// The error, with the place in the user's file if that is known.
    pub(crate) fn at(self, place: Option<String>) -> Self {
        match (place, &self) {
            // The message of a script has its place.
            (_, Self::Lua(error)) if error.has_place() => self,
            (Some(place), _) => Self::At { place, error: Box::new(self) },
            (None, _) => self,
        }
    }

    /// Without the place in the user's file.
    fn bare(&self) -> &Self {
        match self {
            Self::At { error, .. } => error.bare(),
            other => other,
        }
    }

    /// Whether a script was ended from outside.
    pub(crate) fn is_ended_script(&self) -> bool {
        matches!(self.bare(), Self::Lua(assay_lua::Error::Ended { .. }))
    }

    /// What did not end, for a client that was cut off.
    pub(crate) fn unfinished(&self) -> Option<String> {
        match self {
            Self::At { place, error } => Some(match error.unfinished() {
                Some(what) => format!("{place}, {what}"),
                None => place.clone(),
            }),
            Self::Query { sql, .. } | Self::Prepare { sql, .. } => Some(format!("`{sql}`")),
            Self::Lua(
                assay_lua::Error::Ended { place }
                | assay_lua::Error::Endless { place, .. }
                | assay_lua::Error::Stuck { place },
            ) => place.clone(),
            _ => None,
        }
    }

    /// Whether a statement timed out.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(
            self.bare(),
            Self::Query { cause: WireError::Timeout { .. }, .. }
                | Self::Connect { source: WireError::Timeout { .. }, .. }
                | Self::Prepare { source: WireError::Timeout { .. }, .. }
        )
    }

    /// What did not end, in words, if the server was silent for too long.
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

    /// The server's error code, if the server refused something.
    #[must_use]
    pub fn server_code(&self) -> Option<u32> {
        match self.bare() {
            Self::Connect { source, .. }
            | Self::Prepare { source, .. }
            | Self::Query { cause: source, .. }
            | Self::HalfDropped { cause: source, .. } => source.server_code(),
            _ => None,
        }
    }

    /// Whether a server refused a statement whose syntax, functions or types it does not know: it may be right on a
    /// server of the other dialect.
    #[must_use]
    pub fn may_be_of_other_dialect(&self) -> bool {
        self.server_code().is_some_and(|code| OTHER_DIALECT.contains(&code))
    }
}

/// MySQL's, MariaDB's and Postgres' codes for syntax, functions, variables and types that they do not know.
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

/// MySQL's and Postgres' codes for a missing table and for too many connections.
pub(crate) const NO_SUCH_TABLE: [u32; 2] = [1146, sqlstate("42P01")];
pub(crate) const TOO_MANY_CONNECTIONS: [u32; 2] = [1040, sqlstate("53300")];
/// MySQL's code for too many prepared statements.
const TOO_MANY_PREPARED: u32 = 1461;

/// MySQL and MariaDB: another row has this key.
const DUPLICATE_KEY: u32 = 1062;

/// The code of a valid SQL state.
pub(crate) const fn sqlstate(state: &str) -> u32 {
    match code_of_state(state) {
        Some(code) => code,
        None => 0,
    }
}

/// What to do where the tables contradict themselves.
const INCONSISTENT: &str = "if somebody else has changed the tables, load them again; otherwise the server has lost \
                            or repeated a part of a transaction";

/// What to do where an answer is not what it should be.
const WRONG: &str = "run the statement by hand: either the server is wrong, or its tables do not come from \
                     `assay load` with this seed";

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::Lua(error) => error.hints(),
            Self::At { error, .. } => error.hints(),
            Self::EndedEarly => vec![NO_EARLY_END.to_owned()],
            _ => self.own_hints(),
        }
    }
}

/// What to do about a script that ends.
const NO_EARLY_END: &str =
    "an `event` of a script that returns a value ends its client; studies need scripts that go on";

/// What to do about a dump that a server does not live through.
const ENDS_THE_SERVER: &str =
    "take this statement, or the one before it, out of the dump if it ends the server (`SHUTDOWN`)";

impl Error {
    fn own_hints(&self) -> Vec<String> {
        let hint = match (self, self.server_code()) {
            (Self::Pin { .. }, _) => "choose a CPU that assay may use, or `--placement free`",
            (Self::Unfit { unfit, .. }, _) => unfit.hint(),
            (Self::Foreign(objects), _) if objects.iter().any(|it| it.contains(UNSEEN)) => {
                "grant the user the TRIGGER privilege in the database, or name another database in the URL; \
                 `assay load URL --replace` drops all of them, with their triggers and contents"
            }
            (Self::Foreign(_), _) => {
                "name another database in the URL; `assay load URL --replace` drops all of them, with their contents"
            }
            (Self::OtherScratch(_), _) => {
                "drop or rename the table, or name another database in the URL"
            }
            (Self::Blind { .. }, _) => "grant the user the TRIGGER privilege in the database",
            (Self::MayNotCreate { .. }, _) => {
                "grant the user CREATE on the schema, or name another database in the URL"
            }
            (Self::HalfDropped { .. }, _) => {
                "drop whatever depends on it, such as a foreign key in another database, and run the command again"
            }
            (Self::OtherTables(_), _) => {
                "name another database in the URL and fill it with `assay load`, or name a test that only reads"
            }
            (Self::NotNumbered(_), _) => {
                "if the tables were loaded with `--auto-inc=off`, give that option here as well; otherwise load them \
                 again"
            }
            (Self::NotOurs(_), _) => {
                "name another database in the URL; `assay load URL --workload FILE --replace` drops these tables, with \
                 their contents"
            }
            (Self::UnknownForm(_), _) => {
                "leave that part of the text out, or compare servers that assay starts; drop the tables by hand"
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
            (Self::Referenced { .. }, _) => {
                "drop the foreign key or the view, or name another database in the URL"
            }
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
