//! Ctrl-C. The first one stops at once, except that a round is finished first. The second one ends assay.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use anyhow::{Context, Result};
use assay_servers::supervise::kill_descendants;
use assay_wire::Stop;

use crate::progress::print;

/// The exit code after a second Ctrl-C.
pub const INTERRUPTED: i32 = 4;

/// The interrupt of this process. A signal handler has no other place to leave the request.
static LISTENING: OnceLock<Interrupt> = OnceLock::new();

#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    stop: Stop,
    /// Whether assay may exit at any point of its current work.
    at_once: Arc<AtomicBool>,
    takes_long: Arc<AtomicBool>,
}

/// Seconds. Longer work that is finished after the first signal is announced.
const LONG_S: f64 = 2.0;

#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct InterruptError;

impl Interrupt {
    /// A command may measure several studies: all get the same interrupt.
    pub fn listen() -> Result<Self> {
        if let Some(interrupt) = LISTENING.get() {
            return Ok(interrupt.clone());
        }
        let interrupt = Self::default();
        let Self { stop, at_once, takes_long } = interrupt.clone();
        ctrlc::set_handler(move || {
            let at_once = at_once.load(Ordering::SeqCst);
            if stop.is_asked() || at_once {
                let _halt = at_once.then(end_programs);
                if !at_once {
                    print("ended at once; `assay resume` continues a study that had begun");
                }
                // The supervisors see their pipes close, and then end the servers.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the second signal ends assay at once"
                )]
                std::process::exit(INTERRUPTED);
            }
            if stop.ask() && takes_long.load(Ordering::SeqCst) {
                print("finishing the current round; press Ctrl-C again to end at once, without it");
            }
        })
        .context("cannot listen for signals")?;
        Ok(LISTENING.get_or_init(|| interrupt).clone())
    }

    /// Does work that can be cut off anywhere, and that may wait for something no stop reaches. During this work, even
    /// the first signal ends assay and all programs it runs.
    pub fn may_end_in<T>(&self, work: impl FnOnce() -> T) -> T {
        self.at_once.store(true, Ordering::SeqCst);
        let done = work();
        self.at_once.store(false, Ordering::SeqCst);
        done
    }

    /// Does some seconds of work that is finished even if the user asks to stop meanwhile. After a request to stop, it
    /// does not begin.
    pub fn finish<T>(&self, seconds: f64, work: impl FnOnce() -> T) -> Result<T, InterruptError> {
        let _held = self.stop.hold().ok_or(InterruptError)?;
        self.takes_long.store(seconds > LONG_S, Ordering::SeqCst);
        Ok(work())
    }

    /// Fails once the user has asked to stop. Call it between steps, and before an error counts as a failure.
    pub fn check(&self) -> Result<(), InterruptError> {
        if self.stop.is_asked() { Err(InterruptError) } else { Ok(()) }
    }

    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }
}

/// Ends the programs started by package clients, git and builds. The guard keeps threads from reporting that as a
/// failure.
fn end_programs() -> MutexGuard<'static, ()> {
    let halt = assay_provision::halt();
    if let Err(error) = kill_descendants() {
        log::warn!("cannot end the processes that were started: {error}");
    }
    halt
}

/// Whether the user asked to stop. Later failures are a consequence.
pub fn is_asked() -> bool {
    LISTENING.get().is_some_and(|interrupt| interrupt.check().is_err())
}
