//! Noise of a machine's speed, from the durations of equal pieces of work. Pure.

use assay_model::{Correlation, Noise, TurnError};

/// Lags of the autocorrelation of speed, milliseconds.
const LAGS_MS: [f64; 9] = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

/// Lengths of turns, milliseconds.
const TURNS_MS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

/// Sampling interval of the speed, milliseconds.
const SAMPLE_MS: f64 = 0.5;

/// The share of samples at either end that is winsorised: an interrupted step says little about the speed.
const ODD_SAMPLES: f64 = 0.005;

/// The share of differences trimmed at either end. Verdicts leave out twice that share, at both ends together.
const TRIM: f64 = 0.1;

/// Fewest groups of four turns from which an error is estimated.
const GROUPS_MIN: usize = 16;

/// A longer turn is preferred if its error is at most this many times the smallest.
const CLOSE: f64 = 1.15;

/// Time that a turn costs in addition to its measured part, milliseconds.
const TURN_COSTS_MS: f64 = 0.3;

/// The noise in the durations of consecutive equal steps. `None` if they are too few.
pub fn noise(steps_ns: &[u32]) -> Option<Noise> {
    let steps_ms: Vec<f64> = steps_ns.iter().map(|ns| f64::from((*ns).max(1)) / 1e6).collect();
    let turns = turn_errors(&steps_ms);
    Some(Noise {
        seconds: steps_ms.iter().sum::<f64>() / 1e3,
        correlations: correlations(&steps_ms),
        asked_ms: asked_ms(&turns)?,
        turns,
    })
}

/// The longest turn whose error in a given time is close to the smallest. Every turn costs time.
fn asked_ms(turns: &[TurnError]) -> Option<f64> {
    let in_time = |turn: &TurnError| turn.error * (1.0 + TURN_COSTS_MS / turn.turn_ms).sqrt();
    let least = turns.iter().map(in_time).min_by(f64::total_cmp)?;
    let close = turns.iter().filter(|turn| in_time(turn) <= CLOSE * least);
    close.map(|turn| turn.turn_ms).max_by(f64::total_cmp)
}

fn correlations(steps_ms: &[f64]) -> Vec<Correlation> {
    let mut speeds = log_speeds(steps_ms);
    winsorise(&mut speeds, ODD_SAMPLES);
    let mean = mean(&speeds);
    speeds.iter_mut().for_each(|speed| *speed -= mean);
    let variance = speeds.iter().map(|speed| speed * speed).sum::<f64>() / speeds.len() as f64;
    let value = |lag_ms: f64| {
        let lag = (lag_ms / SAMPLE_MS) as usize;
        // A lag that occurs only a few times says nothing.
        let later = speeds.get(lag..).filter(|later| later.len() > 4 * lag && variance > 0.0)?;
        let products = speeds.iter().zip(later).map(|(speed, later)| speed * later);
        let value = products.sum::<f64>() / later.len() as f64 / variance;
        Some(Correlation { lag_ms, value: value.clamp(-1.0, 1.0) })
    };
    LAGS_MS.into_iter().filter_map(value).collect()
}

/// The logarithm of the speed, in steps per millisecond, in every whole interval of the series.
fn log_speeds(steps_ms: &[f64]) -> Vec<f64> {
    let mut speeds = Vec::new();
    let (mut left_ms, mut done) = (SAMPLE_MS, 0.0);
    for &step_ms in steps_ms {
        let mut of_step_ms = step_ms;
        while of_step_ms >= left_ms {
            done += left_ms / step_ms;
            of_step_ms -= left_ms;
            speeds.push((done / SAMPLE_MS).ln());
            (left_ms, done) = (SAMPLE_MS, 0.0);
        }
        done += of_step_ms / step_ms;
        left_ms -= of_step_ms;
    }
    speeds
}

/// The error of the ratio of two equal systems that take turns in the order A B B A, by the length of a turn: the
/// standard error of a trimmed mean over all groups of four turns in the series. Groups overlap, which uses the series
/// better but does not count as more measurements.
fn turn_errors(steps_ms: &[f64]) -> Vec<TurnError> {
    let step_ms = mean(steps_ms);
    let mut errors: Vec<TurnError> = Vec::new();
    for turn_ms in TURNS_MS {
        let steps = ((turn_ms / step_ms).round() as usize).max(1);
        let turns: Vec<f64> =
            steps_ms.chunks_exact(steps).map(|turn| turn.iter().sum::<f64>().ln()).collect();
        let mut differences: Vec<f64> = (turns.windows(4))
            .map(|turns| (turns[0] - turns[1] - turns[2] + turns[3]) / 2.0)
            .collect();
        // On a slow machine, a single step may be longer than a turn.
        if differences.len() < GROUPS_MIN || step_ms > 2.0 * turn_ms {
            continue;
        }
        winsorise(&mut differences, TRIM);
        let squares = differences.iter().map(|difference| difference * difference);
        let deviation = (squares.sum::<f64>() / differences.len() as f64).sqrt();
        let group_s = 4.0 * steps as f64 * step_ms / 1e3;
        errors.push(TurnError { turn_ms, error: deviation / (1.0 - 2.0 * TRIM) * group_s.sqrt() });
    }
    errors
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Moves this share of the values at either end to the next value within.
fn winsorise(values: &mut [f64], share: f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = (share * sorted.len() as f64) as usize;
    if sorted.is_empty() {
        return;
    }
    let (low, high) = (sorted[cut], sorted[sorted.len() - 1 - cut]);
    values.iter_mut().for_each(|value| *value = value.max(low).min(high));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of about 0.1 ms with autocorrelated speed: each keeps the share `memory` of the last one's deviation.
    fn series(memory: f64, count: usize) -> Vec<u32> {
        let (mut state, mut deviation) = (7_u64, 0.0);
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let uniform = |bits: u64| (bits & 0xffff) as f64 / 65536.0 - 0.5;
            [16, 32, 48].map(|shift| uniform(state >> shift)).iter().sum::<f64>()
        };
        let fresh = (1.0 - memory * memory).sqrt();
        let step = |_| {
            deviation = memory * deviation + fresh * 0.2 * noise();
            (100_000.0 * f64::exp(deviation)) as u32
        };
        (0..count).map(step).collect()
    }

    fn error(noise: &Noise, turn_ms: f64) -> f64 {
        noise.turns.iter().find(|turn| turn.turn_ms == turn_ms).unwrap().error
    }

    fn correlation(noise: &Noise, lag_ms: f64) -> f64 {
        noise.correlations.iter().find(|at| at.lag_ms == lag_ms).unwrap().value
    }

    #[test]
    fn independent_noise_asks_for_long_turns() {
        let noise = noise(&series(0.0, 200_000)).unwrap();
        assert!((19.0..22.0).contains(&noise.seconds), "{noise:?}");
        assert!(correlation(&noise, 10.0).abs() < 0.05, "{noise:?}");
        // A sd of 0.1 (0.2 times the sd 0.5 of the sum) per step: sqrt(2 × 2 × 0.1 ms) × 0.1 after a second.
        for turn_ms in [2.0, 20.0, 200.0] {
            let ratio = error(&noise, turn_ms) / (0.1 * f64::sqrt(4.0 * 1e-4));
            assert!((0.8..1.2).contains(&ratio), "{turn_ms}: {ratio}");
        }
        assert!(noise.asked_ms >= 50.0, "{noise:?}");
    }

    #[test]
    fn noise_with_a_memory_asks_for_turns_that_are_shorter_than_it() {
        // exp(−1/500) per step of 0.1 ms: a correlation time of 50 ms.
        let noise = noise(&series(f64::exp(-1.0 / 500.0), 200_000)).unwrap();
        for (lag_ms, expected) in [(10.0, 0.82), (50.0, 0.37), (200.0, 0.02)] {
            assert!((correlation(&noise, lag_ms) - expected).abs() < 0.12, "{noise:?}");
        }
        assert!(error(&noise, 5.0) < 0.2 * error(&noise, 100.0), "{noise:?}");
        assert!(noise.asked_ms <= 2.0, "{noise:?}");
    }

    #[test]
    fn interrupted_steps_do_not_count() {
        let mut steps = series(0.0, 100_000);
        let calm = error(&noise(&steps).unwrap(), 1.0);
        steps.iter_mut().step_by(1000).for_each(|step| *step *= 50);
        let disturbed = error(&noise(&steps).unwrap(), 1.0);
        assert!(disturbed < 1.3 * calm, "{calm} {disturbed}");
    }

    #[test]
    fn short_series_have_no_noise() {
        for steps in [&[][..], &[0], &[100_000; 9], &[u32::MAX; 12]] {
            assert_eq!(noise(steps), None, "{steps:?}");
        }
        let constant = noise(&[100_000; 5000]).unwrap();
        assert!(constant.turns.iter().all(|turn| turn.error == 0.0), "{constant:?}");
    }
}
