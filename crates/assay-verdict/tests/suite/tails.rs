//! Judges the tails of simulated latencies whose true changes are known. Seeded, so deterministic.

use assay_model::{CellId, CpuVerdict, PlannedCell, Preset, StudyRecord};
use assay_verdict::{CellJudgement, CpuJudgement, Judgement, judge};
use assay_workloads::{OltpOptions, oltp_tests};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2Serializer};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{Noise, Simulation, empty, slice};

const BLOCKS: u32 = 4;
const ROUNDS: u32 = 16;

/// Share of slow events. Their times have a Pareto distribution without a variance.
const SLOW: f64 = 0.03;
const PARETO: f64 = 1.5;

/// Standard deviations of the logarithm of slow times: between instances, and between rounds of both systems.
const INSTANCE_SD: f64 = 0.03;
const ROUND_SD: f64 = 0.1;

/// The scripts of sysbench on two systems that are alike, but for slow events.
#[derive(Clone, Copy)]
struct TailStudy {
    seed: u64,
    events: u32,
    /// Tests, from the first on, in which slow events of the second system take this many times as long.
    changed: usize,
    factor: f64,
}

impl TailStudy {
    const EQUAL: Self = Self { seed: 0, events: 400, changed: 0, factor: 1.0 };

    fn record(self) -> StudyRecord {
        let mut record = empty(self.seed, Preset::Quick, BLOCKS);
        let like = record.study.cells[0].clone();
        let cell = |test| PlannedCell { id: CellId { test, ..like.id }, ..like.clone() };
        record.study.cells = oltp_tests(&OltpOptions::default()).into_iter().map(cell).collect();
        let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(self.seed));
        let cells: Vec<CellId> = record.study.cells.iter().map(|cell| cell.id).collect();
        for block in 0..BLOCKS {
            for (number, cell) in cells.iter().enumerate() {
                let instances = [(); 2].map(|()| INSTANCE_SD * noise.normal());
                for round in 0..ROUNDS {
                    let common = ROUND_SD * noise.normal();
                    for (system, instance) in instances.iter().enumerate() {
                        let is_changed = system == 1 && number < self.changed;
                        let factor = if is_changed { self.factor } else { 1.0 };
                        let mut slice = slice(system, *cell, block, round, 10_000.0);
                        let slow = factor * (common + instance).exp();
                        slice.work.latency_hdr = self.latencies(&mut noise, slow);
                        record.slices.push(slice);
                    }
                }
            }
        }
        record
    }

    fn latencies(self, noise: &mut Noise, slow: f64) -> Vec<u8> {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for _ in 0..self.events {
            let us = if noise.uniform() < SLOW {
                500.0 * slow * (1.0 - noise.uniform()).powf(-1.0 / PARETO)
            } else {
                100.0 * (0.2 * noise.normal()).exp()
            };
            histogram.record((us * 1000.0) as u64).unwrap();
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        bytes
    }
}

const FIGURES: [fn(&CellJudgement) -> Option<CpuJudgement>; 2] =
    [|cell| cell.p99, |cell| cell.dispersion];

fn others(judgement: &Judgement) -> impl Iterator<Item = &CellJudgement> {
    judgement.cells.iter().filter(|cell| cell.system == 1)
}

#[test]
fn equal_tails_are_covered_and_not_called() {
    let (mut cells, mut covered, mut called) = (0, [0; 2], 0);
    for seed in 0..16 {
        let judgement = judge(&TailStudy { seed, ..TailStudy::EQUAL }.record());
        for cell in others(&judgement) {
            cells += 1;
            for (figure, covered) in FIGURES.iter().zip(&mut covered) {
                let CpuJudgement { ratio, verdict, .. } = figure(cell).unwrap();
                *covered += u32::from(ratio.low <= 1.0 && 1.0 <= ratio.high);
                called += u32::from(matches!(verdict, CpuVerdict::More | CpuVerdict::Less));
            }
        }
    }
    println!("of {cells}: covered {covered:?}, called {called}");
    let enough = 0.93 * f64::from(cells);
    assert!(covered.iter().all(|count| f64::from(*count) >= enough), "{covered:?} of {cells}");
    assert!(called <= 2, "{called} of {cells}");
}

/// The rates are equal, and so is the time of usual events.
#[test]
fn a_tail_that_is_half_as_long_again_is_found() {
    let (mut found, mut wrong, mut all) = ([0_u32; 2], 0, 0_u32);
    for seed in 100..108 {
        let study = TailStudy { seed, changed: 5, factor: 1.5, ..TailStudy::EQUAL };
        let judgement = judge(&study.record());
        for (number, cell) in others(&judgement).enumerate() {
            let is_changed = number < study.changed;
            all += u32::from(is_changed);
            for (figure, found) in FIGURES.iter().zip(&mut found) {
                match figure(cell).unwrap().verdict {
                    CpuVerdict::More if is_changed => *found += 1,
                    CpuVerdict::More | CpuVerdict::Less => wrong += 1,
                    CpuVerdict::Same | CpuVerdict::Undecided => {}
                }
            }
        }
    }
    println!("of {all} changed: found {found:?}, wrong {wrong}");
    assert!(found.iter().all(|count| 10 * count >= 9 * all), "{found:?} of {all}");
    assert!(wrong <= 2, "{wrong}");
}

#[test]
fn short_slices_and_microbenchmarks_have_no_judged_tail() {
    let short = judge(&TailStudy { events: 150, ..TailStudy::EQUAL }.record());
    let micro = judge(&Simulation::MEASURED.record());
    for judgement in [short, micro] {
        assert!(others(&judgement).all(|cell| cell.p99.is_none() && cell.dispersion.is_none()));
    }
}
