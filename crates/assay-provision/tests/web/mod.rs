//! An HTTP server on loopback whose answers, good or bad, are set by the test.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) range: Option<String>,
    pub(crate) if_range: Option<String>,
    pub(crate) authorization: Option<String>,
}

/// Raw bytes, and whether the connection then stays open without sending more.
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) hangs: bool,
}

pub(crate) struct Web {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Web {
    /// `answer` gets a request and the number of earlier requests.
    pub(crate) fn new(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (all, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &all, &*answer));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    all: &Mutex<Vec<Request>>,
    answer: &(dyn Fn(&Request, usize) -> Reply + Send + Sync),
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| {
        let mut fields = head.iter().filter_map(|line| line.split_once(": "));
        let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let (range, if_range) = (header("range"), header("if-range"));
    let request = Request { path, range, if_range, authorization: header("authorization") };
    let before = {
        let mut all = all.lock().unwrap();
        all.push(request.clone());
        all.len() - 1
    };
    let reply = answer(&request, before);
    // A client that has enough may close before all is written.
    let _ = stream.write_all(&reply.bytes);
    if reply.hangs {
        let _ = stream.read(&mut [0]);
    }
}

pub(crate) fn reply(status: &str, headers: &[&str], body: &[u8]) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status}\r\nConnection: close\r\n").into_bytes();
    for header in headers {
        bytes.extend_from_slice(format!("{header}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    Reply { bytes, hangs: false }
}

/// Answers like a good server: sends only the rest, if the client asks for that and the file has not changed.
pub(crate) fn file(request: &Request, tag: &str, content: &[u8]) -> Reply {
    let tag_line = format!("ETag: {tag}");
    let start = (request.if_range.as_deref() == Some(tag))
        .then(|| request.range.as_deref()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok())
        .flatten();
    let Some(start) = start else {
        let length = format!("Content-Length: {}", content.len());
        return reply("200 OK", &[&length, &tag_line], content);
    };
    let rest: &[u8] = content.get(start..).unwrap();
    let range = format!("Content-Range: bytes {start}-{}/{}", content.len() - 1, content.len());
    let length = format!("Content-Length: {}", rest.len());
    reply("206 Partial Content", &[&length, &range, &tag_line], rest)
}

/// Truncates a reply after `after` bytes of its body.
pub(crate) fn broken_off(mut reply: Reply, after: usize) -> Reply {
    let head = reply.bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap() + 4;
    reply.bytes.truncate(head + after);
    reply
}

pub(crate) fn redirect(to: &str) -> Reply {
    reply("302 Found", &[&format!("Location: {to}"), "Content-Length: 0"], b"")
}
