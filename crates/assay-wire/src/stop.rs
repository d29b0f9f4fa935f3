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
    watched: Mutex<WatchedSockets>,
}

#[derive(Debug, Default)]
struct WatchedSockets {
    sockets: Vec<Weak<OwnedFd>>,
    /// How many want to finish what they do before.
    holders: usize,
}

impl WatchedSockets {
    fn end(&self) {
        self.sockets.iter().filter_map(Weak::upgrade).for_each(|socket| end(&socket));
    }
}

impl Stop {
    /// Asks to stop: every socket that is watched is shut down, now or when it comes to be watched; but not before
    /// all who hold it back have finished. Whether there are such.
    pub fn ask(&self) -> bool {
        let watched = self.watched();
        self.0.is_asked.store(true, Ordering::SeqCst);
        let is_held = watched.holders > 0;
        if !is_held {
            watched.end();
        }
        is_held
    }

    /// Holds a stop back until what is returned is dropped; none when somebody has asked already.
    #[must_use]
    pub fn hold(&self) -> Option<Held> {
        let mut watched = self.watched();
        if self.is_asked() {
            return None;
        }
        watched.holders += 1;
        Some(Held(self.clone()))
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
        let mut watched = self.watched();
        if self.is_asked() && watched.holders == 0 {
            end(&socket);
        }
        watched.sockets.push(Arc::downgrade(&socket));
        drop(watched);
        Watched { stop: self.clone(), socket }
    }

    fn watched(&self) -> MutexGuard<'_, WatchedSockets> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Watched {
    /// What shuts down this socket alone.
    #[must_use]
    pub fn breaker(&self) -> Breaker {
        Breaker(Arc::downgrade(&self.socket))
    }
}

/// Shuts a socket down under whoever waits for the other side; does nothing once the socket was dropped.
#[derive(Clone, Debug)]
pub struct Breaker(Weak<OwnedFd>);

impl Breaker {
    /// Shuts it down, in both directions.
    pub fn end(&self) {
        if let Some(socket) = self.0.upgrade() {
            end(&socket);
        }
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mine = Arc::as_ptr(&self.socket);
        self.stop.watched().sockets.retain(|socket| socket.as_ptr() != mine);
    }
}

/// Keeps a [`Stop`] from taking effect.
#[derive(Debug)]
pub struct Held(Stop);

impl Drop for Held {
    fn drop(&mut self) {
        let mut watched = self.0.watched();
        watched.holders -= 1;
        if watched.holders == 0 && self.0.is_asked() {
            watched.end();
        }
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
    fn one_socket_can_be_ended_without_the_others() {
        let stop = Stop::default();
        let pairs = [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()];
        let [first, second] =
            pairs.each_ref().map(|(ours, _)| stop.watch(ours.try_clone().unwrap().into()));
        let breaker = first.breaker();
        breaker.end();
        let [(_, mut theirs), (_, mut others)] = pairs;
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
        drop(first);
        breaker.end();
        others.set_nonblocking(true).unwrap();
        assert!(others.read(&mut [0]).is_err(), "nothing came, and no end");
        drop(second);
    }

    #[test]
    fn what_is_no_longer_watched_is_left_alone() {
        let stop = Stop::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        drop(stop.watch(ours.try_clone().unwrap().into()));
        stop.ask();
        assert!(stop.is_asked() && stop.watched().sockets.is_empty());
        (&ours).write_all(b"x").unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn what_holds_it_back_is_finished() {
        let stop = Stop::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let _watched = stop.watch(ours.try_clone().unwrap().into());
        let [first, second] = [stop.hold().unwrap(), stop.hold().unwrap()];
        assert!(stop.ask() && stop.is_asked());
        assert!(stop.hold().is_none());
        drop(first);
        (&ours).write_all(b"x").unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 1);
        drop(second);
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
    }
}
