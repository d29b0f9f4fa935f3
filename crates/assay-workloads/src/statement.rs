//! The statements of a program.

use assay_model::{Renewal, Sending, StatementMode};

use crate::sql::Quotes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentType {
    Int,
    Text,
    /// Any type; the server infers it.
    Inferred,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStatement {
    /// SQL with the dialect's parameter marks. For a text statement it is the pattern of the text.
    pub sql: String,
    pub params: Vec<ArgumentType>,
    /// If the server refuses to prepare it (MySQL and `BEGIN`, error 1295), the text is sent each time.
    pub mode: StatementMode,
    /// The text before, between and after the parameters; empty if each event has the whole text.
    pub pieces: Vec<String>,
    /// The quotes around each parameter; empty if no parameter is quoted. A statement with quoted parameters is text.
    pub quotes: Vec<Option<Quotes>>,
    /// Places of kept values that receive the columns of the first result row, in order.
    pub keep: Vec<u32>,
    /// Several statements in one message, and the rows to keep.
    pub sending: Sending,
    /// Position in a user's test: the numbers of the event kind and of the step.
    pub place: (u32, u32),
    /// Index into [`crate::EventProgram::sessions`].
    pub session: usize,
    pub renews: Option<Renewal>,
    /// The only client that sends it, if it is about tables of that client.
    pub client: Option<u32>,
}

impl ProgramStatement {
    pub(crate) fn new(sql: String, params: Vec<ArgumentType>, mode: StatementMode) -> Self {
        let (pieces, quotes, keep) = (Vec::new(), Vec::new(), Vec::new());
        let (sending, place, session) = (Sending::Alone, (0, 0), 0);
        let (renews, client) = (None, None);
        Self { sql, params, mode, pieces, quotes, keep, sending, place, session, renews, client }
    }
}
