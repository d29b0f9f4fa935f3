//! Instructions per operation and cycles per instruction: whether a version executes more code, or the same code more
//! slowly.

use assay_model::{Estimate, ProcessorPart};

use crate::change::QuantityChange;
use crate::looks::ALPHA;
use crate::student::upper_quantile;

/// Processor counters of serving threads, in a system and in the base. The intervals reflect variation between counting
/// periods, but not between instances.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorChange {
    /// Per operation.
    pub instructions: QuantityChange,
    /// Per instruction.
    pub cycles: QuantityChange,
}

pub(crate) fn change(base: &[ProcessorPart], other: &[ProcessorPart]) -> Option<ProcessorChange> {
    let (instructions, cycles) =
        (|it: &ProcessorPart| it.instructions as f64, |it: &ProcessorPart| it.cycles as f64);
    Some(ProcessorChange {
        instructions: changed([base, other], instructions, |it| it.ops)?,
        cycles: changed([base, other], cycles, instructions)?,
    })
}

fn changed(
    sides: [&[ProcessorPart]; 2],
    above: impl Fn(&ProcessorPart) -> f64,
    below: impl Fn(&ProcessorPart) -> f64,
) -> Option<QuantityChange> {
    let mut of_sides = [(0.0, 0.0); 2];
    for (parts, of_side) in sides.into_iter().zip(&mut of_sides) {
        let total = |value: &dyn Fn(&ProcessorPart) -> f64| parts.iter().map(value).sum::<f64>();
        let value = total(&above) / total(&below);
        // Variance of a ratio of totals, linearised.
        let squares = parts.iter().map(|it| (above(it) - value * below(it)).powi(2)).sum::<f64>();
        let count = parts.len() as f64;
        let variance = squares * count / (count - 1.0) / total(&below).powi(2);
        *of_side = (value, variance);
    }
    let [(before, of_base), (after, of_other)] = of_sides;
    // The divisors are numbers of operations or of instructions.
    let is_counted = |parts: &&[ProcessorPart]| parts.iter().map(&below).sum::<f64>() >= 1.0;
    if !(before.is_finite() && after.is_finite() && before > 0.0 && sides.iter().all(is_counted)) {
        return None;
    }
    let value = after - before;
    let by = match sides.iter().map(|parts| parts.len()).min() {
        Some(fewest) if fewest > 1 => {
            let freedom = (fewest - 1) as f64;
            let half = upper_quantile(0.5 * ALPHA, freedom) * (of_base + of_other).sqrt();
            Estimate { value, low: value - half, high: value + half }
        }
        _ => Estimate::without_interval(value),
    };
    Some(QuantityChange { before, after, by })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(instructions: [u64; 4], cycles_each: f64) -> Vec<ProcessorPart> {
        let part = |instructions: u64| ProcessorPart {
            ops: 100.0,
            instructions,
            cycles: (instructions as f64 * cycles_each) as u64,
        };
        instructions.map(part).to_vec()
    }

    #[test]
    fn more_code_is_told_apart_from_slower_code() {
        let base = parts([1_000_000, 1_001_000, 999_000, 1_000_500], 0.8);
        let more = parts([1_100_000, 1_101_000, 1_099_000, 1_100_500], 0.8);
        let found = change(&base, &more).unwrap();
        assert!((found.instructions.after / found.instructions.before - 1.1).abs() < 1e-3);
        assert!(found.instructions.is_certain() && !found.cycles.is_certain(), "{found:?}");
        let slower = parts([1_000_000, 1_001_000, 999_000, 1_000_500], 0.9);
        let found = change(&base, &slower).unwrap();
        assert!(!found.instructions.is_certain() && found.cycles.is_certain(), "{found:?}");
        assert!((found.cycles.by.value - 0.1).abs() < 1e-3);
        assert_eq!(change(&base, &[]), None);
        let none = [ProcessorPart { ops: 0.1, instructions: 10, cycles: 10 }];
        assert_eq!(change(&base, &none), None);
    }
}
