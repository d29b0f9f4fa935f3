//! Splits a study into shards, each measured by one machine.

use std::collections::BTreeSet;
use std::ops::Range;

use assay_model::limits::{BLOCKS, SHARDS};
use assay_model::{Experiment, Setup, Study, counted};

use crate::error::{PlanError, PlanResult};
use crate::outlook::{block_s, once_s};

/// A part of a study: some of its cells, and of these every `step`-th block from `first` on.
///
/// Blocks are distributed first, because a test measured by several machines shows whether it depends on the machine.
/// Cells are distributed only if there are more shards than blocks. Systems are never separated.
#[derive(Debug, Clone, PartialEq)]
pub struct ShardPart {
    pub cells: Range<usize>,
    pub first: u32,
    pub step: u32,
    pub budget_s: f64,
}

/// All shards of a study, in order. They take about the same time, and together the study's budget. Fails for more
/// shards than parts.
pub fn shards(study: &Study, systems: usize, count: u32) -> PlanResult<Vec<ShardPart>> {
    let units = units(study);
    let blocks = blocks(study, systems);
    let most = blocks.saturating_mul(units.len() as u32).min(*SHARDS.end());
    if !(1..=most).contains(&count) {
        let why = format!("this study has at most {}", counted(u64::from(most), "shard"));
        return Err(PlanError::out_of_range("--shard", format!("N/{count}"), why));
    }
    let seconds = |cells: &Range<usize>| once_s(&study.cells[cells.clone()], systems);
    let weights: Vec<f64> = units.iter().map(seconds).collect();
    let all_s = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut shards = Vec::new();
    for (group, step) in evenly(&weights, count, blocks) {
        let cells = units[group.start].start..units[group.end - 1].end;
        let share = sum(&weights, &group) / all_s / f64::from(step);
        let least_s = match study.experiment {
            Experiment::Interleaved => block_s(&study.cells[cells.clone()], systems),
            _ => 0.0,
        };
        let budget_s = (study.budget_s * share).max(least_s.min(study.budget_s));
        let part = |first| ShardPart { cells: cells.clone(), first, step, budget_s };
        shards.extend((0..step).map(part));
    }
    Ok(shards)
}

fn sum(weights: &[f64], group: &Range<usize>) -> f64 {
    weights[group.clone()].iter().sum()
}

/// Ratio of the longest shard to the mean above which units are distributed more finely, which must then shorten it by
/// the same ratio: tests measured by several machines are worth some time.
const UNEVEN: f64 = 1.03;

/// Groups of consecutive units, each with the number of shards, at most `blocks`, that share its blocks. Uses as few
/// groups as give shards of about equal time, not counting server starts.
fn evenly(weights: &[f64], count: u32, blocks: u32) -> Vec<(Range<usize>, u32)> {
    let mean_s = weights.iter().sum::<f64>() / f64::from(count);
    let mut best = (f64::INFINITY, Vec::new());
    for groups in count.div_ceil(blocks)..=count.min(weights.len() as u32) {
        let groups = groups_of(weights, count, groups);
        let group_s: Vec<f64> = groups.iter().map(|group| sum(weights, group)).collect();
        let steps = steps_of(&group_s, count, blocks);
        let shard_s = group_s.iter().zip(&steps).map(|(group_s, step)| group_s / f64::from(*step));
        let longest_s = shard_s.fold(0.0, f64::max);
        if longest_s * UNEVEN < best.0 {
            best = (longest_s, groups.into_iter().zip(steps).collect());
        }
        if best.0 <= UNEVEN * mean_s {
            break;
        }
    }
    best.1
}

/// Splits units into `count` groups of consecutive units, at least one each, with times proportional to their numbers
/// of shards, which differ by at most one.
fn groups_of(weights: &[f64], shards: u32, count: u32) -> Vec<Range<usize>> {
    let all_s: f64 = weights.iter().sum();
    let (mut taken, mut taken_s, mut before) = (0, 0.0, 0);
    let group = |number: u32| {
        let from = taken;
        before += shards / count + u32::from(number < shards % count);
        let until_s = all_s * f64::from(before) / f64::from(shards);
        // Each following group has at least one unit, and the last takes all that remain.
        let last = weights.len() - (count - 1 - number) as usize;
        while taken < last {
            let unit_s = weights[taken];
            let is_next = taken == from || taken_s + 0.5 * unit_s < until_s;
            if !is_next && number + 1 < count {
                break;
            }
            (taken, taken_s) = (taken + 1, taken_s + unit_s);
        }
        from..taken
    };
    (0..count).map(group).collect()
}

/// Distributes `count` shards among groups, from one to `most` each, to minimise the longest shard.
fn steps_of(group_s: &[f64], count: u32, most: u32) -> Vec<u32> {
    let mut steps = vec![1; group_s.len()];
    for _ in group_s.len() as u32..count {
        let shard_s = |(group, step): (usize, &u32)| (group_s[group] / f64::from(*step), group);
        let open = steps.iter().enumerate().filter(|(_, step)| **step < most);
        let longest = open.map(shard_s).max_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((_, group)) = longest {
            steps[group] += 1;
        }
    }
    steps
}

/// The study of shard `number`, from 1, with its part. Fails as [`shards`] does, and for a number out of range.
pub fn shard(
    mut study: Study,
    systems: usize,
    number: u32,
    of: u32,
) -> PlanResult<(Study, ShardPart)> {
    let shards = shards(&study, systems, of)?;
    let part = number.checked_sub(1).and_then(|it| shards.into_iter().nth(it as usize));
    let Some(part) = part else {
        let why = format!("the shards are numbered from 1 to {of}");
        return Err(PlanError::out_of_range("--shard", number, why));
    };
    study.cells = study.cells[part.cells.clone()].to_vec();
    let used: BTreeSet<Setup> = study.cells.iter().map(|cell| cell.id.setup).collect();
    study.setups.retain(|setup| used.contains(setup));
    if let Some(limits) = &mut study.limits {
        limits.margins = limits.margins[part.cells.clone()].to_vec();
    }
    study.budget_s = part.budget_s;
    // Shards with the same cells have the same number of blocks.
    study.blocks = study.blocks.next_multiple_of(part.step).min(*BLOCKS.end());
    Ok((study, part))
}

/// Cells that stay together: the tests on one data set if they run in a sequence, and all steps of the Insert
/// Benchmark, which build on each other.
fn units(study: &Study) -> Vec<Range<usize>> {
    let data = |cell: usize| study.cells[cell].id.setup.data();
    let are_together = |first: usize, cell: usize| match study.experiment {
        Experiment::Interleaved | Experiment::Counted => false,
        Experiment::Sequential => data(first) == data(cell),
        Experiment::Stepwise | Experiment::Consecutive => true,
    };
    let mut units: Vec<Range<usize>> = Vec::new();
    for cell in 0..study.cells.len() {
        match units.last_mut() {
            Some(unit) if are_together(unit.start, cell) => unit.end = cell + 1,
            _ => units.push(cell..cell + 1),
        }
    }
    units
}

fn blocks(study: &Study, systems: usize) -> u32 {
    let fitting = match study.experiment {
        Experiment::Interleaved => (study.budget_s / block_s(&study.cells, systems)) as u32,
        Experiment::Stepwise | Experiment::Consecutive => study.blocks,
        Experiment::Sequential | Experiment::Counted => 1,
    };
    fitting.clamp(1, study.blocks.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{MachineFacts, Request, StudyPlan, plan};

    const MACHINE: MachineFacts =
        MachineFacts { cpus: 4, memory_mb: 640_000, disk_mb: 500_000, realtime: None };

    fn planned(change: impl FnOnce(&mut Request)) -> StudyPlan {
        let mut request =
            Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()]);
        change(&mut request);
        plan(&request, MACHINE).unwrap()
    }

    fn split(plan: &StudyPlan, count: u32) -> Vec<ShardPart> {
        shards(&plan.study, plan.systems.len(), count).unwrap()
    }

    #[test]
    fn one_shard_is_the_whole_study() {
        let plan = planned(|_| ());
        let whole = ShardPart {
            cells: 0..plan.study.cells.len(),
            first: 0,
            step: 1,
            budget_s: plan.study.budget_s,
        };
        assert_eq!(split(&plan, 1), [whole]);
        let (narrowed, _) = shard(plan.study.clone(), 2, 1, 1).unwrap();
        assert_eq!(narrowed, plan.study);
    }

    #[test]
    fn blocks_are_shared_out_before_cells() {
        let plan = planned(|request| request.budget_s = Some(3600.0));
        let three = split(&plan, 3);
        assert!(three.iter().all(|part| part.cells == (0..32) && part.step == 3));
        assert!(three.iter().all(|part| (part.budget_s - 1200.0).abs() < 1e-6), "{three:?}");
        let short = planned(|request| request.budget_s = Some(60.0));
        let many = split(&short, 20);
        assert!(many.iter().all(|part| part.cells.len() < 32), "{many:?}");
    }

    #[test]
    fn shards_take_about_the_same_time_and_tests_stay_on_several_machines() {
        let even = [1.0; 32];
        for (count, blocks) in [(5, 4), (7, 4), (7, 5), (11, 5), (30, 8)] {
            let shared = evenly(&even, count, blocks);
            let longest = shared.iter().map(|(units, step)| units.len() as f64 / f64::from(*step));
            let longest = longest.fold(0.0, f64::max) * f64::from(count) / 32.0;
            assert!(longest < 1.1 && shared.iter().all(|(_, step)| *step > 1), "{shared:?}");
            assert_eq!(shared.iter().map(|(_, step)| step).sum::<u32>(), count);
        }
        assert_eq!(evenly(&even, 5, 4), [(0..19, 3), (19..32, 2)]);
        // Equal numbers of shards would make some of these take twice as long as others.
        let uneven: Vec<f64> = (0..32).map(|it| if it < 20 { 1.0 } else { 3.0 }).collect();
        let longest = evenly(&uneven, 60, 8);
        let shard_s = longest.iter().map(|(units, step)| sum(&uneven, units) / f64::from(*step));
        assert!(shard_s.fold(0.0, f64::max) < 1.15 * 56.0 / 60.0, "{longest:?}");
    }

    #[test]
    fn there_are_no_more_shards_than_there_is_to_share_out() {
        let counted = planned(|request| request.count = assay_model::Counting::Only);
        assert_eq!(split(&counted, 32).len(), 32);
        let error = shards(&counted.study, 2, 33).unwrap_err().to_string();
        assert!(error.contains("at most 32 shards"), "{error}");
        assert!(shards(&counted.study, 2, 0).is_err());
        assert!(shard(counted.study, 2, 3, 2).is_err());
    }

    #[test]
    fn a_sequence_stays_whole_and_its_data_sets_do_not() {
        let with = |rows: &[u32]| {
            planned(|request| {
                request.preset = assay_model::Preset::Published;
                let setup = request.setups[0].clone();
                let setup_with =
                    |rows: &u32| crate::SetupRequest { rows: Some(*rows), ..setup.clone() };
                request.setups = rows.iter().map(setup_with).collect();
            })
        };
        assert!(shards(&with(&[1000]).study, 2, 2).is_err());
        let two = with(&[1000, 2000]);
        let cells: Vec<_> = split(&two, 2).into_iter().map(|part| part.cells).collect();
        let half = two.study.cells.len() / 2;
        assert_eq!(cells, [0..half, half..2 * half]);
        let (second, _) = shard(two.study, 2, 2, 2).unwrap();
        assert_eq!(second.setups.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_block_of_every_cell_is_in_one_shard(count in 1_u32..300, budget in 10.0..100_000.0) {
            let plan = planned(|request| request.budget_s = Some(budget));
            let Ok(parts) = shards(&plan.study, 2, count) else { return Ok(()) };
            prop_assert_eq!(parts.len(), count as usize);
            for cell in 0..plan.study.cells.len() {
                let has: Vec<&ShardPart> = parts.iter().filter(|it| it.cells.contains(&cell)).collect();
                prop_assert!(!has.is_empty());
                let firsts: Vec<u32> = has.iter().map(|it| it.first).collect();
                prop_assert_eq!(firsts, (0..has.len() as u32).collect::<Vec<_>>());
                prop_assert!(has.iter().all(|it| it.step as usize == has.len()));
            }
            prop_assert!(parts.iter().all(|part| part.budget_s > 0.0));
            // The shards of a long study take about the same time.
            let longest_s = parts.iter().map(|part| part.budget_s).fold(0.0, f64::max);
            prop_assert!(
                budget < 20_000.0 || longest_s * f64::from(count) < 1.15 * plan.study.budget_s,
                "{longest_s} {count} {}", plan.study.budget_s
            );
        }
    }
}
