//! A few simulated studies whose truth is known. The bounds hold by a wide margin; `cargo lab sim` counts over
//! thousands.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use assay_lab::truth::{Case, EarlyTally, Kind, Tally, add_early, add_study, cases, early_cases};

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap()
}

fn studies(name: &str, count: u64) -> Tally {
    let case = case(name);
    let mut tally = Tally::default();
    for seed in 1..=count {
        add_study(&mut tally, &case, seed).unwrap();
    }
    tally
}

#[test]
fn equal_systems_are_rarely_called_and_mostly_covered() {
    let found = studies("virtual/null/10m", 5);
    for (quantity, name) in [(&found.qps, "QPS"), (&found.cpu, "CPU")] {
        for kind in [Kind::Null, Kind::Write] {
            let counts = quantity.kinds[&kind];
            let share = |count: u64| count as f64 / counts.cells as f64;
            assert!(share(counts.wrong) < 0.05, "{name} {kind:?}: {counts:?}");
            assert!(share(counts.covered) > 0.85, "{name} {kind:?}: {counts:?}");
        }
        let half = quantity.half_median / found.studies as f64;
        assert!((0.002..0.02).contains(&half), "{name}: {half}");
    }
}

#[test]
fn changes_of_five_percent_are_called_in_both_quantities() {
    let found = studies("virtual/twelve-5/10m", 3);
    for quantity in [&found.qps, &found.cpu] {
        let kinds = [Kind::Changed, Kind::ChangedWrite].map(|kind| quantity.kinds[&kind]);
        assert_eq!(kinds.iter().map(|it| it.cells).sum::<u64>(), 36);
        let right: u64 = kinds.iter().map(|it| it.right).sum();
        assert!(right >= 24 && kinds.iter().all(|it| it.wrong == 0), "{kinds:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_counts() {
    let line = || studies("stalls/null/5m", 1).json("", 1, 0);
    assert_eq!(line(), line());
}

/// Studies of half a minute in which pauses of the machine spoiled several of the twelve values of a write, or in which
/// the few cells and blocks revealed almost nothing of their own variance.
#[test]
fn large_changes_are_called_early_on_a_busy_machine() {
    let case = early_cases().into_iter().find(|case| case.name == "early/30s/2").unwrap();
    let mut tally = EarlyTally::default();
    for seed in [20, 86, 145, 150, 155, 161, 180] {
        add_early(&mut tally, &case, seed).unwrap();
    }
    assert_eq!((tally.called("30", 1), tally.called("10", 2)), (1.0, 1.0), "{tally:?}");
}
