//! Times, counts and percentages as users write them.

use assay_model::limits::CLIENTS;
use jiff::SignedDuration;

use crate::OptionError;

/// Some thirty years.
const LONGEST_S: f64 = 1e9;

/// Reads a duration in seconds. Without a unit it is seconds; units are `ms`, `s`, `m`, `h` and `d`, and may be
/// combined: `90`, `100ms`, `10m`, `1h30m`, `30d`.
pub fn parse_duration_s(text: &str) -> Result<f64, OptionError> {
    let fail = || OptionError::Unreadable {
        value: text.to_owned(),
        what: "a time such as `90`, `10m` or `1h30m`; the units are `ms`, `s`, `m`, `h` and `d`, and a number \
               without unit is seconds",
    };
    let seconds = match number(text) {
        Some(seconds) => seconds,
        None => with_units(text).ok_or_else(fail)?,
    };
    if seconds <= 0.0 {
        Err(OptionError::Bounds("a time must be longer than zero"))
    } else if seconds > LONGEST_S {
        Err(OptionError::Bounds("a time must be at most 1,000,000,000 seconds"))
    } else {
        Ok(seconds)
    }
}

/// Shorter budgets, seconds, are too short for a verdict: without a unit, minutes may be meant.
const BARE_BUDGET_S: f64 = 30.0;

/// Reads the time limit of a study as [`parse_duration_s`] does, but rejects small numbers without a unit.
pub fn parse_budget_s(text: &str) -> Result<f64, OptionError> {
    let seconds = parse_duration_s(text).map_err(|error| match error {
        OptionError::Unreadable { value, .. } => OptionError::Unreadable {
            value,
            what: "a time such as `90s`, `10m` or `1h30m`; the units are `s`, `m`, `h` and `d`",
        },
        other => other,
    })?;
    match number(text) {
        Some(_) if seconds < BARE_BUDGET_S => Err(OptionError::NoUnit { value: text.to_owned() }),
        _ => Ok(seconds),
    }
}

/// Rejects numbers spelled as words, such as `inf`.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Days, which elsewhere have no fixed length, are 24 hours.
fn with_units(text: &str) -> Option<f64> {
    let of_days = text.split_once('d').and_then(|(days, rest)| Some((number(days.trim())?, rest)));
    if let Some((days, rest)) = of_days {
        let rest = rest.trim();
        return Some(days * 86400.0 + if rest.is_empty() { 0.0 } else { with_units(rest)? });
    }
    let duration: SignedDuration = text.parse().ok()?;
    // One division, so that `5.403 s` gives exactly that number.
    Some(duration.as_nanos() as f64 / 1e9)
}

/// Reads a count such as `100000`, `100_000`, `100k`, `1M` or `1.5M`.
pub fn parse_count(text: &str) -> Result<u64, OptionError> {
    let fail = || OptionError::Unreadable {
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
    let all = format!("{whole}{part:0<zeros$}");
    match all.chars().all(|c| c.is_ascii_digit()) {
        true => Ok(all.parse().unwrap_or(u64::MAX)),
        false => Err(fail()),
    }
}

/// Reads client counts: one, `8`, or all of a range, `1-8`.
pub fn parse_clients(text: &str) -> Result<Vec<u32>, OptionError> {
    let fail = || OptionError::Unreadable {
        value: text.to_owned(),
        what: "a number of clients from 1 to 4,096, such as `8`, or a range of them, such as `1-8`",
    };
    // The plan rejects numbers out of range.
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

/// Reads a percentage such as `2%` or `0.5%` as a fraction, `0.02`.
pub fn parse_percent(text: &str) -> Result<f64, OptionError> {
    let fail =
        || OptionError::Unreadable { value: text.to_owned(), what: "a percentage such as `2%`" };
    let Some(digits) = text.trim().strip_suffix('%') else {
        return Err(without_sign(text).unwrap_or_else(fail));
    };
    // Moves the decimal point in the text: a division would round once more.
    let share: f64 = format!("{}e-2", digits.trim()).parse().map_err(|_| fail())?;
    match share {
        share if share > 0.0 && share < 1.0 => Ok(share),
        share if share.is_nan() => Err(fail()),
        _ => Err(OptionError::Bounds(PERCENT)),
    }
}

const PERCENT: &str = "a percentage must be more than 0% and less than 100%";

/// The error for a number without a percent sign; below 1 it may be meant as a fraction.
fn without_sign(text: &str) -> Option<OptionError> {
    let value = text.trim().to_owned();
    let number = number(&value)?;
    if number <= 0.0 || number >= 100.0 {
        return Some(OptionError::Bounds(PERCENT));
    }
    let of_fraction = (number < 1.0).then(|| format!(" or `{}`", percent_text(number)));
    let meant = format!("`{value}%`{}", of_fraction.unwrap_or_default());
    Some(OptionError::NoPercentSign { value, meant })
}

/// Inverse of [`parse_duration_s`], in one word.
pub fn duration_text(seconds: f64) -> String {
    let nanoseconds = (seconds.fract() * 1e9).round() as i64;
    let whole = SignedDuration::from_secs(seconds.trunc() as i64);
    let text = format!("{:#}", whole.saturating_add(SignedDuration::from_nanos(nanoseconds)));
    text.replace(' ', "")
}

/// Inverse of [`parse_percent`]: the shortest percentage that gives the same fraction.
pub fn percent_text(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let text = |digits: usize| format!("{percent:.digits$}%");
    let is_exact = |text: &String| parse_percent(text) == Ok(fraction);
    (0..=17).map(text).find(is_exact).unwrap_or_else(|| format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_common_spellings() {
        assert_eq!(parse_duration_s("90s"), Ok(90.0));
        assert_eq!(parse_duration_s("10m"), Ok(600.0));
        assert_eq!(parse_duration_s("10"), Ok(10.0));
        assert_eq!(parse_duration_s("0.5"), Ok(0.5));
        assert_eq!(parse_duration_s("1h30m"), Ok(5400.0));
        assert_eq!(parse_duration_s("1m 30s"), Ok(90.0));
        assert_eq!(parse_duration_s("30d"), Ok(2_592_000.0));
        assert_eq!(parse_duration_s("1d 12h"), Ok(129_600.0));
        assert_eq!(parse_duration_s("1 second"), Ok(1.0));
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
    fn a_small_budget_needs_a_unit() {
        for text in ["5", "10", "0.5", "29"] {
            let message = parse_budget_s(text).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("{text} seconds or {text} minutes?")),
                "{message}"
            );
            assert!(message.contains(&format!("`{text}m`")), "{message}");
        }
        for (text, seconds) in [("5s", 5.0), ("5m", 300.0), ("30", 30.0), ("600", 600.0)] {
            assert_eq!(parse_budget_s(text), Ok(seconds));
        }
        assert!(matches!(parse_budget_s("-5"), Err(OptionError::Bounds(_))));
    }

    #[test]
    fn out_of_range_values_have_their_own_error() {
        for text in ["0", "0s", "-5", "-5m", "-1d", "1e400", "9e9"] {
            let message = parse_duration_s(text).unwrap_err().to_string();
            assert!(message.starts_with("a time must be "), "{text}: {message}");
        }
        let message = parse_duration_s("10 parsecs").unwrap_err().to_string();
        assert!(message.contains("`ms`, `s`, `m`, `h` and `d`"), "{message}");
        for text in ["0%", "-1%", "100%", "200%", "0", "200"] {
            let message = parse_percent(text).unwrap_err().to_string();
            assert_eq!(message, "a percentage must be more than 0% and less than 100%", "{text}");
        }
        let message = |text: &str| parse_percent(text).unwrap_err().to_string();
        assert_eq!(message("2"), "`2` is not a percentage: write `2%`");
        assert_eq!(message("0.02"), "`0.02` is not a percentage: write `0.02%` or `2%`");
        assert!(
            message("x%").ends_with("such as `2%`") && message("NaN%").ends_with("such as `2%`")
        );
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
            "d",
            "infd",
            "1d2",
            "1d x",
        ] {
            assert!(parse_duration_s(text).is_err(), "{text}");
        }
        for text in ["", "k", "-1", "+1", "1.5", "1.2345k", "1.k", ".5k", "1kk", "1e6", "1Mi", "é"]
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
