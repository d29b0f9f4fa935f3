//! Steps between neighbouring versions: at which of them did a test change?
//!
//! A *line* consists of the systems of a study that differ only in their version, in the order of the study. A *step*
//! leads from one system of a line to the next. Systems of different products, engines or settings are not neighbours,
//! and a twin is no separate version.

use assay_model::{CellId, Estimate, EventKind, StudyRecord, System, Verdict};

use crate::CellJudgement;
use crate::effect::Effect;
use crate::rules::Decision;
use crate::samples::{QuantityEstimates, Samples};

#[derive(Debug, Clone, PartialEq)]
pub struct LineStep {
    pub cell: CellId,
    pub from: usize,
    pub to: usize,
    pub ratio: Option<Estimate>,
    /// Verdict on `ratio`. A step from the base has the verdict of the comparison with the base, which is the same
    /// question.
    pub verdict: Verdict,
    /// Confidence that the change exceeds the threshold in the direction of its estimate. `None` after a failure, and
    /// with fewer blocks than a verdict needs.
    pub beyond_threshold: Option<f64>,
    /// Whether reports name it: it is faster or slower, with the false discovery rate of named steps controlled over
    /// all steps of the study.
    pub is_change: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LineSummary {
    pub cell: CellId,
    pub systems: Vec<usize>,
    /// Operations per second of the last system relative to the first.
    pub ratio: Option<Estimate>,
    pub verdict: Verdict,
    /// The step that changed most. `None` if `ratio` has not changed, or no step in its direction is named.
    pub main: Option<MainStep>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MainStep {
    pub from: usize,
    pub to: usize,
    /// Share of the whole log change; more than 1 if other steps went back.
    pub share: f64,
    pub confidence: f64,
}

pub(crate) fn steps(
    record: &StudyRecord,
    samples: &Samples,
    cells: &[CellJudgement],
) -> (Vec<LineStep>, Vec<LineSummary>) {
    let lines = lines(&record.systems, &asked(record), samples.base());
    let pairs = pairs(&lines, samples.base());
    let (rates, decisions) = samples.compare(&pairs);
    let (base, systems) = (samples.base(), record.systems.len());
    let compared = StepPairs { base, systems, cells, pairs, rates, decisions };
    let (mut steps, mut summaries) = (Vec::new(), Vec::new());
    for (number, planned) in record.study.cells.iter().enumerate() {
        for line in &lines {
            let of_line: Vec<(LineStep, Option<Effect>)> = neighbours(line)
                .map(|(from, to)| compared.step(number, planned.id, from, to))
                .collect();
            if let &[first, _, .., last] = line.as_slice() {
                let (whole, _) = compared.step(number, planned.id, first, last);
                summaries.push(summary(line, whole, &of_line));
            }
            steps.extend(of_line.into_iter().map(|(step, _)| step));
        }
    }
    (steps, summaries)
}

/// Pairs of systems for which posts print statistics of groups besides those with the base: each version of another
/// line with the oldest of that line, and the newest version of the line of the base with the newest of each other
/// line. The first of a pair is the divisor.
pub(crate) fn published_pairs(record: &StudyRecord, base: usize) -> Vec<(usize, usize)> {
    let mut lines = all_lines(&record.systems, &asked(record));
    for line in &mut lines {
        line.sort_by_key(|&system| version_numbers(record.systems[system].artifact.version()));
    }
    let last_of_base = lines.iter().find(|line| line.contains(&base)).and_then(|line| line.last());
    let last_of_base = last_of_base.copied().filter(|last| *last != base);
    let mut pairs = Vec::new();
    for line in lines.iter().filter(|line| !line.contains(&base)) {
        let [first, later @ .., last] = line.as_slice() else { continue };
        pairs.extend(later.iter().chain([last]).map(|system| (*first, *system)));
        pairs.extend(last_of_base.map(|system| (*last, system)));
    }
    pairs
}

/// Numbers that compare in order, whatever separates them: `8.0.36-28` is `[8, 0, 36, 28]`.
fn version_numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn lines(systems: &[System], asked: &[StepOptions], base: usize) -> Vec<Vec<usize>> {
    let mut lines = all_lines(systems, asked);
    lines.retain(|line| line.len() > if line.contains(&base) { 2 } else { 1 });
    lines
}

/// Including lines of a single system.
fn all_lines(systems: &[System], asked: &[StepOptions]) -> Vec<Vec<usize>> {
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let versions = systems.iter().enumerate().filter(|(_, system)| !system.is_twin);
    for (index, system) in versions {
        let is_same_line = |line: &&mut Vec<usize>| {
            let first = line[0];
            is_neighbour(&systems[first], system) && asked[first] == asked[index]
        };
        match lines.iter_mut().find(is_same_line) {
            Some(line) => line.push(index),
            None => lines.push(vec![index]),
        }
    }
    lines
}

fn is_neighbour(one: &System, other: &System) -> bool {
    let settings = |system: &System| (system.spec.product, system.spec.engine);
    settings(one) == settings(other)
}

type StepOptions = Vec<(String, String)>;

/// Requested options and flags of each system, including config file options that its version rejects.
fn asked(record: &StudyRecord) -> Vec<StepOptions> {
    let of_system = |(index, system): (usize, &System)| {
        let events = record.events.iter().filter(|event| event.system == Some(index));
        let left_out = events.filter_map(|event| match &event.what {
            EventKind::ConfigLeftOut { options } => Some(options),
            _ => None,
        });
        let left_out = left_out.flatten().map(|it| (it.name.clone(), it.value.clone()));
        let flags = system.spec.build.iter().map(|(flag, value)| (flag.option(), value.clone()));
        let options = system.spec.overrides.iter().cloned();
        let mut all: StepOptions = options.chain(flags).chain(left_out).collect();
        all.sort();
        all
    };
    record.systems.iter().enumerate().map(of_system).collect()
}

fn neighbours(line: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    line.iter().copied().zip(line.iter().copied().skip(1))
}

/// Pairs of systems to compare: neighbours of every line, and its first with its last system unless the cells compare
/// these two.
fn pairs(lines: &[Vec<usize>], base: usize) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = lines.iter().flat_map(|line| neighbours(line)).collect();
    let wholes = lines.iter().filter_map(|line| match line.as_slice() {
        &[first, _, .., last] => Some((first, last)),
        _ => None,
    });
    pairs.extend(wholes.filter(|(first, _)| *first != base));
    pairs
}

struct StepPairs<'a> {
    base: usize,
    systems: usize,
    cells: &'a [CellJudgement],
    pairs: Vec<(usize, usize)>,
    rates: QuantityEstimates,
    decisions: Vec<Decision>,
}

impl StepPairs<'_> {
    fn step(
        &self,
        number: usize,
        cell: CellId,
        from: usize,
        to: usize,
    ) -> (LineStep, Option<Effect>) {
        let pair = self.pairs.iter().position(|pair| *pair == (from, to));
        let index = pair.map(|pair| number * self.pairs.len() + pair);
        let decision = index.map(|index| &self.decisions[index]);
        let called = decision.map_or(Verdict::Undecided, |it| it.verdict);
        let effect = index.and_then(|index| self.rates.effects[index]);
        let effect = effect.filter(|_| called != Verdict::Failed);
        let (ratio, verdict) = if from == self.base {
            let judged = &self.cells[number * self.systems + to];
            (judged.rqps, judged.verdict)
        } else {
            (index.and_then(|index| self.rates.shown(index)), called)
        };
        let step = LineStep {
            cell,
            from,
            to,
            ratio,
            verdict,
            beyond_threshold: decision.and_then(|it| it.beyond).filter(|_| effect.is_some()),
            is_change: is_called(verdict) && called == verdict,
        };
        (step, effect)
    }
}

fn is_called(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn summary(line: &[usize], whole: LineStep, steps: &[(LineStep, Option<Effect>)]) -> LineSummary {
    LineSummary {
        cell: whole.cell,
        systems: line.to_vec(),
        ratio: whole.ratio,
        verdict: whole.verdict,
        main: main_step(&whole, steps),
    }
}

/// The largest named step in the direction of the whole change; `None` without any, or if a step was not measured.
fn main_step(whole: &LineStep, steps: &[(LineStep, Option<Effect>)]) -> Option<MainStep> {
    let measured: Option<Vec<(&LineStep, Effect)>> =
        steps.iter().map(|(step, effect)| Some((step, (*effect)?))).collect();
    let measured = measured.filter(|_| is_called(whole.verdict))?;
    let named = measured
        .iter()
        .enumerate()
        .filter(|(_, (step, _))| step.is_change && step.verdict == whole.verdict);
    let (position, (main, effect)) =
        named.max_by(|(_, (_, a)), (_, (_, b))| a.log.abs().total_cmp(&b.log.abs()))?;
    let others = measured.iter().enumerate().filter(|(other, _)| *other != position);
    let doubts = others.map(|(other, (_, smaller))| {
        let ahead = effect.minus(smaller, other.abs_diff(position) == 1);
        let certain = ahead.beyond(0.0);
        if (ahead.log < 0.0) == (effect.log < 0.0) { 1.0 - certain } else { certain }
    });
    Some(MainStep {
        from: main.from,
        to: main.to,
        share: effect.log / whole.ratio?.value.ln(),
        confidence: (1.0 - doubts.sum::<f64>()).max(0.0),
    })
}

impl Effect {
    /// Difference from another step of the same line. Neighbours share a system, whose error enters the two with
    /// opposite signs. Its variance is at most that of either step, so the variance of the difference is not
    /// underestimated.
    fn minus(&self, other: &Self, are_neighbours: bool) -> Self {
        let (own, others) = (self.se * self.se, other.se * other.se);
        let shared = if are_neighbours { own.min(others) } else { 0.0 };
        let mut difference = *self;
        difference.log -= other.log;
        difference.se = (own + others + 2.0 * shared).sqrt();
        difference.df = self.df.min(other.df);
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::effect;
    use assay_model::{Setup, TestSet};
    use assay_workloads::tests_of;

    fn cell() -> CellId {
        let setup = Setup { clients: 1, tables: 1, rows: 1 };
        CellId { test: tests_of(TestSet::Set32)[0], setup }
    }

    fn step(from: usize, log: f64, verdict: Verdict) -> LineStep {
        LineStep {
            cell: cell(),
            from,
            to: from + 1,
            ratio: Some(Estimate::without_interval(log.exp())),
            verdict,
            beyond_threshold: None,
            is_change: is_called(verdict),
        }
    }

    /// Steps with these logs and standard errors; called ones have a verdict.
    fn main(logs: &[(f64, f64)], verdicts: &[Verdict], whole: Verdict) -> Option<MainStep> {
        let steps: Vec<(LineStep, Option<Effect>)> = logs
            .iter()
            .zip(verdicts)
            .enumerate()
            .map(|(from, ((log, se), verdict))| {
                (step(from, *log, *verdict), Some(effect(*log, *se, 30.0)))
            })
            .collect();
        let sum: f64 = logs.iter().map(|(log, _)| log).sum();
        main_step(&step(0, sum, whole), &steps)
    }

    use Verdict::{Faster, Same, Slower, Undecided};

    #[test]
    fn the_main_step_is_the_largest_in_the_direction_of_the_whole() {
        let found =
            main(&[(-0.01, 0.002), (-0.08, 0.002), (0.01, 0.002)], &[Same, Slower, Same], Slower)
                .unwrap();
        assert_eq!((found.from, found.to), (1, 2));
        assert!((found.share - 1.0).abs() < 1e-9 && found.confidence > 0.999, "{found:?}");
        // A larger step in the other direction is not the main one.
        let found = main(
            &[(0.05, 0.002), (-0.04, 0.002), (-0.06, 0.002)],
            &[Faster, Slower, Slower],
            Slower,
        )
        .unwrap();
        assert_eq!((found.from, found.share.round()), (2, 1.0));
    }

    #[test]
    fn two_steps_of_the_same_size_leave_it_open_which_is_larger() {
        let found = main(&[(-0.05, 0.005), (-0.051, 0.005)], &[Slower, Slower], Slower).unwrap();
        assert!((0.4..0.6).contains(&found.confidence), "{found:?}");
        // The other step may be larger although it is not decided.
        let found = main(&[(-0.05, 0.005), (-0.06, 0.04)], &[Slower, Undecided], Slower).unwrap();
        assert!(found.from == 0 && found.confidence < 0.5, "{found:?}");
    }

    #[test]
    fn without_a_change_or_a_named_step_there_is_no_main_one() {
        let logs = [(-0.03, 0.02), (-0.03, 0.02)];
        assert_eq!(main(&logs, &[Undecided, Undecided], Slower), None);
        assert_eq!(main(&logs, &[Slower, Undecided], Same), None);
        assert_eq!(main(&logs, &[Faster, Undecided], Slower), None);
    }
}
