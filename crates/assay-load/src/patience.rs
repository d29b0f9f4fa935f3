//! Waits for threads that run a script, and abandons those that are stuck.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use assay_lua::{Leash, LuaError, Patience};
use assay_wire::Stop;
use rustix::process::{Pid, setpriority_process};
use rustix::thread::gettid;

use crate::error::{LoadError, Result};

const LOOK_EVERY: Duration = Duration::from_millis(200);

const LOWEST: i32 = 19;

pub(crate) fn runs_here(leash: &Leash) {
    leash.runs_in(gettid().as_raw_nonzero().get());
}

/// Abandons a script. Its thread cannot be killed, so it gets the lowest priority.
pub(crate) fn give_up(leash: &Leash) {
    leash.end();
    if let Some(thread) = Pid::from_raw(leash.thread()) {
        // On Linux, this affects only the one thread.
        let _ = setpriority_process(Some(thread), LOWEST);
    }
}

pub(crate) fn stuck(leash: &Leash) -> LoadError {
    LuaError::Stuck { place: leash.place() }.into()
}

/// Waits for an answer of a thread that may run a script. Fails if the thread ended without one, or is abandoned
/// because it is stuck or does not end after a stop.
pub(crate) fn answer_of<T>(answers: &Receiver<T>, leash: &Leash, stop: &Stop) -> Result<T> {
    let mut patience = Patience::default();
    loop {
        match answers.recv_timeout(LOOK_EVERY) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::ClientLost),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if patience.is_over(leash, stop.is_asked(), Instant::now()) {
            give_up(leash);
            return Err(stuck(leash));
        }
    }
}

/// Runs work with a script on a separate thread. Returns [`LuaError::Stuck`] if the script does not return.
pub fn apart<T: Send + 'static>(
    leash: &Arc<Leash>,
    stop: &Stop,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    answer_of(&start_apart(leash, work)?, leash, stop)?
}

pub(crate) fn start_apart<T: Send + 'static>(
    leash: &Arc<Leash>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Receiver<Result<T>>> {
    let (answer, answers) = channel();
    let of_thread = Arc::clone(leash);
    let body = move || {
        runs_here(&of_thread);
        drop(answer.send(work()));
    };
    Builder::new().name("assay-script".to_owned()).spawn(body).map_err(LoadError::Thread)?;
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_apart_returns_what_it_made_and_a_lost_thread_is_noticed() {
        let leash = Arc::<Leash>::default();
        assert_eq!(apart(&leash, &Stop::default(), || Ok(3)).unwrap(), 3);
        assert!(leash.thread() > 0);
        let (answer, answers) = channel::<()>();
        drop(answer);
        let lost = answer_of(&answers, &leash, &Stop::default());
        assert!(matches!(lost, Err(LoadError::ClientLost)));
    }
}
