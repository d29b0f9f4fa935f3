//! Estimates of how long a study takes and what it can decide, made before it begins.

use std::collections::BTreeMap;

use assay_model::{Experiment, PlannedCell, Preset, Setup, Study, counted};

use crate::size::loaded_mb;
use crate::units::duration_text;

/// Fewest rounds of a cell in a block: one order of the systems and its reverse.
pub const ROUNDS_MIN: u32 = 2;

/// An interleaved study measures so many blocks even if its budget is too short.
const BLOCKS_MIN: u32 = 2;

/// Milliseconds per system and round in addition to the warm-up and the measured part, assumed until the first round
/// was measured.
const OVERHEAD_MS: f64 = 8.0;

/// Milliseconds of a turn in addition to them.
const TURN_OVERHEAD_MS: f64 = 0.3;

/// Assumed time to start an instance, in addition to copying and reading its data at the assumed rate, until one was
/// started.
const START_S: f64 = 0.5;
const START_MB_PER_S: f64 = 200.0;

/// How the smallest change found in half of the tests depends on blocks and on pairs of slices of this length, percent
/// squared: fitted to the simulations of `docs/statistics.md` (10.7 % at 4 × 10, 4.9 % at 4 × 40, 3.6 %
/// at 4 × 160).
const OF_BLOCKS: f64 = 36.0;
const OF_PAIRS: f64 = 3500.0;
const PAIR_MS: f64 = 50.0;

/// Student's t, 97.5 %, for the degrees of freedom of 2, 3 and 4 blocks: it shows how uncertain the spread of so few
/// blocks is. The fit was made at 4 blocks.
const STUDENT: [f64; 3] = [12.706, 4.303, 3.182];

/// The needs of verdicts, which the crate that judges decides.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// Blocks.
    pub blocks: u32,
    /// The smallest change that counts.
    pub threshold: f64,
}

/// Seconds that a round of a cell takes, all systems together.
#[must_use]
pub fn round_s(cell: &PlannedCell, systems: usize) -> f64 {
    let turns = f64::from(cell.turns());
    let warm_ms = turns * (cell.warm_time_us() as f64 / 1000.0 + TURN_OVERHEAD_MS);
    systems as f64 * (warm_ms + f64::from(cell.slice_ms) + OVERHEAD_MS) / 1000.0
}

/// Seconds to start the instances of a block: those of all systems, for each data set, fresh and aged.
#[must_use]
pub fn start_s(cells: &[PlannedCell], systems: usize) -> f64 {
    let phases: BTreeMap<_, Setup> = cells
        .iter()
        .map(|cell| ((cell.id.setup.data(), cell.id.test.start_from), cell.id.setup))
        .collect();
    let of_one = phases
        .values()
        .map(|setup| START_S + loaded_mb(*setup) as f64 / START_MB_PER_S)
        .sum::<f64>();
    systems as f64 * of_one
}

/// Says in one sentence, for the user, how long a study takes and what it can decide in the time that is left.
#[must_use]
pub fn outlook(study: &Study, systems: usize, left_s: f64, needs: Needs) -> String {
    let start_s = start_s(&study.cells, systems);
    let once_s: f64 = study.cells.iter().map(|cell| round_s(cell, systems)).sum();
    let what = format!(
        "one pass over {} on {} takes about {}",
        counted(study.cells.len() as u64, "test"),
        counted(systems as u64, "system"),
        about(start_s + once_s),
    );
    if study.experiment == Experiment::Sequential {
        return format!("{what}, and there is only one, so changes cannot be told from chance");
    }
    let block_s = start_s + f64::from(ROUNDS_MIN) * once_s;
    let blocks = ((left_s / block_s).max(0.0) as u32).min(study.blocks);
    let needed = needs.blocks.min(study.blocks).max(1);
    if blocks < needed {
        let used_s = study.budget_s - left_s;
        let enough = ((used_s + 1.1 * f64::from(needed) * block_s) / 10.0).ceil() * 10.0;
        let remedy =
            format!("`--budget {}` or fewer `--tests`", duration_text(enough).replace(' ', ""));
        let why = if left_s < 1.0 {
            "and nothing is left of the budget".to_owned()
        } else if left_s < start_s + once_s {
            format!("more than the {} left", about(left_s))
        } else {
            format!("and a verdict needs {needed} blocks of {ROUNDS_MIN}")
        };
        return format!("{what}, {why}: few tests will be decided; use {remedy}");
    }
    if study.preset == Preset::Smoke && blocks < needs.blocks {
        let only = if blocks == 1 { "shows" } else { "show" };
        return format!(
            "{what}; {} of preset smoke only {only} that everything works: use `--preset quick` for verdicts",
            counted(blocks, "block"),
        );
    }
    let affordable = ((left_s / f64::from(blocks) - start_s) / once_s) as u32;
    let rounds = affordable.clamp(ROUNDS_MIN, study.rounds.max(ROUNDS_MIN)) / 2 * 2;
    let smallest = smallest_change(study, blocks, rounds).max(needs.threshold);
    format!(
        "{what}; {} allows {} of {rounds} passes; on a quiet machine that detects changes of about {:.0} % in half of \
         the tests; smaller ones may stay undecided",
        about(left_s),
        counted(blocks, "block"),
        (100.0 * smallest).ceil(),
    )
}

/// Says before a study starts that it takes longer than its budget; `None` if the budget may be enough.
#[must_use]
pub fn overrun(study: &Study, systems: usize) -> Option<String> {
    if study.experiment == Experiment::Sequential {
        return None;
    }
    let once_s: f64 = study.cells.iter().map(|cell| round_s(cell, systems)).sum();
    let block_s = start_s(&study.cells, systems) + f64::from(ROUNDS_MIN) * once_s;
    let blocks = BLOCKS_MIN.min(study.blocks);
    let least_s = f64::from(blocks) * block_s;
    (least_s > study.budget_s).then(|| {
        format!(
            "the budget of {} is too short: {} of {} on {} take about {}, not counting loading, and are measured \
             anyway; use a longer `--budget`, fewer `--tests` or fewer systems",
            about(study.budget_s),
            counted(blocks, "block"),
            counted(study.cells.len() as u64, "test"),
            counted(systems as u64, "system"),
            about(least_s),
        )
    })
}

/// The smallest change that this much measuring finds in half of the tests, on a quiet machine.
fn smallest_change(study: &Study, blocks: u32, rounds: u32) -> f64 {
    let slice_ms: f64 = study.cells.iter().map(|cell| f64::from(cell.slice_ms)).sum::<f64>()
        / study.cells.len().max(1) as f64;
    let (blocks, rounds) = (f64::from(blocks), f64::from(rounds));
    let of_pairs = OF_PAIRS * (PAIR_MS / slice_ms.max(1.0)) / (blocks * rounds);
    let [.., of_fit] = STUDENT;
    let student = STUDENT.get((blocks as usize).saturating_sub(2)).unwrap_or(&of_fit);
    student / of_fit * (OF_BLOCKS / blocks + of_pairs).sqrt() / 100.0
}

fn about(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Preset;

    use super::*;
    use crate::{MachineFacts, Request, plan};

    const NEEDS: Needs = Needs { blocks: 4, threshold: 0.02 };

    fn planned(preset: Preset, tests: &[&str]) -> Study {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let request = Request { preset, tests, ..Request::of_systems(&words) };
        let machine = MachineFacts { cpus: 2, memory_mb: 256_000, disk_mb: 500_000 };
        plan(&request, machine).unwrap().study
    }

    #[test]
    fn the_outlook_names_the_time_of_a_pass_and_the_detectable_change() {
        let study = planned(Preset::Quick, &[]);
        let told = outlook(&study, 2, 600.0, NEEDS);
        assert!(told.starts_with("one pass over 32 tests on 2 systems takes about "), "{told}");
        assert!(told.contains("10 min allows 6 blocks of "), "{told}");
        let rounds = told.split("6 blocks of ").nth(1).unwrap().split(' ').next().unwrap();
        let percent = 100.0 * smallest_change(&study, 6, rounds.parse().unwrap());
        let found = format!("detects changes of about {:.0} % in half", percent.ceil());
        assert!(told.contains(&found), "{told}");
        let one = planned(Preset::Quick, &["point-query"]);
        assert!(
            outlook(&one, 1, 600.0, NEEDS).contains("over 1 test on 1 system takes"),
            "{one:?}"
        );
    }

    #[test]
    fn a_budget_too_small_for_verdicts_is_reported_with_a_remedy() {
        let mut study = planned(Preset::Quick, &[]);
        study.budget_s = 30.0;
        let none = outlook(&study, 2, 2.0, NEEDS);
        assert!(none.contains("more than the 2 s left"), "{none}");
        let few = outlook(&study, 2, 30.0, NEEDS);
        assert!(few.contains("a verdict needs 4 blocks"), "{few}");
        let late = outlook(&study, 2, -30.0, NEEDS);
        assert!(late.contains("nothing is left of the budget"), "{late}");
        for told in [&none, &few] {
            assert!(told.contains("few tests will be decided"), "{told}");
            let budget = told.split("--budget ").nth(1).unwrap().split('`').next().unwrap();
            let seconds = crate::parse_duration_s(budget).unwrap();
            // The time used so far counts too.
            let used_s = if *told == none { 28.0 } else { 0.0 };
            assert!(
                outlook(&study, 2, seconds - used_s, NEEDS).contains("on a quiet machine"),
                "{budget}"
            );
        }
    }

    #[test]
    fn an_unattainable_budget_is_reported_before_the_study_starts() {
        let smoke = planned(Preset::Smoke, &[]);
        assert_eq!(overrun(&smoke, 2), None);
        let told = overrun(&smoke, 12).unwrap();
        assert!(
            told.starts_with("the budget of 60 s is too short: 2 blocks of 32 tests"),
            "{told}"
        );
        assert!(told.contains(" on 12 systems take about 3 min"), "{told}");
        assert_eq!(overrun(&Study { budget_s: 600.0, ..smoke }, 12), None);
        let published = planned(Preset::Published, &["scan"]);
        assert_eq!(overrun(&Study { budget_s: 1.0, ..published }, 12), None);
    }

    #[test]
    fn longer_studies_detect_smaller_changes_as_simulated() {
        let mut study = planned(Preset::Quick, &["point-query"]);
        // The simulations had slices of this length.
        study.cells[0].slice_ms = PAIR_MS as u32;
        for (rounds, simulated) in [(10, 0.107), (40, 0.049), (160, 0.036)] {
            let change = smallest_change(&study, 4, rounds);
            assert!((0.8..1.2).contains(&(change / simulated)), "{rounds}: {change}");
        }
    }

    #[test]
    fn few_blocks_detect_only_large_changes() {
        let study = planned(Preset::Quick, &["point-query"]);
        let [two, three, four, five] =
            [2, 3, 4, 5].map(|blocks| smallest_change(&study, blocks, 40));
        assert!(
            two > 4.0 * four && three > 1.3 * four && four > five,
            "{two} {three} {four} {five}"
        );
    }

    #[test]
    fn smoke_promises_no_verdict() {
        let told = outlook(&planned(Preset::Smoke, &["point-query"]), 2, 10.0, NEEDS);
        assert!(
            told.contains("2 blocks of preset smoke only show that everything works"),
            "{told}"
        );
        assert!(!told.contains('%'), "{told}");
    }

    #[test]
    fn a_single_pass_promises_nothing() {
        let told = outlook(&planned(Preset::Published, &["point-query"]), 2, 0.0, NEEDS);
        assert!(told.contains("there is only one"), "{told}");
    }
}
