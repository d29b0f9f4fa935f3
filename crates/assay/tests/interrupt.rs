//! Ctrl-C, wherever it comes: what is under way ends at once, nothing is left behind, and the study can go on.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use common::Place;
use rustix::process::{Pid, Signal, kill_process};

/// Too many rows to be loaded by the time that a signal arrives.
const MANY: &str = "1000000";

/// The line with which a study begins to load data.
const LOADING: &str = "loading";

/// Runs assay until it tells `words` on stderr, then does `act`, then interrupts it; gives the exit code.
fn interrupted_at(place: &Place, args: &[&str], words: &str, act: impl FnOnce()) -> Option<i32> {
    let mut command = place.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "ended before it told `{words}`");
    }
    act();
    signal(&child);
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("error: ") && !rest.contains("panicked"), "{rest}");
    child.wait().unwrap().code()
}

fn signal(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}
