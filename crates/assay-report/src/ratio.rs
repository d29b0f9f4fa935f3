//! Ratios for human readers: two decimals around 1, and factors beyond ten.

use std::fmt;

use assay_model::Estimate;

use crate::number::{NONE, change, key, thousands};

/// Ratios from here to [`NEAR_MOST`] have two decimals. Those beyond are factors.
const NEAR_LEAST: f64 = 0.0995;
const NEAR_MOST: f64 = 9.995;

/// An interval whose ends differ by more than this factor does not determine a ratio's size.
const TOO_WIDE: f64 = 4.0;

/// A change with a narrower interval has a decimal.
const EXACT: f64 = 0.02;

/// Bounds that differ by more than this factor are not shown.
const HOPELESS: f64 = 1000.0;

/// A factor beyond this is no bound.
const UNBOUNDED: f64 = 1e6;

fn is_near(ratio: f64) -> bool {
    (NEAR_LEAST..NEAR_MOST).contains(&ratio)
}

fn is_factor(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0 && !is_near(ratio)
}

/// For a narrow cell or a scale: `0.93`, `12.3`, `2,600`, `1/2,600`.
pub(crate) fn short(ratio: f64) -> String {
    match ratio {
        unknown if !unknown.is_finite() || unknown < 0.0 => NONE.to_owned(),
        0.0 => "0".to_owned(),
        near if is_near(near) => format!("{near:.2}"),
        large if large > 1.0 => significant(large, 3),
        small => format!("1/{}", significant(1.0 / small, 3)),
    }
}

/// A ratio in a narrow cell, or its bound: `0.93`, `≤1/420`, `≥150`.
pub(crate) fn narrow(estimate: Estimate) -> String {
    match (estimate.is_bound(), estimate.low.is_finite()) {
        (false, _) => short(estimate.value),
        (true, true) => format!("≥{}", rounded(estimate.value)),
        (true, false) => format!("≤{}", rounded(estimate.value)),
    }
}

/// Two digits: a bound justifies no more.
fn rounded(bound: f64) -> String {
    match bound {
        near if is_near(near) => short(near),
        large if large > 1.0 => significant(large, 2),
        small if small > 0.0 => format!("1/{}", significant(1.0 / small, 2)),
        none => short(none),
    }
}

/// A round label of a scale: `0.95`, `1/100`.
pub(crate) fn label(ratio: f64) -> String {
    let label = short(ratio);
    label.strip_suffix(".0").map_or_else(|| label.clone(), str::to_owned)
}

/// Whether [`short`] writes the ratio as `1/2,600`.
pub(crate) fn is_fraction(ratio: f64) -> bool {
    ratio > 0.0 && ratio < NEAR_LEAST
}

fn significant(value: f64, digits: i32) -> String {
    let exponent = value.abs().log10().floor() as i32;
    match digits - 1 - exponent {
        decimals @ 1.. => format!("{value:.*}", decimals as usize),
        whole => {
            let unit = 10_f64.powi(-whole);
            thousands((value / unit).round() * unit)
        }
    }
}

/// The fewest digits that distinguish the value from both ends of its interval.
fn digits_for(values: [f64; 3]) -> i32 {
    let are_apart = |digits: &i32| {
        let [value, low, high] = values.map(|it| significant(it, *digits));
        value != low && value != high
    };
    (2..4).find(are_apart).unwrap_or(4)
}

/// How many times slower or faster a ratio is.
fn factor(ratio: f64) -> f64 {
    if ratio < 1.0 { 1.0 / ratio } else { ratio }
}

fn direction(ratio: f64) -> &'static str {
    if ratio < 1.0 { "slower" } else { "faster" }
}

/// A relative speed, such as the QPS of a system divided by those of the base.
#[derive(Debug, Clone, Copy)]
pub struct Ratio(pub Option<Estimate>);

impl Ratio {
    /// `0.93`, `2,600 times slower`; a dash if not measured.
    pub fn value(self) -> String {
        self.texts().0
    }

    pub(crate) fn key(self) -> String {
        key(self.0)
    }

    /// `[0.91, 0.95]`, `[2,100, 3,200]`.
    pub(crate) fn interval(self) -> Option<String> {
        self.texts().1
    }

    /// `−7%`; `None` for a bound, and beyond a factor of ten.
    pub(crate) fn percent(self) -> Option<String> {
        let near = self.0.filter(|estimate| !estimate.is_bound() && is_near(estimate.value))?;
        let is_exact = near.has_interval() && near.high - near.low < EXACT;
        Some(change(near.value, usize::from(is_exact)))
    }

    pub(crate) fn is_far(self) -> bool {
        self.0.is_some_and(|estimate| is_factor(estimate.value))
    }

    /// `0.93 [0.91, 0.95] −7%`; `0.93 −7%` without an interval.
    pub fn value_with_interval(self) -> String {
        let (value, interval) = self.texts();
        let parts = [Some(value), interval, self.percent()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn texts(self) -> (String, Option<String>) {
        match self.0 {
            None => (NONE.to_owned(), None),
            Some(bound) if bound.is_bound() => (at_least(bound), None),
            Some(estimate) if !is_factor(estimate.value) => {
                let interval = estimate.has_interval().then(|| interval(estimate));
                (short(estimate.value), interval)
            }
            Some(estimate) => times(estimate),
        }
    }
}

/// `0.93 [0.91, 0.95] −7%`, `2,600 times slower [2,100, 3,200]`, `0.93 −7% (no interval)`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value_with_interval())?;
        match self.0 {
            Some(estimate) if !estimate.has_interval() && !estimate.is_bound() => {
                f.write_str(" (no interval)")
            }
            _ => Ok(()),
        }
    }
}

/// A bound of a speed: `at least 150 times slower`, or `at most 1.07` if its direction is open.
fn at_least(bound: Estimate) -> String {
    let Estimate { value, low, .. } = bound;
    match low.is_finite() {
        true if value > 1.0 => format!("at least {} times faster", significant(value, 2)),
        true => format!("at least {}", short(value)),
        false if value < 1.0 => format!("at least {} times slower", significant(1.0 / value, 2)),
        false => format!("at most {}", short(value)),
    }
}

/// A speed beyond a factor of ten: `2,600 times slower` and `[2,100, 3,200]`. If the interval includes 1, each end has
/// its direction. If one end is no bound, only the other is shown.
fn times(estimate: Estimate) -> (String, Option<String>) {
    let Estimate { value, low, high } = estimate;
    let word = direction(value);
    if !estimate.has_interval() {
        return (format!("{} times {word}", significant(factor(value), 3)), None);
    }
    if (high < 1.0 && low * UNBOUNDED < 1.0) || (low > 1.0 && high > UNBOUNDED) {
        let least = if high < 1.0 { high } else { low };
        return (format!("at least {} times {word}", significant(factor(least), 2)), None);
    }
    let digits = digits_for([value, low, high].map(factor));
    let number = |ratio: f64| significant(factor(ratio), digits);
    let interval = if high < 1.0 {
        format!("[{}, {}]", number(high), number(low))
    } else if low > 1.0 {
        format!("[{}, {}]", number(low), number(high))
    } else {
        let end = |ratio: f64| {
            let number = match factor(ratio) {
                most if most > UNBOUNDED => ">1,000,000".to_owned(),
                factor => significant(factor, 2),
            };
            format!("{number} times {}", direction(ratio))
        };
        format!("[{}, {}]", end(low), end(high))
    };
    (format!("{} times {word}", number(value)), Some(interval))
}

/// A ratio of amounts, such as CPU time, where more is no better or worse: `1.28`, `12.3`, `1/2,600`.
#[derive(Debug, Clone, Copy)]
pub struct Quotient(pub Option<Estimate>);

impl Quotient {
    /// `0.93`, `1/2,600`; a dash if not measured.
    pub(crate) fn value(self) -> String {
        self.0.map_or_else(|| NONE.to_owned(), narrow)
    }

    pub(crate) fn key(self) -> String {
        key(self.0)
    }

    /// `0.93 [0.91, 0.95]`, `1/12.3 [1/12.9, 1/11.8]`, or the value alone.
    pub fn value_with_interval(self) -> String {
        let Some(estimate) = self.0.filter(|it| it.has_interval()) else { return self.value() };
        let Estimate { value, low, high } = estimate;
        let interval = match is_near(value) || low <= 0.0 {
            true => interval(estimate),
            false => format!("[{}, {}]", short(low), short(high)),
        };
        format!("{} {interval}", short(value))
    }
}

/// `0.93 [0.91, 0.95]`, `0.93 (no interval)`.
impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value_with_interval())?;
        match self.0 {
            Some(estimate) if !estimate.has_interval() => f.write_str(" (no interval)"),
            _ => Ok(()),
        }
    }
}

/// An interval around a ratio near 1: `[0.91, 0.95]`, `[0.004, 43]`.
fn interval(estimate: Estimate) -> String {
    let end = |value: f64| match value {
        least if least < 0.001 => "<0.001".to_owned(),
        // A number known only to a factor of ten needs no more digits, and zero would be wrong.
        small if small < NEAR_LEAST => {
            significant(small, 2).trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        most if most >= 999.5 => ">1000".to_owned(),
        large if large >= NEAR_MOST => format!("{large:.0}"),
        near => format!("{near:.2}"),
    };
    format!("[{}, {}]", end(estimate.low), end(estimate.high))
}

/// A ratio with its uncertainty: `−4% [−5%, −3%]`, `2,600 times slower [2,100, 3,200]`, `less than half [0.20, 0.31]`,
/// or only words if the interval is too wide for a number. `None` if its uncertainty is unknown.
pub fn change_in_words(estimate: Estimate) -> Option<String> {
    let Estimate { value, low, high } = estimate;
    if estimate.is_bound() {
        return Some(at_least(estimate));
    }
    if !estimate.has_interval() {
        return None;
    }
    let is_too_wide = high > TOO_WIDE * low;
    Some(match (low, high) {
        (low, high) if low <= 1.0 && high >= 1.0 && is_too_wide => {
            "too uncertain to state".to_owned()
        }
        _ if Ratio(Some(estimate)).is_far() => Ratio(Some(estimate)).value_with_interval(),
        (low, _) if low > 2.0 && is_too_wide => format!("more than doubled {}", interval(estimate)),
        (_, high) if high < 0.5 && is_too_wide => format!("less than half {}", interval(estimate)),
        (low, _) if is_too_wide && low > 1.0 => "faster by an unknown amount".to_owned(),
        _ if is_too_wide => "slower by an unknown amount".to_owned(),
        _ => {
            let digits = usize::from(high - low < EXACT);
            let [value, low, high] = [value, low, high].map(|ratio| change(ratio, digits));
            format!("{value} [{low}, {high}]")
        }
    })
}

/// A change with its bounds, to compare with a limit: `−6.2% [−7.0%, −5.4%]`, `2,600 times slower [2,100, 3,200]`.
pub(crate) fn change_with_bounds(estimate: Estimate) -> String {
    let Estimate { value, low, high } = estimate;
    let ratio = Ratio(Some(estimate));
    if estimate.is_bound() {
        return at_least(estimate);
    }
    if high > HOPELESS * low && (low <= 1.0 && high >= 1.0 || !ratio.is_far()) {
        let value = match is_factor(value) {
            true => Ratio(Some(Estimate::without_interval(value))).value(),
            false => change(value, 0),
        };
        return format!("{value}, with bounds that say nothing yet");
    }
    if ratio.is_far() {
        return ratio.value_with_interval();
    }
    let digits = if high > TOO_WIDE * low { 0 } else { 1 };
    let [value, low, high] = [value, low, high].map(|ratio| change(ratio, digits));
    format!("{value} [{low}, {high}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    #[test]
    fn a_ratio_beyond_ten_is_a_factor_with_its_direction() {
        let show = |value, low, high| Ratio(Some(estimate(value, low, high))).to_string();
        assert_eq!(show(0.000385, 0.00031, 0.00048), "2,600 times slower [2,100, 3,200]");
        assert_eq!(show(0.000385, 0.000384, 0.000386), "2,597 times slower [2,591, 2,604]");
        assert_eq!(show(321.0, 300.0, 340.0), "320 times faster [300, 340]");
        assert_eq!(show(12.34, 12.1, 12.6), "12.3 times faster [12.1, 12.6]");
        assert_eq!(show(0.05, 0.004, 0.6), "20 times slower [1.7, 250]");
        assert_eq!(show(0.05, 0.004, 3.0), "20 times slower [250 times slower, 3.0 times faster]");
        assert_eq!(show(0.001, 0.0, 1.0 / 150.0), "at least 150 times slower");
        let bound = |estimate| Ratio(Some(estimate)).to_string();
        assert_eq!(bound(Estimate::at_most(1.0 / 150.0)), "at least 150 times slower");
        assert_eq!(bound(Estimate::at_most(0.5)), "at least 2.0 times slower");
        assert_eq!(bound(Estimate::at_most(1.07)), "at most 1.07");
        assert_eq!(bound(Estimate::at_least(150.0)), "at least 150 times faster");
        assert_eq!(show(5000.0, 1100.0, 1e12), "at least 1,100 times faster");
        assert_eq!(show(0.93, 0.91, 0.95), "0.93 [0.91, 0.95] −7%");
        assert_eq!(show(1.003, 0.999, 1.007), "1.00 [1.00, 1.01] +0.3%");
        let near = Ratio(Some(Estimate::without_interval(0.93)));
        assert_eq!(near.to_string(), "0.93 −7% (no interval)");
        let alone = Ratio(Some(Estimate::without_interval(0.000385)));
        assert_eq!(alone.to_string(), "2,600 times slower (no interval)");
        assert_eq!(alone.key(), "0.000385");
        assert_eq!(Ratio(None).to_string(), "–");
    }

    #[test]
    fn no_ratio_but_zero_is_written_as_zero() {
        for exponent in -80..80 {
            let ratio = 1.27_f64.powi(exponent);
            let all = [
                short(ratio),
                Ratio(Some(estimate(ratio, 0.9 * ratio, 1.1 * ratio))).to_string(),
                Quotient(Some(estimate(ratio, 0.9 * ratio, 1.1 * ratio))).to_string(),
                change_with_bounds(estimate(ratio, 0.9 * ratio, 1.1 * ratio)),
                change_in_words(estimate(ratio, 0.9 * ratio, 1.1 * ratio)).unwrap(),
            ];
            for text in all {
                assert!(!text.contains("0.00") && !text.contains("<0.01"), "{ratio}: {text}");
                assert!(!text.contains("100%") || ratio > 1.0, "{ratio}: {text}");
            }
        }
    }

    #[test]
    fn narrow_cells_have_fractions() {
        let texts = [0.93, 0.1, 9.99, 12.34, 2597.4, 0.000385, 0.0].map(short);
        assert_eq!(texts, ["0.93", "0.10", "9.99", "12.3", "2,600", "1/2,600", "0"]);
        assert_eq!([0.1, 10.0, 0.01, 200.0].map(label), ["0.10", "10", "1/100", "200"]);
        let bounds = [Estimate::at_most(1.0 / 421.0), Estimate::at_least(153.0)].map(narrow);
        assert_eq!(bounds, ["≤1/420", "≥150"]);
        let bounds = [Estimate::at_most(0.5), Estimate::at_least(1.07)].map(narrow);
        assert_eq!(bounds, ["≤0.50", "≥1.07"]);
        let quotient = |it: Estimate| Quotient(Some(it)).value_with_interval();
        assert_eq!(quotient(Estimate::at_most(0.002)), "≤1/500");
        assert_eq!(quotient(Estimate::without_interval(f64::NAN)), "–");
        let amount = Quotient(Some(estimate(0.05, 0.04, 0.0625)));
        assert_eq!(amount.to_string(), "1/20.0 [1/25.0, 1/16.0]");
    }

    #[test]
    fn intervals_read_well_however_wide() {
        let show = |low, high| interval(estimate(1.0, low, high));
        assert_eq!(show(0.912, 0.9499), "[0.91, 0.95]");
        assert_eq!(show(0.6, 9.99), "[0.60, 9.99]");
        assert_eq!(show(0.004, 43.2), "[0.004, 43]");
        assert_eq!(show(1e-9, 1e30), "[<0.001, >1000]");
    }

    #[test]
    fn a_ratio_in_a_sentence_has_its_uncertainty_or_is_words() {
        let show = |value, low, high| change_in_words(estimate(value, low, high)).unwrap();
        assert_eq!(show(0.96, 0.949, 0.971), "−4% [−5%, −3%]");
        assert_eq!(show(0.99, 0.989, 0.991), "−1.0% [−1.1%, −0.9%]");
        assert_eq!(show(0.20, 0.001, 9.91), "too uncertain to state");
        assert_eq!(show(0.2, 0.1, 0.41), "less than half [0.10, 0.41]");
        assert_eq!(show(3.0, 2.5, 3.5), "+200% [+150%, +250%]");
        assert_eq!(show(0.2, 0.18, 0.21), "−80% [−82%, −79%]");
        assert_eq!(show(0.4, 0.15, 0.8), "slower by an unknown amount");
        assert_eq!(show(2.4, 1.1, 5.0), "faster by an unknown amount");
        assert_eq!(show(0.000385, 0.0001, 0.0005), "2,600 times slower [2,000, 10,000]");
        assert_eq!(change_in_words(Estimate::without_interval(0.96)), None);
    }

    #[test]
    fn a_change_beside_a_limit_has_bounds_or_says_that_it_has_none() {
        let show = |value, low, high| change_with_bounds(estimate(value, low, high));
        assert_eq!(show(0.938, 0.93, 0.946), "−6.2% [−7.0%, −5.4%]");
        assert_eq!(show(0.000385, 0.00031, 0.00048), "2,600 times slower [2,100, 3,200]");
        assert_eq!(show(0.5, 0.0001, 3.0), "−50%, with bounds that say nothing yet");
        assert_eq!(show(0.01, 1e-6, 2.0), "100 times slower, with bounds that say nothing yet");
    }
}
