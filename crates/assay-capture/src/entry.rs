//! Statements found in a log, with their context.

use assay_model::Dialect;

/// One line of a log, or one row of a table of digests: a statement that was executed once or more often.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub dialect: Dialect,
    /// Time of logging, microseconds since 1970.
    pub at_us: Option<i64>,
    /// Number of the session, unique in a log.
    pub session: Option<u64>,
    pub database: Option<&'a str>,
    pub text: &'a [u8],
    /// The values of `$1`, `$2` and so on, if the log has them separately. `None` is NULL.
    pub parameters: &'a [Option<Vec<u8>>],
    pub is_prepared: bool,
    pub calls: u64,
    /// Total time of these calls, microseconds.
    pub time_us: Option<f64>,
    /// The log has only the beginning of the text.
    pub is_cut: bool,
}

pub trait Sink {
    fn entry(&mut self, entry: &Entry<'_>);

    fn skip(&mut self, why: Skip);

    /// The current line is invalid in this format.
    fn unreadable(&mut self, line: &[u8]) {
        self.unreadable_before(0, line);
    }

    /// Like `unreadable`, for a line this many lines before the current one.
    fn unreadable_before(&mut self, lines: u64, line: &[u8]);

    fn failed(&mut self, session: Option<u64>);

    fn ended(&mut self, session: u64);

    /// A session began, or was reset to the server's settings.
    fn began(&mut self, session: u64) {
        let _ = session;
    }

    /// The server was restarted, and session numbers start over.
    fn restarted(&mut self) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// A command of the protocol, such as `Quit` or `Ping`.
    Administration,
    /// `SET`, `SHOW`, `EXPLAIN`, cursors: it concerns the session.
    Session,
    /// It creates, changes, drops or maintains an object.
    Definition,
    System,
    Replication,
    Dump,
    /// It reaches outside the database: files, other servers, other sessions.
    Outside,
    Cut,
    Failed,
    /// It ran in a function, not on its own.
    Nested,
    /// Its text is too long, or it has too many values.
    TooLong,
    /// Too many different statements preceded it.
    TooMany,
    /// Its text is not UTF-8 outside of values.
    NotText,
    /// Sent by assay itself, to a server that it started or loaded.
    Own,
}

impl Skip {
    /// In the order of [`Skip`].
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

    /// Singular noun of the skipped statements and its complement, for a line of the summary.
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
