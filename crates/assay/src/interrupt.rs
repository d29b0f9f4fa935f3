//! Ctrl-C: the first asks to end after the slice in flight, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::exit::Exit;

/// Whether the user asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

/// The study was interrupted: not a failure, what was measured is kept.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn listen() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::SeqCst) {
                // The supervisors see their pipes close, and end the servers.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the second signal ends assay at once"
                )]
                std::process::exit(Exit::Interrupted as i32);
            }
        })
        .context("cannot listen for signals")?;
        Ok(Self(asked))
    }

    /// Fails once the user asked to stop: to be called between steps.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        if self.0.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
    }
}
