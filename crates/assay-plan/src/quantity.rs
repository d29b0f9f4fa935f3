//! Durations, counts and percentages as users write them.

use jiff::SignedDuration;

use crate::Error;
use crate::limits::CLIENTS;

/// Longest duration, seconds: some thirty years.
const LONGEST_S: f64 = 1e9;

/// Reads a duration; gives seconds. A number without unit is seconds; units are `ms`, `s`, `m` and `h`, and may follow
/// each other: `90`, `100ms`, `10m`, `1h30m`.
///
/// # Errors
/// [`Error::Quantity`] when it is not a positive duration.
pub fn parse_duration_s(text: &str) -> Result<f64, Error> {
    let fail = || Error::Quantity {
        value: text.to_owned(),
        what: "a time such as `90`, `90s`, `10m` or `1h30m`; a number without unit is seconds",
    };
    let is_bare = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let bare = text.parse().ok().filter(|_| is_bare);
    let seconds: f64 = match bare {
        Some(seconds) => seconds,
        None => {
            let duration: SignedDuration = text.parse().map_err(|_| fail())?;
            // One division, so that what is written as 5.403 s is that number.
            duration.as_nanos() as f64 / 1e9
        }
    };
    if seconds > 0.0 && seconds <= LONGEST_S { Ok(seconds) } else { Err(fail()) }
}

/// Reads a count such as `100000`, `100_000`, `100k`, `1M` or `1.5M`.
///
/// # Errors
/// [`Error::Quantity`] when it is not a whole number that 32 bits hold.
pub fn parse_count(text: &str) -> Result<u32, Error> {
    let fail = || Error::Quantity {
        value: text.to_owned(),
        what: "a count such as `100000`, `100k` or `1M`",
    };
    let plain = text.trim().replace('_', "");
    let (digits, zeros) = match plain.char_indices().last() {
        Some((at, 'k' | 'K')) => (&plain[..at], 3),
        Some((at, 'm' | 'M')) => (&plain[..at], 6),
        Some((at, 'g' | 'G')) => (&plain[..at], 9),
        _ => (plain.as_str(), 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.ends_with('.')
        || part.len() > zeros
        || !whole.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(fail());
    }
    format!("{whole}{part:0<zeros$}").parse().map_err(|_| fail())
}

/// Reads client counts: one, `8`, or all of a range, `1-8`.
///
/// # Errors
/// [`Error::Quantity`] when it is neither.
pub fn parse_clients(text: &str) -> Result<Vec<u32>, Error> {
    let fail = || Error::Quantity {
        value: text.to_owned(),
        what: "a number of clients from 1 to 1024, such as `8`, or a range of them, such as `1-8`",
    };
    // What is out of range is told as such by the plan.
    if let Ok(count) = text.parse() {
        return Ok(vec![count]);
    }
    let (first, last) = text.split_once('-').ok_or_else(fail)?;
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|it| CLIENTS.contains(it));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first..=last).collect()),
        _ => Err(fail()),
    }
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

/// A duration as [`parse_duration_s`] reads it, in one word.
pub(crate) fn duration_text(seconds: f64) -> String {
    let nanoseconds = (seconds.fract() * 1e9).round() as i64;
    let whole = SignedDuration::from_secs(seconds.trunc() as i64);
    let text = format!("{:#}", whole.saturating_add(SignedDuration::from_nanos(nanoseconds)));
    text.replace(' ', "")
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
        assert_eq!(parse_duration_s("10"), Ok(10.0));
        assert_eq!(parse_duration_s("0.5"), Ok(0.5));
        assert_eq!(parse_duration_s("1h30m"), Ok(5400.0));
        assert_eq!(parse_duration_s("1m 30s"), Ok(90.0));
        assert_eq!(parse_percent("2%"), Ok(0.02));
        assert_eq!(parse_percent(" 0.5 %"), Ok(0.005));
        for (text, count) in [
            ("0", 0),
            ("100000", 100_000),
            ("100_000", 100_000),
            ("100k", 100_000),
            ("1M", 1_000_000),
            ("1.5m", 1_500_000),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        assert_eq!(parse_clients("8"), Ok(vec![8]));
        assert_eq!(parse_clients("2-5"), Ok(vec![2, 3, 4, 5]));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["90s", "10m", "1h30m", "100ms", "1us", "1h 1s 500ms", "999h"] {
            let seconds = parse_duration_s(text).unwrap();
            assert_eq!(parse_duration_s(&duration_text(seconds)), Ok(seconds), "{text}");
        }
        assert_eq!(duration_text(5400.0), "1h30m");
        for hundredths in 1..10_000 {
            let fraction = f64::from(hundredths) / 10_000.0;
            let text = percent_text(fraction);
            assert_eq!(parse_percent(&text), Ok(fraction), "{text}");
            assert!(text.len() <= 6, "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            "0",
            "0s",
            "-5m",
            "-5",
            "10 parsecs",
            "ten minutes",
            "1e400",
            "inf",
            "NaN",
            "1e400h",
            "9e9",
        ] {
            assert!(parse_duration_s(text).is_err(), "{text}");
        }
        for text in
            ["", "k", "-1", "+1", "1.5", "1.2345k", "1.k", ".5k", "1kk", "1e6", "9G", "1Mi", "é"]
        {
            assert!(parse_count(text).is_err(), "{text}");
        }
        for text in ["", "-1", "8-1", "0-4", "1-4000000000", "1-", "1-2-3", "a-b"] {
            assert!(parse_clients(text).is_err(), "{text}");
        }
        for text in ["", "2", "0%", "-1%", "100%", "NaN%", "inf%"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }
}
