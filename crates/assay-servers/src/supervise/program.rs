//! Keeper of a program that a script runs: ends the program and its descendants with the script.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, setsid, wait,
};

use super::process::die_with_parent;
use super::run_dir::descendants;

const PAUSE: Duration = Duration::from_millis(5);

/// Runs a command in a shell and reports its status, as a number on a line, on a socket: standard output, or standard
/// input if `is_apart`. Returns once neither the command nor a descendant of it runs. All of them are killed once the
/// socket closes.
#[must_use]
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
    let watched = socket.try_clone()?;
    let shell = shell.spawn()?;
    std::thread::Builder::new().spawn(move || kill_at_the_end_of(watched))?;
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
        std::thread::sleep(PAUSE);
    }
}
