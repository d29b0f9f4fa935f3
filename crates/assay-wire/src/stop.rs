//! A request to stop at once: sockets are shut down under whoever waits for the other side.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::net::{Shutdown, shutdown};

/// Whether somebody asked to stop. All clones are one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_asked: AtomicBool,
    sockets: Mutex<Vec<Weak<OwnedFd>>>,
}

impl Stop {
    /// Asks to stop: every socket that is watched is shut down, now or when it comes to be watched.
    pub fn ask(&self) {
        let sockets = self.sockets();
        self.0.is_asked.store(true, Ordering::SeqCst);
        sockets.iter().filter_map(Weak::upgrade).for_each(|socket| end(&socket));
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Takes a connected socket that is to be shut down, in both directions, when somebody asks to stop.
    #[must_use]
    pub fn watch(&self, socket: OwnedFd) -> Watched {
        let socket = Arc::new(socket);
        let mut sockets = self.sockets();
        if self.is_asked() {
            end(&socket);
        }
        sockets.push(Arc::downgrade(&socket));
        drop(sockets);
        Watched { stop: self.clone(), socket }
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Weak<OwnedFd>>> {
        self.0.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(socket: &OwnedFd) {
    // One whose other side has gone is at its end already.
    shutdown(socket, Shutdown::Both).ok();
}

/// A socket that a [`Stop`] may shut down. Once it is dropped, it may not any more.
#[derive(Debug)]
pub struct Watched {
    stop: Stop,
    socket: Arc<OwnedFd>,
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mine = Arc::as_ptr(&self.socket);
        self.stop.sockets().retain(|socket| socket.as_ptr() != mine);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn whoever_waits_is_woken_and_what_comes_later_does_not_wait() {
        let stop = Stop::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let watched = stop.watch(ours.try_clone().unwrap().into());
        let waiting = std::thread::spawn(move || (&ours).read(&mut [0]).unwrap());
        stop.ask();
        assert_eq!(waiting.join().unwrap(), 0);
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
        drop(watched);
        let (mut late, _other) = UnixStream::pair().unwrap();
        let _watched = stop.watch(late.try_clone().unwrap().into());
        assert_eq!(late.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn what_is_no_longer_watched_is_left_alone() {
        let stop = Stop::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        drop(stop.watch(ours.try_clone().unwrap().into()));
        stop.ask();
        assert!(stop.is_asked() && stop.sockets().is_empty());
        (&ours).write_all(b"x").unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 1);
    }
}
