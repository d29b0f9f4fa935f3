//! Servers under valgrind, whose tool callgrind counts the instructions of their threads.
//!
//! Such a server runs some twenty times slower while it counts, and one thread at a time. It counts nothing until
//! [`CallgrindCounting::count`]; [`CallgrindCounting::take`] returns the counts by thread since the last call.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{io, thread};

use fs_err as fs;
use object::elf::{ET_EXEC, FileHeader64, PT_INTERP, ProgramHeader64};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, U64};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use crate::error::{Result, ServersError};
use crate::site::log_tail;
use crate::supervise::process::die_with_parent;
use crate::supervise::{ServerJob, below};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValgrindTool {
    /// The program `valgrind`. A traced program executes other programs through it.
    pub launcher: PathBuf,
    pub library: PathBuf,
    /// The program `vgdb`, which sends commands to a running tool.
    pub vgdb: PathBuf,
}

#[cfg(target_arch = "x86_64")]
const TOOL: &str = "callgrind-amd64-linux";
#[cfg(not(target_arch = "x86_64"))]
const TOOL: &str = "callgrind-arm64-linux";

/// Name prefixes of the tool's files: counts, pipes for commands, and its own messages.
const COUNTS: &str = "counts.";
const PIPES: &str = "pipes";
const MESSAGES: &str = "valgrind.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCounts {
    pub pid: i32,
    /// The thread's number in valgrind, from 1, kept until the thread ends.
    pub thread: u32,
    pub report: Vec<u8>,
}

impl ThreadCounts {
    /// All instructions of the report; `None` if it is truncated.
    pub fn instructions(&self) -> Option<u64> {
        // The last line of the report.
        let tail = &self.report[self.report.len().saturating_sub(200)..];
        let tail = String::from_utf8_lossy(tail);
        let sums = tail.lines().rev().find_map(|line| line.strip_prefix("totals:"));
        sums?.trim().parse().ok()
    }
}

#[derive(Debug)]
pub struct CallgrindCounting<'a> {
    first: i32,
    valgrind: &'a ValgrindTool,
    directory: PathBuf,
}

impl ValgrindTool {
    /// Wraps a job in the tool, whose files are in `directory`. `room` may hold a modified copy of the program.
    pub(crate) fn around(
        &self,
        job: ServerJob,
        directory: &Path,
        room: &Path,
    ) -> Result<ServerJob> {
        let job = without_loader(job, room)?;
        let file = |option: &str, name: &str| {
            let mut argument = OsString::from(option);
            argument.push(directory.join(name));
            argument
        };
        let mut argv = vec![self.library.join(TOOL).into_os_string()];
        let words = [
            "--tool=callgrind",
            "--quiet",
            "--instr-atstart=no",
            "--cache-sim=no",
            "--branch-sim=no",
            // Names are derived from symbols, as for profiles.
            "--demangle=no",
            // In Postgres, each connection has a process.
            "--trace-children=yes",
            "--separate-threads=yes",
            "--max-threads=5000",
            // Larger stack frames would be taken for a switch of stacks.
            "--max-stackframe=16000000",
        ];
        argv.extend(words.map(OsString::from));
        argv.push(file("--callgrind-out-file=", &format!("{COUNTS}%p")));
        argv.push(file("--vgdb-prefix=", PIPES));
        argv.push(file("--log-file=", &format!("{MESSAGES}%p")));
        argv.extend(job.argv);
        let own = [
            ("VALGRIND_LIB", self.library.as_os_str()),
            ("VALGRIND_LAUNCHER", self.launcher.as_os_str()),
            ("TMPDIR", directory.as_os_str()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = job.env.into_iter().chain(own).collect();
        Ok(ServerJob { argv, env, ..job })
    }
}

/// Removes the loader from the command line if the program has a fixed address: if valgrind runs the loader as the
/// program, it uses that address for the loader's heap.
fn without_loader(job: ServerJob, room: &Path) -> Result<ServerJob> {
    let [loader, option, libraries, program, rest @ ..] = job.argv.as_slice() else {
        return Ok(job);
    };
    if option != "--library-path" {
        return Ok(job);
    }
    let program = Path::new(program);
    let Some(changed) = with_loader(&fs::read(program)?, Path::new(loader)) else {
        return Ok(job);
    };
    let copy = room.join(program.file_name().unwrap_or_default());
    fs::write(&copy, changed)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o700))?;
    // Libraries may also be next to the program.
    let mut libraries = libraries.clone();
    if let Some(beside) = program.parent() {
        libraries.push(":");
        libraries.push(beside);
    }
    let argv = std::iter::once(copy.into_os_string()).chain(rest.iter().cloned()).collect();
    let mut env = job.env;
    env.push(("LD_LIBRARY_PATH".to_owned(), libraries));
    Ok(ServerJob { argv, env, ..job })
}

impl<'a> CallgrindCounting<'a> {
    pub(crate) fn new(first: i32, valgrind: &'a ValgrindTool, directory: PathBuf) -> Self {
        Self { first, valgrind, directory }
    }

    /// Starts or stops counting in all processes of the server. The tool then translates all code again, which takes
    /// seconds. Fails if a process does not respond within five minutes, or the server has ended.
    pub fn count(&self, counts: bool) -> Result<()> {
        let word = if counts { "on" } else { "off" };
        self.command(&self.processes()?, &["instrumentation", word]).map(drop)
    }

    /// Maps a kernel thread id to its process and its number in valgrind; `None` if it does not exist.
    pub fn place(&self, tid: i32) -> Result<Option<(i32, u32)>> {
        let status = fs::read_to_string(format!("/proc/{tid}/status"))?;
        let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
        let Some(pid) = pid else { return Ok(None) };
        // By default the answer goes to the log, with the stack of every thread.
        self.command(&[pid], &["v.set", "gdb_output"])?;
        let said = self.command(&[pid], &["v.info", "scheduler"])?.concat();
        let found = said.lines().filter_map(thread_of).find(|(_, of)| *of == tid);
        Ok(found.map(|(thread, _)| (pid, thread)))
    }

    /// Counts since the last call, of the threads of a process or of all processes of the server.
    pub fn take(&self, pid: Option<i32>) -> Result<Vec<ThreadCounts>> {
        let pids = match pid {
            Some(pid) => vec![pid],
            None => self.processes()?,
        };
        self.command(&pids, &["dump"])?;
        let mut taken = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((pid, thread)) = place_of(name) else { continue };
            let is_of_ended = !pids.contains(&pid) && has_ended(pid);
            // The file of another process may be incomplete.
            if !pids.contains(&pid) && !is_of_ended {
                continue;
            }
            let counts = ThreadCounts { pid, thread, report: fs::read(&path)? };
            fs::remove_file(&path)?;
            // A killed process may have left a truncated file.
            if !is_of_ended || counts.instructions().is_some() {
                taken.push(counts);
            }
        }
        taken.sort_by_key(|counts| (counts.pid, counts.thread));
        Ok(taken)
    }

    fn processes(&self) -> Result<Vec<i32>> {
        let Some(pid) = Pid::from_raw(self.first) else { return Ok(Vec::new()) };
        let others = below(pid)?.into_iter().map(|pid| pid.as_raw_nonzero().get());
        Ok(std::iter::once(self.first).chain(others).collect())
    }

    /// Sends a command to these processes at the same time and returns their answers. Processes that have ended
    /// meanwhile are skipped, except for the server's first.
    fn command(&self, pids: &[i32], words: &[&str]) -> Result<Vec<String>> {
        let mut pipes = OsString::from("--vgdb-prefix=");
        pipes.push(self.directory.join(PIPES));
        let send = |pid: &i32| -> io::Result<_> {
            let mut command = Command::new(&self.valgrind.vgdb);
            command.env_clear().env("LC_ALL", "C").arg(&pipes).arg(format!("--pid={pid}"));
            command.arg(format!("--cmd-time-out={COMMAND_LIMIT_S}"));
            command.arg(format!("--max-invoke-ms={WAKE_MS}")).args(words);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            // This thread waits for the answer, so the signal comes only if assay is killed. Nothing else would end the
            // command then.
            die_with_parent(&mut command, getpid());
            Ok((*pid, command.spawn()?))
        };
        let sent: Vec<_> = pids.iter().map(send).collect();
        // Waits for all of them before an error is returned, so that none is left running.
        let ended = sent.into_iter().map(|sent| {
            let (pid, child) = sent?;
            Ok((pid, answer(pid, child)?))
        });
        let ended: Vec<io::Result<(i32, Output)>> = ended.collect();
        let mut answers = Vec::with_capacity(ended.len());
        for answered in ended {
            let (pid, output) = answered?;
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            // A process that has just started listens a little later, and has counted nothing yet.
            let is_absent = has_ended(pid) || said.contains(NOT_YET);
            if !output.status.success() && (pid == self.first || !is_absent) {
                return Err(ServersError::Valgrind { pid, said });
            }
            answers.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(answers)
    }
}

/// Limit for reaching a process, seconds. A busy machine may keep it from its CPU.
const COMMAND_LIMIT_S: u32 = 300;

/// Milliseconds for which a command waits until the process looks for it. Then the command interrupts the process, as
/// it always must if all threads wait for clients. The tool's own default is 100 ms.
const WAKE_MS: u32 = 20;

/// The command's message for a process that does not listen.
const NOT_YET: &str = "no FIFO found";

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Returns a command's output. The command traces the process. If the process is killed meanwhile, the command may wait
/// for it for ever, and the process's parent for the command; so the command is killed then.
fn answer(pid: i32, mut command: Child) -> io::Result<Output> {
    let (done, ended) = mpsc::channel::<()>();
    let own = match pidfd_open(Pid::from_child(&command), PidfdFlags::empty()) {
        Ok(own) => own,
        Err(error) => {
            command.kill()?;
            command.wait()?;
            return Err(error.into());
        }
    };
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                if has_ended(pid) {
                    // It may have ended by itself.
                    let _ = pidfd_send_signal(&own, Signal::KILL);
                }
            }
        });
        let output = command.wait_with_output();
        drop(done);
        output
    })
}

/// Detects the end before the parent has reaped the process.
fn has_ended(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    status.map_or(true, |it| it.lines().any(|line| line.starts_with("State:\tZ")))
}

/// Calls in which a thread waits for its client: poll, ppoll, epoll_wait, epoll_pwait and recvfrom.
#[cfg(target_arch = "x86_64")]
const WAITS: [u64; 5] = [7, 271, 232, 281, 45];
#[cfg(not(target_arch = "x86_64"))]
const WAITS: [u64; 3] = [73, 22, 207];

/// MySQL 5.5 waits for its client in read. So does a thread for valgrind's own lock, which is a pipe.
#[cfg(target_arch = "x86_64")]
const READ: u64 = 0;
#[cfg(not(target_arch = "x86_64"))]
const READ: u64 = 63;

/// Interval and limit of the checks. A thread that does not wait for its client by then may have another way to do so.
const PAUSE: Duration = Duration::from_micros(50);
const PATIENCE: Duration = Duration::from_millis(100);

/// Whether the kernel shows in which calls the threads of a process wait, so that [`wait_for_thread`] works.
pub fn shows_waits(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/syscall")).is_ok()
}

/// Waits until a thread waits for its client. A thread that finds the next request before it waits executes fewer
/// instructions, so the machine's load would affect the count per operation.
pub fn wait_for_thread(tid: i32) {
    let began = Instant::now();
    let call = format!("/proc/{tid}/syscall");
    // Returns for threads that have ended, or that the kernel does not show.
    while let Ok(said) = fs::read_to_string(&call) {
        if waits_for_client(tid, &said) || began.elapsed() > PATIENCE {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// `call` is the kernel's line: the number of the call, then its arguments.
fn waits_for_client(tid: i32, call: &str) -> bool {
    let mut words = call.split(' ');
    let Some(number) = words.next().and_then(|number| number.parse().ok()) else { return false };
    if number != READ {
        return WAITS.contains(&number);
    }
    let file = words.next().and_then(|word| word.trim().strip_prefix("0x"));
    let file = file.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let target = file.and_then(|file| fs::read_link(format!("/proc/{tid}/fd/{file}")).ok());
    target.is_some_and(|target| target.to_string_lossy().starts_with("socket:"))
}

/// The ends of the tool's own messages about the processes of a server. It writes none unless something is wrong.
pub(crate) fn messages(directory: &Path) -> String {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_message = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_bytes().starts_with(MESSAGES.as_bytes()))
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_message).collect();
    paths.sort_unstable();
    let tails = paths.iter().map(|path| log_tail(path)).filter(|tail| !tail.is_empty());
    tails.collect::<Vec<_>>().join("\n")
}

/// Process and thread of a file `counts.PID.PART-THREAD`. The part is a number that rises.
fn place_of(name: &str) -> Option<(i32, u32)> {
    let (pid, rest) = name.strip_prefix(COUNTS)?.split_once('.')?;
    let (part, thread) = rest.split_once('-')?;
    part.parse::<u32>().ok()?;
    Some((pid.parse().ok()?, thread.parse().ok()?))
}

/// The numbers in valgrind and in the kernel, from `Thread 9: status = VgTs_WaitSys syscall 7 (lwpid 123)`.
fn thread_of(line: &str) -> Option<(u32, i32)> {
    let (thread, rest) = line.strip_prefix("Thread ")?.split_once(':')?;
    let (_, tid) = rest.rsplit_once("(lwpid ")?;
    Some((thread.parse().ok()?, tid.split(')').next()?.parse().ok()?))
}

/// Returns a copy of a program with a fixed address that the kernel starts by this loader. `None` if it is
/// position-independent, names no loader, or is no program of this kind of machine. The name of the loader is appended
/// to the file, and its segment header points there.
pub(crate) fn with_loader(program: &[u8], loader: &Path) -> Option<Vec<u8>> {
    const ENDIAN: LittleEndian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(program).ok()?;
    if header.e_type(ENDIAN) != ET_EXEC {
        return None;
    }
    let segments = header.program_headers(ENDIAN, program).ok()?;
    let at = segments.iter().position(|segment| segment.p_type(ENDIAN) == PT_INTERP)?;
    let mut named = *segments.get(at)?;
    let mut name = loader.as_os_str().as_bytes().to_vec();
    name.push(0);
    let size = U64::new(ENDIAN, name.len() as u64);
    named.p_offset = U64::new(ENDIAN, program.len() as u64);
    (named.p_filesz, named.p_memsz) = (size, size);
    let each = size_of::<ProgramHeader64<LittleEndian>>();
    let place = usize::try_from(header.e_phoff(ENDIAN)).ok()?.checked_add(at.checked_mul(each)?)?;
    let mut changed = program.to_vec();
    changed.get_mut(place..place.checked_add(each)?)?.copy_from_slice(object::bytes_of(&named));
    changed.extend(name);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_scheduler_has_both_numbers_of_a_thread() {
        let line = "Thread 9: status = VgTs_WaitSys syscall 7 (lwpid 12933)";
        assert_eq!(thread_of(line), Some((9, 12933)));
        assert_eq!(thread_of("   at 0x4B3A: poll (poll.c:29)"), None);
    }

    /// A thread that waits in `read` on this file.
    fn reading(file: std::os::fd::OwnedFd) -> (i32, thread::JoinHandle<()>) {
        let (tid, is) = mpsc::channel();
        let waiting = thread::spawn(move || {
            tid.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            rustix::io::read(&file, &mut [0; 1]).unwrap();
        });
        let tid = is.recv().unwrap();
        let call = || fs::read_to_string(format!("/proc/{tid}/syscall")).unwrap();
        while !call().starts_with(&format!("{READ} ")) {
            thread::yield_now();
        }
        (tid, waiting)
    }

    #[test]
    fn a_thread_that_reads_a_pipe_does_not_wait_for_its_client() {
        let waits = |tid: i32| {
            let call = fs::read_to_string(format!("/proc/{tid}/syscall")).unwrap();
            waits_for_client(tid, &call)
        };
        let (pipe, end) = io::pipe().unwrap();
        let (of_pipe, waiting) = reading(pipe.into());
        assert!(!waits(of_pipe));
        drop(end);
        waiting.join().unwrap();
        let (socket, end) = std::os::unix::net::UnixStream::pair().unwrap();
        let (of_socket, waiting) = reading(socket.into());
        assert!(waits(of_socket));
        drop(end);
        waiting.join().unwrap();
        assert!(!waits_for_client(1, "running\n"));
    }

    #[test]
    fn the_name_of_a_file_has_process_and_thread() {
        assert_eq!(place_of("counts.123.4-09"), Some((123, 9)));
        assert_eq!(place_of("counts.123.4"), None);
        assert_eq!(place_of("counts.123"), None);
        assert_eq!(place_of("valgrind.123"), None);
    }

    #[test]
    fn only_messages_of_the_tool_are_shown() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("valgrind.12", "");
        write("valgrind.13", "cannot open the file\n");
        write("counts.13.1-01", "version: 1\n");
        assert_eq!(messages(directory.path()), "  cannot open the file");
        assert_eq!(messages(&directory.path().join("missing")), "");
    }

    #[test]
    fn what_is_no_program_stays_as_it_is() {
        assert_eq!(with_loader(b"", Path::new("/l")), None);
        assert_eq!(with_loader(b"#!/bin/sh\n", Path::new("/l")), None);
        // This test's program is position-independent.
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(with_loader(&own, Path::new("/l")), None);
    }
}
