//! Programs that a script runs, if the user allows it.
//!
//! Each has a keeper: assay itself, started with [`PROGRAM_COMMAND`]. The keeper ends the program and its descendants
//! once the other end of a socket closes: when the script is gone, or assay.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, PipeReader, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, Table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::interface::add_function;
use crate::leash::Leash;
use crate::watch::{NO_END, ScriptWatch};

pub const PROGRAM_COMMAND: &str = "keep-program";

/// Where the output of a program goes, for its keeper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramOutput {
    /// To standard output and standard error. The socket is standard input, and the program has no input.
    Apart,
    /// All of it to standard error. The socket is standard output, and the program reads standard input.
    Together,
}

impl ProgramOutput {
    pub fn word(self) -> &'static str {
        match self {
            Self::Apart => "apart",
            Self::Together => "together",
        }
    }
}

/// Size of a read, and of a pipe.
const READ_BYTES: usize = 8 << 10;
const PIPE_BYTES: usize = 64 << 10;

/// How often a script that waits for a program checks whether it must end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A running program, until its keeper has ended.
struct RunningProgram {
    /// The keeper reports the program's status here, and ends it when this is closed.
    keeper: BufReader<UnixStream>,
    output: Option<PipeReader>,
    /// The script's end of a pipe, until Lua has opened it.
    pipe: Option<OwnedFd>,
    status: Option<i32>,
}

impl RunningProgram {
    fn start(command: &str, mode: ProgramMode) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let theirs = Stdio::from(OwnedFd::from(theirs));
        let (output, prints) = io::pipe()?;
        let mut keeper = Command::new(std::env::current_exe()?);
        let way = match mode {
            ProgramMode::Read => ProgramOutput::Apart,
            ProgramMode::Run | ProgramMode::Write => ProgramOutput::Together,
        };
        keeper.args([PROGRAM_COMMAND, way.word(), command]);
        keeper.stderr(prints).env_remove("ASSAY_PASSWORD");
        let (reads, writes) = io::pipe()?;
        let pipe: Option<OwnedFd> = match mode {
            ProgramMode::Read => {
                keeper.stdin(theirs).stdout(writes);
                Some(reads.into())
            }
            ProgramMode::Run => {
                keeper.stdin(Stdio::null()).stdout(theirs);
                None
            }
            ProgramMode::Write => {
                keeper.stdin(reads).stdout(theirs);
                Some(writes.into())
            }
        };
        let mut child = keeper.spawn()?;
        // Reap the keeper. It ends soon after its program, or after its socket.
        std::thread::Builder::new().name("keeper".to_owned()).spawn(move || drop(child.wait()))?;
        let keeper = BufReader::new(ours);
        Ok(Self { keeper, output: Some(output), pipe, status: None })
    }

    /// Waits for the program, and returns its status as `system` would.
    fn wait(&mut self, watch: &ScriptWatch, threads: u32) -> mlua::Result<i32> {
        while self.status.is_none() {
            let is_ready = watch.lent(|| self.look(watch.leash(), threads))?;
            if !is_ready && !watch.may_wait(LOOK_EVERY) {
                return Err(mlua::Error::runtime(NO_END));
            }
        }
        self.print_later(watch.leash(), threads);
        Ok(self.status.expect("the loop ends with a status"))
    }

    /// Reads available output. False if nothing came for a while.
    fn look(&mut self, leash: &Leash, threads: u32) -> io::Result<bool> {
        let limit = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        let mut awaited =
            vec![PollFd::from_borrowed_fd(self.keeper.get_ref().as_fd(), PollFlags::IN)];
        if let Some(output) = &self.output {
            awaited.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN));
        }
        if rustix::io::retry_on_intr(|| poll(&mut awaited, Some(&limit)))? == 0 {
            return Ok(false);
        }
        let is_ready = |at: usize| awaited.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let (has_ended, has_output) = (is_ready(0), is_ready(1));
        if has_ended {
            let mut line = String::new();
            self.keeper.read_line(&mut line)?;
            // A keeper that ends without a report was killed, and its program with it.
            self.status = Some(line.trim().parse().unwrap_or(KILLED));
            // Output from before the end fits into the pipe. Background processes of the program may continue.
            for _ in 0..PIPE_BYTES / READ_BYTES {
                if self.has_output() {
                    self.take_output(leash, threads)?;
                }
            }
        } else if has_output {
            self.take_output(leash, threads)?;
        }
        Ok(true)
    }

    fn has_output(&self) -> bool {
        self.output.as_ref().is_some_and(|output| is_ready(PollFd::new(output, PollFlags::IN)))
    }

    fn take_output(&mut self, leash: &Leash, threads: u32) -> io::Result<()> {
        let Some(output) = &mut self.output else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        let count = output.read(&mut buffer)?;
        if count == 0 {
            self.output = None;
        }
        leash.say(&String::from_utf8_lossy(&buffer[..count]), threads);
        Ok(())
    }

    /// Starts a thread that reads later output of the program or of its background processes.
    fn print_later(&mut self, leash: &Arc<Leash>, threads: u32) {
        let Some(mut output) = self.output.take() else { return };
        let leash = Arc::clone(leash);
        let print = move || {
            let mut buffer = [0; READ_BYTES];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                leash.say(&String::from_utf8_lossy(&buffer[..count]), threads);
            }
        };
        // Without the thread, the program cannot print any more.
        let _ = std::thread::Builder::new().name("output".to_owned()).spawn(print);
    }

    /// Whether its keeper has ended, with the program and its descendants.
    fn is_gone(&self) -> bool {
        is_ready(PollFd::new(self.keeper.get_ref(), PollFlags::RDHUP)) && self.status.is_some()
    }
}

fn is_ready(awaited: PollFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [awaited], Some(&now)).is_ok_and(|count| count > 0)
}

const KILLED: i32 = 9;

#[derive(Debug, Clone, Copy)]
enum ProgramMode {
    Run,
    Read,
    Write,
}

/// The programs of a script, by number. They end with it.
#[derive(Default)]
struct Programs {
    all: Vec<(u32, RunningProgram)>,
    next: u32,
}

impl Programs {
    fn add(&mut self, program: RunningProgram) -> u32 {
        self.all.retain(|(_, program)| !program.is_gone());
        self.next += 1;
        self.all.push((self.next, program));
        self.next
    }

    fn get(&mut self, number: u32) -> mlua::Result<&mut RunningProgram> {
        let found = self.all.iter_mut().find(|(it, _)| *it == number);
        found.map(|(_, program)| program).ok_or_else(|| mlua::Error::runtime("no such program"))
    }
}

pub(crate) fn add_programs(
    lua: &Lua,
    table: &Table,
    watch: &Rc<ScriptWatch>,
    threads: u32,
) -> mlua::Result<()> {
    let programs = Rc::new((RefCell::new(Programs::default()), Rc::clone(watch)));
    add_function(lua, table, "run", &programs, move |programs, _, command: String| {
        let (all, watch) = &**programs;
        let mut program = RunningProgram::start(&command, ProgramMode::Run)?;
        let status = program.wait(watch, threads)?;
        // Its background processes run as long as the script.
        all.borrow_mut().add(program);
        Ok(status)
    })?;
    type Start = (String, String);
    add_function(lua, table, "start", &programs, move |programs, _, (command, mode): Start| {
        let (all, watch) = &**programs;
        let mode = if mode == "w" { ProgramMode::Write } else { ProgramMode::Read };
        let mut program = RunningProgram::start(&command, mode)?;
        program.print_later(watch.leash(), threads);
        let fd = program.pipe.as_ref().map(|pipe| pipe.as_raw_fd()).unwrap_or_default();
        Ok((format!("/proc/self/fd/{fd}"), all.borrow_mut().add(program)))
    })?;
    add_function(lua, table, "started", &programs, |programs, _, number: u32| {
        programs.0.borrow_mut().get(number)?.pipe = None;
        Ok(())
    })?;
    add_function(lua, table, "wait_for", &programs, move |programs, _, number: u32| {
        let (all, watch) = &**programs;
        all.borrow_mut().get(number)?.wait(watch, threads).map(drop)
    })
}
