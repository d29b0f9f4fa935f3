//! A workload that a user wrote: tables with their rows, and what clients do with them.

use serde::{Deserialize, Serialize};

use crate::{Captured, Dialect, Generator, Scalar, SessionSetting, UserRowsFile};

/// The tables of a user's workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserData {
    /// The name of the workload.
    pub name: String,
    /// Its tables, in the order in which they are created and loaded.
    pub tables: Vec<UserTable>,
    /// A dump that is restored before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump: Option<PerDialect<UserDump>>,
}

/// A dump of a whole schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserDump {
    /// The file.
    pub file: UserRowsFile,
    /// Bytes of its statements, about.
    pub bytes: u64,
}

/// A table of a user's workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTable {
    /// Its name.
    pub name: String,
    /// The statements that create it, with what it needs; none if the script with its rows does.
    pub create: Vec<PerDialect<String>>,
    /// Statements that follow when its rows are loaded, such as those that create indexes.
    pub after: Vec<PerDialect<String>>,
    /// Where its rows come from.
    pub rows: UserRows,
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UserRows {
    /// Made by generators.
    Generated {
        /// How many.
        count: u32,
        /// The columns that get values, in order. The others get their default.
        columns: Vec<UserColumn>,
    },
    /// The lines of a CSV file, whose first line names the columns.
    Csv {
        /// The file.
        file: UserRowsFile,
        /// How many.
        count: u32,
    },
    /// Made by the statements of an SQL script.
    Script(PerDialect<UserRowsFile>),
}

/// A column that gets values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserColumn {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Generator,
}

/// Something that may differ between dialects.
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
    /// Its name, which is that of the test that defines it.
    pub name: String,
    /// Events are of this kind in proportion to its weight.
    pub weight: f64,
    /// The values that its statements use, drawn in this order when an event begins.
    pub variables: Vec<Variable>,
    /// The steps of an event, in order.
    pub steps: Vec<UserStep>,
    /// The file from which variables with [`Generator::Captured`] take their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<Captured>,
    /// The settings of the session in which its statements run, in the order in which they are set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<SessionSetting>,
    /// How often the log has it that it comes from. This is not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<Logged>,
}

/// How often a log has events of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logged {
    /// Calls.
    pub calls: u64,
    /// Their share of the time of all statements, from 0 to 1; of all calls, if the log has no times.
    pub share: f64,
}

/// A value that statements use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name, without the colon.
    pub name: String,
    /// How it is drawn; `None` if it is taken from a result, and is NULL until then.
    pub values: Option<Generator>,
}

/// A step of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum UserStep {
    /// A statement.
    Send {
        /// The statement. A dialect that has none skips the step.
        sql: PerDialect<Sql>,
        /// Number of repetitions in a row. The variables that it uses and that are drawn are drawn anew for each.
        times: u32,
        /// The variables that get the columns of the first row of the result, in order.
        keep: Vec<u32>,
        /// What else is special about the statement.
        #[serde(default, skip_serializing_if = "Sending::is_usual")]
        sending: Sending,
        /// The variable that must be true; always if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
    /// A pause, such as the time that a user thinks.
    Sleep {
        /// Its length, microseconds.
        us: Generator,
        /// The variable that must be true; always if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
    /// A pipeline begins or ends.
    Pipeline {
        /// Which of both.
        mark: PipelineMark,
        /// The variable that must be true; always if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<u32>,
    },
}

impl Sending {
    /// Whether nothing is special.
    #[must_use]
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
    /// It is several statements in one message, which is text. The first row of the last result is kept.
    Combined,
    /// The same, or one statement. The last row of every result is kept, one after the other.
    LastRows,
}

/// Where a pipeline begins or ends. Statements in a pipeline are sent without waiting for the replies to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PipelineMark {
    /// Statements wait to be sent from here on.
    Start,
    /// What waits is sent, and its replies are received.
    Sync,
    /// The same, and the pipeline ends.
    End,
}

/// A statement with places for variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sql {
    /// The text before, between and after the variables: one piece more than there are variables.
    pub pieces: Vec<String>,
    /// Index of each variable among those of the transaction.
    pub variables: Vec<u32>,
}

impl UserData {
    /// Rows of all tables after the load, as far as they are known: not of tables that scripts fill.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().filter_map(UserTable::count).map(u64::from).sum()
    }

    /// The dump for servers of a dialect.
    #[must_use]
    pub fn dump(&self, dialect: Dialect) -> Option<&UserDump> {
        self.dump.as_ref()?.of(dialect)
    }

    /// Whether it has a dump, and none for this dialect.
    #[must_use]
    pub fn lacks_dump(&self, dialect: Dialect) -> bool {
        self.dump.is_some() && self.dump(dialect).is_none()
    }

    /// The first table that has no statement in a dialect, if there is one.
    #[must_use]
    pub fn lacks(&self, dialect: Dialect) -> Option<&UserTable> {
        let has_dump = self.dump(dialect).is_some();
        self.tables.iter().find(|table| {
            // The dump creates a table that says only which rows it gets.
            if has_dump && table.create.is_empty() {
                return false;
            }
            let has_create = table.create.iter().any(|it| it.of(dialect).is_some());
            let has_script = match &table.rows {
                UserRows::Script(script) => script.of(dialect).is_some(),
                UserRows::Generated { .. } | UserRows::Csv { .. } => false,
            };
            !has_create && !has_script
        })
    }
}

impl Transaction {
    /// Statements that an event sends, repetitions included.
    #[must_use]
    pub fn statements(&self) -> u64 {
        let times = self.steps.iter().map(|step| match step {
            UserStep::Send { times, .. } => u64::from(*times),
            UserStep::Sleep { .. } | UserStep::Pipeline { .. } => 0,
        });
        times.fold(0, u64::saturating_add)
    }

    /// Bytes of the values that an event may draw and use, about: variables are drawn anew for repetitions.
    #[must_use]
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

    /// Microseconds that the pauses of an event may last in all.
    #[must_use]
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
    /// The part of a dialect.
    #[must_use]
    pub fn of(&self, dialect: Dialect) -> Option<&T> {
        match dialect {
            Dialect::Postgres => self.postgres.as_ref(),
            Dialect::MySql => self.mysql.as_ref(),
        }
    }
}

impl Sql {
    /// The text with a mark for each variable, given the number of the mark, from 1.
    #[must_use]
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
    /// The same for all dialects.
    #[must_use]
    pub fn all(part: T) -> Self {
        Self { mysql: Some(part.clone()), postgres: Some(part) }
    }
}

impl UserTable {
    /// Whether every statement that makes it is one of Postgres.
    #[must_use]
    pub fn is_for_postgres_only(&self) -> bool {
        let script = match &self.rows {
            UserRows::Script(script) => script.mysql.is_none(),
            UserRows::Generated { .. } | UserRows::Csv { .. } => true,
        };
        script && self.create.iter().all(|it| it.mysql.is_none())
    }

    /// Number of rows after the load; `None` if a script makes them.
    #[must_use]
    pub fn count(&self) -> Option<u32> {
        match self.rows {
            UserRows::Generated { count, .. } | UserRows::Csv { count, .. } => Some(count),
            UserRows::Script(_) => None,
        }
    }
}
