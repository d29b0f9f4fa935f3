//! Remedies that errors carry.

/// An error that may know what the user can do next.
pub trait Hint {
    /// Suggestions for what to do next: one sentence each, without a final full stop, printed after the error as
    /// `hint: ...`.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
}
