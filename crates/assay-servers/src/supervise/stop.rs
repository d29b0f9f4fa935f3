//! Stopping what may not be able to stop at once.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::thread::sched_yield;

/// How long a process may take to stop: it has at most to come back from the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one attempt may take. Nearly all take a fraction of a millisecond.
const ATTEMPT: Duration = Duration::from_millis(500);

/// How long what could not stop may run before the next attempt.
const BREATH: Duration = Duration::from_millis(10);

/// For how long the CPU is only yielded between two looks.
const SHORT: Duration = Duration::from_millis(5);

/// Stops what `send` reaches; returns when `has_stopped`, or with its error.
///
/// A thread that ends waits in the kernel for the workers of its `io_uring`. Stopped themselves, these never end, and
/// neither the thread nor, with it, the process counts as stopped, for ever. So what takes long is let go on for a
/// moment, and stopped again.
pub(super) fn stop(
    send: impl Fn(Signal) -> io::Result<()>,
    mut has_stopped: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        send(Signal::STOP)?;
        let attempt = Instant::now();
        while attempt.elapsed() < ATTEMPT {
            if has_stopped()? {
                return Ok(());
            }
            if attempt.elapsed() < SHORT {
                sched_yield();
            } else {
                sleep(Duration::from_millis(1));
            }
        }
        send(Signal::CONT)?;
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("it does not stop within {PATIENCE:?}")));
        }
        sleep(BREATH);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A real server does this now and then, when it is frozen while it shuts down.
    #[test]
    fn what_cannot_stop_is_let_go_on_for_a_moment() {
        let sent = RefCell::new(Vec::new());
        let send = |signal| {
            sent.borrow_mut().push(signal);
            Ok(())
        };
        stop(send, || Ok(sent.borrow().len() == 5)).unwrap();
        let [stop, go_on] = [Signal::STOP, Signal::CONT];
        assert_eq!(sent.into_inner(), [stop, go_on, stop, go_on, stop]);
    }

    #[test]
    fn an_error_ends_the_waiting() {
        let gone = || Err(io::ErrorKind::BrokenPipe.into());
        assert_eq!(stop(|_| Ok(()), gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
