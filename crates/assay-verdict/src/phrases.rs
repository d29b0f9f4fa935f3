//! Numbers in sentences.

use assay_model::thousands;

pub(crate) fn per_operation(value: f64) -> String {
    match value {
        none if none < 0.0005 => "0".to_owned(),
        small if small < 0.1 => format!("{small:.3}"),
        value if value < 10.0 => format!("{value:.2}"),
        large => thousands(large.round() as u64),
    }
}

pub(crate) fn ratio(before: f64, after: f64) -> Option<f64> {
    (before > 0.0 && after > 0.0).then(|| after / before)
}

/// Smaller ratios are written as fractions: their first two decimals are zeros, or nearly so.
pub(crate) const NEAR_LEAST: f64 = 0.0995;

/// A ratio as a factor: `×2.5`, `×2,600`, `÷2,600`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        less if less < NEAR_LEAST => format!("÷{}", thousands((1.0 / less).round() as u64)),
        less if less < 1.0 => format!("×{less:.2}"),
        more if more < 10.0 => format!("×{more:.1}"),
        most => format!("×{}", thousands(most.round() as u64)),
    }
}

/// A relative QPS: `0.93`, `1/2,600`.
pub(crate) fn relative(ratio: f64) -> String {
    match ratio {
        less if less > 0.0 && less < NEAR_LEAST => {
            format!("1/{}", thousands((1.0 / less).round() as u64))
        }
        near => format!("{near:.2}"),
    }
}

/// A change in percent, or as a factor if more readable.
pub(crate) fn percent(ratio: f64) -> String {
    match ratio {
        factor if !(0.5..2.0).contains(&factor) => times(factor),
        _ => format!("{:+.0}%", 100.0 * (ratio - 1.0)).replace('-', "−"),
    }
}

/// `+12.6 µs`.
pub(crate) fn signed(us: f64) -> String {
    let decimals = if us.abs() < 0.995 { 2 } else { 1 };
    format!("{us:+.decimals$} µs").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_factor_is_written_as_zero() {
        assert_eq!(
            [0.000385, 0.1, 0.4, 2.5, 321.0].map(times),
            ["÷2,597", "×0.10", "×0.40", "×2.5", "×321"]
        );
        assert_eq!([0.98, 0.3, 0.001].map(percent), ["−2%", "×0.30", "÷1,000"]);
        assert_eq!([0.93, 0.000385].map(relative), ["0.93", "1/2,597"]);
    }
}
