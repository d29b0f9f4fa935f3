//! Downloads from good, bad, slow and dead servers on loopback.

use super::*;

#[path = "../tests/web/mod.rs"]
mod web;
use web::{Reply, Request, Web, broken_off, file, redirect, reply};

const LIMITS: DownloadLimits = DownloadLimits {
    idle: Duration::from_millis(300),
    idle_bytes: 10,
    overall: Duration::from_secs(60),
    attempts: 3,
    pause: Duration::from_millis(1),
    bytes: 1 << 20,
};

const CONTENT: &[u8] = b"0123456789abcdefghij";

struct Download {
    web: Web,
    directory: tempfile::TempDir,
}

impl Download {
    fn from(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self { web: Web::new(answer), directory: tempfile::tempdir().unwrap() }
    }

    fn get(&self) -> Result<Vec<u8>, Failure> {
        self.with(LIMITS)
    }

    fn with(&self, limits: DownloadLimits) -> Result<Vec<u8>, Failure> {
        let url = self.web.url("/a/file.tar.gz");
        let to = self.directory.path();
        let path = download(&url, to, "file.tar.gz", limits, &mut |done, total| {
            assert!(total == 0 || done <= total);
        })?;
        Ok(fs::read(path).unwrap())
    }

    fn fails_with(&self, words: &str) {
        let Err(Failure::Lasting(detail)) = self.get() else { panic!("no failure") };
        assert!(detail.contains(words), "{detail}");
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_file_is_downloaded_completely() {
    let download = Download::from(|request, _| file(request, "\"1\"", CONTENT));
    assert_eq!(download.get().unwrap(), CONTENT);
    assert_eq!(download.left(), ["file.tar.gz"]);
    assert_eq!(download.web.requests().len(), 1);
}

#[test]
fn an_interrupted_download_continues() {
    let download = Download::from(|request, before| match before {
        0 => broken_off(file(request, "\"1\"", CONTENT), 5),
        1 => broken_off(file(request, "\"1\"", CONTENT), 4),
        _ => file(request, "\"1\"", CONTENT),
    });
    assert_eq!(download.get().unwrap(), CONTENT);
    let ranges: Vec<_> = download.web.requests().into_iter().map(|it| it.range).collect();
    assert_eq!(ranges, [None, Some("bytes=5-".into()), Some("bytes=9-".into())]);
}

#[test]
fn an_interruption_at_any_byte_gives_the_same_file() {
    for at in 0..CONTENT.len() {
        let download = Download::from(move |request, before| {
            let whole = file(request, "\"1\"", CONTENT);
            if before == 0 { broken_off(whole, at) } else { whole }
        });
        assert_eq!(download.get().unwrap(), CONTENT, "{at}");
    }
}

#[test]
fn another_process_continues_a_download() {
    let download = Download::from(|request, before| match before {
        0..=2 => broken_off(file(request, "\"1\"", CONTENT), 2),
        _ => file(request, "\"1\"", CONTENT),
    });
    download.fails_with("");
    assert_eq!(download.left(), ["file.tar.gz.part", "file.tar.gz.part.json"]);
    assert_eq!(download.get().unwrap(), CONTENT);
    assert_eq!(download.web.requests().pop().unwrap().range.as_deref(), Some("bytes=6-"));
}

#[test]
fn a_changed_file_is_downloaded_from_the_start() {
    let download = Download::from(|request, before| match before {
        0 => broken_off(file(request, "\"1\"", CONTENT), 5),
        _ => file(request, "\"2\"", b"another one"),
    });
    assert_eq!(download.get().unwrap(), b"another one");
    assert_eq!(download.web.requests()[1].if_range.as_deref(), Some("\"1\""));
}

#[test]
fn downloads_without_a_validator_are_not_resumed() {
    for tag in ["W/\"1\"", ""] {
        let download = Download::from(move |_, before| {
            let length = format!("Content-Length: {}", CONTENT.len());
            let tag = if tag.is_empty() { "X: y".to_owned() } else { format!("ETag: {tag}") };
            let whole = reply("200 OK", &[&length, &tag], CONTENT);
            if before == 0 { broken_off(whole, 5) } else { whole }
        });
        assert_eq!(download.get().unwrap(), CONTENT);
        assert_eq!(download.web.requests()[1].range, None);
    }
}

#[test]
fn a_wrong_range_leads_to_a_full_download() {
    for range in
        ["bytes 4-19/20", "bytes 5-18/20", "bytes 5-19/*", "bytes 5-19/21", "lines 5-19/20"]
    {
        let download = Download::from(move |request, before| match before {
            0 => broken_off(file(request, "\"1\"", CONTENT), 5),
            1 => {
                let line = format!("Content-Range: {range}");
                reply("206 Partial Content", &[&line, "Content-Length: 15"], &[b'x'; 15])
            }
            _ => file(request, "\"1\"", CONTENT),
        });
        assert_eq!(download.get().unwrap(), CONTENT, "{range}");
    }
}

#[test]
fn only_transient_errors_are_retried() {
    for status in ["500 Oh", "503 Busy", "429 Slowly"] {
        let download = Download::from(move |request, before| match before {
            0 => reply(status, &["Content-Length: 0"], b""),
            _ => file(request, "\"1\"", CONTENT),
        });
        assert_eq!(download.get().unwrap(), CONTENT);
    }
    let always = |status: &'static str| {
        Download::from(move |_, _| reply(status, &["Content-Length: 0"], b""))
    };
    let busy = always("503 Busy");
    busy.fails_with("HTTP status 503");
    assert_eq!(busy.web.requests().len(), 3);
    let refused = always("401 No");
    refused.fails_with("HTTP status 401");
    assert_eq!(refused.web.requests().len(), 1);
    let gone = always("404 Gone");
    assert_eq!(gone.get(), Err(Failure::Absent));
    assert_eq!(gone.web.requests().len(), 1);
}

#[test]
fn redirects_are_followed_but_not_in_a_loop() {
    let download = Download::from(|request, _| match request.path.as_str() {
        "/a/file.tar.gz" => redirect("/b"),
        "/b" => redirect("c/d"),
        _ => file(request, "\"1\"", CONTENT),
    });
    assert_eq!(download.get().unwrap(), CONTENT);
    assert_eq!(download.web.requests().last().unwrap().path, "/c/d");
    Download::from(|_, _| redirect("/round")).fails_with("redirects more than 5 times");
}

#[test]
fn redirects_never_downgrade_tls() {
    let error = ureq::Error::RequireHttpsOnly("http://x/".to_owned());
    let part = PartialDownload { url: "https://x/", path: PathBuf::new(), limits: LIMITS };
    let Failure::Lasting(detail) = part.judged(error) else { panic!("passing") };
    assert_eq!(detail, "redirects from TLS to plain text, `http://x/`");
    // The agent used for https addresses.
    let error = agent("https://x/", LIMITS).get("http://127.0.0.1:1/").call().unwrap_err();
    assert!(matches!(error, ureq::Error::RequireHttpsOnly(_)), "{error}");
}

#[test]
fn a_dead_server_times_out() {
    let silent = Download::from(|_, _| Reply { bytes: Vec::new(), hangs: true });
    silent.fails_with("no answer for 300ms");
    assert_eq!(silent.web.requests().len(), 3);
    let stalled = Download::from(|request, _| Reply {
        hangs: true,
        ..broken_off(file(request, "\"1\"", CONTENT), 5)
    });
    stalled.fails_with("no answer for 300ms");
    let closed = Download::from(|_, _| Reply { bytes: Vec::new(), hangs: false });
    closed.fails_with("");
    let nobody = Download { web: Web::new(|_, _| unreachable!()), ..closed };
    let url = "http://127.0.0.1:1/x";
    let failure = download(url, nobody.directory.path(), "x", LIMITS, &mut |_, _| {});
    assert!(matches!(failure, Err(Failure::Lasting(detail)) if detail.contains("refused")));
}

#[test]
fn a_dripping_server_times_out() {
    // Each wait yields one byte before it ends.
    let limits = DownloadLimits { idle: Duration::ZERO, ..LIMITS };
    let part = PartialDownload { url: "x", path: PathBuf::new(), limits };
    let directory = tempfile::tempdir().unwrap();
    let part = PartialDownload { path: directory.path().join("x.part"), ..part };
    let mut body = Body::builder().data("123");
    let end = part.receive(&mut body, 0, Some(3), &mut |_, _| {});
    assert!(
        matches!(end, Err(Failure::Passing(detail)) if detail.starts_with("less than 10 bytes"))
    );
}

#[test]
fn downloads_are_limited_to_the_announced_and_allowed_size() {
    let longer = Download::from(|_, _| reply("200 OK", &["Content-Length: 5"], CONTENT));
    assert_eq!(longer.get().unwrap(), b"01234");
    let endless = Download::from(|_, _| reply("200 OK", &[], &vec![b'x'; 3 << 20]));
    endless.fails_with("is longer than");
    assert!(endless.left().is_empty());
    let large = Download::from(|_, _| reply("200 OK", &["Content-Length: 9999999"], b""));
    large.fails_with("is larger than 1 MB");
}

#[test]
fn content_ranges_are_parsed() {
    assert_eq!(rest_of("bytes 5-9/10", 5), Some(10));
    for wrong in
        ["bytes 5-8/10", "bytes 4-9/10", "bytes 5-9/*", "5-9/10", "bytes 5/10", "", "bytes */10"]
    {
        assert_eq!(rest_of(wrong, 5), None, "{wrong}");
    }
    let most = u64::MAX;
    assert_eq!(rest_of(&format!("bytes 0-{most}/{most}"), 0), None);
}
