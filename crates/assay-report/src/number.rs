//! Numbers for human readers.

use std::fmt;

use assay_model::Estimate;

/// Placeholder for an absent value.
pub const NONE: &str = "–";

/// Significant digits of fractions, few enough that rounding errors do not change the bytes of a report.
const SIGNIFICANT_DIGITS: usize = 8;

/// Half-width of an interval, percent, beyond which its ends are meaningless.
const VAGUE: f64 = 1000.0;

/// Numbers this close to a whole one are whole.
const ROUNDING_ERROR: f64 = 1e-6;

/// Below this a whole number is exact.
const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Digits {
    Whole(i64),
    /// To eight significant digits.
    Fraction(f64),
}

impl Digits {
    pub(crate) fn from_value(value: f64) -> Option<Self> {
        let rounded = match value.fract() {
            0.0 => value,
            _ => format!("{value:.*e}", SIGNIFICANT_DIGITS - 1).parse().ok()?,
        };
        if !value.is_finite() {
            None
        } else if rounded.fract() == 0.0 && rounded.abs() < EXACT {
            Some(Self::Whole(rounded as i64))
        } else {
            Some(Self::Fraction(rounded))
        }
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            // As JSON writes it, so that all formats have the same digits.
            Self::Fraction(value) => {
                serde_json::Number::from_f64(*value).map_or(Ok(()), |number| number.fmt(f))
            }
        }
    }
}

/// With the digits for scripts; 0 if not finite.
pub fn rounded(value: f64) -> f64 {
    match Digits::from_value(value) {
        Some(Digits::Whole(whole)) => whole as f64,
        Some(Digits::Fraction(fraction)) => fraction,
        None => 0.0,
    }
}

/// A rate per second, with its interval if known.
#[derive(Debug, Clone, Copy)]
pub struct Rate(pub Option<Estimate>);

impl Rate {
    /// `19,120`; a dash if not measured.
    pub(crate) fn value(self) -> String {
        figure(self.0.map(|e| e.value))
    }

    pub(crate) fn key(self) -> String {
        key(self.0)
    }

    /// Half-width of the interval, `±3%`; a very wide interval in full, `[4,100, 96,200]`.
    pub(crate) fn spread(self) -> Option<String> {
        let e = self.0.filter(|e| e.has_interval() && e.value > 0.0)?;
        let half = 50.0 * (e.high - e.low) / e.value;
        Some(if half <= 100.0 {
            format!("±{half:.0}%")
        } else if half <= VAGUE {
            format!("[{}, {}]", quantity(e.low), quantity(e.high))
        } else {
            "±>1000%".to_owned()
        })
    }
}

/// `19,120 ±3%`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value())?;
        self.spread().map_or(Ok(()), |spread| write!(f, " {spread}"))
    }
}

pub(crate) fn key(estimate: Option<Estimate>) -> String {
    let value = estimate.map(|e| e.value).filter(|value| value.is_finite());
    value.map_or_else(String::new, |value| match Digits::from_value(value) {
        // Four decimals would hide a small number.
        Some(digits) if value.abs() < 0.1 => digits.to_string(),
        _ => format!("{value:.4}"),
    })
}

pub fn figure(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(|| NONE.to_owned(), quantity)
}

/// Three or more significant digits, thousands separated.
fn quantity(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 {
        thousands(value)
    } else if size >= 10.0 || size == 0.0 {
        format!("{value:.1}")
    } else if size >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < 0.0 { "−" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A relative change: `−4%`, `+0.3%`.
pub(crate) fn change(ratio: f64, digits: usize) -> String {
    let text = format!("{:+.digits$}%", 100.0 * (ratio - 1.0));
    let is_none = text.chars().all(|c| !c.is_ascii_digit() || c == '0');
    if is_none { "0%".to_owned() } else { text.replace('-', "−") }
}

pub fn share(share: f64) -> String {
    let percent = (1000.0 * share).round() / 10.0;
    format!("{percent}%")
}

/// `97%`, `>99%`, `<1%`. Never rounded up.
pub fn confidence(confidence: f64) -> String {
    match confidence {
        most if most > 0.99 => ">99%".to_owned(),
        least if least < 0.01 => "<1%".to_owned(),
        other => format!("{:.0}%", (100.0 * other + ROUNDING_ERROR).floor()),
    }
}

/// A bound of a relative change, rounded up: `±1.2%`.
pub(crate) fn within(bound: f64) -> String {
    format!("±{}%", (1000.0 * bound - ROUNDING_ERROR).ceil().abs() / 10.0)
}

/// Seconds as `45 s`, `9 min 30 s`, `1 h 2 min`.
pub fn duration(seconds: f64) -> String {
    if seconds > 0.0 && seconds < 0.95 {
        return format!("{:.1} s", seconds.max(0.1));
    }
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_well_however_uncertain() {
        let show = |low, high| Rate(Some(Estimate { value: 20_000.0, low, high })).to_string();
        assert_eq!(show(19_400.0, 20_600.0), "20,000 ±3%");
        assert_eq!(show(4100.0, 96_200.0), "20,000 [4,100, 96,200]");
        assert_eq!(show(1e-9, 1e30), "20,000 ±>1000%");
        assert_eq!(Rate(Some(Estimate::without_interval(20_000.0))).to_string(), "20,000");
        assert_eq!(Rate(None).to_string(), "–");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(quantity(19123.4), "19,123");
        assert_eq!(quantity(1234567.0), "1,234,567");
        assert_eq!(quantity(52.14), "52.1");
        assert_eq!(quantity(0.5), "0.50");
        assert_eq!(change(0.96, 0), "−4%");
        assert_eq!(change(1.003, 1), "+0.3%");
        assert_eq!(change(0.9999, 1), "0%");
        assert_eq!(share(0.02), "2%");
        assert_eq!(share(0.005), "0.5%");
        assert_eq!(
            [0.995, 0.99, 0.979, 0.57, 0.004].map(confidence),
            [">99%", "99%", "97%", "57%", "<1%"]
        );
        assert_eq!([0.02, 0.0111, 0.0].map(within), ["±2%", "±1.2%", "±0%"]);
        assert_eq!(duration(570.2), "9 min 30 s");
        assert_eq!(duration(600.0), "10 min");
        assert_eq!(duration(3600.0), "1 h");
        assert_eq!(duration(0.31), "0.3 s");
        assert_eq!(duration(0.004), "0.1 s");
    }
}
