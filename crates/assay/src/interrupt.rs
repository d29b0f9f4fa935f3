//! Ctrl-C: the first ends at once what is under way, in good order; the second ends assay itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use assay_wire::Stop;

use crate::exit::Exit;

/// That of this process: signals have no other place to leave word.
static ASKED: OnceLock<Stop> = OnceLock::new();

/// Whether the user asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    stop: Stop,
    /// Whether assay may end wherever it is.
    at_once: Arc<AtomicBool>,
}

/// The study was interrupted: not a failure, what was measured is kept.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn listen() -> Result<Self> {
        let stop = ASKED.get_or_init(Stop::default);
        let interrupt = Self { stop: stop.clone(), at_once: Arc::default() };
        let at_once = Arc::clone(&interrupt.at_once);
        ctrlc::set_handler(move || {
            if stop.is_asked() || at_once.load(Ordering::SeqCst) {
                // The supervisors see their pipes close, and end the servers.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the second signal ends assay at once"
                )]
                std::process::exit(Exit::Interrupted as i32);
            }
            stop.ask();
        })
        .context("cannot listen for signals")?;
        Ok(interrupt)
    }

    /// Does what leaves nothing half done wherever it is broken off, and may wait for what no stop reaches: while it
    /// goes on, even the first signal ends assay.
    pub(crate) fn may_end_in<T>(&self, work: impl FnOnce() -> T) -> T {
        self.at_once.store(true, Ordering::SeqCst);
        let done = work();
        self.at_once.store(false, Ordering::SeqCst);
        done
    }

    /// Fails once the user asked to stop: to be called between steps, and before a failure is taken for one.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        if self.stop.is_asked() { Err(Interrupted) } else { Ok(()) }
    }

    /// What ends servers and connections when the user asks to stop.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

/// Whether the user asked to stop: whatever failed since then failed because of that.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some_and(Stop::is_asked)
}
