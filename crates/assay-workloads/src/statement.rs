//! The statements of a program.

use assay_model::Sending;

use crate::sql::Quotes;

/// The type that a parameter is bound as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamType {
    /// A 64-bit integer.
    Int,
    /// A string.
    Text,
    /// Of any kind; the server infers its type.
    Inferred,
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Prepared once per connection, then executed. Where the server refuses to prepare it (MySQL
    /// and `BEGIN`, error 1295) the text is sent each time.
    Prepared,
    /// Parsed, planned and executed each time, with the values apart from the text.
    Extended,
    /// Rendered as text each time.
    Text,
}

/// One statement on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// SQL with the dialect's parameter marks. For a text statement it is the pattern of the text.
    pub sql: String,
    /// Parameters in order.
    pub params: Vec<ParamType>,
    /// How it is sent.
    pub mode: Mode,
    /// The text before, between and after the parameters; empty where an event holds the whole text.
    pub pieces: Vec<String>,
    /// The quotes around each parameter; empty if there are none around any. A statement with quoted parameters is
    /// text.
    pub quotes: Vec<Option<Quotes>>,
    /// Places of kept values that get the columns of the first row of the result, in order.
    pub keep: Vec<u32>,
    /// Whether it is several statements in one message, and which rows are kept.
    pub sending: Sending,
    /// Where a user's test has it: the number of the kind of events, and of the step.
    pub place: (u32, u32),
    /// Index into [`crate::Program::sessions`].
    pub session: usize,
}
