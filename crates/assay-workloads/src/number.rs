//! Values of expressions, their text as written by pgbench, and values of parameters and columns.

use std::cmp::Ordering;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpressionValue {
    Integer(i64),
    Real(f64),
    Boolean(bool),
    /// Also for results that cannot be computed, such as a division by zero.
    Null,
}

impl ExpressionValue {
    pub fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let word = text.to_ascii_lowercase();
        // Abbreviations count too. `o` alone could be `on` or `off`.
        let is =
            |whole: &str, least: usize| word.len() >= least && whole.starts_with(word.as_str());
        if word == "null" {
            return Some(Self::Null);
        }
        if is("true", 1) || is("yes", 1) || is("on", 2) {
            return Some(Self::Boolean(true));
        }
        if is("false", 1) || is("no", 1) || is("off", 2) {
            return Some(Self::Boolean(false));
        }
        if let Ok(value) = text.parse() {
            return Some(Self::Integer(value));
        }
        let is_plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
        let real = text.parse().ok().filter(|_| text.chars().all(is_plain));
        real.map(Self::Real)
    }

    /// Whether a condition is true. Numbers other than zero are true, as in pgbench's `\if` and `CASE`.
    pub(crate) fn holds(self) -> bool {
        match self {
            Self::Boolean(value) => value,
            Self::Integer(value) => value != 0,
            Self::Real(value) => value != 0.0,
            Self::Null => false,
        }
    }

    pub(crate) fn integer(self) -> Option<i64> {
        /// 2⁶³.
        const END: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Integer(value) => Some(value),
            Self::Real(value) => {
                let rounded = value.round_ties_even();
                (-END..END).contains(&rounded).then_some(rounded as i64)
            }
            Self::Boolean(_) | Self::Null => None,
        }
    }

    pub(crate) fn real(self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(value as f64),
            Self::Real(value) => Some(value),
            Self::Boolean(_) | Self::Null => None,
        }
    }

    /// Compares two numbers. The outer value is `None` if one of them is no number, the inner one if they are
    /// unordered.
    pub(crate) fn compare(self, other: Self) -> Option<Option<Ordering>> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => Some(Some(a.cmp(&b))),
            _ => Some(self.real()?.partial_cmp(&other.real()?)),
        }
    }
}

impl std::fmt::Display for ExpressionValue {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(to),
            Self::Real(value) => to.write_str(&general(*value)),
            Self::Boolean(value) => value.fmt(to),
            Self::Null => to.write_str("NULL"),
        }
    }
}

const DIGITS: i32 = 15;

/// C's `%.15g`: the shorter notation, with 15 significant digits and no trailing zeros.
fn general(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent) as usize;
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.unsigned_abs())
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[derive(Debug, Clone)]
pub(crate) enum EventValue {
    Int(i64),
    Text(Range<usize>),
    /// Rows of an `INSERT` as text: their range in the bytes.
    Rows(Range<usize>),
    Raw(Range<usize>),
    Null,
    Computed(ExpressionValue, Range<usize>),
    Kept(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_written_as_by_pgbench() {
        for (value, text) in [
            (1.0 / 3.0, "0.333333333333333"),
            (2.0, "2"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (1e20, "1e+20"),
            (1e15, "1e+15"),
            (1e14 + 0.5, "100000000000000"),
            (1.0 / 7.0 * 1e-7, "1.42857142857143e-08"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (123_456_789.123_456_79, "123456789.123457"),
            (2.0_f64.sqrt(), "1.4142135623731"),
            (f64::INFINITY, "Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(ExpressionValue::Real(value).to_string(), text);
        }
    }

    #[test]
    fn texts_stand_for_what_they_stand_for_in_pgbench() {
        for (text, value) in [
            ("on", Some(ExpressionValue::Boolean(true))),
            ("t", Some(ExpressionValue::Boolean(true))),
            ("tr", Some(ExpressionValue::Boolean(true))),
            ("OFF", Some(ExpressionValue::Boolean(false))),
            ("f", Some(ExpressionValue::Boolean(false))),
            ("nULL", Some(ExpressionValue::Null)),
            (" 5", Some(ExpressionValue::Integer(5))),
            ("+5", Some(ExpressionValue::Integer(5))),
            ("1.0", Some(ExpressionValue::Real(1.0))),
            ("1e3", Some(ExpressionValue::Real(1000.0))),
            ("abc", None),
            ("o", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(ExpressionValue::of_text(text), value, "{text}");
        }
    }
}
