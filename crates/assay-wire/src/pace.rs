//! Delays requests of a connection.

use std::fmt;
use std::sync::Arc;

/// No delay by default.
#[derive(Clone, Default)]
pub struct Pace(Option<Arc<dyn Fn() + Send + Sync>>);

impl Pace {
    /// Calls this function before each request.
    #[must_use]
    pub fn of(wait: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(wait)))
    }

    pub(crate) fn wait(&self) {
        if let Some(wait) = &self.0 {
            wait();
        }
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Pace(waits)" } else { "Pace" })
    }
}
