//! Ctrl-C, wherever it comes: what is under way ends at once, nothing is left behind, and the study can go on.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use assay_wire::{ConnectOptions, Control};
use common::Place;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Too many rows for a load, or an index on them, to end while a signal is on its way.
const MANY: &str = "500000";

/// An assay at work, told to say what it does.
struct Running {
    child: Child,
    told: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        Self { child, told }
    }

    /// Waits until it has told something.
    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.told.read_line(&mut line).unwrap(), 0, "ended without `{words}`");
        }
    }

    /// Waits until something is so.
    #[track_caller]
    fn wait_until(&mut self, mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            assert!(self.child.try_wait().unwrap().is_none(), "ended before it came to that");
        }
    }

    /// The first Ctrl-C ends it, and is no error.
    #[track_caller]
    fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut rest = String::new();
        self.told.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(4), "{rest}");
        for word in ["error", "failed", "panicked", "WARN"] {
            assert!(!rest.contains(word), "{rest}");
        }
    }
}

/// A study that loads so many rows into one table.
fn study(rows: &str) -> Vec<&str> {
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8", "--offline", "--preset", "smoke"];
    [&systems[..], &["--tests", "point-query", "--rows", rows]].concat()
}

/// A connection to the server of a place that answers: the others are frozen.
fn awake(place: &Place) -> Option<Control> {
    let entries = fs_err::read_dir(place.run().join("assay")).into_iter().flatten().flatten();
    let sockets: Vec<PathBuf> = entries.map(|entry| entry.path().join("s")).collect();
    sockets.into_iter().filter(|socket| socket.exists()).find_map(|socket| {
        let options = ConnectOptions {
            timeout: Duration::from_millis(200),
            ..ConnectOptions::unix(socket, "root")
        };
        Control::connect(&options).ok()
    })
}

/// Whether a query has an answer, and one with a row in it.
fn finds(control: &mut Option<Control>, sql: &str) -> bool {
    let Some(control) = control else { return false };
    control.query(sql).is_ok_and(|found| found.text(0, 0).is_some())
}

/// Whether a server is carrying out a statement that begins so.
fn carries_out(place: &Place, control: &mut Option<Control>, statement: &str) -> bool {
    if control.is_none() {
        *control = awake(place);
    }
    let sql =
        format!("SELECT id FROM information_schema.processlist WHERE info LIKE '{statement}%'");
    finds(control, &sql)
}

/// How many data directories are complete, as loaded and aged.
fn made(place: &Place) -> [usize; 2] {
    ["fresh", "aged"].map(|state| place.templates(state).len())
}

/// As long as another assay fills the cache, which may take an hour.
#[test]
fn while_a_server_is_got() {
    let place = Place::new();
    let lock = fs_err::File::create(place.cache().join("provision.lock")).unwrap();
    lock.file().lock().unwrap();
    let running = Running::start(&place, &["server", "get", "mariadb@11.8"]);
    let waits = || {
        let locks = fs_err::read_to_string("/proc/locks").unwrap();
        let pid = format!(" {} ", running.child.id());
        locks.lines().any(|line| line.contains("->") && line.contains(&pid))
    };
    while !waits() {}
    running.interrupt();
}

#[test]
fn while_rows_are_sent() {
    let place = Place::new();
    let mut running = Running::start(&place, &study(MANY));
    running.wait_for("loading");
    let mut control = None;
    running.wait_until(|| carries_out(&place, &mut control, "INSERT INTO sbtest1"));
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!(made(&place), [0, 0]);
}

#[test]
fn while_an_index_is_made() {
    let place = Place::new();
    let mut running = Running::start(&place, &study(MANY));
    running.wait_for("loading");
    let mut control = None;
    running.wait_until(|| carries_out(&place, &mut control, "CREATE INDEX"));
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!(made(&place), [0, 0]);
}

/// A transaction that sees old row versions keeps the server from purging them, for as long as it is open.
#[test]
fn while_a_server_is_drained_and_the_study_goes_on_where_it_was() {
    let place = Place::new();
    let mut running = Running::start(&place, &study("10000"));
    running.wait_for("loaded");
    let mut control = None;
    running.wait_until(|| {
        control = awake(&place);
        finds(&mut control, "SELECT id FROM sbtest.sbtest1 LIMIT 1")
    });
    let mut control = control.unwrap();
    control.query("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    let mut control = Some(control);
    running.wait_until(|| finds(&mut control, "SELECT 1 WHERE @@innodb_io_capacity = 100000"));
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!(made(&place), [1, 0]);
    let output = place.run_to_end(&["resume", "--offline"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(made(&place), [2, 2]);
}

/// It is finished, and the last.
#[test]
fn while_a_slice_is_measured() {
    let place = Place::new();
    let long = ["--budget", "60s", "--slice", "3s"];
    let mut running = Running::start(&place, &[&study("10000")[..], &long].concat());
    place.wait_for_slices(2, &mut running.child);
    running.wait_until(|| awake(&place).is_some());
    let before = place.slices();
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!((place.failed_slices(), place.slices()), (0, before + 1));
}

#[test]
fn while_a_data_directory_is_initialised() {
    let place = Place::new();
    let mut running = Running::start(&place, &["server", "start", "mariadb@11.8", "--offline"]);
    let templates = place.cache().join("templates");
    let is_begun =
        || fs_err::read_dir(&templates).is_ok_and(|mut entries| entries.next().is_some());
    running.wait_until(is_begun);
    running.interrupt();
    place.assert_nothing_left();
    assert!(!is_begun());
}

#[test]
fn while_a_running_server_is_loaded_which_runs_on() {
    let place = Place::new();
    let words = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let output = place.run_to_end(&words);
    let started: Value = serde_json::from_slice(&output.stdout).unwrap();
    let word = |name: &str| started[name].as_str().unwrap().to_owned();
    let options = ConnectOptions::unix(word("socket"), "root");
    let mut control = Some(Control::connect(&options).unwrap());
    let mut running = Running::start(&place, &["load", &word("url"), "--rows", MANY]);
    running.wait_until(|| carries_out(&place, &mut control, "CREATE INDEX"));
    running.interrupt();
    assert!(finds(&mut control, "SELECT 1"));
    let output = place.run_to_end(&["server", "stop", &word("name")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
