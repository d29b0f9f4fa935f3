//! Connections: bounded in number, time and size.

use std::io::{self, Read as _, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::pages::{Page, Pages};
use crate::request::{HEAD_MAX, Read, Refusal, Request, read_request};

/// Connections that are answered at the same time. Others wait.
const CONNECTIONS: usize = 16;

/// The time in which a request must have arrived.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The time in which a whole answer must be taken.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// The time in which the rest of a refused request must have arrived.
const LEFT_TIME: Duration = Duration::from_secs(1);

/// Most bytes of a refused request that are read, so that the refusal reaches its sender.
const LEFT_MAX: u64 = 1 << 16;

/// The time until the next attempt if no connection can be accepted, as when there are too many open files.
const RETRY: Duration = Duration::from_millis(100);

/// Keeps answers apart from pages of other sites, and out of caches.
const HEADERS: &str = "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
    Cache-Control: no-store\r\nConnection: close\r\n";

/// The policy of an answer without styles and scripts.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// A server on loopback.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Listens on a port of 127.0.0.1; on any free one for 0. Whoever asks for a page must know the token, because
    /// every user of the machine can connect.
    pub fn bind(port: u16, token: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, token })
    }

    /// The address of its first page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Answers requests for as long as the process lives.
    pub fn run(&self, page: impl Fn(&Request) -> Page + Sync) {
        let pages = Pages::default();
        let answer_all = || {
            loop {
                match self.listener.accept() {
                    // A client that goes away needs no answer.
                    Ok((stream, _)) => drop(self.answer(&stream, &pages, &page)),
                    Err(_) => thread::sleep(RETRY),
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..CONNECTIONS {
                // With fewer threads, more connections wait.
                let _ = thread::Builder::new().spawn_scoped(scope, answer_all);
            }
            answer_all()
        })
    }

    fn answer(
        &self,
        stream: &TcpStream,
        pages: &Pages,
        page: &dyn Fn(&Request) -> Page,
    ) -> io::Result<()> {
        match read(stream, self.address.port(), &self.token)? {
            Read::Whole(request) => {
                let made = pages.get(&request, &|| is_gone(stream), &|| page(&request));
                made.map_or(Ok(()), |made| send_page(stream, &made, request.is_head))
            }
            Read::Refused(why) => {
                let mut body = format!("{}\n", why.status());
                if why == Refusal::Token {
                    body += "Open the whole address that `assay serve` printed.\n";
                }
                send(
                    stream,
                    why.status(),
                    "text/plain; charset=utf-8",
                    NOTHING,
                    body.len(),
                    &body,
                )?;
                stream.shutdown(Shutdown::Write)?;
                // What is left unread would reset the connection before the refusal is read.
                let rest = Until::new(stream, LEFT_TIME);
                io::copy(&mut rest.take(LEFT_MAX), &mut io::sink()).map(drop)
            }
            Read::Part => Ok(()),
        }
    }
}

/// Whether the client has closed its connection.
fn is_gone(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    let is_open = match peeked {
        Ok(bytes) => bytes > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).is_err() || !is_open
}

fn send_page(stream: &TcpStream, page: &Page, is_head: bool) -> io::Result<()> {
    let framed;
    let (status, kind, policy, body) = match page {
        Page::Html { html, policy } => {
            framed = format!("{policy}; frame-ancestors 'none'");
            ("200 OK", "text/html", framed.as_str(), html)
        }
        Page::Missing(why) => ("404 Not Found", "text/plain", NOTHING, why),
        Page::Failed(why) => ("500 Internal Server Error", "text/plain", NOTHING, why),
    };
    let content = if is_head { "" } else { body };
    send(stream, status, &format!("{kind}; charset=utf-8"), policy, body.len(), content)
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

/// Reads a request; a part of one if the client closes the connection or takes too long.
fn read(stream: &TcpStream, port: u16, token: &str) -> io::Result<Read> {
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
        match read_request(&bytes, port, token) {
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
}
