//! Stops processes that may not be able to stop at once.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::priority::give_way;

/// Time limit for a process to stop. At most it waits for the disk.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of one attempt. Nearly all take a fraction of a millisecond.
const ATTEMPT: Duration = Duration::from_millis(500);

/// How long a process that could not stop may run before the next attempt.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// How long to yield the CPU between two checks before sleeping instead.
const YIELD_FOR: Duration = Duration::from_millis(5);

/// Stops the processes that `send` signals. Returns when `has_stopped` is true, or with its error. A thread that ends
/// waits in the kernel for the workers of its `io_uring`. If those are stopped, they never end, and the thread and its
/// process never count as stopped. So a process that takes long is resumed briefly and stopped again.
pub(super) fn stop(
    send: impl Fn(Signal) -> io::Result<()>,
    mut has_stopped: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let deadline = Instant::now() + STOP_LIMIT;
    loop {
        send(Signal::STOP)?;
        let attempt = Instant::now();
        while attempt.elapsed() < ATTEMPT {
            if has_stopped()? {
                return Ok(());
            }
            if attempt.elapsed() < YIELD_FOR {
                give_way();
            } else {
                sleep(Duration::from_millis(1));
            }
        }
        send(Signal::CONT)?;
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("it did not stop within {STOP_LIMIT:?}")));
        }
        sleep(RETRY_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A real server does this now and then, when it is frozen while it shuts down.
    #[test]
    fn unstoppable_threads_may_continue_briefly() {
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
    fn an_error_ends_the_wait() {
        let gone = || Err(io::ErrorKind::BrokenPipe.into());
        assert_eq!(stop(|_| Ok(()), gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
