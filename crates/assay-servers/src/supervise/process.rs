//! The supervisor process itself.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use fs_err as fs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, getppid, kill_process,
    pidfd_open, set_child_subreaper, set_parent_process_death_signal, setsid, waitid,
};

use super::claim::{Claim, remove};
use super::protocol::{CONTROL, Ending, Job, Reply, Request, RunAs, StopBy};
use super::run_dir::{self, RunDir, narrow_umask};
use super::stop::stop;
use super::{children, namespace, shared_memory, unprivileged};

/// Runs as a supervisor until standard input, a socket, is at its end. The first thing a program does.
#[must_use]
pub fn main() -> ExitCode {
    narrow_umask();
    let Ok(mut supervisor) = SupervisorProcess::begin() else { return ExitCode::FAILURE };
    // An error means that the other side cannot be heard any more: the same as its end.
    let served = supervisor.serve();
    let ended = supervisor.end();
    if served.and(ended).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How long a server of several processes may take to end at once.
const QUIT_LIMIT: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };

/// What a supervisor is responsible for.
struct SupervisorProcess {
    /// Who asks; none while a supervisor that stays waits for somebody.
    socket: Option<BufReader<UnixStream>>,
    /// Where somebody may connect, if it stays.
    listener: Option<UnixListener>,
    /// How the process ended.
    ending: Option<Ending>,
    run_dir: Option<RunDir>,
    directories: Vec<Claim>,
    process: Option<Process>,
}

/// What there is to do.
struct Ready {
    ended: bool,
    asked: bool,
}

/// The process that is supervised.
struct Process {
    pid: Pid,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
    frozen: bool,
    /// Whether its program is written down, for those who find what a killed supervisor left frozen.
    noted: bool,
    stop_by: StopBy,
}

impl SupervisorProcess {
    fn begin() -> io::Result<Self> {
        // Away from the terminal, whose Ctrl-C is for assay alone.
        setsid()?;
        // Orphans of the server become children of this process, so that none is missed in the end.
        set_child_subreaper(Some(getpid()))?;
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self {
            socket: Some(BufReader::new(socket)),
            listener: None,
            ending: None,
            run_dir: None,
            directories: Vec::new(),
            process: None,
        })
    }

    /// Does what is asked until the other side is gone, or, if it stays, until it is told to end.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            let ready = self.wait()?;
            if ready.ended {
                self.reap(WaitIdOptions::EXITED)?;
            }
            if !ready.asked {
                continue;
            }
            let Some(socket) = &mut self.socket else {
                let (stream, _) = self.listener()?.accept()?;
                self.socket = Some(BufReader::new(stream));
                continue;
            };
            let mut line = String::new();
            let read = socket.read_line(&mut line);
            if matches!(read, Ok(0) | Err(_)) {
                if self.listener.is_none() {
                    return read.map(drop);
                }
                self.socket = None;
                continue;
            }
            let reply = match serde_json::from_str(&line).map_err(io::Error::from) {
                Ok(Request::End) => return Ok(()),
                Ok(request) => self.handle(request),
                Err(error) => Err(error),
            };
            self.reply(&reply.unwrap_or_else(|error| Reply::Failed(error.to_string())))?;
        }
    }

    fn listener(&self) -> io::Result<&UnixListener> {
        self.listener.as_ref().ok_or_else(|| io::Error::other("nobody can ask"))
    }

    /// Waits until the process has ended or something is asked.
    fn wait(&self) -> io::Result<Ready> {
        let asking = match &self.socket {
            Some(socket) => socket.get_ref().as_fd(),
            None => self.listener()?.as_fd(),
        };
        let mut awaited = vec![PollFd::from_borrowed_fd(asking, PollFlags::IN)];
        if let Some(process) = &self.process {
            awaited.push(PollFd::new(&process.pidfd, PollFlags::IN));
        }
        match poll(&mut awaited, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |at: usize| awaited.get(at).is_some_and(|it| !it.revents().is_empty());
        Ok(Ready { ended: is_ready(1), asked: is_ready(0) })
    }

    fn handle(&mut self, request: Request) -> io::Result<Reply> {
        match request {
            Request::Own { run_root, name, directories } => {
                self.run_dir = Some(RunDir::create(&run_root, &name, &directories)?);
                for directory in &directories {
                    self.directories.push(Claim::take(directory)?);
                }
            }
            Request::Hold => self.directories.iter_mut().try_for_each(Claim::hold)?,
            Request::Run(job) => {
                self.directories.iter_mut().try_for_each(Claim::hold)?;
                let pid = self.run(&job)?;
                return Ok(Reply::Started { pid: pid.as_raw_nonzero().get() });
            }
            Request::Freeze => self.freeze()?,
            Request::Thaw => self.thaw()?,
            Request::Terminate => {
                let stop_by = self.process()?.stop_by;
                self.signal(match stop_by {
                    StopBy::Terminate => Signal::TERM,
                    StopBy::Interrupt => Signal::INT,
                })?;
                self.thaw()?;
            }
            Request::Stay => {
                let Some(run_dir) = &self.run_dir else {
                    return Err(io::Error::other("no run directory"));
                };
                // By now it executes what it will.
                if let Some(process) = &self.process {
                    run_dir.note_program(process.pid);
                }
                self.listener = Some(UnixListener::bind(run_dir.path().join(CONTROL))?);
            }
            Request::Tell => return Ok(Reply::Told(self.ending)),
            Request::End => {}
        }
        Ok(Reply::Done)
    }

    fn run(&mut self, job: &Job) -> io::Result<Pid> {
        let [program, args @ ..] = job.argv.as_slice() else {
            return Err(io::Error::other("an empty command"));
        };
        if self.process.is_some() {
            return Err(io::Error::other("a process is running already"));
        }
        let Some(run_dir) = &self.run_dir else {
            return Err(io::Error::other("no run directory"));
        };
        let log = File::from(fs::OpenOptions::new().create(true).append(true).open(&job.log)?);
        let stdin = match &job.stdin {
            Some(path) => Stdio::from(File::from(fs::File::open(path)?)),
            None => Stdio::null(),
        };
        let mut command = Command::new(program);
        // A clean environment: nothing of the user's, such as a preloaded allocator, reaches a server.
        command.args(args).env_clear().env("LC_ALL", "C").current_dir(run_dir.path());
        // MySQL and MariaDB have a umask of their own, with which MariaDB lets its group write.
        command.env("UMASK", "0640");
        command.stdin(stdin).stdout(log.try_clone()?).stderr(log);
        match job.run_as {
            RunAs::Caller => {}
            RunAs::Nobody => namespace::enter(&mut command),
            RunAs::Unprivileged => unprivileged::enter(&mut command)?,
        }
        // After the change of user, which would undo it.
        die_with_parent(&mut command, getpid());
        let child = command.spawn().map_err(|error| match job.run_as {
            RunAs::Caller | RunAs::Unprivileged => error,
            RunAs::Nobody => namespace::explained(error),
        })?;
        let pid = Pid::from_child(&child);
        // Not reaped before `reap` does it, so the number still means this process.
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        // Of an earlier process.
        self.ending = None;
        self.process =
            Some(Process { pid, pidfd, frozen: false, noted: false, stop_by: job.stop_by });
        Ok(pid)
    }

    fn process(&mut self) -> io::Result<&mut Process> {
        self.process.as_mut().ok_or_else(|| io::Error::other("no process runs"))
    }

    /// Signals the process, which cannot be another one: only `reap` frees its number.
    fn signal(&mut self, signal: Signal) -> io::Result<&mut Process> {
        let process = self.process()?;
        kill_process(process.pid, signal)?;
        Ok(process)
    }

    fn freeze(&mut self) -> io::Result<()> {
        if self.process.as_ref().is_some_and(|process| process.frozen) {
            return Ok(());
        }
        let pid = self.process()?.pid;
        // The kernel tells the parent once all threads have stopped, not before.
        let send = |signal| Ok(kill_process(pid, signal)?);
        let changed = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        stop(send, || {
            self.still_wanted()?;
            self.reap(changed)
        })?;
        let Some(process) = &self.process else {
            return Err(io::Error::other("the process ended"));
        };
        // By now it executes what it will: no script any more that started it.
        if let Some(run_dir) = self.run_dir.as_ref().filter(|_| !process.noted) {
            run_dir.note_program(pid);
        }
        // A process that has stopped starts no others.
        children::freeze(pid, || self.still_wanted())?;
        let process = self.process()?;
        process.noted = true;
        process.frozen = true;
        Ok(())
    }

    /// Fails once the other side is gone: nobody waits for what is being done.
    fn still_wanted(&self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut awaited = [PollFd::new(socket.get_ref(), PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::io::retry_on_intr(|| poll(&mut awaited, Some(&now)))? {
            0 => Ok(()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn thaw(&mut self) -> io::Result<()> {
        children::thaw(self.process()?.pid)?;
        self.signal(Signal::CONT)?.frozen = false;
        Ok(())
    }

    /// Takes note of what became of the process, if anything, and tells when it ended.
    fn reap(&mut self, options: WaitIdOptions) -> io::Result<bool> {
        let Some(process) = &self.process else { return Ok(false) };
        let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(process.pid), options))?;
        if let Some(ending) = status.as_ref().and_then(ending) {
            self.process = None;
            self.ending = Some(ending);
            self.reply(&Reply::Ended(ending))?;
        }
        Ok(status.is_some())
    }

    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let sent = socket.get_mut().write_all(&line);
        // Somebody who has gone is no reason to end for one that stays.
        if sent.is_err() && self.listener.is_some() {
            self.socket = None;
            return Ok(());
        }
        sent
    }

    /// Lets a server of several processes end at once by itself: killed, it would leave memory that it shares.
    fn quit(&mut self) -> io::Result<()> {
        let Some(process) = self.process.as_ref() else { return Ok(()) };
        if process.stop_by != StopBy::Interrupt {
            return Ok(());
        }
        let pid = process.pid;
        kill_process(pid, Signal::QUIT)?;
        children::thaw(pid)?;
        kill_process(pid, Signal::CONT)?;
        let mut awaited = [PollFd::new(&process.pidfd, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut awaited, Some(&QUIT_LIMIT)))?;
        Ok(())
    }

    /// Leaves nothing behind: processes first, then their directories, then the record of both.
    fn end(&mut self) -> io::Result<()> {
        // Whatever comes of it: what follows leaves nothing.
        let _ = self.quit();
        kill_descendants()?;
        let mut outcome = Ok(());
        for claim in self.directories.drain(..) {
            let released = shared_memory::release(claim.directory());
            outcome = outcome.and(claim.remove()).and(released);
        }
        if let Some(run_dir) = self.run_dir.take().filter(|_| outcome.is_ok()) {
            outcome = remove(run_dir.path());
        }
        outcome
    }
}

/// How a waited-for process ended, nothing if it only stopped.
fn ending(status: &WaitIdStatus) -> Option<Ending> {
    let code = status.exit_status().map(Ending::Code);
    code.or_else(|| status.terminating_signal().map(Ending::Signal))
}

/// Kills everything below this process, until nothing is left; SIGKILL also ends what is stopped. For a process that
/// ends: others in it that wait for a child may not hear of it.
///
/// # Errors
/// When the processes of the machine cannot be listed.
pub fn kill_descendants() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    loop {
        for pid in run_dir::descendants(getpid())? {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        match waitid(WaitId::All, WaitIdOptions::EXITED) {
            Ok(_) | Err(Errno::INTR) => {}
            // No child is left, and every orphan would have become one.
            Err(Errno::CHILD) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Lets the kernel kill the process when the thread that starts it, the supervisor's only one, is gone.
#[expect(unsafe_code, reason = "a death signal can only be asked for between fork and exec")]
fn die_with_parent(command: &mut Command, parent: Pid) {
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The supervisor may have gone before the kernel was asked.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) };
}
