//! Durations and percentages as users write them.

use jiff::SignedDuration;

use crate::Error;

/// Reads a duration such as `90s`, `10m` or `1h 30m`; gives seconds.
///
/// # Errors
/// [`Error::Quantity`] when it is not a positive duration.
pub fn parse_duration_s(text: &str) -> Result<f64, Error> {
    let fail =
        || Error::Quantity { value: text.to_owned(), what: "a duration such as `90s` or `10m`" };
    let duration: SignedDuration = text.parse().map_err(|_| fail())?;
    // One division, so that what is written as 5.403 s is that number.
    let seconds = duration.as_nanos() as f64 / 1e9;
    if seconds > 0.0 { Ok(seconds) } else { Err(fail()) }
}

/// Reads a percentage such as `2%` or `0.5%`; gives the fraction, `0.02`.
///
/// # Errors
/// [`Error::Quantity`] when it is not a percentage above 0 % and below 100 %.
pub fn parse_percent(text: &str) -> Result<f64, Error> {
    let fail = || Error::Quantity { value: text.to_owned(), what: "a percentage such as `2%`" };
    let digits = text.trim().strip_suffix('%').ok_or_else(fail)?.trim();
    // Shifted as text: a division would round once more.
    let share: f64 = format!("{digits}e-2").parse().map_err(|_| fail())?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(fail()) }
}

/// A duration as [`parse_duration_s`] reads it.
pub(crate) fn duration_text(seconds: f64) -> String {
    let nanoseconds = (seconds.fract() * 1e9).round() as i64;
    let whole = SignedDuration::from_secs(seconds.trunc() as i64);
    format!("{:#}", whole.saturating_add(SignedDuration::from_nanos(nanoseconds)))
}

/// A fraction as [`parse_percent`] reads it: the shortest number of percent that gives the fraction again.
pub(crate) fn percent_text(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let text = |digits: usize| format!("{percent:.digits$}%");
    let is_exact = |text: &String| parse_percent(text) == Ok(fraction);
    (0..=17).map(text).find(is_exact).unwrap_or_else(|| format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_users_write() {
        assert_eq!(parse_duration_s("90s"), Ok(90.0));
        assert_eq!(parse_duration_s("10m"), Ok(600.0));
        assert_eq!(parse_percent("2%"), Ok(0.02));
        assert_eq!(parse_percent(" 0.5 %"), Ok(0.005));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["90s", "10m", "1h 30m", "100ms", "1us", "1h 1s 500ms", "999h"] {
            let seconds = parse_duration_s(text).unwrap();
            assert_eq!(parse_duration_s(&duration_text(seconds)), Ok(seconds), "{text}");
        }
        assert_eq!(duration_text(5400.0), "1h 30m");
        for hundredths in 1..10_000 {
            let fraction = f64::from(hundredths) / 10_000.0;
            let text = percent_text(fraction);
            assert_eq!(parse_percent(&text), Ok(fraction), "{text}");
            assert!(text.len() <= 6, "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "0s", "-5m", "10", "ten minutes", "1e400h"] {
            assert!(parse_duration_s(text).is_err(), "{text}");
        }
        for text in ["", "2", "0%", "-1%", "100%", "NaN%", "inf%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
