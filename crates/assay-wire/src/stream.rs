//! A byte stream to a server: connect, send, wait, receive, each with a time limit.

use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};

use crate::budget::ReadBudget;
use crate::error::{WireError, WireResult};
use crate::options::{Address, ConnectOptions, RequestDelay};
use crate::stop::{Breaker, WatchedSocket};
use crate::tls_problem::TlsProblem;
use crate::tls_records::{MAX_CONTENT, TlsRecords};
use crate::waiter::Waiter;

/// A connected socket in blocking mode. No wait for the other side exceeds its limit.
#[derive(Debug)]
pub(crate) struct ServerStream {
    socket: WatchedSocket,
    waiter: Waiter,
    address: Address,
    limit: Duration,
    pace: RequestDelay,
    sent: u64,
    received: u64,
    tls: Option<Box<TlsRecords>>,
}

impl ServerStream {
    /// Connects within the timeout, which then limits every wait of this stream.
    pub(crate) fn connect(options: &ConnectOptions) -> WireResult<Self> {
        let ConnectOptions { ref address, timeout: limit, ref stop, ref pace, .. } = *options;
        let connected = match address {
            Address::Unix(path) => connect_unix(path, limit),
            Address::Tcp { host, port } => connect_tcp(host, *port, limit),
        };
        let connected = connected.and_then(|socket| Ok((Waiter::new(&socket, limit)?, socket)));
        match connected {
            Ok((waiter, socket)) => {
                let (socket, address) = (stop.watch(socket), address.clone());
                let pace = pace.clone();
                Ok(Self { socket, waiter, address, limit, pace, sent: 0, received: 0, tls: None })
            }
            Err(error) if is_timeout(error.kind()) => {
                Err(WireError::Timeout { address: address.to_string(), limit })
            }
            Err(source) => Err(WireError::Connect { address: address.to_string(), source }),
        }
    }

    pub(crate) fn breaker(&self) -> Breaker {
        self.socket.breaker()
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    pub(crate) fn set_limit(&mut self, limit: Duration) -> WireResult<()> {
        self.limit = limit;
        set_socket_timeout(&self.socket, Timeout::Send, Some(limit))
            .and_then(|()| self.waiter.set_limit(limit))
            .map_err(|errno| self.failed("set the timeout of", errno))
    }

    /// Sends and receives in records from now on.
    pub(crate) fn encrypt(&mut self, records: TlsRecords) {
        self.tls = Some(Box::new(records));
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> WireResult<()> {
        self.pace.wait();
        let Some(mut tls) = self.tls.take() else { return self.send_bytes(bytes) };
        let sent = self.send_records(&mut tls, bytes);
        self.tls = Some(tls);
        sent
    }

    fn send_records(&mut self, tls: &mut TlsRecords, bytes: &[u8]) -> WireResult<()> {
        for part in bytes.chunks(MAX_CONTENT) {
            let record = tls.seal(part).map_err(|why| self.refused(why))?;
            self.send_bytes(record)?;
        }
        Ok(())
    }

    fn send_bytes(&mut self, mut bytes: &[u8]) -> WireResult<()> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.sent += count as u64;
                    bytes = &bytes[count..];
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(self.timed_out()),
                Err(errno) => return Err(self.failed("send to", errno)),
            }
        }
        Ok(())
    }

    /// Sends a goodbye to a server that may be gone or frozen. Never waits and never fails.
    pub(crate) fn send_last(&mut self, bytes: &[u8]) {
        let bytes = match &mut self.tls {
            None => Ok(bytes),
            Some(tls) => tls.seal(bytes),
        };
        if let Ok(bytes) = bytes {
            send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).ok();
        }
    }

    /// Waits for bytes to receive. All earlier bytes must have been received.
    pub(crate) fn wait(&self) -> WireResult<()> {
        match self.waiter.wait(&self.socket) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.timed_out()),
            Err(errno) => Err(self.failed("wait for", errno)),
        }
    }

    pub(crate) fn wait_with(&self, budget: &ReadBudget) -> WireResult<()> {
        match budget.time_left() {
            None => self.wait(),
            Some(left) if !left.is_zero() && self.is_answered_within(left)? => Ok(()),
            Some(_) => Err(self.timed_out()),
        }
    }

    /// Waits at most `time` for bytes to receive. False if none came.
    pub(crate) fn is_answered_within(&self, time: Duration) -> WireResult<bool> {
        if self.tls.as_ref().is_some_and(|tls| tls.is_ready()) {
            return Ok(true);
        }
        let time = Timespec::try_from(time).ok();
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
        let ready = retry_on_intr(|| poll(&mut sockets, time.as_ref()));
        ready.map(|count| count > 0).map_err(|errno| self.failed("wait for", errno))
    }

    /// Receives available bytes without waiting. `None` if there are none. If they do not fill the buffer, all bytes
    /// of the socket have been received.
    pub(crate) fn try_receive(&mut self, buffer: &mut [u8]) -> WireResult<Option<usize>> {
        let Some(mut tls) = self.tls.take() else { return self.receive_bytes(buffer) };
        let received = self.receive_records(&mut tls, buffer);
        self.tls = Some(tls);
        received.map(Some)
    }

    fn receive_records(&mut self, tls: &mut TlsRecords, buffer: &mut [u8]) -> WireResult<usize> {
        let mut count = tls.take(buffer).map_err(|why| self.refused(why))?;
        let mut may_have_more = true;
        while count < buffer.len() && may_have_more {
            let room = tls.room();
            let size = room.len();
            let received = match self.receive_bytes(room) {
                // The end of the connection is reported after the bytes that precede it.
                Err(_) if count > 0 => break,
                received => received?.unwrap_or(0),
            };
            may_have_more = received == size;
            tls.received(received);
            match tls.take(&mut buffer[count..]) {
                Err(why) if count == 0 => return Err(self.refused(why)),
                taken => count += taken.unwrap_or(0),
            }
        }
        Ok(count)
    }

    fn refused(&self, problem: TlsProblem) -> WireError {
        if problem == TlsProblem::Closed {
            return self.closed();
        }
        WireError::Tls { address: self.address.to_string(), problem: problem.into() }
    }

    fn closed(&self) -> WireError {
        let why = "the server closed the connection";
        self.broken("receive from", io::Error::new(io::ErrorKind::UnexpectedEof, why))
    }

    fn receive_bytes(&mut self, buffer: &mut [u8]) -> WireResult<Option<usize>> {
        loop {
            match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(self.closed()),
                Ok((count, _)) => {
                    self.received += count as u64;
                    return Ok(Some(count));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.failed("receive from", errno)),
            }
        }
    }

    fn timed_out(&self) -> WireError {
        WireError::Timeout { address: self.address.to_string(), limit: self.limit }
    }

    fn failed(&self, action: &'static str, errno: Errno) -> WireError {
        self.broken(action, errno.into())
    }

    fn broken(&self, action: &'static str, source: io::Error) -> WireError {
        WireError::Io { address: self.address.to_string(), action, source }
    }
}

fn is_timeout(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The send timeout also limits `connect`, which would wait forever if the backlog of a frozen server is full.
fn connect_unix(path: &Path, limit: Duration) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    let address = SocketAddrUnix::new(path)?;
    // A signal interrupts a connect that has a timeout. It says nothing about the server.
    retry_on_intr(|| connect(&socket, &address))?;
    Ok(socket)
}

/// Minimum time per address; zero is not allowed.
const MIN_ATTEMPT: Duration = Duration::from_millis(1);

fn connect_tcp(host: &str, port: u16, limit: Duration) -> io::Result<OwnedFd> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    let (begin, mut untried) = (Instant::now(), addresses.len() as u32);
    for address in addresses {
        // The limit is for all addresses together: each gets an equal share of the remaining time.
        let left = limit.saturating_sub(begin.elapsed()) / untried;
        untried -= 1;
        match TcpStream::connect_timeout(&address, left.max(MIN_ATTEMPT)) {
            Ok(stream) => {
                let socket = OwnedFd::from(stream);
                set_tcp_nodelay(&socket, true)?;
                set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
                return Ok(socket);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
