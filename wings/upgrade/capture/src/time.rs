//! Parses the timestamps of logs.

const SECOND: i64 = 1_000_000;

/// A timestamp at the beginning of a text, as microseconds since 1970, and its length in bytes.
///
/// Supports `2026-11-27T22:45:19.177825Z` with a zone, `2026-11-27 22:45:56.412 UTC`, whose zone is read as UTC, and
/// `261127 22:45:18` of older servers.
pub(crate) fn leading(text: &[u8]) -> Option<(i64, usize)> {
    dashed(text).or_else(|| short(text))
}

fn dashed(text: &[u8]) -> Option<(i64, usize)> {
    let (year, month, day) = (digits(text, 0, 4)?, digits(text, 5, 2)?, digits(text, 8, 2)?);
    let between = [text.get(4)?, text.get(7)?, text.get(10)?];
    if !matches!(between, [b'-', b'-', b'T' | b' ']) {
        return None;
    }
    let (of_day, mut at) = clock(text, 11)?;
    let mut fraction = 0;
    if matches!(text.get(at), Some(b'.' | b',')) {
        let mut unit = SECOND / 10;
        at += 1;
        while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
            fraction += i64::from(digit - b'0') * unit;
            unit /= 10;
            at += 1;
        }
    }
    let mut offset = 0;
    match text.get(at) {
        Some(b'Z') => at += 1,
        Some(sign @ (b'+' | b'-')) if text.get(10) == Some(&b'T') => {
            let (hours, minutes) = (digits(text, at + 1, 2)?, digits(text, at + 4, 2)?);
            offset = (hours * 60 + minutes) * 60 * if *sign == b'-' { -1 } else { 1 };
            at += 6;
        }
        _ => {}
    }
    let seconds = days(year, month, day)? * 86_400 + of_day - offset;
    Some((seconds * SECOND + fraction, at))
}

/// `261127  2:45:18`: two digits each, and a blank instead of a leading zero of the hour.
fn short(text: &[u8]) -> Option<(i64, usize)> {
    let (year, month, day) = (digits(text, 0, 2)?, digits(text, 2, 2)?, digits(text, 4, 2)?);
    if text.get(6)? != &b' ' {
        return None;
    }
    let (of_day, at) = match text.get(7)? {
        b' ' => clock_of(digits(text, 8, 1)?, text, 9)?,
        _ => clock(text, 7)?,
    };
    let year = if year < 70 { 2000 + year } else { 1900 + year };
    Some(((days(year, month, day)? * 86_400 + of_day) * SECOND, at))
}

/// `22:45:18` as seconds, and its end.
fn clock(text: &[u8], at: usize) -> Option<(i64, usize)> {
    clock_of(digits(text, at, 2)?, text, at + 2)
}

fn clock_of(hours: i64, text: &[u8], at: usize) -> Option<(i64, usize)> {
    let (minutes, seconds) = (digits(text, at + 1, 2)?, digits(text, at + 4, 2)?);
    let is_time = text.get(at)? == &b':' && text.get(at + 3)? == &b':';
    let is_valid = hours < 24 && minutes < 60 && seconds < 61;
    (is_time && is_valid).then_some((hours * 3600 + minutes * 60 + seconds, at + 6))
}

fn digits(text: &[u8], at: usize, count: usize) -> Option<i64> {
    let part = text.get(at..at + count)?;
    part.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Days since 1970 of a Gregorian date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Whether a line begins with a syslog time: `Nov 28 10:00:00`, or `2026-11-28T10:00:00+00:00`. A priority such as
/// `<30>` may precede it.
pub(crate) fn is_of_syslog(line: &[u8]) -> bool {
    let after_priority = line.strip_prefix(b"<").and_then(|rest| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = rest.get(digits..)?.strip_prefix(b">")?;
        // Newer syslog formats have their version there.
        Some(rest.strip_prefix(b"1 ").unwrap_or(rest))
    });
    let text = after_priority.unwrap_or(line);
    let is_month = text.get(..3).is_some_and(|it| it.iter().all(u8::is_ascii_alphabetic));
    let has_month = is_month
        && text.get(3) == Some(&b' ')
        && text.get(9) == Some(&b':')
        && text.get(12) == Some(&b':');
    has_month || text.get(10) == Some(&b'T') && leading(text).is_some()
}

/// Parses seconds since 1970, such as those of `SET timestamp`, to microseconds.
pub(crate) fn epoch(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let seconds: f64 = text.trim().parse().ok()?;
    // Until the year 9999.
    (0.0..253_402_300_800.0).contains(&seconds).then_some((seconds * 1e6) as i64)
}

/// Readable date and time in UTC.
pub(crate) fn shown(at_us: i64) -> String {
    let seconds = at_us.div_euclid(SECOND);
    let (day, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hours, minutes) = (of_day / 3600, of_day / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{:02}", of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_all_forms_are_read() {
        let read = |text: &str| leading(text.as_bytes());
        assert_eq!(read("2026-11-27T22:45:19.177825Z"), Some((1_795_819_519_177_825, 27)));
        assert_eq!(read("2026-11-27T23:45:19.177825+01:00 x"), Some((1_795_819_519_177_825, 32)));
        assert_eq!(read("2026-11-27 22:45:19.100 UTC"), Some((1_795_819_519_100_000, 23)));
        assert_eq!(read("261127 22:45:19\t"), Some((1_795_819_519_000_000, 15)));
        assert_eq!(read("261127  2:45:19\t"), Some((1_795_747_519_000_000, 15)));
        for wrong in
            ["", "2026", "2026-13-27T22:45:19Z", "261127", "9999999 22:45:18", "261127 25:00:00"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(shown(1_795_819_519_177_825), "2026-11-27 22:45:19");
        for (line, expected) in [
            ("Nov 28 10:00:00 db", true),
            ("<30>Nov  8 10:00:00 db", true),
            ("<134>1 2026-11-28T10:00:00+00:00 db", true),
            ("2026-11-28 10:00:00 db", false),
            ("SELECT a", false),
            ("", false),
        ] {
            assert_eq!(is_of_syslog(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(shown(0), "1970-01-01 00:00:00");
        assert_eq!(epoch(b"1795819519.5"), Some(1_795_819_519_500_000));
        assert_eq!(epoch(b"NaN"), None);
    }
}
