//! The supervisor process.

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
use super::priority::{is_realtime, leave_realtime};
use super::protocol::{CONTROL, Ending, Job, Reply, Request, RunAs, StopBy};
use super::run_dir::{self, RunDir, narrow_umask};
use super::stop::stop;
use super::{children, namespace, shared_memory, unprivileged};

/// Runs as a supervisor until the end of standard input, which is a socket. Call it first in `main`.
#[must_use]
pub fn main() -> ExitCode {
    narrow_umask();
    let Ok(mut supervisor) = SupervisorProcess::begin() else { return ExitCode::FAILURE };
    // An error means that the other side is unreachable, which is like its end.
    let served = supervisor.serve();
    let ended = supervisor.end();
    if served.and(ended).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const QUIT_LIMIT: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };

struct SupervisorProcess {
    /// The connection to the client; `None` while a supervisor that stays waits for one.
    socket: Option<BufReader<UnixStream>>,
    listener: Option<UnixListener>,
    ending: Option<Ending>,
    run_dir: Option<RunDir>,
    directories: Vec<Claim>,
    process: Option<Process>,
}

struct Ready {
    ended: bool,
    asked: bool,
}

struct Process {
    pid: Pid,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
    /// Whether its program is recorded, so that it can be found if the supervisor is killed while it is frozen.
    noted: bool,
    stop_by: StopBy,
}

impl Process {
    /// A server of several processes is Postgres.
    fn has_children(&self) -> bool {
        self.stop_by == StopBy::Interrupt
    }
}

impl SupervisorProcess {
    fn begin() -> io::Result<Self> {
        // In a separate session: Ctrl-C in the terminal is for assay alone.
        setsid()?;
        // Orphans of the server become children of this process, so none is missed at the end.
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

    /// Serves requests until the other side is gone; if it stays, until it is asked to end.
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
                // By now it executes its final program.
                if let Some(process) = &self.process {
                    run_dir.note_program(process.pid);
                }
                self.listener = Some(UnixListener::bind(run_dir.path().join(CONTROL))?);
            }
            Request::Tell => return Ok(Reply::Ending(self.ending)),
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
        // A clean environment: nothing from the user, such as a preloaded allocator, reaches a server.
        command.args(args).env_clear().env("LC_ALL", "C").current_dir(run_dir.path());
        // MySQL and MariaDB set their own umask; MariaDB's default makes files writable for the group.
        command.env("UMASK", "0640");
        command.envs(job.env.iter().map(|(name, value)| (name, value)));
        command.stdin(stdin).stdout(log.try_clone()?).stderr(log);
        match job.run_as {
            RunAs::Caller => {}
            RunAs::Nobody => namespace::enter(&mut command),
            RunAs::Unprivileged => unprivileged::enter(&mut command)?,
        }
        // Set after the change of user, which would reset it.
        die_with_parent(&mut command, getpid());
        let child = command.spawn().map_err(|error| match job.run_as {
            RunAs::Caller | RunAs::Unprivileged => error,
            RunAs::Nobody => namespace::explained(error),
        })?;
        let pid = Pid::from_child(&child);
        // Only `reap` reaps it, so the id still belongs to this process.
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        // It belongs to an earlier process.
        self.ending = None;
        self.process = Some(Process { pid, pidfd, noted: false, stop_by: job.stop_by });
        Ok(pid)
    }

    fn process(&mut self) -> io::Result<&mut Process> {
        self.process.as_mut().ok_or_else(|| io::Error::other("no process runs"))
    }

    /// Signals the process. Only `reap` frees its id, so it cannot be another process.
    fn signal(&mut self, signal: Signal) -> io::Result<&mut Process> {
        let process = self.process()?;
        kill_process(process.pid, signal)?;
        Ok(process)
    }

    /// Stops the process, which runs or is about to stop.
    fn freeze(&mut self) -> io::Result<()> {
        let pid = self.process()?.pid;
        // The kernel notifies the parent once all threads have stopped.
        let send = |signal| Ok(kill_process(pid, signal)?);
        let changed = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        stop(send, || {
            self.still_wanted()?;
            self.reap(changed)
        })?;
        let Some(process) = &self.process else {
            return Err(io::Error::other("the process ended"));
        };
        // By now it executes its final program, not a script that started it.
        if let Some(run_dir) = self.run_dir.as_ref().filter(|_| !process.noted) {
            run_dir.note_program(pid);
        }
        let process = self.process()?;
        process.noted = true;
        if process.has_children() {
            // A stopped process starts no others.
            children::freeze(pid, || self.still_wanted())?;
        }
        Ok(())
    }

    /// Fails once the other side is gone, since nobody waits for the result.
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
        let process = self.process()?;
        if process.has_children() {
            children::thaw(process.pid)?;
        }
        self.signal(Signal::CONT).map(drop)
    }

    /// Reaps the process if its state has changed, and reports its end.
    fn reap(&mut self, options: WaitIdOptions) -> io::Result<bool> {
        let Some(process) = &self.process else { return Ok(false) };
        if is_realtime() && has_ended(process.pid)? {
            leave_realtime();
        }
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
        // A supervisor that stays does not end when a client leaves.
        if sent.is_err() && self.listener.is_some() {
            self.socket = None;
            return Ok(());
        }
        sent
    }

    /// Lets a server of several processes end by itself. If it is killed, it leaves shared memory behind.
    fn quit(&mut self) -> io::Result<()> {
        let Some(process) = self.process.as_ref().filter(|it| it.has_children()) else {
            return Ok(());
        };
        let pid = process.pid;
        kill_process(pid, Signal::QUIT)?;
        children::thaw(pid)?;
        kill_process(pid, Signal::CONT)?;
        let mut awaited = [PollFd::new(&process.pidfd, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut awaited, Some(&QUIT_LIMIT)))?;
        Ok(())
    }

    /// Removes everything: processes first, then their directories, then the record of both.
    fn end(&mut self) -> io::Result<()> {
        // The process may keep this CPU busy, and what follows is not urgent.
        if let Some(process) =
            self.process.as_ref().filter(|it| is_realtime() && !it.has_children())
        {
            let _ = kill_process(process.pid, Signal::KILL);
        }
        leave_realtime();
        // A failure does not matter, since the rest removes everything.
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

fn has_ended(pid: Pid) -> io::Result<bool> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), look))?.is_some())
}

/// `None` if the process only stopped.
fn ending(status: &WaitIdStatus) -> Option<Ending> {
    let code = status.exit_status().map(Ending::Code);
    code.or_else(|| status.terminating_signal().map(Ending::Signal))
}

/// Kills all descendants of this process until none is left. SIGKILL also ends stopped processes. Only for a process
/// that is about to end, because other threads that wait for a child may miss its end.
pub fn kill_descendants() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    loop {
        for pid in run_dir::descendants(getpid())? {
            // The process may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
        match waitid(WaitId::All, WaitIdOptions::EXITED) {
            Ok(_) | Err(Errno::INTR) => {}
            // No child is left, and orphans become children, so no descendant is left.
            Err(Errno::CHILD) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Makes the kernel kill the process when the thread that starts it ends; a supervisor's thread ends with it.
#[expect(unsafe_code, reason = "a death signal can only be asked for between fork and exec")]
pub(crate) fn die_with_parent(command: &mut Command, parent: Pid) {
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before this call.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls, and neither allocates nor locks.
    unsafe { command.pre_exec(ask) };
}
