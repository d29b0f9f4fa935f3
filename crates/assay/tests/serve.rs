//! Pages on loopback, and requests that must not get one.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};

use common::Place;
use rustix::process::{Pid, Signal, kill_process};

struct Serving {
    child: Child,
    port: u16,
    token: String,
}

impl Serving {
    fn start(place: &Place) -> Self {
        Self::of(place.command(&["serve", "--port", "0"]))
    }

    fn of(mut command: std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://127.0.0.1:").unwrap().trim_end_matches('/');
        let (port, token) = address.split_once('/').unwrap();
        assert_eq!(token.len(), 32, "{url}");
        Self { port: port.parse().unwrap(), token: token.to_owned(), child }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // It may refuse the request before it has all of it.
        let _ = stream.write_all(request);
        if request.ends_with(b"Ho") {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn get(&self, target: &str) -> String {
        let Self { port, token, .. } = self;
        self.raw(
            format!("GET /{token}{target} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes(),
        )
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn import(place: &Place, systems: [&str; 2]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table");
    let [one, other] = systems;
    let table = format!("col-1 : {one}\ncol-2 : {other}\n1000\t900\tpoint-query\n");
    fs_err::write(&file, table).unwrap();
    let import = ["import", "mytools", file.to_str().unwrap(), "--format", "json"];
    let output = place.run_to_end(&import);
    let study: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    study["study"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn studies_and_trends_are_pages_and_nothing_is_written() {
    let place = Place::new();
    let first = import(&place, ["my5651", "my8036"]);
    let evil = import(&place, ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>"]);
    let before = fs_err::read(place.ledger()).unwrap();
    let serving = Serving::start(&place);
    let list = serving.get("/");
    assert!(list.starts_with("HTTP/1.1 200 OK\r\n"), "{list}");
    for header in ["nosniff", "no-store", "X-Frame-Options: DENY", "default-src 'none'"] {
        assert!(list.contains(header), "{header}: {list}");
    }
    assert!(list.contains(&first) && list.contains(&evil), "{list}");
    assert!(!list.contains("<script>alert") && !list.contains("<img"), "{list}");
    let searched = serving.get("/?q=8.0.36");
    assert!(searched.contains(&first) && !searched.contains(&evil), "{searched}");
    let injected = serving.get("/?q=%22%3E%3Cscript%3Ealert(2)%3C/script%3E");
    assert!(injected.starts_with("HTTP/1.1 200") && !injected.contains("<script>"), "{injected}");
    let report = serving.get(&format!("/study/{first}"));
    assert!(report.contains("mysql@8.0.36") && report.contains("script-src 'sha256-"), "{report}");
    let hostile = serving.get(&format!("/study/{evil}"));
    assert!(hostile.contains("alert(1)") && !hostile.contains("<script>alert"), "{hostile}");
    let trend = serving.get("/trend?test=point-query");
    assert!(trend.contains("point-query in 2 studies") && !trend.contains("<img"), "{trend}");
    assert!(serving.get("/study/latest").contains("alert(1)"));
    let Serving { port, token, .. } = &serving;
    let head =
        serving.raw(format!("HEAD /{token}/ HTTP/1.1\r\nHost: [::1]:{port}\r\n\r\n").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(fs_err::read(place.ledger()).unwrap(), before);
}

#[test]
fn hostile_requests_get_no_page() {
    let place = Place::new();
    import(&place, ["my5651", "my8036"]);
    let serving = Serving::start(&place);
    let Serving { port, token, .. } = &serving;
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let with = |line: &str, fields: &str| format!("{line}\r\n{fields}\r\n");
    for (request, status) in [
        (with("GET / HTTP/1.1", "Host: evil.example\r\n"), "421"),
        (with("GET / HTTP/1.1", &format!("Host: evil.example:{port}\r\n")), "421"),
        (with("GET / HTTP/1.1", ""), "400"),
        (with("POST / HTTP/1.1", &format!("{host}Content-Length: 3\r\n")), "405"),
        (with("GET / HTTP/1.1", &format!("{host}Sec-Fetch-Site: cross-site\r\n")), "403"),
        (with("DELETE /study/x HTTP/1.1", &host), "405"),
        (with("GET / HTTP/1.1", &format!("{host}X: {}\r\n", "a".repeat(100_000))), "431"),
        (with(&format!("GET /{token}/../../etc/passwd HTTP/1.1"), &host), "404"),
        (with(&format!("GET /{token}/study/..%2f..%2fetc%2fpasswd HTTP/1.1"), &host), "404"),
        (with(&format!("GET /{token}/study/%00 HTTP/1.1"), &host), "404"),
        (with(&format!("GET /{token}/trend?test=%3Cb%3E HTTP/1.1"), &host), "404"),
        // Another user of this machine does not know the token.
        (with("GET / HTTP/1.1", &host), "403"),
        (with("GET /study/latest HTTP/1.1", &host), "403"),
        (with(&format!("GET /{} HTTP/1.1", &token[1..]), &host), "403"),
        (with(&format!("GET /{}/ HTTP/1.1", "0".repeat(32)), &host), "403"),
        ("\u{16}\u{3}\u{1}".repeat(100), "400"),
    ] {
        let answer = serving.raw(request.as_bytes());
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{}: {line}", &request[..30]);
        assert!(!answer.contains("root:"), "{answer}");
    }
    // An endless request blocks nobody else, and a truncated one gets no answer.
    let mut slow: Vec<TcpStream> = (0..8).map(|_| serving.connect()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(b"GET / HT").unwrap());
    assert!(serving.get("/").starts_with("HTTP/1.1 200"));
    assert_eq!(serving.raw(b"GET / HTTP/1.1\r\nHo"), "");
}

#[test]
fn ctrl_c_ends_it() {
    let place = Place::new();
    import(&place, ["my5651", "my8036"]);
    let mut serving = Serving::start(&place);
    let pid = Pid::from_child(&serving.child);
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = place.run_to_end(&["serve", "--port", &port]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("cannot listen on port") && told.contains("leave `--port` out"),
        "{told}"
    );
}

#[test]
fn it_survives_too_many_open_files() {
    let place = Place::new();
    let id = import(&place, ["my5651", "my8036"]);
    let mut command = place.command(&[]);
    let program = command.get_program().to_owned();
    let limited = "ulimit -n 24; exec \"$0\" serve --port 0";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", limited]).arg(program);
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command = shell;
    let serving = Serving::of(command);
    let many: Vec<TcpStream> = (0..40).map(|_| serving.connect()).collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(many);
    let page = serving.get(&format!("/study/{id}"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}
