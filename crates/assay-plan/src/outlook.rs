//! Estimates, before a study, of its duration and its resolution.

use std::collections::BTreeMap;

use assay_model::{Experiment, Noise, PlannedCell, Preset, Setup, Study, counted};

use crate::precision::{CellAmount, Needs, Precision};
use crate::size::loaded_mb;
use crate::study::request_of;
use assay_options::duration_text;

/// Fewest rounds of a cell in a block: one order of the systems and its reverse.
pub const ROUNDS_MIN: u32 = 2;

/// Milliseconds per system and round besides the warm-up and the measured part, assumed until a round was measured.
const OVERHEAD_MS: f64 = 8.0;

/// Milliseconds of a turn besides them.
const TURN_OVERHEAD_MS: f64 = 0.3;

/// Assumed seconds to start an instance, besides copying and reading its data at the assumed rate, until one was
/// started.
const START_S: f64 = 0.8;
const START_MB_PER_S: f64 = 200.0;

/// Seconds of a round of a cell, all systems together.
pub fn round_s(cell: &PlannedCell, systems: usize) -> f64 {
    let turns = f64::from(cell.turns());
    let warm_ms = turns * (cell.warm_time_us() as f64 / 1000.0 + TURN_OVERHEAD_MS);
    systems as f64 * (warm_ms + f64::from(cell.slice_ms) + OVERHEAD_MS) / 1000.0
}

/// Seconds to start the instances of a block: of all systems, for each data set, fresh and aged.
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

#[derive(Debug, Clone, Copy)]
struct Times {
    start_s: f64,
    once_s: f64,
}

impl Times {
    fn new(cells: &[PlannedCell], systems: usize) -> Self {
        let once_s = cells.iter().map(|cell| round_s(cell, systems)).sum();
        Self { start_s: start_s(cells, systems), once_s }
    }

    fn block_s(self) -> f64 {
        self.start_s + f64::from(ROUNDS_MIN) * self.once_s
    }
}

/// Fewest blocks that a budget may reduce a plan to. How many fit is known after the first one.
const BLOCKS_LEAST: u32 = 4;

const SLOWER: f64 = 1.2;

/// Number of smallest blocks within a budget: an estimate that the driver revises after every block.
pub(crate) fn blocks_within(budget_s: f64, cells: &[PlannedCell], systems: usize) -> u32 {
    ((budget_s / block_s(cells, systems)) as u32).max(BLOCKS_LEAST)
}

pub(crate) fn block_s(cells: &[PlannedCell], systems: usize) -> f64 {
    SLOWER * Times::new(cells, systems).block_s()
}

pub(crate) fn once_s(cells: &[PlannedCell], systems: usize) -> f64 {
    Times::new(cells, systems).once_s
}

/// A study that will use less than this share of its time is limited by its other bounds.
const USED: f64 = 0.8;

#[derive(Debug, Clone, Copy)]
pub struct Fitting {
    pub systems: usize,
    pub start_s: f64,
    pub once_s: f64,
    pub left_s: f64,
    /// Blocks that fit; 0 if not even the shortest does.
    pub blocks: u32,
    pub rounds: f64,
}

impl Fitting {
    pub fn planned(study: &Study, systems: usize, left_s: f64) -> Self {
        let times = Times::new(&study.cells, systems);
        let CellAmount { blocks, rounds } = affordable(study, systems, left_s);
        let blocks = if left_s < times.block_s() { 0 } else { blocks as u32 };
        let Times { start_s, once_s } = times;
        Self { systems, start_s, once_s, left_s, blocks, rounds }
    }

    pub fn block_s(&self) -> f64 {
        Times { start_s: self.start_s, once_s: self.once_s }.block_s()
    }

    /// Seconds that must remain for a block to fit, as its length is only estimated.
    pub fn needed_s(&self) -> f64 {
        1.1 * self.block_s()
    }
}

/// A suggested time as an option value, rounded up to a round number.
pub fn suggested_time(seconds: f64) -> String {
    let step = match seconds {
        short if short <= 20.0 => 1.0,
        middle if middle <= 60.0 => 5.0,
        _ => 10.0,
    };
    duration_text((seconds / step).ceil().max(1.0) * step).replace(' ', "")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    pub text: String,
    pub remedy: Option<String>,
}

/// Expected duration and resolution in the remaining time, given the machine's noise if it was measured. `study` has
/// the cells that are measured further.
pub fn outlook(study: &Study, fitting: Fitting, needs: Needs, noise: Option<&Noise>) -> Outlook {
    let is_too_short = study.experiment == Experiment::Interleaved && fitting.blocks < 1;
    Outlook {
        text: in_words(study, fitting, needs, noise),
        remedy: is_too_short.then(|| remedy(study, fitting, needs)),
    }
}

fn in_words(study: &Study, fitting: Fitting, needs: Needs, noise: Option<&Noise>) -> String {
    let Fitting { systems, left_s, blocks, rounds, .. } = fitting;
    let what = format!(
        "one pass over {} on {} takes about {}",
        counted(study.cells.len() as u64, "test"),
        counted(systems as u64, "system"),
        about(fitting.start_s + fitting.once_s),
    );
    if study.experiment == Experiment::Sequential {
        return format!("{what}, and there is only one, so changes cannot be told from chance");
    }
    if study.experiment.has_steps() {
        return format!(
            "{} on {} take at least {}",
            counted(study.cells.len() as u64, "step"),
            counted(systems as u64, "system"),
            about(study.budget_s),
        );
    }
    if blocks < 1 {
        let why = if left_s < 1.0 {
            "and nothing is left of the budget".to_owned()
        } else {
            format!("and a block has {ROUNDS_MIN}; {} are left", about(left_s))
        };
        return format!("{what}, {why}: the last tests may not be measured");
    }
    let passes = format!(
        "{} of {rounds:.0} passes",
        counted(blocks, if needs.is_resumed { "further block" } else { "block" })
    );
    let takes_s = f64::from(blocks) * (fitting.start_s + rounds * fitting.once_s);
    // `resume` has neither of the keys that would use more.
    let is_bounded =
        !needs.is_resumed && blocks >= study.blocks && rounds >= f64::from(study.rounds);
    let allowed = match is_bounded && takes_s < USED * left_s {
        true => format!(
            "{what}; it measures {passes}, about {} of {}: higher `rounds` or `blocks` (`--key`) use more",
            about(takes_s),
            about(left_s)
        ),
        false => format!("{what}; {} allows {passes}", about(left_s)),
    };
    if study.preset == Preset::Smoke {
        return format!(
            "{allowed}; preset smoke calls changes of more than {} only, and nothing the same: `--preset quick` \
             decides more",
            percent(needs.threshold),
        );
    }
    // The report shows the decisions of earlier blocks.
    if needs.is_resumed {
        return allowed;
    }
    let resolution = noise.and_then(|noise| FigureResolution::new(study, fitting, needs, noise));
    let is_blind = |found: &FigureResolution| study.is_noisy || found.is_blind(needs.threshold);
    if let Some(resolution) = resolution.filter(is_blind) {
        return format!("{}. {}", too_noisy(study, fitting, resolution), capital(&allowed));
    }
    let spent = CellAmount { blocks: f64::from(blocks), rounds };
    let changes = smallest_change(study, spent, needs, noise, |_| true);
    let machine = match noise {
        Some(_) => "with the noise that this machine has now",
        None => "on a virtual machine with the usual noise",
    };
    format!(
        "{allowed}; {machine}, that detects changes of about {} in half of the tests; smaller ones may stay undecided",
        percent(changes.unwrap_or(f64::INFINITY)),
    )
}

/// Times cannot decide if they show only changes of more than this many thresholds, and CPU time those of less than
/// this share of them. The machine is the cause only if times would show changes smaller by this factor on a quiet one:
/// many clients and short budgets have wide intervals there too.
const BLIND: f64 = 5.0;
const FIRMER: f64 = 0.5;
const NOISIER: f64 = 2.0;

/// The smallest relative changes that a study would detect in half of its tests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FigureResolution {
    pub(crate) by_time: f64,
    /// By time, with the usual noise of a virtual machine.
    when_quiet: f64,
    /// By the server's CPU time per operation.
    pub(crate) by_cpu: f64,
}

impl FigureResolution {
    /// `None` if no block fits, and for servers that assay does not start: their CPU time may be unknown.
    pub(crate) fn new(
        study: &Study,
        fitting: Fitting,
        needs: Needs,
        noise: &Noise,
    ) -> Option<Self> {
        let is_attached = request_of(study).is_ok_and(|request| request.has_running_servers());
        if fitting.blocks == 0 || is_attached {
            return None;
        }
        let amount = CellAmount { blocks: f64::from(fitting.blocks), rounds: fitting.rounds };
        let by_time =
            |noise: Option<&Noise>| smallest_change(study, amount, needs, noise, |_| true);
        let precision = Precision::new(Some(noise), needs);
        Some(Self {
            by_time: by_time(Some(noise))?,
            when_quiet: by_time(None)?,
            by_cpu: precision.smallest_cpu_change(amount, study.cells.len()),
        })
    }

    pub(crate) fn is_blind(self, threshold: f64) -> bool {
        self.by_time > BLIND * threshold
            && self.by_time > NOISIER * self.when_quiet
            && self.by_cpu < FIRMER * self.by_time
    }
}

/// What a study decides on a machine that is too noisy for its times, and the alternative.
fn too_noisy(study: &Study, fitting: Fitting, resolution: FigureResolution) -> String {
    let FigureResolution { by_time, by_cpu, .. } = resolution;
    let mut text = format!(
        "this machine is too noisy to decide by time: in {}, times show changes of about {} in half of the tests, CPU \
         time per operation those of about {}",
        about(fitting.left_s),
        percent(by_time),
        percent(by_cpu),
    );
    if let Some(command) = &study.count_command {
        let minutes = (study.counting_s(fitting.systems) / 60.0).ceil();
        text += &format!("; `{command}` is exact, and takes about {minutes:.0} min");
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().to_string() + letters.as_str())
}

fn remedy(study: &Study, fitting: Fitting, needs: Needs) -> String {
    let (left_s, needed_s) = (fitting.left_s, fitting.needed_s());
    match needs.is_resumed {
        true => format!("`--more {}`", suggested_time(needed_s - left_s.max(0.0))),
        false => format!(
            "`--budget {}` or fewer `--tests`",
            suggested_time(study.budget_s - left_s + needed_s)
        ),
    }
}

fn affordable(study: &Study, systems: usize, left_s: f64) -> CellAmount {
    let times = Times::new(&study.cells, systems);
    let blocks = ((left_s / times.block_s()).max(1.0) as u32).min(study.blocks);
    let rounds = ((left_s / f64::from(blocks) - times.start_s) / times.once_s) as u32;
    let rounds = rounds.clamp(ROUNDS_MIN, study.rounds.max(ROUNDS_MIN)) / 2 * 2;
    CellAmount { blocks: f64::from(blocks), rounds: f64::from(rounds) }
}

/// Smallest change that a study would detect in half of the cells that are `of` interest; `None` without any.
pub fn smallest_change_in(
    study: &Study,
    systems: usize,
    seconds: f64,
    needs: Needs,
    noise: Option<&Noise>,
    is_wanted: impl Fn(&PlannedCell) -> bool,
) -> Option<f64> {
    smallest_change(study, affordable(study, systems, seconds), needs, noise, is_wanted)
}

fn smallest_change(
    study: &Study,
    spent: CellAmount,
    needs: Needs,
    noise: Option<&Noise>,
    is_wanted: impl Fn(&PlannedCell) -> bool,
) -> Option<f64> {
    let precision = Precision::new(noise, needs);
    let count = study.cells.len();
    let cells = study.cells.iter().filter(|cell| is_wanted(cell));
    let change = |cell| precision.smallest_change(cell, spent, count);
    let mut changes: Vec<f64> = cells.map(change).collect();
    changes.sort_unstable_by(f64::total_cmp);
    changes.get(changes.len() / 2).copied()
}

/// Most blocks suggested by [`needed`], as many as presets plan.
pub(crate) const BLOCKS_MOST: u32 = 40;

/// The least time, without loading, in which such a study would detect a change of this size in half of its cells, and
/// the number of blocks to spend it on; `None` if no time suffices.
pub fn needed(
    study: &Study,
    systems: usize,
    change: f64,
    needs: Needs,
    noise: Option<&Noise>,
) -> Option<(f64, u32)> {
    let Times { start_s, once_s } = Times::new(&study.cells, systems);
    let with_blocks = |count: u32| {
        let blocks = f64::from(count);
        let is_enough = |rounds: f64| {
            let found =
                smallest_change(study, CellAmount { blocks, rounds }, needs, noise, |_| true);
            found.is_some_and(|found| found <= change)
        };
        let (mut few, mut many) = (f64::from(ROUNDS_MIN), f64::from(study.rounds));
        if !is_enough(many) {
            return None;
        }
        // Half a round does not matter.
        while many - few > 0.5 {
            let middle = f64::midpoint(few, many);
            if is_enough(middle) { many = middle } else { few = middle }
        }
        Some((blocks * (start_s + many * once_s), count))
    };
    let ways = (1..=BLOCKS_MOST).filter_map(with_blocks);
    ways.min_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s))
}

/// Warning that a study takes longer than its budget; `None` if the budget may suffice.
pub fn overrun(study: &Study, systems: usize) -> Option<String> {
    if study.experiment != Experiment::Interleaved {
        return None;
    }
    let least_s = Times::new(&study.cells, systems).block_s();
    (least_s > study.budget_s).then(|| {
        format!(
            "the budget of {} is too short: the shortest block of {} on {} takes about {}, not counting loading, so \
             the last tests may not be measured; use a longer `--budget`, fewer `--tests` or fewer systems",
            about(study.budget_s),
            counted(study.cells.len() as u64, "test"),
            counted(systems as u64, "system"),
            about(least_s),
        )
    })
}

/// `1.8%`, `12%`: rounded up, to promise nothing smaller.
fn percent(change: f64) -> String {
    match 100.0 * change {
        small if small < 9.95 => format!("{:.1}%", (10.0 * small).ceil() / 10.0),
        large => format!("{:.0}%", large.ceil()),
    }
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
    use assay_model::{Class, Preset, TurnError};

    use super::*;
    use crate::{MachineFacts, Request, plan};

    const NEEDS: Needs =
        Needs { block_sd: 0.007, last_level: 0.03, threshold: 0.02, is_resumed: false };

    fn planned(preset: Preset, tests: &[&str]) -> Study {
        let words = ["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()];
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let request = Request { preset, tests, ..Request::of_systems(&words) };
        let machine =
            MachineFacts { cpus: 2, memory_mb: 256_000, disk_mb: 500_000, realtime: None };
        plan(&request, machine).unwrap().study
    }

    fn told_of(study: &Study, systems: usize, left_s: f64, noise: Option<&Noise>) -> String {
        outlook(study, Fitting::planned(study, systems, left_s), NEEDS, noise).text
    }

    #[test]
    fn the_outlook_names_the_time_of_a_pass_and_the_detectable_change() {
        let study = planned(Preset::Quick, &[]);
        let message = told_of(&study, 2, 300.0, None);
        assert!(
            message.starts_with("one pass over 32 tests on 2 systems takes about "),
            "{message}"
        );
        assert!(message.contains("5 min allows 14 blocks of "), "{message}");
        assert!(message.contains("detects changes of about 2.4% in half"), "{message}");
        let one = planned(Preset::Quick, &["point-query"]);
        assert!(told_of(&one, 1, 600.0, None).contains("over 1 test on 1 system takes"), "{one:?}");
    }

    #[test]
    fn a_budget_too_small_for_verdicts_is_reported_with_a_remedy() {
        let mut study = planned(Preset::Quick, &[]);
        study.budget_s = 30.0;
        let outlook_with = |left_s, is_resumed| {
            let needs = Needs { is_resumed, ..NEEDS };
            outlook(&study, Fitting::planned(&study, 2, left_s), needs, None)
        };
        let allows = |left_s| outlook_with(left_s, false).text.contains("detects changes");
        let named = |found: &Outlook, option: &str| {
            let remedy = found.remedy.clone().unwrap();
            let value = remedy.split(option).nth(1).unwrap().split('`').next().unwrap().to_owned();
            crate::parse_duration_s(value.trim()).unwrap()
        };
        let none = outlook_with(2.0, false);
        assert!(none.text.contains("a block has 2; 2 s are left"), "{none:?}");
        let late = outlook_with(-30.0, false);
        assert!(late.text.contains("nothing is left of the budget"), "{late:?}");
        assert!(allows(named(&outlook_with(-30.0, true), "--more")));
        // The time used so far counts too.
        for (found, used_s) in [(none, 28.0), (outlook_with(10.0, false), 20.0)] {
            assert!(found.text.contains("the last tests may not be measured"), "{found:?}");
            assert!(allows(named(&found, "--budget") - used_s), "{found:?}");
        }
        assert_eq!(outlook_with(300.0, false).remedy, None);
    }

    #[test]
    fn an_unattainable_budget_is_reported_before_the_study_starts() {
        let smoke = planned(Preset::Smoke, &[]);
        assert_eq!(overrun(&smoke, 2), None);
        let message = overrun(&smoke, 12).unwrap();
        assert!(
            message.starts_with("the budget of 60 s is too short: the shortest block of 32 tests"),
            "{message}"
        );
        assert!(message.contains(" on 12 systems takes about 95 s"), "{message}");
        assert_eq!(overrun(&Study { budget_s: 600.0, ..smoke }, 12), None);
        let published = planned(Preset::Published, &["scan"]);
        assert_eq!(overrun(&Study { budget_s: 1.0, ..published }, 12), None);
    }

    fn change(study: &Study, blocks: u32, rounds: u32, noise: Option<&Noise>) -> f64 {
        let spent = CellAmount { blocks: f64::from(blocks), rounds: f64::from(rounds) };
        smallest_change(study, spent, NEEDS, noise, |_| true).unwrap()
    }

    #[test]
    fn longer_studies_detect_smaller_changes() {
        let study = planned(Preset::Quick, &[]);
        let [short, long] = [2, 40].map(|rounds| change(&study, 4, rounds, None));
        assert!(short > 1.1 * long && long > NEEDS.threshold, "{short} {long}");
        let tests = |class| move |cell: &PlannedCell| cell.id.test.class == class;
        let smallest_change =
            |class| smallest_change_in(&study, 2, 600.0, NEEDS, None, tests(class)).unwrap();
        assert!(smallest_change(Class::Read) < smallest_change(Class::Write), "{study:?}");
        assert_eq!(smallest_change_in(&study, 2, 600.0, NEEDS, None, |_| false), None);
    }

    #[test]
    fn few_blocks_detect_only_large_changes() {
        for tests in [&["point-query"][..], &[]] {
            let study = planned(Preset::Quick, tests);
            let [two, four, six] = [2, 4, 6].map(|blocks| change(&study, blocks, 40, None));
            assert!(two > 1.04 * four && four >= six, "{two} {four} {six}");
        }
    }

    #[test]
    fn measured_noise_decides_the_outlook() {
        let study = planned(Preset::Quick, &[]);
        let noise = |error| Noise {
            turns: [1.0, 100.0].map(|turn_ms| TurnError { turn_ms, error }).to_vec(),
            ..Noise::default()
        };
        let [calm, noisy] = [0.002, 0.1].map(noise);
        assert!(change(&study, 6, 10, Some(&calm)) < change(&study, 6, 10, Some(&noisy)));
        let message = told_of(&study, 2, 600.0, Some(&calm));
        assert!(message.contains("with the noise that this machine has now"), "{message}");
    }

    #[test]
    fn a_machine_too_noisy_for_times_is_reported_first_with_the_alternative() {
        let study = planned(Preset::Quick, &["point-*", "scan"]);
        let noise = Noise {
            turns: [1.0, 100.0].map(|turn_ms| TurnError { turn_ms, error: 1.0 }).to_vec(),
            ..Noise::default()
        };
        let message = told_of(&study, 2, 120.0, Some(&noise));
        let first =
            "this machine is too noisy to decide by time: in 2 min, times show changes of about ";
        assert!(message.starts_with(first), "{message}");
        assert!(message.contains("CPU time per operation those of about "), "{message}");
        let command = "; `assay count mariadb@10.11 mariadb@11.8 --tests 'point-*,scan'` is exact, and takes about ";
        assert!(message.contains(command), "{message}");
        assert!(message.contains(" min. One pass over "), "{message}");
    }

    #[test]
    fn smaller_changes_need_more_time() {
        let study = planned(Preset::Quick, &[]);
        let needed_for = |change: f64| {
            needed(&study, 2, change, Needs { threshold: change / 2.0, ..NEEDS }, None)
        };
        let [(five_s, _), (two_s, _), (one_s, blocks)] =
            [0.05, 0.02, 0.01].map(|change| needed_for(change).unwrap());
        assert!(five_s < two_s && two_s < one_s && blocks > 4, "{five_s} {two_s} {one_s}");
        assert_eq!(needed_for(1e-4), None);
    }

    #[test]
    fn smoke_says_what_it_calls() {
        let message = told_of(&planned(Preset::Smoke, &["point-query"]), 2, 10.0, None);
        assert!(message.contains("preset smoke calls changes of more than"), "{message}");
        let message = told_of(&planned(Preset::Smoke, &["point-query"]), 2, 60.0, None);
        let expected = "; it measures 2 blocks of 2 passes, about 4 s of 60 s: higher `rounds`";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_single_pass_promises_nothing() {
        let message = told_of(&planned(Preset::Published, &["point-query"]), 2, 0.0, None);
        assert!(message.contains("there is only one"), "{message}");
    }
}
