//! An error with a remedy, for cases that need no type of their own.

use assay_model::Hint;

#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Advised {
    what: String,
    hint: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Advised {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), source: None }
    }

    pub fn caused_by(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..self }
    }
}

impl Hint for Advised {
    fn hints(&self) -> Vec<String> {
        vec![self.hint.clone()]
    }
}
