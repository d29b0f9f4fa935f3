//! Connections: bounded in number, time and size.

use std::io::{self, Read as _, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::request::{HEAD_MAX, Read, Refusal, Request, read_request};

/// Most connections at the same time.
const CONNECTIONS_MAX: usize = 16;

/// The time that a connection has to send its request, and again to take its answer. After it, another one may take
/// its place.
const GRACE: Duration = Duration::from_secs(1);

/// The time in which a request must have arrived.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The time in which a whole answer must be taken.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The time in which the rest of a refused request must have arrived.
const LEFT_TIME: Duration = Duration::from_secs(1);

/// Most bytes of a refused request that are read, so that the refusal reaches its sender.
const LEFT_MAX: u64 = 1 << 16;

/// Keeps answers apart from pages of other sites, and out of caches.
const HEADERS: &str = "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
    Cache-Control: no-store\r\nConnection: close\r\n";

/// The policy of an answer without styles and scripts.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// A page of HTML.
    Html {
        /// The page.
        html: String,
        /// Its content security policy.
        policy: String,
    },
    /// There is no such page; the text says why.
    Missing(String),
    /// The page cannot be made; the text says why.
    Failed(String),
}

/// A server on loopback.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on a port of 127.0.0.1; on any free one for 0.
    ///
    /// # Errors
    /// The port is taken, or this user may not listen on it.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// The address of its first page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers requests in threads of their own, for as long as the process lives. A connection beyond the limit takes
    /// the place of the one whose client has kept assay waiting longest, if that was long enough. Otherwise, the new
    /// connection is closed.
    ///
    /// # Errors
    /// The socket fails.
    pub fn run(&self, page: impl Fn(&Request) -> Page + Send + Sync + 'static) -> io::Result<()> {
        let page = Arc::new(page);
        let open = Arc::new(Open::default());
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => Arc::new(stream),
                // The client has gone already, or there are too many open files.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            let place = Place::taken(&open, &stream);
            let (page, port) = (Arc::clone(&page), self.address.port());
            if let Some(place) = place {
                let answer = move || {
                    let page = |request: &Request| place.make(|| page(request));
                    // A client that goes away needs no answer.
                    let _ = answer(&stream, port, &page);
                };
                // Without another thread, the connection is closed.
                let _ = std::thread::Builder::new().spawn(answer);
            }
        }
    }
}

/// A connection, and the time since which assay has been waiting for its client; `None` while assay makes a page.
type Connection = (Option<Instant>, Arc<TcpStream>);

/// The connections that are open.
#[derive(Default)]
struct Open(Mutex<Vec<Connection>>);

impl Open {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Connection>) -> T) -> T {
        // Nothing panics while it is locked.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One of the connections that may be open.
struct Place {
    open: Arc<Open>,
    stream: Arc<TcpStream>,
}

impl Place {
    /// A place for a connection, if one is free or can be taken from a slow client.
    fn taken(open: &Arc<Open>, stream: &Arc<TcpStream>) -> Option<Self> {
        let is_taken = open.change(|all| {
            let has_room = all.len() < CONNECTIONS_MAX || end_slowest(all);
            if has_room {
                all.push((Some(Instant::now()), Arc::clone(stream)));
            }
            has_room
        });
        is_taken.then(|| Self { open: Arc::clone(open), stream: Arc::clone(stream) })
    }

    /// Makes a page. The client does not keep assay waiting meanwhile. Nothing is made for a connection that has lost
    /// its place.
    fn make(&self, page: impl FnOnce() -> Page) -> Page {
        if !self.wait_since(None) {
            return Page::Failed("the request took too long".to_owned());
        }
        let page = page();
        self.wait_since(Some(Instant::now()));
        page
    }

    /// Sets the time since which assay waits. Returns whether the connection still has its place.
    fn wait_since(&self, since: Option<Instant>) -> bool {
        self.open.change(|all| {
            let mine = all.iter_mut().find(|(_, stream)| Arc::ptr_eq(stream, &self.stream));
            mine.map(|(waits, _)| *waits = since).is_some()
        })
    }
}

/// Ends the connection whose client has kept assay waiting longest. Returns whether one had used up its time.
fn end_slowest(all: &mut Vec<Connection>) -> bool {
    let waiting = all.iter().enumerate().filter_map(|(at, (since, _))| Some(((*since)?, at)));
    let Some((since, at)) = waiting.min() else { return false };
    let is_slow = since.elapsed() > GRACE;
    if is_slow {
        let (_, stream) = all.swap_remove(at);
        // It may have been closed already. Its thread stops reading or writing.
        let _ = stream.shutdown(Shutdown::Both);
    }
    is_slow
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.change(|all| all.retain(|(_, stream)| !Arc::ptr_eq(stream, &self.stream)));
    }
}

/// A connection until its deadline, whatever the other side does.
struct Until<'a> {
    stream: &'a TcpStream,
    ends: Instant,
}

impl<'a> Until<'a> {
    fn new(stream: &'a TcpStream, time: Duration) -> Self {
        Self { stream, ends: Instant::now() + time }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.ends.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl io::Read for Until<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(stream: &TcpStream, port: u16, page: &dyn Fn(&Request) -> Page) -> io::Result<()> {
    match read(stream, port)? {
        Read::Whole(request) => {
            let (status, kind, policy, body) = match page(&request) {
                Page::Html { html, policy } => {
                    ("200 OK", "text/html", format!("{policy}; frame-ancestors 'none'"), html)
                }
                Page::Missing(why) => {
                    ("404 Not Found", "text/plain", NOTHING.to_owned(), why + "\n")
                }
                Page::Failed(why) => {
                    ("500 Internal Server Error", "text/plain", NOTHING.to_owned(), why + "\n")
                }
            };
            let content = if request.is_head { "" } else { &body };
            let length = body.len();
            send(stream, status, &format!("{kind}; charset=utf-8"), &policy, length, content)
        }
        Read::Refused(why) => {
            let body = format!("{}\n", why.status());
            send(stream, why.status(), "text/plain; charset=utf-8", NOTHING, body.len(), &body)?;
            stream.shutdown(Shutdown::Write)?;
            // What is left unread would reset the connection before the refusal is read.
            let rest = Until::new(stream, LEFT_TIME);
            io::copy(&mut rest.take(LEFT_MAX), &mut io::sink()).map(drop)
        }
        Read::Part => Ok(()),
    }
}

/// Reads a request; a part of one if the client closes the connection or takes too long.
fn read(stream: &TcpStream, port: u16) -> io::Result<Read> {
    let mut stream = Until::new(stream, REQUEST_TIME);
    let mut bytes = Vec::new();
    let mut more = [0; 1024];
    loop {
        let count = match stream.read(&mut more) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        bytes.extend_from_slice(more.get(..count).unwrap_or_default());
        match read_request(&bytes, port) {
            Read::Part if bytes.len() > HEAD_MAX => return Ok(Read::Refused(Refusal::TooLarge)),
            Read::Part => {}
            done => return Ok(done),
        }
    }
    Ok(Read::Part)
}

fn send(
    stream: &TcpStream,
    status: &str,
    kind: &str,
    policy: &str,
    length: usize,
    body: &str,
) -> io::Result<()> {
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: {policy}\r\n{allow}{HEADERS}\r\n"
    );
    let mut stream = Until::new(stream, ANSWER_TIME);
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that takes a little at a time would be served for as long as it likes.
    #[test]
    fn an_answer_ends_at_its_deadline() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || io::copy(&mut client, &mut io::sink()));
        let mut answer = Until::new(&stream, Duration::from_millis(20));
        let error = io::copy(&mut io::repeat(b'x'), &mut answer).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock));
        assert_eq!(answer.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(stream);
        assert!(reader.join().unwrap().unwrap() > 0);
    }

    /// Clients that read nothing block the others only for a moment.
    #[test]
    fn a_new_connection_takes_the_place_of_a_slow_one() {
        let server = Server::bind(0).unwrap();
        let address = server.address;
        let html = "x".repeat(16 << 20);
        let page = move |_: &Request| Page::Html { html: html.clone(), policy: NOTHING.to_owned() };
        std::thread::spawn(move || server.run(page));
        let ask = || {
            let mut client = TcpStream::connect(address).unwrap();
            write!(client, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
            client
        };
        let begun = |mut client: TcpStream| {
            let mut first = [0; 8];
            client.read_exact(&mut first).is_ok_and(|()| first == *b"HTTP/1.1")
        };
        let slow: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| ask()).collect();
        assert!(slow.iter().all(|client| begun(client.try_clone().unwrap())));
        std::thread::sleep(GRACE + Duration::from_millis(200));
        assert!(begun(ask()));
        drop(slow);
    }
}
