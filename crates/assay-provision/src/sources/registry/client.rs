//! Runs a package client without terminal and shell, in its own process group, and kills it if it makes no progress.

use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::without_logins;
use fs_err as fs;

use crate::census::FileCensus;
use crate::error::{ProvisionError, Result};
use crate::programs;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Directories<'a> {
    pub(crate) state: &'a Path,
    /// Destination of the package, on the same file system.
    pub(crate) into: &'a Path,
}

pub(crate) struct RegistryClient<'a> {
    pub(crate) name: &'a str,
    pub(crate) directories: Directories<'a>,
    pub(crate) lock: &'a fs::File,
    /// Receives the bytes so far and in total, 0 if unknown.
    pub(crate) progress: &'a mut dyn FnMut(u64, u64),
}

pub(crate) struct ClientProgram {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// Maximum time that a client may run without writing a byte or a message.
const STALL_LIMIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(500);
/// Maximum output of a client, bytes.
const OUTPUT: u64 = 16 << 20;

impl RegistryClient<'_> {
    pub(crate) fn run(&mut self, program: &ClientProgram, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program.name);
        command.args(arguments).current_dir(self.directories.state).env("LC_ALL", "C.UTF-8");
        // The client also holds the lock of the cache, as its standard input, which it never reads: if this process is
        // killed, the next one waits until the client has ended.
        command.stdin(Stdio::from(self.lock.file().try_clone()?));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = programs::start(&mut command).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                ProvisionError::ClientMissing { program: program.name, package: program.package }
            }
            _ => ProvisionError::Io(error),
        })?;
        let (said, hear) = mpsc::channel();
        // Both pipes are drained at once: a full one would stop the client.
        let stdout = drain(child.stdout.take(), said.clone());
        let stderr = drain(child.stderr.take(), said);
        let stalled = self.stalls(&hear);
        if stalled {
            let group = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let (stdout, stderr) = (text(stdout), text(stderr));
        let status = programs::wait(&mut child)?;
        if stalled {
            let detail = format!("no progress for {} s", STALL_LIMIT.as_secs());
            return Err(ProvisionError::Network { release: self.name.to_owned(), detail });
        }
        if status.success() {
            return Ok(stdout);
        }
        let complaints: Vec<_> = stderr.lines().chain(stdout.lines()).collect();
        Err(failure(program, self.name, &complaints))
    }

    /// Waits until the client has closed its output. Returns true if it stops making progress.
    fn stalls(&mut self, hear: &mpsc::Receiver<()>) -> bool {
        let (mut written, mut moved) = (0, Instant::now());
        loop {
            match hear.recv_timeout(LOOK) {
                Ok(()) => moved = Instant::now(),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    let now = size(self.directories.state) + size(self.directories.into);
                    if now != written {
                        (written, moved) = (now, Instant::now());
                        (self.progress)(size(self.directories.into), 0);
                    }
                    if moved.elapsed() > STALL_LIMIT {
                        return true;
                    }
                }
            }
        }
    }
}

fn size(directory: &Path) -> u64 {
    // Files come and go meanwhile. A file that cannot be counted now is counted the next time.
    FileCensus::at(directory).map_or(0, |census| census.bytes)
}

fn drain(
    pipe: Option<impl Read + Send + 'static>,
    said: mpsc::Sender<()>,
) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        let Some(mut pipe) = pipe else { return all };
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            let _ = said.send(());
            if (all.len() as u64) < OUTPUT {
                all.extend_from_slice(&buffer[..read]);
            }
        }
        all
    })
}

fn text(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

/// The start of a file written by a client, which may be of any length.
pub(crate) fn read_some(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(MOST).read_to_end(&mut start)?;
    Ok(start)
}

/// More than a checksum or a report on one package takes, bytes.
const MOST: u64 = 4 << 20;

const NETWORK: [&str; 14] = [
    "Could not transfer",
    "UnknownHost",
    "Connection",
    "connection",
    "imed out",
    "imeout",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNRE",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ETIMEDOUT",
    "roxy",
    "resolution",
];

/// The error described by a client's output: the first kind that matches any line, with that line.
fn failure(program: &ClientProgram, name: &str, complaints: &[&str]) -> ProvisionError {
    let clean = |line: &str| {
        let marks = ["[ERROR]", "ERROR:", "npm ERR!", "npm error"];
        let line = line.trim();
        let without = marks.iter().find_map(|mark| line.strip_prefix(mark));
        // The output names mirrors with their logins.
        without_logins(without.unwrap_or(line).trim())
    };
    let find = |signs: &[&str]| {
        let line = complaints.iter().find(|line| signs.iter().any(|sign| line.contains(sign)));
        line.map(|line| clean(line))
    };
    let release = name.to_owned();
    let &ClientProgram { name: program, package } = program;
    if find(&["No module named pip"]).is_some() {
        return ProvisionError::ClientMissing { program, package };
    }
    let checksum =
        ["Checksum validation failed", "EINTEGRITY", "DO NOT MATCH", "integrity checksum failed"];
    if let Some(detail) = find(&checksum) {
        return ProvisionError::Client { program, release, detail };
    }
    let gone = ["Could not find artifact", "E404", "ETARGET", "No matching distribution"];
    if let Some(detail) = find(&gone) {
        return ProvisionError::Gone { release, detail };
    }
    if let Some(detail) = find(&NETWORK) {
        return ProvisionError::Network { release, detail };
    }
    let first = find(&["ERR", "error"]).or(complaints.first().map(|line| clean(line)));
    ProvisionError::Client { program, release, detail: first.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIP: ClientProgram = ClientProgram { name: "pip3", package: "python3-pip" };

    fn run(name: &'static str, arguments: &[&str]) -> Result<String> {
        let directory = tempfile::tempdir().unwrap();
        let lock = fs::File::create(directory.path().join("lock")).unwrap();
        let directories = Directories { state: directory.path(), into: directory.path() };
        let mut client =
            RegistryClient { name: "pip x 1", directories, lock: &lock, progress: &mut |_, _| {} };
        client.run(&ClientProgram { name, package: "assay-tool" }, arguments)
    }

    #[test]
    fn a_missing_client_is_named_with_its_package() {
        let error = run("assay-no-such-client", &[]).unwrap_err();
        assert_eq!(error.to_string(), "`assay-no-such-client` is not installed");
        let hint = assay_model::Hint::hints(&error);
        assert!(hint.iter().any(|hint| hint.contains("`assay-tool`")), "{hint:?}");
    }

    #[test]
    fn output_is_kept_and_messages_become_errors() {
        assert_eq!(run("echo", &["a", "b"]).unwrap(), "a b\n");
        let kind_of = |line| failure(&PIP, "pip x 1", &["INFO all is well", line]);
        let gone = "ERROR: No matching distribution found for x==1";
        assert!(matches!(kind_of(gone), ProvisionError::Gone { detail, .. }
            if detail == "No matching distribution found for x==1"));
        assert!(matches!(kind_of("npm error code ENOTFOUND"), ProvisionError::Network { .. }));
        let secret = "[ERROR] Could not transfer a:b from/to m (https://me:canary@m.example/x)";
        assert!(!kind_of(secret).to_string().contains("canary"));
        let maven = "[ERROR] Could not transfer artifact a:b:pom:1 from/to central";
        assert!(matches!(kind_of(maven), ProvisionError::Network { .. }));
        let missing = "/usr/bin/python3: No module named pip";
        assert!(matches!(kind_of(missing), ProvisionError::ClientMissing { .. }));
        let other = kind_of("ERROR: something else");
        assert_eq!(other.to_string(), "`pip3` failed for `pip x 1`: something else");
    }
}
