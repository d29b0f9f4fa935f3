//! What a server says about the execution of a statement.

/// What a server says about the execution of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The relevant parts of the plan.
    pub plan: String,
    /// Warnings of the planner, such as that it gave up an index.
    pub warnings: Vec<String>,
}
