//! Assay's side of a supervisor.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_wire::{Stop, WatchedSocket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::protocol::{
    CONTROL, Ending, ServerJob, StopBy, Supervisor, SupervisorReply, SupervisorRequest,
};
use super::run_dir::prepare_root;
use crate::error::{Result, ServersError};
use crate::site::Site;

/// Time limit for one answer of a supervisor, or for its end. At most it waits for the disk.
const REPLY_LIMIT: Duration = Duration::from_secs(120);

/// A supervisor with its run directory. Dropping it removes process and directory, unless it was asked to stay.
#[derive(Debug)]
pub(crate) struct Sandbox {
    supervisor: Option<Child>,
    stays: bool,
    socket: BufReader<UnixStream>,
    run_dir: PathBuf,
    /// The process, if it starts no others. Its signals then need not pass through the supervisor.
    process: Option<OwnedFd>,
    is_frozen: bool,
    ended: Option<Ending>,
    stop: Stop,
    /// The socket, while a stop may shut it down. For the supervisor that is like the end of this program.
    watched: Option<WatchedSocket>,
}

/// Short and unique.
pub(crate) fn unique_name() -> String {
    format!("{:012x}", RandomState::new().build_hasher().finish() & 0xffff_ffff_ffff)
}

impl Sandbox {
    pub(crate) fn new(site: &Site, name: &str, directories: Vec<PathBuf>) -> Result<Self> {
        prepare_root(&site.run_root)?;
        let (ours, theirs) = UnixStream::pair()?;
        let Supervisor { program, args } = &site.supervisor;
        let supervisor = Command::new(program)
            .args(args)
            // It may run for days, and its environment can be read. A supervisor needs none of it, least of all
            // secrets.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| ServersError::SpawnSupervisor { program: program.clone(), source })?;
        let run_dir = site.run_root.join(name);
        let mut sandbox = Self::with(Some(supervisor), ours, run_dir, site.stop.clone());
        let (run_root, name) = (site.run_root.clone(), name.to_owned());
        let binding = site.binding.clone();
        sandbox.request(&SupervisorRequest::Own { run_root, name, directories, binding })?;
        Ok(sandbox)
    }

    /// Connects to a supervisor that stays. A failure means that it is gone.
    pub(crate) fn attach(run_dir: &Path) -> io::Result<Self> {
        let socket = UnixStream::connect(run_dir.join(CONTROL))?;
        Ok(Self::with(None, socket, run_dir.to_owned(), Stop::default()))
    }

    fn with(supervisor: Option<Child>, socket: UnixStream, run_dir: PathBuf, stop: Stop) -> Self {
        Self {
            stays: supervisor.is_none(),
            supervisor,
            socket: BufReader::new(socket),
            run_dir,
            process: None,
            is_frozen: false,
            ended: None,
            stop,
            watched: None,
        }
    }

    pub(crate) fn stay(&mut self) -> Result<()> {
        self.shelter()?;
        self.request(&SupervisorRequest::Stay)?;
        self.stays = true;
        Ok(())
    }

    /// `None` while the process runs.
    pub(crate) fn ending(&mut self) -> Result<Option<Ending>> {
        match self.request(&SupervisorRequest::Tell)? {
            SupervisorReply::Ending(ending) => Ok(ending),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends a supervisor that stays. Returns when it has cleaned up.
    pub(crate) fn end(mut self) -> Result<()> {
        self.send(&SupervisorRequest::End)?;
        // The supervisor has closed the connection, in whatever way.
        let is_end =
            |kind| matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset);
        loop {
            match self.receive() {
                Ok(_) => {}
                Err(ServersError::SupervisorGone(error)) if is_end(error.kind()) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn run_dir(&self) -> &Path {
        &self.run_dir
    }

    /// Locks the directories that exist by now, so that they are not taken for garbage even if their lock files are
    /// removed.
    pub(crate) fn hold(&mut self) -> Result<()> {
        self.request(&SupervisorRequest::Hold).map(drop)
    }

    /// Starts a process and returns its id. A stop ends it and removes everything that the supervisor owns.
    pub(crate) fn run(&mut self, job: ServerJob) -> Result<i32> {
        (self.ended, self.process, self.is_frozen) = (None, None, false);
        self.watched = Some(self.stop.watch(self.socket.get_ref().try_clone()?.into()));
        let is_alone = job.stop_by == StopBy::Terminate;
        let pid = match self.request(&SupervisorRequest::Run(job))? {
            SupervisorReply::Started { pid } => pid,
            other => return Err(unexpected(&other)),
        };
        let opened = Pid::from_raw(pid).filter(|_| is_alone);
        let opened = opened.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // Only the supervisor frees the id. While it has not, the id cannot belong to another process.
        if opened.is_some() && self.ending()?.is_none() {
            self.process = opened;
        }
        Ok(pid)
    }

    /// Protects it from a stop from now on. Fails if a stop was already requested.
    pub(crate) fn shelter(&mut self) -> Result<()> {
        self.watched = None;
        if self.stop.is_asked() { Err(ServersError::Stopped) } else { Ok(()) }
    }

    /// Confines the supervisor, which answers faster on the CPU of the requesting thread. A failure only costs time.
    pub(crate) fn place(&self, cpus: &CpuSet) {
        let pid = self.supervisor.as_ref().map(Pid::from_child);
        let _ = pid.map(|pid| sched_setaffinity(Some(pid), cpus));
    }

    pub(crate) fn supervisor(&self) -> Option<i32> {
        self.supervisor.as_ref().map(|it| Pid::from_child(it).as_raw_nonzero().get())
    }

    /// Returns when all threads of the process have stopped.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        if self.is_frozen {
            return Ok(());
        }
        if let Some(process) = &self.process {
            // Its threads stop while the supervisor wakes up. If it has ended, the supervisor reports that.
            let _ = pidfd_send_signal(process, Signal::STOP);
        }
        self.request(&SupervisorRequest::Freeze)?;
        self.is_frozen = true;
        Ok(())
    }

    pub(crate) fn thaw(&mut self) -> Result<()> {
        self.is_frozen = false;
        match &self.process {
            Some(process) if pidfd_send_signal(process, Signal::CONT).is_ok() => Ok(()),
            _ => self.request(&SupervisorRequest::Thaw).map(drop),
        }
    }

    pub(crate) fn terminate(&mut self) -> Result<()> {
        self.request(&SupervisorRequest::Terminate).map(drop)
    }

    /// How the process ended, if it has ended or does so within `limit`.
    pub(crate) fn ended_within(&mut self, limit: Duration) -> Result<Option<Ending>> {
        let deadline = Instant::now() + limit;
        while self.ended.is_none() {
            // A message that came with an earlier answer is already in the buffer, and `poll` does not see it.
            if !self.socket.buffer().is_empty() {
                self.expect_ending()?;
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut awaited = [PollFd::new(self.socket.get_ref(), PollFlags::IN)];
            if rustix::io::retry_on_intr(|| poll(&mut awaited, Some(&timeout)))
                .map_err(io::Error::from)?
                == 0
            {
                break;
            }
            self.expect_ending()?;
        }
        Ok(self.ended)
    }

    /// Receives the end of the process, the only message without a request.
    fn expect_ending(&mut self) -> Result<()> {
        match self.receive()? {
            Some(other) => Err(unexpected(&other)),
            None => Ok(()),
        }
    }

    fn send(&mut self, request: &SupervisorRequest) -> Result<()> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line).map_err(ServersError::SupervisorGone)
    }

    fn request(&mut self, request: &SupervisorRequest) -> Result<SupervisorReply> {
        self.send(request)?;
        loop {
            match self.receive()? {
                Some(SupervisorReply::Failed(why)) => return Err(ServersError::Supervisor(why)),
                Some(reply) => return Ok(reply),
                None => {}
            }
        }
    }

    /// The next answer; `None` if the message was the end of the process, which is stored.
    fn receive(&mut self) -> Result<Option<SupervisorReply>> {
        self.socket.get_ref().set_read_timeout(Some(REPLY_LIMIT))?;
        let mut line = String::new();
        match self.socket.read_line(&mut line).map_err(ServersError::SupervisorGone)? {
            0 => Err(ServersError::SupervisorGone(io::ErrorKind::UnexpectedEof.into())),
            _ => match serde_json::from_str(&line).map_err(io::Error::from)? {
                SupervisorReply::Ended(ending) => {
                    self.ended = Some(ending);
                    Ok(None)
                }
                reply => Ok(Some(reply)),
            },
        }
    }
}

fn unexpected(reply: &SupervisorReply) -> ServersError {
    ServersError::Supervisor(format!("unexpected answer {reply:?}"))
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        // Somebody may have stopped it.
        if let Some(supervisor) = &self.supervisor {
            let _ = kill_process(Pid::from_child(supervisor), Signal::CONT);
        }
        // The end of its input makes the supervisor clean up. The end of its output means that it is done.
        let _ = self.socket.get_ref().shutdown(Shutdown::Write);
        let gone = loop {
            match self.receive() {
                Ok(_) => {}
                Err(ServersError::SupervisorGone(error)) => break error,
                Err(error) => log::warn!("{error}"),
            }
        };
        match gone.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                log::warn!("a supervisor takes long to clean up `{}`", self.run_dir.display());
            }
            _ => drop(self.supervisor.as_mut().map(Child::wait)),
        }
    }
}
