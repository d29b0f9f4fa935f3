//! A request to stop at once. It shuts down sockets, so that every wait for the other side ends.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::net::{Shutdown, shutdown};

/// All clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    is_asked: AtomicBool,
    watched: Mutex<WatchedSockets>,
}

#[derive(Debug, Default)]
struct WatchedSockets {
    sockets: Vec<Weak<OwnedFd>>,
    holders: usize,
}

impl WatchedSockets {
    fn end(&self) {
        self.sockets.iter().filter_map(Weak::upgrade).for_each(|socket| end(&socket));
    }
}

impl Stop {
    /// Requests the stop: shuts down every watched socket, and every socket that is watched later, unless the stop is
    /// held. Returns whether it is held.
    pub fn ask(&self) -> bool {
        let watched = self.watched();
        self.0.is_asked.store(true, Ordering::SeqCst);
        let is_held = watched.holders > 0;
        if !is_held {
            watched.end();
        }
        is_held
    }

    /// Holds the stop back until the returned value is dropped. `None` if a stop was already requested.
    pub fn hold(&self) -> Option<StopHold> {
        let mut watched = self.watched();
        if self.is_asked() {
            return None;
        }
        watched.holders += 1;
        Some(StopHold(self.clone()))
    }

    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Watches a connected socket, which a stop shuts down in both directions.
    pub fn watch(&self, socket: OwnedFd) -> WatchedSocket {
        let socket = Arc::new(socket);
        let mut watched = self.watched();
        if self.is_asked() && watched.holders == 0 {
            end(&socket);
        }
        watched.sockets.push(Arc::downgrade(&socket));
        drop(watched);
        WatchedSocket { stop: self.clone(), socket }
    }

    fn watched(&self) -> MutexGuard<'_, WatchedSockets> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(socket: &OwnedFd) {
    // On failure, the connection has already ended.
    shutdown(socket, Shutdown::Both).ok();
}

/// A socket that a [`Stop`] may shut down, until it is dropped.
#[derive(Debug)]
pub struct WatchedSocket {
    stop: Stop,
    socket: Arc<OwnedFd>,
}

impl WatchedSocket {
    pub fn breaker(&self) -> Breaker {
        Breaker(Arc::downgrade(&self.socket))
    }
}

/// Shuts a socket down, so that every wait for the other side ends. Does nothing once the socket was dropped.
#[derive(Clone, Debug)]
pub struct Breaker(Weak<OwnedFd>);

impl Breaker {
    pub fn end(&self) {
        if let Some(socket) = self.0.upgrade() {
            end(&socket);
        }
    }
}

impl AsFd for WatchedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for WatchedSocket {
    fn drop(&mut self) {
        let mine = Arc::as_ptr(&self.socket);
        self.stop.watched().sockets.retain(|socket| socket.as_ptr() != mine);
    }
}

#[derive(Debug)]
pub struct StopHold(Stop);

impl Drop for StopHold {
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
    fn a_stop_wakes_waiters_and_prevents_later_waits() {
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
    fn unregistered_sockets_are_left_alone() {
        let stop = Stop::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        drop(stop.watch(ours.try_clone().unwrap().into()));
        stop.ask();
        assert!(stop.is_asked() && stop.watched().sockets.is_empty());
        (&ours).write_all(b"x").unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn a_stop_waits_for_its_holders() {
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
