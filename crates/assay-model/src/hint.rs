//! Remedies carried by errors.

pub trait Hint {
    /// Suggestions of one sentence each, without a final full stop, printed after the error as `hint: ...`.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }
}
