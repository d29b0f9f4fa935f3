//! What a reader finds in a log: statements, with what the log tells about them.

use assay_model::Dialect;

/// One line of a log, or one row of a table of digests: a statement that was carried out once or more often.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The dialect of the server that wrote the log.
    pub dialect: Dialect,
    /// When it was logged, microseconds since 1970.
    pub at_us: Option<i64>,
    /// The session, by a number that is unique in a log.
    pub session: Option<u64>,
    /// The database that was the current one.
    pub database: Option<&'a str>,
    /// The statement.
    pub text: &'a [u8],
    /// The values of `$1`, `$2` and so on, where the log has them apart from the text. `None` is NULL.
    pub parameters: &'a [Option<Vec<u8>>],
    /// Whether the client prepared it.
    pub is_prepared: bool,
    /// How often it was carried out.
    pub calls: u64,
    /// The time of all these calls, microseconds.
    pub time_us: Option<f64>,
    /// Whether the log has only the beginning of the text.
    pub is_cut: bool,
}

/// What takes the entries of a log.
pub trait Sink {
    /// A statement.
    fn entry(&mut self, entry: &Entry<'_>);

    /// A statement or command that is no work to measure.
    fn skip(&mut self, why: Skip);

    /// The current line makes no sense in this format.
    fn unreadable(&mut self, line: &[u8]) {
        self.unreadable_before(0, line);
    }

    /// The same of a line that is so many lines before the current one.
    fn unreadable_before(&mut self, lines: u64, line: &[u8]);

    /// A statement of this session failed.
    fn failed(&mut self, session: Option<u64>);

    /// A session ended.
    fn ended(&mut self, session: u64);

    /// A session began, or has the settings of the server again.
    fn began(&mut self, session: u64) {
        let _ = session;
    }

    /// The server was started again: the numbers of its sessions begin anew.
    fn restarted(&mut self) {}
}

/// Why a statement is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// A command of the protocol, such as `Quit` or `Ping`.
    Administration,
    /// `SET`, `SHOW`, `EXPLAIN`, cursors: it concerns the session.
    Session,
    /// It creates, changes or drops something, or maintains it.
    Definition,
    /// It reads the schemas that servers keep about themselves.
    System,
    /// Sent by replication.
    Replication,
    /// Sent by a program that dumps a database.
    Dump,
    /// It reaches outside the database: files, other servers, other sessions.
    Outside,
    /// Its text is cut off.
    Cut,
    /// The server refused it.
    Failed,
    /// It ran in a function, not on its own.
    Nested,
    /// Its text is too long, or it has too many values.
    TooLong,
    /// There were too many different statements before it.
    TooMany,
    /// Its text is not UTF-8 outside of values.
    NotText,
    /// Sent by assay itself, to a server that it started or loaded.
    Own,
}

impl Skip {
    /// Every reason, in the order of [`Skip`].
    pub const ALL: [Self; 14] = [
        Self::Administration,
        Self::Session,
        Self::Definition,
        Self::System,
        Self::Replication,
        Self::Dump,
        Self::Outside,
        Self::Cut,
        Self::Failed,
        Self::Nested,
        Self::TooLong,
        Self::TooMany,
        Self::NotText,
        Self::Own,
    ];

    /// What was skipped, for a line of the summary: the word for one of them, and what follows it.
    #[must_use]
    pub fn what(self) -> (&'static str, &'static str) {
        match self {
            Self::Administration => ("command", "of the protocol, such as Quit and Ping"),
            Self::Session => ("statement", "on the session, such as SET, SHOW and EXPLAIN"),
            Self::Definition => {
                ("statement", "of definition or maintenance, such as CREATE and ANALYZE")
            }
            Self::System => ("statement", "on system schemas, such as information_schema"),
            Self::Replication => ("statement", "of replication"),
            Self::Dump => ("statement", "of dumps"),
            Self::Outside => (
                "statement",
                "that reach outside the database, such as into files or other servers",
            ),
            Self::Cut => ("statement", "whose text is cut off"),
            Self::Failed => ("statement", "that the server refused"),
            Self::Nested => ("statement", "that ran in functions"),
            Self::TooLong => ("statement", "with a text that is too long, or with too many values"),
            Self::TooMany => ("statement", "beyond the limit on different statements"),
            Self::NotText => ("statement", "with names that are not UTF-8"),
            Self::Own => ("statement", "of assay itself"),
        }
    }
}
