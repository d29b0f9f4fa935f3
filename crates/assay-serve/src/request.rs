//! What a request asks for. Pure: bytes in, a request or a refusal out.

use httparse::{Header, Status};
use percent_encoding::percent_decode_str;

/// Most bytes of a request.
pub const HEAD_MAX: usize = 8192;

/// Most header fields of a request.
const FIELDS_MAX: usize = 64;

/// Most parameters of a query.
const PARAMETERS_MAX: usize = 16;

/// A page that a browser asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The segments of the path, decoded: `/study/x` has two.
    pub path: Vec<String>,
    /// The parameters of the query, decoded.
    pub query: Vec<(String, String)>,
    /// Whether only the header fields of the answer are wanted.
    pub is_head: bool,
}

impl Request {
    /// The value of a parameter; empty if there is none.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Why a request gets no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is not HTTP, or not a plain request for a path.
    Malformed,
    /// It is not for this server: another name may have been bound to loopback.
    Host,
    /// It would change something.
    Method,
    /// A page of another site asked for it, other than by a link.
    CrossSite,
    /// It does not know the token: another user of this machine may have sent it.
    Token,
    /// It is longer than [`HEAD_MAX`].
    TooLarge,
}

impl Refusal {
    /// The status of the answer, with its words.
    #[must_use]
    pub fn status(self) -> &'static str {
        match self {
            Self::Malformed => "400 Bad Request",
            Self::Host => "421 Misdirected Request",
            Self::Method => "405 Method Not Allowed",
            Self::CrossSite | Self::Token => "403 Forbidden",
            Self::TooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// What the bytes of a connection so far are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The beginning of a request.
    Part,
    /// A request.
    Whole(Request),
    /// None that is answered.
    Refused(Refusal),
}

/// Reads the request that begins a connection to this port. Its path must begin with the token, which is not part of
/// the result.
#[must_use]
pub fn read_request(bytes: &[u8], port: u16, token: &str) -> Read {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) if bytes.len() < HEAD_MAX => return Read::Part,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Read::Refused(Refusal::TooLarge);
        }
        Err(_) => return Read::Refused(Refusal::Malformed),
    }
    if bytes.len() > HEAD_MAX {
        return Read::Refused(Refusal::TooLarge);
    }
    checked(&request, port, token).map_or_else(Read::Refused, Read::Whole)
}

fn checked(
    request: &httparse::Request<'_, '_>,
    port: u16,
    token: &str,
) -> Result<Request, Refusal> {
    let is_named = |field: &&Header<'_>, name: &str| field.name.eq_ignore_ascii_case(name);
    let fields = &request.headers;
    let mut hosts = fields.iter().filter(|field| is_named(field, "host"));
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Refusal::Malformed) };
    if !is_ours(host.value, port) {
        return Err(Refusal::Host);
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Err(Refusal::Method),
    };
    let is_body = |field: &Header<'_>| match field.name.to_ascii_lowercase().as_str() {
        "transfer-encoding" => true,
        "content-length" => field.value != b"0",
        _ => false,
    };
    if fields.iter().any(is_body) {
        return Err(Refusal::Malformed);
    }
    // Browsers say who asks. Only links of other sites may lead here.
    let says = |name: &str, value: &[u8]| {
        fields.iter().any(|field| is_named(&field, name) && field.value == value)
    };
    if says("sec-fetch-site", b"cross-site") && !says("sec-fetch-mode", b"navigate") {
        return Err(Refusal::CrossSite);
    }
    let target = request.path.filter(|path| path.starts_with('/')).ok_or(Refusal::Malformed)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // Links of the first page are relative, so its path ends with a slash.
    let (given, path) = path.trim_start_matches('/').split_once('/').ok_or(Refusal::Token)?;
    if !is_token(given, token) {
        return Err(Refusal::Token);
    }
    let segments = path.split('/').map(decoded);
    let mut path: Vec<String> = segments.collect::<Option<_>>().ok_or(Refusal::Malformed)?;
    if path.last().is_some_and(String::is_empty) {
        path.pop();
    }
    let query = parameters(query).ok_or(Refusal::Malformed)?;
    Ok(Request { path, query, is_head })
}

/// Whether a text is the token. The time that this takes tells nothing of the token but its length.
fn is_token(given: &str, token: &str) -> bool {
    let differ = given.bytes().zip(token.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == token.len() && differ == 0
}

/// Whether a `Host` is one of the names of loopback, with this port.
fn is_ours(host: &[u8], port: u16) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        let is_alone = port == 80 && host.eq_ignore_ascii_case(name);
        is_alone || host.eq_ignore_ascii_case(&format!("{name}:{port}"))
    })
}

/// The parameters of a query, as forms send them.
fn parameters(query: &str) -> Option<Vec<(String, String)>> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let parameter = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        Some((decoded(&key.replace('+', " "))?, decoded(&value.replace('+', " "))?))
    };
    parts.take(PARAMETERS_MAX).map(parameter).collect()
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "Host: 127.0.0.1:80\r\n\r\n";

    fn read(text: &str) -> Read {
        read_request(text.as_bytes(), 80, "token")
    }

    #[test]
    fn a_request_is_decoded() {
        let Read::Whole(request) =
            read(&format!("HEAD /token/study/a%2fb/?q=x+y&z=%3C HTTP/1.1\r\n{HOST}"))
        else {
            panic!("it is a request")
        };
        assert_eq!(request.path, ["study", "a/b"]);
        assert_eq!((request.parameter("q"), request.parameter("z")), ("x y", "<"));
        assert!(request.is_head && request.parameter("none").is_empty());
        assert_eq!(read("GET / HTTP/1.1\r\nHost"), Read::Part);
        let Read::Whole(root) = read(&format!("GET /token/ HTTP/1.1\r\n{HOST}")) else {
            panic!("a request")
        };
        assert!(root.path.is_empty());
        let link = "Sec-Fetch-Site: cross-site\r\nsec-fetch-mode: navigate";
        let link = read(&format!("GET /token/ HTTP/1.1\r\n{link}\r\n{HOST}"));
        assert!(matches!(link, Read::Whole(_)), "a link of another site: {link:?}");
    }

    #[test]
    fn everything_else_is_refused() {
        let get = |fields: &str| format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
        for (text, why) in [
            (get("Host: evil.example:80"), Refusal::Host),
            (get("Host: 127.0.0.1:81"), Refusal::Host),
            (get("Host: 127.0.0.1.evil.example"), Refusal::Host),
            (get("Host: localhost:080"), Refusal::Host),
            (get("Host:"), Refusal::Host),
            (get("X: y"), Refusal::Malformed),
            (get("Host: localhost\r\nHost: evil.example"), Refusal::Malformed),
            (get("Host: localhost\r\nContent-Length: 5"), Refusal::Malformed),
            (get("Host: localhost\r\nTransfer-Encoding: chunked"), Refusal::Malformed),
            (get("Host: localhost\r\nSec-Fetch-Site: cross-site"), Refusal::CrossSite),
            (
                get("Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors"),
                Refusal::CrossSite,
            ),
            (format!("POST / HTTP/1.1\r\n{HOST}"), Refusal::Method),
            (format!("GET http://127.0.0.1/ HTTP/1.1\r\n{HOST}"), Refusal::Malformed),
            (format!("GET /token/%ff HTTP/1.1\r\n{HOST}"), Refusal::Malformed),
            (get("Host: localhost"), Refusal::Token),
            (format!("GET /token HTTP/1.1\r\n{HOST}"), Refusal::Token),
            (format!("GET /token?q=x HTTP/1.1\r\n{HOST}"), Refusal::Token),
            (format!("GET /tokem/ HTTP/1.1\r\n{HOST}"), Refusal::Token),
            (format!("GET /tokens/ HTTP/1.1\r\n{HOST}"), Refusal::Token),
            (format!("GET /study/token/ HTTP/1.1\r\n{HOST}"), Refusal::Token),
            ("\u{0}\u{1}\u{2}".to_owned(), Refusal::Malformed),
            (get(&format!("Host: localhost\r\nX: {}", "a".repeat(HEAD_MAX))), Refusal::TooLarge),
            (get(&"X: y\r\n".repeat(100)), Refusal::TooLarge),
        ] {
            assert_eq!(read(&text), Read::Refused(why), "{}", &text[..text.len().min(80)]);
        }
    }
}
