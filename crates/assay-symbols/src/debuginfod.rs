//! Debug files with function names, from the servers that the user has configured.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The client of elfutils. It takes the servers from `DEBUGINFOD_URLS`, and caches files.
const PROGRAM: &str = "debuginfod-find";

/// Time limit for all files of a study: that of a server has hundreds of megabytes.
const LIMIT: Duration = Duration::from_secs(300);

const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct Fetcher {
    left: Duration,
    is_stopped: fn() -> bool,
}

impl Fetcher {
    /// `fetches` permits fetching; `is_stopped` returns whether the user wants to stop waiting.
    pub(crate) fn new(fetches: bool, is_stopped: fn() -> bool) -> Self {
        Self { left: if fetches { LIMIT } else { Duration::ZERO }, is_stopped }
    }

    /// The file with the names of the binary with this build id. `None` if no server is configured or none has it.
    pub(crate) fn find(&mut self, build_id: &str) -> Option<PathBuf> {
        self.found_by(Command::new(PROGRAM).args(["debuginfo", build_id]))
    }

    /// The client prints the path of the file.
    fn found_by(&mut self, client: &mut Command) -> Option<PathBuf> {
        if self.left.is_zero() || (self.is_stopped)() {
            return None;
        }
        client.env_remove("ASSAY_PASSWORD").stdin(Stdio::null());
        client.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = client.spawn().ok()?;
        let began = Instant::now();
        let status = loop {
            match client.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if began.elapsed() < self.left && !(self.is_stopped)() => {
                    sleep(LOOK_EVERY)
                }
                Ok(None) | Err(_) => break None,
            }
        };
        self.left = self.left.saturating_sub(began.elapsed());
        match status {
            Some(status) if status.success() => {}
            // The servers do not have it.
            Some(status) if status.code().is_some() => return None,
            _ => {
                log::warn!("{PROGRAM} was ended: names of functions are fetched no more");
                self.left = Duration::ZERO;
                let _ = client.kill();
                let _ = client.wait();
                return None;
            }
        }
        let mut path = Vec::new();
        client.stdout.take()?.read_to_end(&mut path).ok()?;
        let path = PathBuf::from(OsStr::from_bytes(path.trim_ascii()));
        path.is_file().then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn serve(listener: &TcpListener, path: &str, content: &[u8]) {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let is_known = request.split(' ').nth(1) == Some(path);
            let (status, body) =
                if is_known { ("200 OK", content) } else { ("404 Not Found", &[][..]) };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).unwrap();
        }
    }

    #[test]
    fn a_file_comes_from_a_configured_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let directory = tempfile::tempdir().unwrap();
        let find = |url: &str, id: &str| {
            let mut client = Command::new(PROGRAM);
            client.env("DEBUGINFOD_URLS", url).env("DEBUGINFOD_CACHE_PATH", directory.path());
            for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
                client.env_remove(proxy);
            }
            Fetcher::new(true, || false).found_by(client.args(["debuginfo", id]))
        };
        if Command::new(PROGRAM).arg("--version").output().is_err() {
            eprintln!("not tested: {PROGRAM} is not installed");
            return;
        }
        std::thread::spawn(move || serve(&listener, "/buildid/00c0ffee/debuginfo", b"names"));
        let found = find(&url, "00c0ffee").unwrap();
        assert_eq!(fs_err::read(found).unwrap(), b"names");
        assert_eq!(find(&url, "00c0ffef"), None);
        assert_eq!(find("", "00c0fff0"), None);
    }

    #[test]
    fn without_the_program_nothing_is_found() {
        let mut client = Command::new("/nowhere/debuginfod-find");
        assert_eq!(Fetcher::new(true, || false).found_by(&mut client), None);
        assert_eq!(Fetcher::new(false, || false).found_by(&mut Command::new("true")), None);
    }

    #[test]
    fn a_user_who_stops_assay_does_not_wait_for_the_file() {
        static IS_STOPPED: AtomicBool = AtomicBool::new(false);
        let began = Instant::now();
        std::thread::spawn(|| {
            sleep(Duration::from_millis(100));
            IS_STOPPED.store(true, Ordering::SeqCst);
        });
        let mut fetcher = Fetcher::new(true, || IS_STOPPED.load(Ordering::SeqCst));
        // It is killed, like a client that reads from a slow server.
        assert_eq!(fetcher.found_by(Command::new("sleep").arg("60")), None);
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        assert_eq!(fetcher.found_by(&mut Command::new("/bin/pwd")), None);
    }
}
