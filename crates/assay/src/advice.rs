//! An error with a remedy, where no other type is needed to tell it.

use assay_model::Hint;

/// What failed, and what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Advised {
    what: String,
    hint: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Advised {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), source: None }
    }

    /// The same with what lies behind it.
    pub(crate) fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }
}

impl Hint for Advised {
    fn hints(&self) -> Vec<String> {
        vec![self.hint.clone()]
    }
}
