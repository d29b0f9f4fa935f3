//! Kills assay at random moments of smoke studies and resumes them: nothing is lost, repeated, or left behind.
//!
//! `ASSAY_KILLS` sets the number of kills (100). `ASSAY_KILLS_SEED` repeats a run; the test prints the seed.
#![expect(clippy::unwrap_used, reason = "it ends where something is not as it should be")]

mod common;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use assay_ledger::Ledger;
use assay_model::Slice;
use common::Place;
use rustix::process::{Pid, Signal, kill_process};

/// Longest time that assay runs before it is killed: about the time of a whole study, set-up included.
const LONGEST_MS: u64 = 9_000;

const STUDY: [&str; 8] = [
    "compare",
    "mariadb@10.11",
    "mariadb@11.8",
    "--preset",
    "smoke",
    "--offline",
    "--tests",
    "point-query,scan,update-*,delete,insert,read-only_range=10",
];

#[test]
#[ignore = "takes many minutes: `cargo xtask crash` runs it"]
fn killed_at_random_moments_and_resumed() {
    let number = |name: &str| std::env::var(name).ok().map(|it| it.parse::<u64>().unwrap());
    let times = number("ASSAY_KILLS").unwrap_or(100);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut random = number("ASSAY_KILLS_SEED").unwrap_or(now.as_nanos() as u64);
    println!("seed {random}");
    let place = Place::bare();
    let mut counts = Counts::default();
    let mut before: Vec<Slice> = Vec::new();
    while counts.kills < times {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after = Duration::from_millis((random >> 33) % LONGEST_MS);
        let is_unfinished = unfinished(&place);
        let resumed: &[&str] = &["resume", "--offline"];
        let args: &[&str] = if is_unfinished { resumed } else { &STUDY };
        let code = run_for(&place, args, after);
        place.assert_nothing_left();
        let measured = slices(&place);
        if is_unfinished {
            assert_eq!(
                measured.get(..before.len()),
                Some(&before[..]),
                "a slice was changed or lost"
            );
        }
        match code {
            Some(code) => {
                assert_eq!(code, 0, "{args:?} ended with exit code {code}");
                assert_unique(&measured);
                counts.finished += 1;
                before = Vec::new();
            }
            None => {
                counts.kills += 1;
                counts.resumed += u32::from(is_unfinished);
                before = if unfinished(&place) { measured } else { Vec::new() };
            }
        }
        println!("{counts:?}, killed after {after:?}, {} slices", before.len());
    }
    while unfinished(&place) {
        let output = place.run_to_end(&["resume", "--offline"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let measured = slices(&place);
        assert_eq!(measured.get(..before.len()), Some(&before[..]), "a slice was changed or lost");
        assert_unique(&measured);
        counts.finished += 1;
    }
    place.assert_nothing_left();
    println!("{counts:?}: nothing lost, nothing repeated, nothing left behind");
}

#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    resumed: u32,
    finished: u32,
}

/// Runs assay for that long, then kills it. Returns the exit code if it ended before.
fn run_for(place: &Place, args: &[&str], time: Duration) -> Option<i32> {
    let mut child =
        place.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap().code()
}

fn unfinished(place: &Place) -> bool {
    place.ledger().exists()
        && ledger(place).studies().unwrap().last().is_some_and(|study| !study.finished)
}

/// All slices of the latest study.
fn slices(place: &Place) -> Vec<Slice> {
    if !place.ledger().exists() {
        return Vec::new();
    }
    let ledger = ledger(place);
    let latest = ledger.latest().unwrap();
    latest.map_or_else(Vec::new, |id| ledger.read(&id).unwrap().slices)
}

/// Opens the ledger for writing, as the next assay would. If assay was killed while it created the file, there is no
/// schema yet.
fn ledger(place: &Place) -> Ledger {
    Ledger::open(&place.ledger()).unwrap()
}

fn assert_unique(slices: &[Slice]) {
    let places: BTreeSet<_> =
        slices.iter().map(|it| (it.system, it.cell, it.block, it.round)).collect();
    assert_eq!(places.len(), slices.len(), "a slice was measured twice");
}
