//! `assay repro`: what it writes shows the same direction without assay.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use std::process::Command;

use common::Place;

/// Measures a gross slowdown, writes it down, and runs what was written.
#[track_caller]
fn shows_the_slowdown(system: &str, option: &str, what: &[&str], test: &str) {
    let place = Place::with(system);
    let other = format!("{system}+{option}");
    let compare = ["compare", system, &other, "--preset", "smoke", "--offline", "--quiet"];
    let compared = place.run_to_end(&[&compare[..], what].concat());
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    let directory = place.ledger().with_file_name("finding");
    let path = directory.to_str().unwrap();
    let repro = ["repro", "latest", "--test", test, "-o", path];
    let written = place.run_to_end(&repro);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    // The directory is not replaced.
    assert_eq!(place.run_to_end(&repro).status.code(), Some(2));
    let records = place.records();
    let prefix = records[0].systems[0].artifact.prefix().unwrap().path.clone();
    let run = Command::new(directory.join("run.sh"))
        .env("BASE", &prefix)
        .env("OTHER", &prefix)
        .env("PAIRS", "3")
        .env("TURN", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{told}{}", String::from_utf8_lossy(&run.stderr));
    assert!(told.contains("OTHER is slower than BASE"), "{told}");
    assert!(told.contains("the direction is the same"), "{told}");
}

#[test]
fn sysbench_shows_a_slowdown_of_mysql() {
    let what = ["--tests", "random-points_range=100"];
    shows_the_slowdown("mysql@8.0", "range_optimizer_max_mem_size=1", &what, "random-points*");
}

#[test]
fn pgbench_shows_a_slowdown_of_postgres() {
    let option = "enable_indexscan=off+enable_bitmapscan=off+enable_indexonlyscan=off";
    shows_the_slowdown("postgres@16", option, &["--tests", "point-query"], "point-query");
}
