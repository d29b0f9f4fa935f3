//! Faults while measuring, provoked on real servers: they never lead to a verdict and leave nothing behind, and the
//! rest of the study continues.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::io::{BufRead as _, Read as _};

use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_ledger::Ledger;
use assay_model::{Slice, StartFrom};
use assay_testkit::{eventually, run_tests, tests};
use common::Place;
use common::disk::{SmallDisk, fill_up};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

/// A short study of reads and writes that prints JSON. The amount of measuring does not depend on the load of the
/// machine.
fn start(place: &Place) -> Child {
    start_with(place, "blocks=2,rounds=3")
}

fn study(keys: &str) -> [&str; 12] {
    [
        "compare",
        "mariadb@10.11",
        "mariadb@11.8",
        "--preset",
        "smoke",
        "--offline",
        "--budget",
        "20m",
        "--key",
        keys,
        "--tests",
        "point-query,scan,update-index,hot-points",
    ]
}

fn start_with(place: &Place, keys: &str) -> Child {
    let mut command = place.command(&study(keys));
    command.args(["--format", "json"]);
    command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn finished(mut child: Child) -> (Option<i32>, Value) {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let code = child.wait().unwrap().code();
    (code, serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}")))
}

fn signal(server: Pid, signal: Signal) {
    let _ = kill_process(server, signal);
}

fn until_a_test_fails(place: &Place, child: &mut Child, mut act: impl FnMut()) {
    let mut seen = 3;
    while place.failed_slices() == 0 {
        place.wait_for_slices(seen + 1, child);
        seen = place.slices();
        act();
    }
}

/// At least one test failed with the reason and without verdicts, and others were completed.
#[track_caller]
fn assert_some_failed(code: Option<i32>, result: &Value, why: &str) {
    assert_eq!(code, Some(3), "{result:#}");
    let cells = result["cells"].as_array().unwrap();
    let failed: Vec<&Value> = cells.iter().filter(|cell| cell["verdict"] == "failed").collect();
    assert!(!failed.is_empty() && failed.len() < cells.len(), "{result:#}");
    let message = failed.iter().any(|cell| cell["why"].as_str().is_some_and(|it| it.contains(why)));
    assert!(message, "no `{why}` in {failed:#?}");
    assert_eq!(result["study"]["finished"], true);
}

fn assert_a_test_fails(why: &str, act: impl Fn(&Place)) {
    let place = Place::new();
    let mut child = start(&place);
    until_a_test_fails(&place, &mut child, || act(&place));
    let (code, result) = finished(child);
    assert_some_failed(code, &result, why);
    place.assert_nothing_left();
}

fn a_server_that_is_killed_fails_its_test_and_the_study_goes_on() {
    assert_a_test_fails("signal 9", |place| {
        place.running().into_iter().for_each(|server| signal(server, Signal::KILL));
    });
}

fn a_server_that_somebody_else_stops_fails_its_test_and_the_study_goes_on() {
    // Running servers end cleanly. A frozen one ends on its turn.
    assert_a_test_fails("", |place| {
        place.running().into_iter().for_each(|server| signal(server, Signal::TERM));
    });
}

fn a_connection_that_is_killed_fails_its_test_and_the_study_goes_on() {
    assert_a_test_fails("", |place| {
        for mut control in place.awake() {
            let clients = "SELECT id FROM information_schema.processlist WHERE db = 'sbtest'";
            let killed = control.query(clients).and_then(|found| {
                let id = found.first_string().unwrap_or_default();
                control.query(&format!("KILL {id}"))
            });
            if killed.is_ok() {
                return;
            }
        }
    });
}

/// The client waits for about half a minute before it gives up on a server.
fn a_server_that_hangs_fails_its_test_and_the_study_goes_on() {
    let place = Place::new();
    let mut child = start(&place);
    // A frozen server is thawed for its turn. The server whose turn it is hangs.
    let mut stopped_at = 0;
    while place.failed_slices() == 0 {
        if place.slices() > stopped_at.max(3) {
            stopped_at = place.slices();
            place.running().into_iter().for_each(|server| signal(server, Signal::STOP));
        }
        assert!(child.try_wait().unwrap().is_none(), "ended before anything hung");
        std::thread::sleep(Duration::from_secs(1));
    }
    let (code, result) = finished(child);
    assert_some_failed(code, &result, "");
    place.assert_nothing_left();
}

fn an_option_that_a_version_does_not_know_is_told() {
    let place = Place::bare();
    let other = "mariadb@11.8+no_such_option=1";
    let output =
        place.run_to_end(&["compare", "mariadb@10.11", other, "--offline", "--rows", "1000"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`no_such_option` is unknown"), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
    // The error came before anything was loaded. Nothing remains to continue: neither the study nor data.
    let studies = Ledger::open_read_only(&place.ledger()).unwrap().studies().unwrap();
    assert!(studies.is_empty(), "{studies:?}");
    for folder in ["templates", "template-notes"] {
        let entries = fs_err::read_dir(place.cache().join(folder)).into_iter().flatten();
        assert_eq!(entries.count(), 0, "{folder}");
    }
    place.assert_nothing_left();
}

fn verdicts(result: &Value) -> Vec<(&str, &str)> {
    let cells = result["cells"].as_array().unwrap().iter();
    let cells = cells.filter(|cell| cell["system"] == "mariadb@11.8");
    let words = cells.map(|cell| (cell["test"].as_str(), cell["verdict"].as_str()));
    words.map(|(test, verdict)| (test.unwrap(), verdict.unwrap())).collect()
}

/// Damages the data of a system after a block was measured, so that its servers do not start for the next one. Tests
/// that cannot be measured any further keep their results, the rest continues, and the study can be resumed.
#[track_caller]
fn a_template_is_lost(
    place: &Place,
    mut child: Child,
    state: &str,
    is_due: impl Fn(&Place) -> bool,
    lost: &str,
) {
    place.wait_while_measuring(&mut child, "the data are due to be lost", || is_due(place));
    fs_err::remove_dir_all(&place.templates(state)[0]).unwrap();
    let (code, result) = finished(child);
    assert_eq!(code, Some(2), "{result:#}");
    assert_eq!(result["study"]["finished"], false);
    assert!(verdicts(&result).iter().all(|(_, verdict)| *verdict != "failed"), "{result:#}");
    place.assert_nothing_left();
    let of_test = |slices: &[Slice], block: Option<u32>| {
        let is_it =
            |it: &&Slice| it.cell.test.name() == lost && block.is_none_or(|at| it.block == at);
        slices.iter().filter(is_it).count()
    };
    let before = place.all_slices();
    assert_eq!(of_test(&before, Some(1)), 0);
    // The data of the system is loaded again.
    let output = place.run_to_end(&["resume", "--offline", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(of_test(&place.all_slices(), None) > of_test(&before, None));
    place.assert_nothing_left();
}

fn a_server_that_no_longer_starts_keeps_what_was_measured_and_can_be_resumed() {
    let place = Place::bare();
    let child = start(&place);
    let is_aged = |slice: &Slice| slice.cell.test.start_from == StartFrom::Aged;
    let is_due = |place: &Place| place.all_slices().iter().any(is_aged);
    a_template_is_lost(&place, child, "fresh", is_due, "update-index");
}

fn a_server_that_does_not_start_for_tests_never_measured_can_be_resumed() {
    let place = Place::bare();
    let child = start(&place);
    // Tests on fresh data come first. By then, the aged data are complete.
    let is_due = |place: &Place| place.slices() > 0;
    a_template_is_lost(&place, child, "aged", is_due, "point-query");
}

fn a_second_assay_waits_until_the_first_has_measured() {
    let (first_place, second_place) = (Place::new(), Place::new());
    // It must not end before the second has loaded its data.
    let mut first = start_with(&first_place, "blocks=100,rounds=100");
    first_place.wait_for_slices(2, &mut first);
    let args = [
        "compare",
        "mariadb@10.11",
        "mariadb@11.8",
        "--preset",
        "smoke",
        "--budget",
        "20m",
        "--offline",
        "--tests",
        "point-query",
        "--key",
        "blocks=1",
    ];
    let mut command = second_place.command(&args);
    command.env("ASSAY_MACHINE_LOCK", first_place.machine_lock());
    let mut second = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    let mut stderr = second.stderr.take().unwrap();
    let mut byte = [0];
    while !message.contains("waiting for another assay") || !message.ends_with('\n') {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{message}");
        message.push(char::from(byte[0]));
    }
    assert_eq!(second_place.slices(), 0);
    // Running study, its duration, and the number ahead.
    for part in [
        "mariadb@10.11 against mariadb@11.8, since ",
        "its budget ends at ",
        "place 1 in the queue",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    kill_process(Pid::from_child(&first), Signal::INT).unwrap();
    let (code, _) = finished(first);
    assert_eq!(code, Some(4));
    std::io::copy(&mut stderr, &mut std::io::sink()).unwrap();
    assert_eq!(second.wait().unwrap().code(), Some(0));
    assert!(second_place.slices() > 0);
}

fn a_disk_that_fills_while_loading_is_told_and_nothing_is_left() {
    let place = Place::bare();
    let _disk = SmallDisk::mount(place.cache().join("instances"), 90 << 20);
    let args = ["compare", "mariadb@10.11", "mariadb@11.8", "--rows", "100000", "--offline"];
    let output = place.run_to_end(&args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("error: ") && !stderr.contains("panicked"), "{stderr}");
    place.assert_nothing_left();
}

fn loaded_data_make_room_for_a_server() {
    let place = Place::bare();
    let servers = fs_err::read_link(place.cache().join("prefixes")).unwrap();
    let _disk = SmallDisk::mount(place.cache(), 1500 << 20);
    let data = place.cache().join("templates").join("0123456789abcdef");
    fs_err::create_dir_all(&data).unwrap();
    let file = fs_err::File::create(data.join("ibdata1")).unwrap().into_parts().0;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1100 << 20).unwrap();
    drop(file);
    let output = place.run_to_end(&["server", "get", "postgres@16"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(message.contains("removed the data of 0123456789ab: the disk is full"), "{message}");
    assert!(!data.exists() && servers.exists(), "{message}");
}

fn a_disk_that_fills_while_measuring_fails_the_test_and_nothing_is_left() {
    // Templates become instances by a rename, so they are on one file system. The servers can stay where they are.
    let (place, _disk) = Place::on_small_disk(5 << 30);
    let args = ["compare", "mariadb@10.11", "mariadb@11.8", "--preset", "smoke", "--offline"];
    // A write slice long enough for the tables to grow in it.
    let more = ["--tests", "insert,point-query", "--key", "write-slice=500ms", "--format", "json"];
    let length = ["--budget", "20m", "--key", "blocks=2,rounds=30"];
    let mut command = place.command(&[&args[..], &more, &length].concat());
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let filler = place.cache().join("filler");
    until_a_test_fails(&place, &mut child, || fill_up(&filler, &place.cache()));
    let kept = place.slices();
    fs_err::remove_file(&filler).unwrap();
    // Either there is room again by the time the rest gets fresh servers, or the study stays unfinished and is resumed.
    let mut output = child.wait_with_output().unwrap();
    let mut result: Value = serde_json::from_slice(&output.stdout).unwrap();
    if result["study"]["finished"] == false {
        output = place.run_to_end(&["resume", "--offline", "--format", "json"]);
        result = serde_json::from_slice(&output.stdout).unwrap();
    }
    // All of its tests may have been tried before there was room again.
    assert_eq!(output.status.code(), Some(3), "{result:#}");
    // The server refuses the row or a temporary file, or ends if it cannot write its log.
    let message = result.to_string();
    let in_words = ["is full", "got full", "operating system error 28"];
    assert!(in_words.iter().any(|words| message.contains(words)), "{result:#}");
    assert!(place.slices() >= kept);
    place.assert_nothing_left();
}

fn a_disk_that_fills_while_counting_is_told_and_nothing_is_left() {
    let (place, _disk) = Place::on_small_disk(5 << 30);
    // valgrind is unpacked beside the servers and then renamed.
    let servers = fs_err::read_link(place.cache().join("prefixes")).unwrap();
    let tools = servers.with_file_name("tools");
    fs_err::create_dir_all(&tools).unwrap();
    fs_err::os::unix::fs::symlink(tools, place.cache().join("tools")).unwrap();
    let args = ["count", "mariadb@10.11", "mariadb@11.8", "--rows", "10000", "--format", "json"];
    let mut command = place.command(&[&args[..], &["--tests", "insert"]].concat());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut message = String::new();
    while !message.contains("counting instructions") {
        assert!(stderr.read_line(&mut message).unwrap() > 0, "{message}");
    }
    let filler = place.cache().join("filler");
    // Space freed by servers is taken at once, until the count ends.
    eventually("the count ends", || {
        fill_up(&filler, &place.cache());
        child.try_wait().unwrap().is_some()
    });
    stderr.read_to_string(&mut message).unwrap();
    let output = child.wait_with_output().unwrap();
    // Earlier counts may be a result.
    assert!(matches!(output.status.code(), Some(2 | 3)), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    let message = message + &String::from_utf8_lossy(&output.stdout);
    // assay does not start a server on too little space, even if it would start.
    let in_words =
        ["is full", "got full", "No space left", "operating system error 28", "free some space"];
    assert!(in_words.iter().any(|words| message.contains(words)), "{message}");
    fs_err::remove_file(&filler).unwrap();
    place.assert_nothing_left();
}

/// The terminal's window is closed. The program in it and its servers end.
fn a_terminal_that_is_closed_leaves_nothing_and_the_study_can_go_on() {
    let place = Place::new();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open =
        || fs_err::OpenOptions::new().read(true).write(true).open(&name).unwrap().into_parts().0;
    let ordinary = place.command(&study("blocks=2,rounds=3"));
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]).arg(ordinary.get_program()).args(ordinary.get_args());
    for (name, value) in ordinary.get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.stdin(open()).stdout(open()).stderr(open());
    let mut child = command.spawn().unwrap();
    // This process has the other ends of the terminal too.
    drop(command);
    let closing = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The output must be read, or the program would block.
        scope.spawn(|| {
            let mut file = std::fs::File::from(terminal);
            let mut shown = [0; 4096];
            while !closing.load(Ordering::Relaxed) {
                let timeout = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
                if poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)).unwrap() > 0 {
                    assert_ne!(file.read(&mut shown).unwrap(), 0);
                }
            }
        });
        place.wait_for_slices(3, &mut child);
        closing.store(true, Ordering::Relaxed);
    });
    assert_eq!(child.wait().unwrap().code(), Some(4));
    place.assert_nothing_left();
    let slices = place.slices();
    assert!(slices >= 3);
    let resumed = place.run_to_end(&["resume", "--offline"]);
    assert!(
        matches!(resumed.status.code(), Some(0)),
        "{}",
        String::from_utf8_lossy(&resumed.stderr)
    );
    assert!(place.slices() > slices);
}

fn a_disk_that_fills_fails_the_step_of_the_insert_benchmark() {
    let (place, _disk) = Place::on_small_disk(6 << 30);
    let bench = ["insert-bench", "mariadb@10.11", "mariadb@11.8", "--offline", "--format", "json"];
    let sizes = ["--rows", "100k,1M,1k", "--query-seconds", "1", "--segments", "1"];
    let mut command = place.command(&[&bench[..], &sizes].concat());
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    // Both have filled their tables and indexed them.
    place.wait_for_slices(4, &mut child);
    let filler = place.cache().join("filler");
    until_a_test_fails(&place, &mut child, || fill_up(&filler, &place.cache()));
    fs_err::remove_file(&filler).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = result["cells"].as_array().unwrap();
    let failed: Vec<_> = cells.iter().filter(|cell| cell["step"]["failed"] == true).collect();
    assert!(!failed.is_empty(), "{result:#}");
    for cell in failed {
        assert!(cell["qps"].is_null() && !cell["why"].as_str().unwrap().is_empty(), "{cell:#}");
    }
    place.assert_nothing_left();
}

fn a_ledger_that_cannot_grow_stops_the_study_and_keeps_what_it_has() {
    let place = Place::new();
    // The disk has room for the first data of a study and for some slices.
    let disk = SmallDisk::mount(place.ledger().with_file_name("small"), 900 << 10);
    let ledger = disk.path().join("ledger.db");
    let mut command = place.command(&[
        "compare",
        "mariadb@10.11",
        "mariadb@11.8",
        "--rows",
        "10000",
        "--offline",
        "--budget",
        "60s",
    ]);
    let output = command.env("ASSAY_LEDGER", &ledger).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("ledger.db") && stderr.contains("full"), "{stderr}");
    assert!(stderr.contains("free some space"), "{stderr}");
    let kept = Ledger::open_read_only(&ledger).unwrap();
    let studies = kept.studies().unwrap();
    assert!(studies[0].slices > 0 && !studies[0].finished);
    drop(kept);
    place.assert_nothing_left();
}

fn main() -> ExitCode {
    let anyone = tests![
        a_server_that_is_killed_fails_its_test_and_the_study_goes_on,
        a_server_that_somebody_else_stops_fails_its_test_and_the_study_goes_on,
        a_connection_that_is_killed_fails_its_test_and_the_study_goes_on,
        a_server_that_hangs_fails_its_test_and_the_study_goes_on,
        an_option_that_a_version_does_not_know_is_told,
        a_server_that_no_longer_starts_keeps_what_was_measured_and_can_be_resumed,
        a_server_that_does_not_start_for_tests_never_measured_can_be_resumed,
        a_second_assay_waits_until_the_first_has_measured,
        a_terminal_that_is_closed_leaves_nothing_and_the_study_can_go_on,
    ];
    let root = tests![
        loaded_data_make_room_for_a_server,
        a_disk_that_fills_while_loading_is_told_and_nothing_is_left,
        a_disk_that_fills_while_measuring_fails_the_test_and_nothing_is_left,
        a_disk_that_fills_while_counting_is_told_and_nothing_is_left,
        a_disk_that_fills_fails_the_step_of_the_insert_benchmark,
        a_ledger_that_cannot_grow_stops_the_study_and_keeps_what_it_has,
    ];
    run_tests(&anyone, &root)
}
