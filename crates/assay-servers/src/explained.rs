//! A server's explanation of a statement.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The comparable parts of the plan.
    pub plan: String,
    /// Warnings of the planner, such as an index that it could not use.
    pub warnings: Vec<String>,
}
