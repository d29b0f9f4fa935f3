//! Kills assay at random moments of smoke studies and of searches for a version, and resumes them: nothing is lost,
//! repeated, or left behind.
//!
//! `ASSAY_KILLS` sets the number of kills of studies (100), and of searches a fifth of it. `ASSAY_KILLS_SEED` repeats a
//! run; the tests print the seed.
#![expect(clippy::print_stdout, reason = "the seed repeats a run that failed")]

use std::collections::BTreeSet;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use assay_ledger::{Ledger, StudyRows};
use assay_model::{SearchPart, Slice};
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Place, printed};

/// Longest time before a kill: about that of a whole study with set-up.
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
    let (times, mut random) = kills();
    let place = Place::bare();
    let mut counts = Counts::default();
    let mut before: Vec<Slice> = Vec::new();
    while counts.kills < times {
        let after = Duration::from_millis(random.below(LONGEST_MS));
        let is_unfinished = unfinished(&place);
        let resumed: &[&str] = &["resume", "--offline"];
        let args: &[&str] = if is_unfinished { resumed } else { &STUDY };
        let code = output_within(&place, args, after).map(|it| it.status.code().unwrap());
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

const KILLS_OF_SEARCH: u64 = 7;

/// MariaDB 11.8 reads rows that an index covers with fewer instructions than 11.4 and 10.11.
const SEARCH: [&str; 8] = [
    "bisect",
    "mariadb@10.11..11.8",
    "--test=points-covered-pk",
    "--count",
    "--rows=10000",
    "--offline",
    "--format",
    "json",
];

#[test]
#[ignore = "takes many minutes: `cargo xtask crash` runs it"]
fn searches_that_are_killed_at_random_moments_find_the_version() {
    let (times, mut random) = kills();
    let place = Place::with("mariadb@11.4");
    let (mut kills, mut searches) = (0, 0);
    // A killed search runs for at most half the time of a complete one: for about two comparisons.
    let mut longest_ms = None;
    while kills < times.div_ceil(5) {
        // Each search loads its data, so that kills hit that too.
        let _ = fs_err::remove_dir_all(place.cache().join("templates"));
        let earlier = finished(&place);
        let (mut of_search, began) = (0, Instant::now());
        let answer = loop {
            let before = finished(&place);
            // Both the same command and `resume` continue it.
            let id = search(&place, earlier.len()).filter(|_| random.below(2) == 0);
            let words = match &id {
                Some(id) => vec!["resume", id, "--offline", "--format", "json"],
                None => SEARCH.to_vec(),
            };
            let Some(longest_ms) = longest_ms.filter(|_| of_search < KILLS_OF_SEARCH) else {
                break place.run_to_end(&words);
            };
            let after = Duration::from_millis(random.below(longest_ms));
            let output = output_within(&place, &words, after);
            place.assert_nothing_left();
            let now = finished(&place);
            assert!(now.get(..before.len()) == Some(&before[..]), "a study was changed or lost");
            println!("{} after {after:?}: {} studies", words[0], now.len() - earlier.len());
            match output {
                Some(output) => break output,
                None => of_search += 1,
            }
        };
        let answer = printed(&answer, 0);
        let version = answer["answer"]["version"].as_str().unwrap();
        assert!(version.starts_with("11.8."), "{answer:#}");
        assert_eq!(answer["comparisons"], finished(&place).len() - earlier.len(), "{answer:#}");
        assert_eq!(place.finished().len(), finished(&place).len(), "a study is unfinished");
        (kills, searches) = (kills + of_search, searches + 1);
        longest_ms = longest_ms.or(Some(began.elapsed().as_millis() as u64 / 2));
        println!("{searches} searches found {version}; {kills} kills");
    }
    place.assert_nothing_left();
}

fn finished(place: &Place) -> Vec<StudyRows> {
    if !place.ledger().exists() {
        return Vec::new();
    }
    let ledger = ledger(place);
    let studies = ledger.studies().unwrap().into_iter().filter(|study| study.finished);
    studies.map(|study| ledger.rows(&study.id).unwrap()).collect()
}

/// The search in the ledger, after that many earlier studies.
fn search(place: &Place, others: usize) -> Option<String> {
    let studies =
        place.ledger().exists().then(|| ledger(place).parts::<SearchPart>("bisect").unwrap());
    studies?.into_iter().nth(others).map(|(_, part)| part.id)
}

#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    resumed: u32,
    finished: u32,
}

/// Runs assay for this time, then kills it. Returns its output if it ended earlier.
fn output_within(place: &Place, args: &[&str], time: Duration) -> Option<Output> {
    let mut command = place.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + time;
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return Some(child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    // It may have ended at this moment.
    let output = child.wait_with_output().unwrap();
    output.status.code().map(|_| output)
}

fn kills() -> (u64, Random) {
    let number = |name: &str| std::env::var(name).ok().map(|it| it.parse::<u64>().unwrap());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("ASSAY_KILLS_SEED").unwrap_or(now.as_nanos() as u64);
    println!("seed {seed}");
    (number("ASSAY_KILLS").unwrap_or(100), Random(seed))
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        let Self(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % end
    }
}

fn unfinished(place: &Place) -> bool {
    place.ledger().exists()
        && ledger(place).studies().unwrap().last().is_some_and(|study| !study.finished)
}

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
