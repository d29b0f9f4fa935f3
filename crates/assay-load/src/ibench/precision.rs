//! Precision of a step's rate, estimated from the step itself.

/// Parts of a step whose rates are compared. Variation that lasts longer than a part is not seen as noise.
const PARTS: usize = 10;

/// Minimum seconds of a step, without its first and last.
const SECONDS_MIN: usize = 20;

/// Standard error of the rate as a fraction of it, by the method of batch means: the rates of ten parts of the step
/// vary by noise and by effects longer than a second, and their mean has a tenth of their variance. The first and last
/// second are incomplete. `None` for a short step.
pub(super) fn relative_error(seconds: &[(u32, u32)]) -> Option<f64> {
    let whole = seconds.get(1..seconds.len().checked_sub(1)?)?;
    if whole.len() < SECONDS_MIN {
        return None;
    }
    let of_part = whole.len() / PARTS;
    let rate = |part: &[(u32, u32)]| {
        part.iter().map(|(count, _)| f64::from(*count)).sum::<f64>() / part.len() as f64
    };
    let rates: Vec<f64> = whole.chunks_exact(of_part).take(PARTS).map(rate).collect();
    let parts = PARTS as f64;
    let mean = rates.iter().sum::<f64>() / parts;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (parts - 1.0);
    (mean > 0.0).then(|| (variance / parts).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_differ_make_a_rate_uncertain() {
        let step = |rate: fn(usize) -> u32| -> Vec<(u32, u32)> {
            (0..102).map(|second| (rate(second), 0)).collect()
        };
        assert_eq!(relative_error(&step(|_| 100)), Some(0.0));
        // Halves of the step at 90 and 110: their standard deviation is 10.54, a third of that for ten parts.
        let error = relative_error(&step(|second| if second < 51 { 90 } else { 110 })).unwrap();
        assert!((error - 0.0333).abs() < 1e-4, "{error}");
        // Alternation within a part averages out.
        let error = relative_error(&step(|second| if second % 2 == 0 { 90 } else { 110 })).unwrap();
        assert!(error < 1e-9, "{error}");
        assert_eq!(relative_error(&step(|_| 100)[..20]), None);
        assert_eq!(relative_error(&[]), None);
    }
}
