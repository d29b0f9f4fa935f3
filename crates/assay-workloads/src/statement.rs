//! The statements of a program.

use assay_model::Sending;

use crate::sql::Quotes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamType {
    Int,
    Text,
    /// Of any type, which the server infers.
    Inferred,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Prepared once per connection, then executed. If the server refuses to prepare it (MySQL and `BEGIN`, error
    /// 1295), the text is sent each time.
    Prepared,
    /// Parsed, planned and executed each time, with the values separate from the text.
    Extended,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// SQL with the dialect's parameter marks. For a text statement it is the pattern of the text.
    pub sql: String,
    pub params: Vec<ParamType>,
    pub mode: Mode,
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
    /// Index into [`crate::Program::sessions`].
    pub session: usize,
}
