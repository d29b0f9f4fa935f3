//! Shorter slices for a machine that is too noisy to decide by time.

use assay_model::{Experiment, Noise, PlannedCell, Preset, Study};

use crate::outlook::{BLOCKS_MOST, FigureResolution, Fitting, blocks_within};
use crate::precision::Needs;
use crate::study::request_of;

/// Shortest slice, milliseconds, and fewest turns in one.
const SLICE_MIN_MS: u32 = 20;
const TURNS_MIN: u32 = 4;

/// The study for a machine with so much noise that times cannot decide within the budget: its rounds go to what CPU
/// time leaves undecided, and slices have half the length, because CPU time varies from round to round however long a
/// slice is. `None` if times can decide, if only times answer the question, and for lengths that the user chose.
pub fn shortened(study: &Study, systems: usize, needs: Needs, noise: &Noise) -> Option<Study> {
    let is_adaptive = study.experiment == Experiment::Interleaved
        && study.preset != Preset::Smoke
        && !study.answers_by_time_only();
    let request = request_of(study).ok().filter(|_| is_adaptive)?;
    let is_chosen =
        [request.slice_s, request.write_slice_s, request.turn_s].iter().any(Option::is_some);
    let fitting = Fitting::planned(study, systems, study.budget_s);
    let resolution = FigureResolution::new(study, fitting, needs, noise)?;
    if is_chosen || !resolution.is_blind(needs.threshold) {
        return None;
    }
    let cells: Vec<PlannedCell> = study.cells.iter().map(shorter).collect();
    let blocks = match request.blocks {
        Some(_) => study.blocks,
        None => blocks_within(study.budget_s, &cells, systems)
            .clamp(study.blocks, BLOCKS_MOST.max(study.blocks)),
    };
    Some(Study { cells, blocks, is_noisy: true, ..study.clone() })
}

fn shorter(cell: &PlannedCell) -> PlannedCell {
    let least_ms = SLICE_MIN_MS.max(TURNS_MIN.saturating_mul(cell.turn_ms));
    PlannedCell { slice_ms: (cell.slice_ms / 2).max(least_ms).min(cell.slice_ms), ..cell.clone() }
}

#[cfg(test)]
mod tests {
    use assay_model::{JudgedFigures, RegressionLimits, TurnError};

    use super::*;
    use crate::{MachineFacts, Request, plan};

    const NEEDS: Needs =
        Needs { block_sd: 0.007, last_level: 0.03, threshold: 0.02, is_resumed: false };

    fn planned(request: &Request) -> Study {
        let machine =
            MachineFacts { cpus: 2, memory_mb: 256_000, disk_mb: 500_000, realtime: None };
        plan(request, machine).unwrap().study
    }

    fn request() -> Request {
        Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()])
    }

    /// The same error after a second at all lengths of turns.
    fn noise(error: f64) -> Noise {
        let turns = [1.0, 100.0].map(|turn_ms| TurnError { turn_ms, error });
        Noise { turns: turns.to_vec(), ..Noise::default() }
    }

    fn resolution(study: &Study, error: f64) -> FigureResolution {
        let fitting = Fitting::planned(study, 2, study.budget_s);
        FigureResolution::new(study, fitting, NEEDS, &noise(error)).unwrap()
    }

    #[test]
    fn cpu_time_is_firm_where_times_are_not() {
        let study = planned(&request());
        let [quiet, busy] = [0.003, 0.5].map(|error| resolution(&study, error));
        assert!(!quiet.is_blind(0.02) && busy.is_blind(0.02), "{quiet:?} {busy:?}");
        assert_eq!(quiet.by_cpu, busy.by_cpu);
        assert!((0.02..0.1).contains(&busy.by_cpu), "{busy:?}");
        // Many clients have wide intervals on a quiet machine too.
        let mut many = Request { budget_s: Some(120.0), ..request() };
        many.setups[0].clients = Some(vec![8, 16]);
        assert!(!resolution(&planned(&many), 0.003).is_blind(0.02));
        let fitting = Fitting { blocks: 0, ..Fitting::planned(&study, 2, 300.0) };
        assert_eq!(FigureResolution::new(&study, fitting, NEEDS, &noise(0.5)), None);
    }

    #[test]
    fn slices_are_shorter_where_times_cannot_decide() {
        let study = planned(&request());
        assert_eq!(shortened(&study, 2, NEEDS, &noise(0.003)), None);
        let short = shortened(&study, 2, NEEDS, &noise(0.5)).unwrap();
        let lengths = study.cells.iter().zip(&short.cells);
        assert!(lengths.clone().all(|(long, short)| 2 * short.slice_ms == long.slice_ms));
        assert!(lengths.clone().all(|(long, short)| short.turn_ms == long.turn_ms));
        assert!(short.is_noisy && !study.is_noisy);
        assert!(short.blocks >= study.blocks, "{} {}", short.blocks, study.blocks);
        let block = |study: &Study| Fitting::planned(study, 2, 300.0).block_s();
        assert!(block(&short) < block(&study));
        // The user's choice holds.
        let chosen = planned(&Request { slice_s: Some(0.1), ..request() });
        assert_eq!(shortened(&chosen, 2, NEEDS, &noise(0.5)), None);
        let timed = planned(&Request { judge: JudgedFigures::Time, ..request() });
        assert_eq!(shortened(&timed, 2, NEEDS, &noise(0.5)), None);
        let margins = vec![0.05; study.cells.len()];
        let limits = Some(RegressionLimits { margins, allow_undecided: false });
        let limited = Study { limits, ..study.clone() };
        assert_eq!(shortened(&limited, 2, NEEDS, &noise(0.5)), None);
        let smoke = planned(&Request { preset: Preset::Smoke, ..request() });
        assert_eq!(shortened(&smoke, 2, NEEDS, &noise(0.5)), None);
        let blocks = planned(&Request { blocks: Some(3), ..request() });
        assert_eq!(shortened(&blocks, 2, NEEDS, &noise(0.5)).unwrap().blocks, 3);
    }
}
