//! Runs apt's programs without terminal and shell, in one language, and turns their messages into errors.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use assay_model::without_logins;

use crate::error::{ALTERED, ProvisionError, Result};
use crate::programs;

/// Replaces the machine's configuration and state.
#[derive(Clone, Copy)]
pub(super) struct PrivateConfiguration<'a> {
    pub(super) configuration: &'a Path,
    /// Lock of the cache that the program changes.
    pub(super) lock: &'a fs_err::File,
}

pub(super) fn output(program: &'static str, arguments: &[&str]) -> Result<String> {
    let mut text = String::new();
    let directory = Path::new("/");
    run(program, arguments, None, directory, "this machine", &mut |line| {
        text.push_str(line);
        text.push('\n');
    })?;
    Ok(text)
}

/// Passes each line of standard output to `each`; on failure, makes an error of apt's messages. apt itself bounds every
/// wait for the network (see the private configuration). A program that still makes no progress, for example because
/// the disk is full, is killed.
pub(super) fn run(
    program: &'static str,
    arguments: &[&str],
    private: Option<PrivateConfiguration<'_>>,
    directory: &Path,
    release: &str,
    each: &mut dyn FnMut(&str),
) -> Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    if let Some(private) = private {
        // apt also holds the lock of the cache, as its standard input, which it never reads: if this process is killed,
        // the next one waits until apt has ended.
        command.env("APT_CONFIG", private.configuration);
        command.stdin(Stdio::from(private.lock.file().try_clone()?));
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = programs::start(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ProvisionError::DistributionMissing { program, hint: NO_APT },
        _ => ProvisionError::Io(error),
    })?;
    let stderr = child.stderr.take();
    // Both pipes are drained at once: a full one would stop apt.
    let complaints = thread::spawn(move || {
        let lines = stderr.into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
        lines.map_while(Result::ok).collect::<Vec<_>>()
    });
    let (progress, seen) = mpsc::channel();
    let pid = rustix::process::Pid::from_child(&child);
    let waiter = thread::spawn(move || stalled(&seen, pid));
    let stdout = child.stdout.take();
    let lines = stdout.into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
    let mut last = String::new();
    for line in lines.map_while(Result::ok).filter(|line| !line.is_empty()) {
        if line != last {
            let _ = progress.send(());
        }
        each(&line);
        last = line;
    }
    drop(progress);
    let stalled = waiter.join().unwrap_or(false);
    let status = programs::wait(&mut child)?;
    let complaints = complaints.join().unwrap_or_default();
    if stalled {
        let detail = format!("no progress for {} s", STALL_LIMIT.as_secs());
        return Err(ProvisionError::Network { release: release.to_owned(), detail });
    }
    if status.success() {
        for line in complaints.iter().filter(|line| !line.is_empty()) {
            log::debug!("{program}: {}", without_logins(line));
        }
        return Ok(());
    }
    Err(failure(program, release, &complaints))
}

const NO_APT: &str = "run assay on Debian or Ubuntu, or in a container of one of them; without `--source apt`, servers \
     come from other sources too";

pub(super) const KEYS: &str =
    "update the package `debian-archive-keyring`, which contains the keys of Debian's releases";

/// Maximum time without a new line of output. Longer than apt's own limits.
const STALL_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 120 });

/// Kills the program if it produces nothing for too long, and returns whether it did. Returns when its output ends. The
/// program is not waited for before that, so no other process can have its id.
fn stalled(seen: &mpsc::Receiver<()>, pid: rustix::process::Pid) -> bool {
    loop {
        match seen.recv_timeout(STALL_LIMIT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                return true;
            }
        }
    }
}

/// The error described by apt's messages: the first kind that matches any line, with that line.
fn failure(program: &'static str, release: &str, complaints: &[String]) -> ProvisionError {
    // The output names mirrors with their logins.
    let complaints: Vec<_> = complaints.iter().map(|line| without_logins(line)).collect();
    let find = |signs: &[&str]| {
        let line = complaints.iter().find(|line| signs.iter().any(|sign| line.contains(sign)))?;
        Some(
            line.trim_start_matches(|c: char| c.is_ascii_uppercase() || c == ':').trim().to_owned(),
        )
    };
    let release = release.to_owned();
    if let Some(line) = find(&["is expired"]) {
        let reason = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let detail = reason.map_or(line.as_str(), |(reason, _)| reason).to_owned();
        return ProvisionError::ExpiredIndex { release, detail };
    }
    if let Some(detail) = find(&["NO_PUBKEY", "is not signed", "signatures were invalid", "verif"])
    {
        return ProvisionError::UnverifiedIndex { release, detail, hint: KEYS };
    }
    if find(&["No space left on device"]).is_some() {
        return ProvisionError::Io(ErrorKind::StorageFull.into());
    }
    if let Some(detail) = find(&["Hash Sum mismatch", "unexpected size"]) {
        return ProvisionError::plain(
            format!(
                "a file from the package archive for `{release}` does not match its signed index: {detail}"
            ),
            ALTERED,
        );
    }
    if let Some(detail) = find(&["404 "]) {
        return ProvisionError::Gone { release, detail };
    }
    const NETWORK: [&str; 10] = [
        "resolving",
        "resolve",
        "onnection",
        "onnect",
        "imeout",
        "imed out",
        "unreachable",
        "nreachable",
        "roxy",
        "Failed to fetch",
    ];
    if let Some(detail) = find(&NETWORK) {
        return ProvisionError::Network { release, detail };
    }
    let errors = complaints.iter().filter(|line| line.starts_with("E:"));
    let detail = errors.map(|line| line.trim_start_matches("E:").trim()).collect::<Vec<_>>();
    ProvisionError::Client { program, release, detail: detail.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(line: &str) -> ProvisionError {
        failure("apt-get", "sid", &["W: a warning".into(), line.into()])
    }

    #[test]
    fn messages_of_apt_become_errors() {
        let expired =
            "E: Release file for http://a.example/InRelease is expired (invalid since 14d).";
        assert!(matches!(kind_of(expired), ProvisionError::ExpiredIndex { release, detail }
            if release == "sid" && detail == "invalid since 14d"));
        let key =
            "W: GPG error: ... because the public key is not available: NO_PUBKEY 0E98404D386FA1D9";
        assert!(matches!(kind_of(key), ProvisionError::UnverifiedIndex { .. }));
        let resolve =
            "W: Failed to fetch http://a.example/x  Temporary failure resolving 'a.example'";
        assert!(matches!(kind_of(resolve), ProvisionError::Network { .. }));
        let secret = "E: Failed to fetch http://me:canary@m.example/x  Connection failed";
        assert!(!kind_of(secret).to_string().contains("canary"));
        let gone = "E: Failed to fetch http://mirror.example/pool/x.deb  404  Not Found [IP: ...]";
        assert!(matches!(kind_of(gone), ProvisionError::Gone { .. }));
        let other = kind_of("E: Version '1' for 'libc6' was not found");
        assert_eq!(
            other.to_string(),
            "`apt-get` failed for `sid`: Version '1' for 'libc6' was not found"
        );
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = output("assay-no-such-program", &[]).unwrap_err();
        assert_eq!(error.to_string(), "`assay-no-such-program` is not installed");
    }
    #[test]
    fn a_program_that_stalls_is_killed() {
        let error = output("sleep", &["1000"]).unwrap_err();
        assert!(
            matches!(&error, ProvisionError::Network { detail, .. } if detail.contains("no progress"))
        );
    }
}
