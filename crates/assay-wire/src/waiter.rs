//! Waits for a server's answer with a time limit, but without a timer per statement.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{
    self, CreateFlags, Event, EventData, EventFlags, add as register, create,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

const SOCKET: u64 = 0;
const ALARM: u64 = 1;

/// Waits until a socket is readable.
///
/// A blocked `recv` on a unix socket also wakes when the server takes the request from its end, which costs a second
/// context switch per statement. `poll` does not, but its timeout arms and disarms a timer each time, some 10% of the
/// client's cost of a statement. So one alarm fires periodically beside the socket, and only a wait that the alarm
/// interrupts gets a separate timer.
///
/// The socket is edge-triggered: otherwise the kernel would check it again at the beginning of the next wait. The
/// caller must therefore have received all available bytes before a wait.
#[derive(Debug)]
pub(crate) struct Waiter {
    both: OwnedFd,
    alarm: OwnedFd,
    limit: Timespec,
}

impl Waiter {
    pub(crate) fn new(socket: impl AsFd, limit: Duration) -> Result<Self, Errno> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let both = create(CreateFlags::CLOEXEC)?;
        register(&both, socket, EventData::new_u64(SOCKET), EventFlags::IN | EventFlags::ET)?;
        register(&both, &alarm, EventData::new_u64(ALARM), EventFlags::IN)?;
        let mut waiter = Self { both, alarm, limit: Timespec::default() };
        waiter.set_limit(limit)?;
        Ok(waiter)
    }

    /// Sets the time limit of a wait. It times out after at least `limit` and at most an eighth more: the alarm does
    /// not know when the wait began.
    pub(crate) fn set_limit(&mut self, limit: Duration) -> Result<(), Errno> {
        self.limit = Timespec::try_from(limit).map_err(|_| Errno::INVAL)?;
        // A period of zero would turn the alarm off.
        let period = (limit / 8).max(Duration::from_micros(1));
        let period = Timespec::try_from(period).map_err(|_| Errno::INVAL)?;
        let period = Itimerspec { it_interval: period, it_value: period };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &period)?;
        Ok(())
    }

    /// Waits until bytes have arrived from `socket`, the one given to [`Waiter::new`], since the last wait. False on
    /// timeout.
    pub(crate) fn wait(&self, socket: impl AsFd) -> Result<bool, Errno> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(ALARM) }; 2];
        retry_on_intr(|| epoll::wait(&self.both, &mut events, None))?;
        if events.iter().any(|event| event.data.u64() == SOCKET) {
            return Ok(true);
        }
        match read(&self.alarm, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let mut sockets = [PollFd::new(&socket, PollFlags::IN)];
        Ok(retry_on_intr(|| poll(&mut sockets, Some(&self.limit)))? > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_alarm_from_before_the_wait_neither_ends_it_nor_hides_an_answer() {
        let (mut server, mut client) = UnixStream::pair().unwrap();
        let waiter = Waiter::new(&client, Duration::from_millis(5)).unwrap();
        let ring = || poll(&mut [PollFd::new(&waiter.alarm, PollFlags::IN)], None).unwrap();
        for _ in 0..3 {
            ring();
            assert!(!waiter.wait(&client).unwrap());
            ring();
            server.write_all(b"x").unwrap();
            assert!(waiter.wait(&client).unwrap());
            client.read_exact(&mut [0]).unwrap();
        }
        drop(server);
        assert!(waiter.wait(&client).unwrap(), "the end of the stream can be received");
    }
}
