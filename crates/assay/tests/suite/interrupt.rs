//! Ctrl-C at any time: the work in progress ends at once, nothing is left behind, and the study can continue.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_wire::{ConnectOptions, Connection};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::sched_getaffinity;
use serde_json::Value;

use crate::common::Place;

/// Enough rows that a load, or an index on them, does not end while a signal is on its way.
const MANY: &str = "500000";

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

    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.told.read_line(&mut line).unwrap(), 0, "ended without `{words}`");
        }
    }

    #[track_caller]
    fn wait_until(&mut self, mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            assert!(self.child.try_wait().unwrap().is_none(), "ended before it came to that");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn wait_for_lock(&mut self) {
        let pid = format!(" {} ", self.child.id());
        self.wait_until(|| {
            let locks = fs_err::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|line| line.contains("->") && line.contains(&pid))
        });
    }

    /// The first Ctrl-C ends it and is no error.
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

fn study(rows: &str) -> Vec<&str> {
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8", "--offline", "--preset", "smoke"];
    [&systems[..], &["--tests", "point-query", "--rows", rows]].concat()
}

fn finds(control: &mut Option<Connection>, sql: &str) -> bool {
    let Some(control) = control else { return false };
    control.query(sql).is_ok_and(|found| found.text(0, 0).is_some())
}

fn carries_out(place: &Place, control: &mut Option<Connection>, statement: &str) -> bool {
    if control.is_none() {
        *control = place.awake().next();
    }
    let sql =
        format!("SELECT id FROM information_schema.processlist WHERE info LIKE '{statement}%'");
    finds(control, &sql)
}

fn made(place: &Place) -> [usize; 2] {
    ["fresh", "aged"].map(|state| place.templates(state).len())
}

/// Another assay fills the cache meanwhile, which may take an hour.
#[test]
fn while_a_server_is_fetched() {
    let place = Place::bare();
    let lock = fs_err::File::create(place.cache().join("provision.lock")).unwrap();
    lock.file().lock().unwrap();
    let mut running = Running::start(&place, &["server", "get", "mariadb@11.8"]);
    running.wait_for_lock();
    running.interrupt();
}

/// Script of a Postgres source. It waits silently until somebody opens a pipe in the cache. A second process does so in
/// another session, as some build tools start their compilers in separate process groups.
const CONFIGURE: &str = r#"#!/bin/sh
PACKAGE_VERSION='16.9'
setsid cat "$ASSAY_CACHE/pipe" &
echo configure has begun
cat "$ASSAY_CACHE/pipe"
exit 1
"#;

fn source(place: &Place) -> (String, PathBuf) {
    let tree = place.cache().join("tree");
    fs_err::create_dir(&tree).unwrap();
    fs_err::write(tree.join("configure"), CONFIGURE).unwrap();
    fs_err::set_permissions(tree.join("configure"), Permissions::from_mode(0o755)).unwrap();
    let who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "x"]] {
        let mut git = Command::new("git");
        git.current_dir(&tree).env("GIT_CONFIG_GLOBAL", "/dev/null").args(who).args(words);
        assert!(git.status().unwrap().success());
    }
    let pipe = place.cache().join("pipe");
    mkfifoat(CWD, &pipe, Mode::RWXU).unwrap();
    (format!("postgres@git:{}", tree.display()), pipe)
}

fn begun(place: &Place) -> usize {
    let builds = fs_err::read_dir(place.cache().join("builds")).into_iter().flatten().flatten();
    let logs = builds.filter_map(|build| fs_err::read_to_string(build.path().join("log")).ok());
    logs.map(|log| log.matches("\nconfigure has begun\n").count()).sum()
}

#[test]
fn while_a_server_is_built() {
    let place = Place::bare();
    let (server, _) = source(&place);
    let mut running = Running::start(&place, &["server", "get", &server]);
    running.wait_until(|| begun(&place) == 1);
    running.interrupt();
    place.assert_nothing_left();
}

/// If assay is killed, no signal reaches the build. The next assay waits until the build has ended.
#[test]
fn while_a_server_is_built_by_an_assay_that_is_killed() {
    let place = Place::bare();
    let (server, pipe) = source(&place);
    let mut killed = Running::start(&place, &["server", "get", &server]);
    killed.wait_until(|| begun(&place) == 1);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    let mut next = Running::start(&place, &["server", "get", &server]);
    next.wait_for_lock();
    drop(fs_err::File::options().write(true).open(pipe).unwrap());
    next.wait_until(|| begun(&place) == 2);
    next.interrupt();
    place.assert_nothing_left();
}

#[test]
fn while_rows_are_sent() {
    let place = Place::bare();
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
    let place = Place::bare();
    let mut running = Running::start(&place, &study(MANY));
    running.wait_for("loading");
    let mut control = None;
    running.wait_until(|| carries_out(&place, &mut control, "CREATE INDEX"));
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!(made(&place), [0, 0]);
}

/// An open transaction that sees old row versions keeps the server from purging them.
#[test]
fn while_a_server_is_drained_and_the_next_study_ages_the_data() {
    let place = Place::bare();
    let words = [&study("50000")[..], &["--key", "blocks=1"]].concat();
    let mut running = Running::start(&place, &words);
    // The data of both systems are loaded. They are aged at the same time, or one after the other on a single CPU.
    running.wait_for("aging the data");
    // Enough rows that some aging writes come after the snapshot.
    let mut control = None;
    running.wait_until(|| {
        control = place.awake().next();
        finds(&mut control, "SELECT id FROM sbtest.sbtest1 LIMIT 1")
    });
    let mut control = control.unwrap();
    control.query("START TRANSACTION WITH CONSISTENT SNAPSHOT").unwrap();
    let mut control = Some(control);
    running.wait_until(|| finds(&mut control, "SELECT 1 WHERE @@innodb_io_capacity = 100000"));
    running.interrupt();
    place.assert_nothing_left();
    let [fresh, aged] = made(&place);
    assert!(fresh == 2 && aged < 2, "{aged} are aged");
    let output = place.run_to_end(&words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(made(&place), [2, 2]);
}

/// The current round is completed, as the last one.
#[test]
fn while_a_round_is_measured() {
    let place = Place::bare();
    let long = ["--budget", "20m", "--key", "slice=3s"];
    let mut running = Running::start(&place, &[&study("10000")[..], &long].concat());
    place.wait_for_slices(2, &mut running.child);
    running.wait_until(|| place.awake().next().is_some());
    let before = place.slices();
    running.interrupt();
    place.assert_nothing_left();
    assert_eq!((place.failed_slices(), place.slices()), (0, before + 2));
}

/// After some short events, a statement keeps a CPU busy for longer than any test waits.
const SPINNING: &str = r#"
[table.t]
create = "CREATE TABLE t (id INT PRIMARY KEY)"
rows = 1
columns.id = { sequence = 1 }

[test.spin]
steps = ["SELECT BENCHMARK(IF(@n := COALESCE(@n, 0) + 1 > 50, 1000000000000, 1), 1 + 1)"]
"#;

/// Policies and priorities of a process' threads, and whether one may run on all CPUs of the machine.
fn scheduled(pid: Pid) -> (BTreeSet<(u32, u32)>, bool) {
    let cpus = std::thread::available_parallelism().unwrap().get() as u32;
    let (mut found, mut is_everywhere) = (BTreeSet::new(), false);
    let threads = fs_err::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    for thread in threads.into_iter().flatten().flatten() {
        let stat = fs_err::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let fields: Vec<u32> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
            .map(|field| field.parse().unwrap_or_default())
            .collect();
        // rt_priority and policy are fields 40 and 41 of proc(5); the first one here is field 3.
        if let [priority, policy, ..] = fields.get(37..).unwrap_or_default() {
            found.insert((*policy, *priority));
        }
        let id = thread.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
        is_everywhere |= sched_getaffinity(id).is_ok_and(|allowed| allowed.count() >= cpus);
    }
    (found, is_everywhere)
}

/// For root, the server has real-time priority and never leaves its CPU. Supervisor and signal must get through.
#[test]
fn while_a_server_spins() {
    let place = Place::bare();
    let workload = place.cache().join("spinning.toml");
    fs_err::write(&workload, SPINNING).unwrap();
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8", "--offline", "--budget", "20m"];
    let args = [&systems[..], &["--workload", workload.to_str().unwrap()]].concat();
    let mut running = Running::start(&place, &args);
    let ticks = |pid: &Pid| {
        let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let stat = stat.unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        fields.nth(11).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or_default()
    };
    let mut spinning = None;
    running.wait_until(|| {
        let servers = place.running();
        let is_executing = carries_out(&place, &mut place.awake().next(), "SELECT BENCHMARK");
        spinning = servers.into_iter().max_by_key(ticks).filter(|_| is_executing);
        spinning.is_some()
    });
    let (policies, is_everywhere) = scheduled(spinning.unwrap());
    let (rr, other) = (2, 0);
    match policies.first() {
        Some((policy, _)) if *policy == rr => {
            assert_eq!(policies, BTreeSet::from([(rr, 1)]));
            assert!(!is_everywhere, "no CPU is left to others");
            let supervisor = parent(spinning.unwrap());
            assert_eq!(scheduled(supervisor).0, BTreeSet::from([(rr, 2)]));
        }
        _ => assert_eq!(policies, BTreeSet::from([(other, 0)])),
    }
    // The first one asks to finish the round, which does not end.
    for _ in 0..2 {
        kill_process(Pid::from_child(&running.child), Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(running.child.wait().unwrap().code(), Some(4));
    place.assert_nothing_left();
}

fn parent(pid: Pid) -> Pid {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let parent = stat.rsplit(')').next().unwrap().split_ascii_whitespace().nth(1).unwrap();
    Pid::from_raw(parent.parse().unwrap()).unwrap()
}

#[test]
fn while_a_data_directory_is_initialised() {
    let place = Place::bare();
    let mut running = Running::start(&place, &["server", "start", "mariadb@11.8", "--offline"]);
    let templates = place.cache().join("templates");
    let is_begun =
        || fs_err::read_dir(&templates).is_ok_and(|mut entries| entries.next().is_some());
    running.wait_until(is_begun);
    running.interrupt();
    place.assert_nothing_left();
    assert!(!is_begun());
}

fn with_running_server(work: impl FnOnce(&Place, &str, &mut Option<Connection>)) {
    let place = Place::bare();
    let words = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let output = place.run_to_end(&words);
    let started: Value = serde_json::from_slice(&output.stdout).unwrap();
    let word = |name: &str| started[name].as_str().unwrap().to_owned();
    let options = ConnectOptions::unix(word("socket"), "root");
    let mut control = Some(Connection::connect(&options).unwrap());
    work(&place, &word("url"), &mut control);
    assert!(finds(&mut control, "SELECT 1"));
    let output = place.run_to_end(&["server", "stop", &word("name")]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn while_a_running_server_is_loaded_which_runs_on() {
    with_running_server(|place, url, control| {
        let mut running = Running::start(place, &["load", url, "--rows", MANY]);
        running.wait_until(|| carries_out(place, control, "CREATE INDEX"));
        running.interrupt();
    });
}

/// The second event is due only after hours.
#[test]
fn while_an_event_is_not_due_yet() {
    with_running_server(|place, url, control| {
        let output = place.run_to_end(&["load", url, "--rows", "100"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let bench = ["bench", url, "--test", "point-query", "--rate", "0.0001", "--time", "86400"];
        let mut running = Running::start(place, &bench);
        let executed = "SELECT 1 FROM information_schema.global_status \
                        WHERE variable_name = 'COM_STMT_EXECUTE' AND variable_value > 0";
        running.wait_until(|| finds(control, executed));
        running.interrupt();
    });
}
