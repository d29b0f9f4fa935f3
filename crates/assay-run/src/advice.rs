//! An error with remedies, for cases that need no type of their own.

use std::error::Error as StdError;

use assay_model::Hint;

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct HintedError {
    what: String,
    hints: Vec<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl HintedError {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hints: vec![hint.into()], source: None }
    }

    /// Adds another remedy.
    pub fn or(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub fn caused_by(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

impl Hint for HintedError {
    fn hints(&self) -> Vec<String> {
        self.hints.clone()
    }
}
