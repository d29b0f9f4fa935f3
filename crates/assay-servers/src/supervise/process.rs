//! The processes that assay starts as itself: supervisors, and keepers of programs that scripts run.

use std::ffi::{OsStr, c_int};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use fs_err as fs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, getpid, getppid,
    kill_process, pidfd_open, set_child_subreaper, set_parent_process_death_signal, setsid, wait,
    waitid,
};

use crate::supervise::binding::{ServerBinding, bind};
use crate::supervise::claim::{DirectoryClaim, remove};
use crate::supervise::freeze::{freeze_children, is_realtime, leave_realtime, stop, thaw_children};
use crate::supervise::nobody;
use crate::supervise::protocol::{
    CONTROL, Ending, RunAs, ServerJob, StopBy, SupervisorReply, SupervisorRequest,
};
use crate::supervise::run_dir::{RunDir, descendants, narrow_umask, release_segment};

/// Runs as a supervisor until the end of standard input, which is a socket. Call it first in `main`.
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
    directories: Vec<DirectoryClaim>,
    binding: ServerBinding,
    process: Option<SupervisedProcess>,
}

struct SupervisedProcess {
    pid: Pid,
    /// Readable when the process has ended.
    pidfd: OwnedFd,
    /// Whether its program is recorded, so that it can be found if the supervisor is killed while it is frozen.
    noted: bool,
    stop_by: StopBy,
}

impl SupervisedProcess {
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
            binding: ServerBinding::default(),
            process: None,
        })
    }

    /// Serves requests until the other side is gone; if it stays, until it is asked to end.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            let (has_ended, is_asked) = self.wait()?;
            if has_ended {
                self.reap(WaitIdOptions::EXITED)?;
            }
            if !is_asked {
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
                Ok(SupervisorRequest::End) => return Ok(()),
                Ok(request) => self.handle(request),
                Err(error) => Err(error),
            };
            self.reply(&reply.unwrap_or_else(|error| SupervisorReply::Failed(error.to_string())))?;
        }
    }

    fn listener(&self) -> io::Result<&UnixListener> {
        self.listener.as_ref().ok_or_else(|| io::Error::other("nobody can ask"))
    }

    /// Waits until the process has ended or somebody asks. Returns which of them.
    fn wait(&self) -> io::Result<(bool, bool)> {
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
        Ok((is_ready(1), is_ready(0)))
    }

    fn handle(&mut self, request: SupervisorRequest) -> io::Result<SupervisorReply> {
        match request {
            SupervisorRequest::Own { run_root, name, directories, binding } => {
                self.binding = binding;
                self.run_dir = Some(RunDir::create(&run_root, &name, &directories)?);
                for directory in &directories {
                    self.directories.push(DirectoryClaim::take(directory)?);
                }
            }
            SupervisorRequest::Hold => {
                self.directories.iter_mut().try_for_each(DirectoryClaim::hold)?
            }
            SupervisorRequest::Run(job) => {
                self.directories.iter_mut().try_for_each(DirectoryClaim::hold)?;
                let pid = self.run(&job)?;
                return Ok(SupervisorReply::Started { pid: pid.as_raw_nonzero().get() });
            }
            SupervisorRequest::Freeze => self.freeze()?,
            SupervisorRequest::Thaw => self.thaw()?,
            SupervisorRequest::Terminate => {
                let stop_by = self.process()?.stop_by;
                self.signal(match stop_by {
                    StopBy::Terminate => Signal::TERM,
                    StopBy::Interrupt => Signal::INT,
                })?;
                self.thaw()?;
            }
            SupervisorRequest::Stay => {
                let Some(run_dir) = &self.run_dir else {
                    return Err(io::Error::other("no run directory"));
                };
                // By now it executes its final program.
                if let Some(process) = &self.process {
                    run_dir.note_program(process.pid);
                }
                self.listener = Some(UnixListener::bind(run_dir.path().join(CONTROL))?);
            }
            SupervisorRequest::Tell => return Ok(SupervisorReply::Ending(self.ending)),
            SupervisorRequest::End => {}
        }
        Ok(SupervisorReply::Done)
    }

    fn run(&mut self, job: &ServerJob) -> io::Result<Pid> {
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
            RunAs::Nobody => nobody::enter_namespace(&mut command),
            RunAs::Unprivileged => nobody::become_nobody(&mut command)?,
        }
        bind(&mut command, &self.binding)?;
        // Set after the change of user, which would reset it.
        die_with_parent(&mut command, getpid());
        let child = command.spawn().map_err(|error| match job.run_as {
            RunAs::Caller | RunAs::Unprivileged => error,
            RunAs::Nobody => nobody::explained(error),
        })?;
        let pid = Pid::from_child(&child);
        // Only `reap` reaps it, so the id still belongs to this process.
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        // It belongs to an earlier process.
        self.ending = None;
        self.process = Some(SupervisedProcess { pid, pidfd, noted: false, stop_by: job.stop_by });
        Ok(pid)
    }

    fn process(&mut self) -> io::Result<&mut SupervisedProcess> {
        self.process.as_mut().ok_or_else(|| io::Error::other("no process runs"))
    }

    /// Signals the process. Only `reap` frees its id, so it cannot be another process.
    fn signal(&mut self, signal: Signal) -> io::Result<&mut SupervisedProcess> {
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
            freeze_children(pid, || self.still_wanted())?;
        }
        Ok(())
    }

    /// Fails once the other side is gone, because the result is not needed then.
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
            thaw_children(process.pid)?;
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
            self.reply(&SupervisorReply::Ended(ending))?;
        }
        Ok(status.is_some())
    }

    fn reply(&mut self, reply: &SupervisorReply) -> io::Result<()> {
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
        thaw_children(pid)?;
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
            let released = release_segment(claim.directory());
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
        for pid in descendants(getpid())? {
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

const KILL_EVERY: Duration = Duration::from_millis(5);

/// Runs a command in a shell and reports its status, as a number on a line, on a socket: standard output, or standard
/// input if `is_apart`. Returns once neither the command nor a descendant of it runs. All of them are killed once the
/// socket closes.
pub fn keep_program(is_apart: bool, command: &OsStr) -> ExitCode {
    match keep(is_apart, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep(is_apart: bool, command: &OsStr) -> io::Result<()> {
    // In a separate session: Ctrl-C in the terminal is for assay alone.
    setsid()?;
    // Orphans become children of this process, so none is missed at the end.
    set_child_subreaper(Some(getpid()))?;
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let socket = if is_apart { stdin.as_fd() } else { stdout.as_fd() };
    let mut socket = UnixStream::from(socket.try_clone_to_owned()?);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    if is_apart {
        shell.stdin(Stdio::null());
    } else {
        shell.stdout(io::stderr().as_fd().try_clone_to_owned()?);
    }
    die_with_parent(&mut shell, getpid());
    let parent = socket.try_clone()?;
    let shell = shell.spawn()?;
    std::thread::Builder::new().spawn(move || kill_at_the_end_of(parent))?;
    let shell = Pid::from_child(&shell);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => {
                // The script may be gone.
                let _ = writeln!(socket, "{}", status.as_raw());
            }
            Ok(_) | Err(Errno::INTR) => {}
            // No child is left, and orphans become children.
            Err(Errno::CHILD) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn kill_at_the_end_of(mut socket: UnixStream) {
    // Nothing is ever sent to the keeper.
    let _ = socket.read(&mut [0]);
    // Only the main thread waits for children, and ends the keeper when none is left. A child may start another while
    // the list is read.
    loop {
        for pid in descendants(getpid()).unwrap_or_default() {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(KILL_EVERY);
    }
}

/// Makes a write past the limit fail with an error instead of killing this process silently.
#[expect(unsafe_code, reason = "no crate wraps this system call")]
pub fn fail_at_the_limit_of_file_sizes() {
    // A handler, because started programs get the default instead of it.
    extern "C" fn nothing(_: c_int) {}
    let handler: extern "C" fn(c_int) = nothing;
    // SAFETY: the handler does nothing, so it may interrupt anything.
    let before = unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        log::debug!("{}", std::io::Error::last_os_error());
    }
}
