//! Downloads over HTTP: resumed after interruptions, retried after transient faults, limited in time and size, and
//! never redirected from TLS to plain text.
//!
//! The received part of a file is in `NAME.part`, with `NAME.part.json` beside it, so that another process can continue
//! it. Proxies come from the environment, certificate authorities from the machine.

use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fs_err as fs;
use serde::{Deserialize, Serialize};
use ureq::http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use assay_model::{address_without_login, without_logins};

use crate::store::{read_json, write_json};

#[derive(Debug, Clone, Copy)]
pub(crate) struct DownloadLimits {
    /// Maximum time to receive `idle_bytes`.
    pub(crate) idle: Duration,
    pub(crate) idle_bytes: u64,
    /// For all attempts together.
    pub(crate) overall: Duration,
    pub(crate) attempts: u32,
    /// Wait before the second attempt; doubles before each further one.
    pub(crate) pause: Duration,
    pub(crate) bytes: u64,
}

impl DownloadLimits {
    /// Limits for a server's tarball. The largest are 2 GB.
    pub(crate) const SERVER: Self = Self {
        idle: Duration::from_secs(30),
        idle_bytes: 64 << 10,
        overall: Duration::from_secs(4 * 3600),
        attempts: 4,
        pause: Duration::from_secs(1),
        bytes: 4 << 30,
    };
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Absent,
    /// Another attempt may succeed.
    Passing(String),
    Lasting(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Lasting(error.to_string())
    }
}

/// More than any mirror needs.
const REDIRECTS: u32 = 5;

/// Progress that resets the number of attempts, bytes.
const PROGRESS: u64 = 1 << 20;

struct PartialDownload<'a> {
    url: &'a str,
    path: PathBuf,
    limits: DownloadLimits,
}

/// Properties that must not have changed for a download to be resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ResumeRecord {
    /// Address of the file, as it is shown.
    url: String,
    /// Strong entity tag, or date of last change.
    validator: String,
}

/// Downloads `url` to `directory`. `progress` gets the bytes so far and in total, 0 if unknown. After an error, the
/// received part is kept for the next call if the server can resume.
pub(crate) fn download(
    url: &str,
    directory: &Path,
    name: &str,
    limits: DownloadLimits,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<PathBuf, Failure> {
    fs::create_dir_all(directory)?;
    let part = PartialDownload { url, path: directory.join(format!("{name}.part")), limits };
    let agent = agent(url, limits);
    let start = Instant::now();
    let (mut failed, mut mark) = (0, part.length());
    loop {
        let detail = match part.attempt(&agent, progress) {
            Ok(()) => break,
            Err(Failure::Passing(detail)) => detail,
            Err(lasting) => return Err(lasting),
        };
        failed += 1;
        if part.length() >= mark.saturating_add(PROGRESS) {
            (failed, mark) = (1, part.length());
        }
        if failed >= limits.attempts || start.elapsed() >= limits.overall {
            return Err(Failure::Lasting(detail));
        }
        log::info!("`{}`: {detail}; trying again", shown(url));
        thread::sleep(limits.pause * 2_u32.saturating_pow(failed - 1));
    }
    let whole = directory.join(name);
    fs::rename(&part.path, &whole)?;
    let _ = fs::remove_file(part.sidecar());
    Ok(whole)
}

/// An address without its login and its query, which may be a token.
pub(crate) fn shown(url: &str) -> String {
    address_without_login(url).split('?').next().unwrap_or_default().to_owned()
}

fn agent(url: &str, limits: DownloadLimits) -> Agent {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    let config = Agent::config_builder()
        .https_only(url.starts_with("https:"))
        .max_redirects(REDIRECTS)
        .http_status_as_error(false)
        .timeout_connect(Some(limits.idle))
        .timeout_resolve(Some(limits.idle))
        .timeout_recv_response(Some(limits.idle))
        .timeout_per_read(Some(limits.idle))
        .timeout_per_call(Some(limits.overall))
        .user_agent("assay")
        .tls_config(tls);
    config.build().into()
}

impl PartialDownload<'_> {
    fn sidecar(&self) -> PathBuf {
        self.path.with_extension("part.json")
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    fn resume(&self) -> Option<(u64, ResumeRecord)> {
        let resume: ResumeRecord = read_json(&self.sidecar())?;
        let length = self.length();
        (length > 0 && resume.url == shown(self.url)).then_some((length, resume))
    }

    fn attempt(&self, agent: &Agent, progress: &mut dyn FnMut(u64, u64)) -> Result<(), Failure> {
        let resume = self.resume();
        let mut request = agent.get(self.url).header(ACCEPT_ENCODING, "identity");
        if let Some((length, resume)) = &resume {
            request = request.header(RANGE, format!("bytes={length}-"));
            request = request.header(IF_RANGE, &resume.validator);
        }
        let response = request.call().map_err(|error| self.judged(error))?;
        let (head, mut body) = response.into_parts();
        let promised = number(&head.headers, CONTENT_LENGTH);
        let (from, total) = match (head.status.as_u16(), resume) {
            (200, _) => (0, promised),
            (206, Some((length, _))) => {
                let range = head.headers.get(CONTENT_RANGE).and_then(|it| it.to_str().ok());
                let total = range.and_then(|range| rest_of(range, length));
                if total.is_none() || promised.is_some_and(|it| Some(it + length) != total) {
                    self.discard();
                    return Err(Failure::Passing("resumed at the wrong position".to_owned()));
                }
                (length, total)
            }
            (206 | 416, _) => {
                self.discard();
                return Err(Failure::Passing(
                    "does not have the requested part of the file".to_owned(),
                ));
            }
            (403 | 404 | 410, _) => return Err(Failure::Absent),
            (status @ (408 | 429 | 500..), _) => {
                return Err(Failure::Passing(format!("HTTP status {status}")));
            }
            (status, _) => return Err(Failure::Lasting(format!("HTTP status {status}"))),
        };
        if total.unwrap_or(0) > self.limits.bytes {
            return Err(Failure::Lasting(format!("is larger than {} MB", self.limits.bytes >> 20)));
        }
        if from == 0 {
            self.discard();
            self.remember(&head.headers);
        }
        self.receive(&mut body, from, total, progress)
    }

    fn receive(
        &self,
        body: &mut Body,
        from: u64,
        total: Option<u64>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), Failure> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        let mut stream = body.as_reader();
        let mut buffer = vec![0; 1 << 16];
        let (mut done, mut window) = (from, (Instant::now(), from));
        loop {
            let read = stream.read(&mut buffer).map_err(|error| self.judged(error.into()))?;
            if read == 0 {
                break;
            }
            let block = &buffer[..read];
            done += block.len() as u64;
            if done > total.unwrap_or(self.limits.bytes) {
                self.discard();
                return Err(Failure::Lasting(format!(
                    "is longer than {} bytes",
                    total.unwrap_or(done)
                )));
            }
            file.write_all(block)?;
            progress(done, total.unwrap_or(0));
            if window.0.elapsed() >= self.limits.idle {
                if done - window.1 < self.limits.idle_bytes {
                    return Err(Failure::Passing(self.too_slow()));
                }
                window = (Instant::now(), done);
            }
        }
        match total {
            Some(total) if done < total => {
                Err(Failure::Passing(format!("ended after {done} of {total} bytes")))
            }
            _ => Ok(file.sync_all()?),
        }
    }

    fn too_slow(&self) -> String {
        let DownloadLimits { idle, idle_bytes, .. } = self.limits;
        format!("less than {idle_bytes} bytes in {idle:?}")
    }

    fn discard(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.sidecar());
    }

    fn remember(&self, headers: &HeaderMap) {
        let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
        let strong = text(ETAG).filter(|tag| !tag.starts_with("W/"));
        if let Some(validator) = strong.or_else(|| text(LAST_MODIFIED)) {
            let resume = ResumeRecord { url: shown(self.url), validator };
            if let Err(error) = write_json(&self.sidecar(), &resume) {
                log::warn!("`{}` could not be resumed: {error}", resume.url);
            }
        }
    }

    fn judged(&self, error: ureq::Error) -> Failure {
        match error {
            ureq::Error::RequireHttpsOnly(to) => {
                Failure::Lasting(format!("redirects from TLS to plain text, `{}`", shown(&to)))
            }
            ureq::Error::TooManyRedirects => {
                Failure::Lasting(format!("redirects more than {REDIRECTS} times"))
            }
            ureq::Error::HostNotFound => Failure::Lasting("its host has no address".to_owned()),
            ureq::Error::Timeout(_) => {
                Failure::Passing(format!("no answer for {:?}", self.limits.idle))
            }
            // TLS failures, such as a bad certificate.
            ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Failure::Lasting(error.to_string())
            }
            ureq::Error::Io(error) => Failure::Passing(error.to_string()),
            ureq::Error::Protocol(error) => Failure::Passing(error.to_string()),
            other => Failure::Lasting(without_logins(&other.to_string())),
        }
    }
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Length of the whole file, if a range such as `bytes 5-9/10` covers `start` to the end.
pub(crate) fn rest_of(range: &str, start: u64) -> Option<u64> {
    let (span, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = span.split_once('-')?;
    let total: u64 = total.parse().ok()?;
    let end = last.parse::<u64>().ok()?.checked_add(1)?;
    (first.parse() == Ok(start) && start < end && end == total).then_some(total)
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
