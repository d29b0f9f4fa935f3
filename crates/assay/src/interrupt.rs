//! Ctrl-C: the first ends what is under way in good order, at once but for a slice, which is finished; the second ends
//! assay itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use anyhow::{Context, Result};
use assay_servers::supervise::kill_descendants;
use assay_wire::Stop;

use crate::exit::Exit;
use crate::progress::print;

/// That of this process: signals have no other place to leave word.
static ASKED: OnceLock<Stop> = OnceLock::new();

/// Whether the user asked to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    stop: Stop,
    /// Whether assay may end wherever it is.
    at_once: Arc<AtomicBool>,
    /// Whether what is being finished takes so long that one wants to know.
    takes_long: Arc<AtomicBool>,
}

/// What is finished after a first signal and takes longer is worth a word, seconds.
const LONG_S: f64 = 2.0;

/// The study was interrupted: not a failure, what was measured is kept.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn listen() -> Result<Self> {
        let stop = ASKED.get_or_init(Stop::default);
        let interrupt =
            Self { stop: stop.clone(), at_once: Arc::default(), takes_long: Arc::default() };
        let [at_once, takes_long] = [&interrupt.at_once, &interrupt.takes_long].map(Arc::clone);
        ctrlc::set_handler(move || {
            let at_once = at_once.load(Ordering::SeqCst);
            if stop.is_asked() || at_once {
                let _halt = at_once.then(end_programs);
                // The supervisors see their pipes close, and end the servers.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the second signal ends assay at once"
                )]
                std::process::exit(Exit::Interrupted as i32);
            }
            if stop.ask() && takes_long.load(Ordering::SeqCst) {
                print("finishing the current slice; press Ctrl-C again to end at once, without it");
            }
        })
        .context("cannot listen for signals")?;
        Ok(interrupt)
    }

    /// Does what leaves nothing half done wherever it is broken off, and may wait for what no stop reaches: while it
    /// goes on, even the first signal ends assay, with all the programs that it runs.
    pub(crate) fn may_end_in<T>(&self, work: impl FnOnce() -> T) -> T {
        self.at_once.store(true, Ordering::SeqCst);
        let done = work();
        self.at_once.store(false, Ordering::SeqCst);
        done
    }

    /// Does what is finished even though the user asks to stop meanwhile, which takes some seconds; not begun after
    /// that.
    pub(crate) fn finish<T>(
        &self,
        seconds: f64,
        work: impl FnOnce() -> T,
    ) -> Result<T, Interrupted> {
        let _held = self.stop.hold().ok_or(Interrupted)?;
        self.takes_long.store(seconds > LONG_S, Ordering::SeqCst);
        Ok(work())
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

/// Ends what package clients, git and builds have started, and lets nobody take that for a failure of theirs.
fn end_programs() -> MutexGuard<'static, ()> {
    let halt = assay_provision::halt();
    if let Err(error) = kill_descendants() {
        log::warn!("cannot end the processes that were started: {error}");
    }
    halt
}

/// Whether the user asked to stop: whatever failed since then failed because of that.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some_and(Stop::is_asked)
}
