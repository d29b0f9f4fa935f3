//! A user's workload: tables with their rows, and the work of clients.

use serde::{Deserialize, Serialize};

use crate::{CapturedValues, Dialect, Generator, Scalar, SessionSetting, UserRowsFile};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserData {
    pub name: String,
    /// In the order of creation and loading.
    pub tables: Vec<UserTable>,
    /// Dump restored before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump: Option<PerDialect<UserDump>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserDump {
    pub file: UserRowsFile,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTable {
    pub name: String,
    /// Statements that create it and its dependencies; empty if the script with its rows does so.
    pub create: Vec<PerDialect<String>>,
    pub after: Vec<PerDialect<String>>,
    pub rows: UserRows,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UserRows {
    Generated {
        count: u32,
        /// In order. Other columns get their default.
        columns: Vec<UserColumn>,
    },
    /// Lines of a CSV file, whose first line names the columns.
    Csv {
        file: UserRowsFile,
        count: u32,
    },
    Script(PerDialect<UserRowsFile>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserColumn {
    pub name: String,
    pub values: Generator,
}

/// A value that may differ between dialects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerDialect<T> {
    /// For MySQL and MariaDB; `None` if they leave it out.
    pub mysql: Option<T>,
    /// For Postgres; `None` if it leaves it out.
    pub postgres: Option<T>,
}

/// Events of one kind: statements that share values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub name: String,
    /// Probability of this kind relative to the others.
    pub weight: f64,
    /// Values for its statements, drawn in this order when an event begins.
    pub variables: Vec<Variable>,
    pub steps: Vec<UserStep>,
    /// File with the values of [`Generator::Captured`] variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<CapturedValues>,
    /// Session settings for its statements, in the order in which they are set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<SessionSetting>,
    /// Frequency in the log that it comes from. Not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<LogShare>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogShare {
    pub calls: u64,
    /// Share of the time of all statements, 0 to 1; of all calls if the log has no times.
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Without the colon.
    pub name: String,
    /// `None` if it is taken from a result; it is NULL until then.
    pub values: Option<Generator>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UserStep {
    Send {
        /// A dialect without the statement skips the step.
        sql: PerDialect<Sql>,
        /// Consecutive repetitions. Drawn variables of the statement are drawn anew for each.
        times: u32,
        /// Variables that receive the columns of the first result row, in order.
        keep: Vec<u32>,
        #[serde(default, skip_serializing_if = "Sending::is_usual")]
        sending: Sending,
        /// Variable that must be true, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
    /// A pause, such as a user's thinking time.
    Sleep {
        us: Generator,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
    /// Start or end of a pipeline.
    Pipeline {
        mark: PipelineMark,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
}

impl Sending {
    pub fn is_usual(&self) -> bool {
        *self == Self::Alone
    }
}

/// How a statement is sent and its results are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sending {
    /// On its own. The first row is kept.
    #[default]
    Alone,
    /// Several statements in one text message. The first row of the last result is kept.
    Combined,
    /// The same, or one statement. The last row of every result is kept, in sequence.
    LastRows,
}

/// A point in a pipeline. Pipelined statements are sent without waiting for replies to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PipelineMark {
    /// Queue statements from here on.
    Start,
    /// Send queued statements and receive their replies.
    Sync,
    /// The same, and end the pipeline.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    /// Text before, between and after the variables: one piece more than variables.
    pub pieces: Vec<String>,
    pub variables: Vec<u32>,
}

/// Loaded size of a row whose values are unknown, bytes.
const UNKNOWN_ROW_BYTES: u64 = 300;

/// Overhead of a row beyond its values, and per row for each statement after the load, which may create an index.
const ROW_OVERHEAD_BYTES: u64 = 80;
const INDEX_BYTES: u64 = 40;

/// Loaded size of a dump relative to its text: rows, indexes, and space left free by an import.
const DUMP_FACTOR: u64 = 3;

impl UserTable {
    fn loaded_bytes(&self) -> u64 {
        let row = match &self.rows {
            UserRows::Generated { columns, .. } => {
                columns.iter().map(|it| value_bytes(&it.values)).sum::<u64>() + ROW_OVERHEAD_BYTES
            }
            UserRows::Csv { .. } | UserRows::Script(_) => UNKNOWN_ROW_BYTES,
        };
        let indexes = INDEX_BYTES.saturating_mul(self.after.len() as u64);
        row.saturating_add(indexes).saturating_mul(self.count().unwrap_or(0).into())
    }
}

fn value_bytes(values: &Generator) -> u64 {
    match values {
        Generator::Text { least, most } => u64::midpoint((*least).into(), (*most).into()),
        other => other.most_bytes(),
    }
}

impl UserData {
    /// Estimated size of the tables after the load, bytes.
    pub fn loaded_bytes(&self) -> u64 {
        // A system takes one of the dumps.
        let dumps = self.dump.iter().flat_map(|it| [&it.mysql, &it.postgres]).flatten();
        let dump = dumps.map(|dump| dump.bytes.saturating_mul(DUMP_FACTOR)).max().unwrap_or(0);
        self.tables.iter().map(UserTable::loaded_bytes).fold(dump, u64::saturating_add)
    }

    /// Known rows of all tables after the load: without those that scripts fill.
    pub fn rows(&self) -> u64 {
        self.tables.iter().filter_map(UserTable::count).map(u64::from).sum()
    }

    /// Whether its statements are for tables that a server already has.
    pub fn uses_existing_tables(&self) -> bool {
        self.tables.is_empty() && self.dump.is_none()
    }

    pub fn dump(&self, dialect: Dialect) -> Option<&UserDump> {
        self.dump.as_ref()?.for_dialect(dialect)
    }

    /// Whether it has a dump, but none for this dialect.
    pub fn lacks_dump(&self, dialect: Dialect) -> bool {
        self.dump.is_some() && self.dump(dialect).is_none()
    }

    /// The first table without a statement in a dialect.
    pub fn lacks(&self, dialect: Dialect) -> Option<&UserTable> {
        let has_dump = self.dump(dialect).is_some();
        self.tables.iter().find(|table| {
            // The dump creates tables that specify only their rows.
            if has_dump && table.create.is_empty() {
                return false;
            }
            let has_create = table.create.iter().any(|it| it.for_dialect(dialect).is_some());
            let has_script = match &table.rows {
                UserRows::Script(script) => script.for_dialect(dialect).is_some(),
                UserRows::Generated { .. } | UserRows::Csv { .. } => false,
            };
            !has_create && !has_script
        })
    }
}

impl Transaction {
    /// Statements per event, repetitions included.
    pub fn statements(&self) -> u64 {
        let times = self.steps.iter().map(|step| match step {
            UserStep::Send { times, .. } => u64::from(*times),
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => 0,
        });
        times.fold(0, u64::saturating_add)
    }

    /// Approximate bytes of the values an event may draw and use; repetitions draw anew.
    pub fn most_bytes(&self) -> u64 {
        const VALUE_BYTES: u64 = 32;
        let bytes = self.variables.iter().filter_map(|it| Some(it.values.as_ref()?.most_bytes()));
        let drawn = bytes.fold(VALUE_BYTES * self.variables.len() as u64, u64::saturating_add);
        let uses = |sql: &Option<Sql>| sql.as_ref().map_or(0, |sql| sql.variables.len() as u64);
        let of_step = |step: &UserStep| match step {
            UserStep::Send { sql, times, .. } => {
                let uses = uses(&sql.mysql).max(uses(&sql.postgres));
                uses.saturating_mul(VALUE_BYTES)
                    .saturating_add(drawn)
                    .saturating_mul((*times).into())
            }
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => 0,
        };
        self.steps.iter().map(of_step).fold(drawn, u64::saturating_add)
    }

    /// Maximum total length of an event's pauses, microseconds.
    pub fn most_pause_us(&self) -> u64 {
        let pause = |step: &UserStep| match step {
            UserStep::Sleep { us: Generator::Constant(Scalar::Integer(us)), .. } => {
                us.unsigned_abs()
            }
            UserStep::Sleep { us: Generator::Integer(range), .. } => range.high.unsigned_abs(),
            UserStep::Sleep { .. } | UserStep::Send { .. } | UserStep::Pipeline { .. } => 0,
        };
        self.steps.iter().map(pause).fold(0, u64::saturating_add)
    }
}

impl<T> PerDialect<T> {
    pub fn for_dialect(&self, dialect: Dialect) -> Option<&T> {
        match dialect {
            Dialect::Postgres => self.postgres.as_ref(),
            Dialect::MySql => self.mysql.as_ref(),
        }
    }
}

impl Sql {
    /// The text with a mark for each variable, made from its number, from 1.
    pub fn with_marks(&self, mark: impl Fn(usize) -> String) -> String {
        let mut pieces = self.pieces.iter();
        let mut text = pieces.next().cloned().unwrap_or_default();
        for (number, piece) in (1..).zip(pieces) {
            text += &mark(number);
            text += piece;
        }
        text
    }
}

impl<T: Clone> PerDialect<T> {
    pub fn all(part: T) -> Self {
        Self { mysql: Some(part.clone()), postgres: Some(part) }
    }
}

impl UserTable {
    pub fn is_for_postgres_only(&self) -> bool {
        let script = match &self.rows {
            UserRows::Script(script) => script.mysql.is_none(),
            UserRows::Generated { .. } | UserRows::Csv { .. } => true,
        };
        script && self.create.iter().all(|it| it.mysql.is_none())
    }

    /// Rows after the load; `None` if a script makes them.
    pub fn count(&self) -> Option<u32> {
        match self.rows {
            UserRows::Generated { count, .. } | UserRows::Csv { count, .. } => Some(count),
            UserRows::Script(_) => None,
        }
    }
}
