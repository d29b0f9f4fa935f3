//! The order of releases.

use std::cmp::Ordering;

/// Orders versions by their numbers. A release follows its candidates (`19rc1`), and its builds by a vendor follow it
/// (`8.0.36-28`).
pub fn version_order(one: &str, other: &str) -> Ordering {
    let [(numbers, rest), (other_numbers, other_rest)] = [one, other].map(parts);
    let key = |rest: &str| match rest.chars().next() {
        Some(letter) if letter.is_alphabetic() => 0,
        None => 1,
        Some(_) => 2,
    };
    let order = numbers.cmp(&other_numbers).then_with(|| key(rest).cmp(&key(other_rest)));
    let order = order.then_with(|| letters(rest).cmp(letters(other_rest)));
    // A total order, also of texts that are no versions.
    order.then_with(|| digits(rest).cmp(&digits(other_rest))).then_with(|| one.cmp(other))
}

fn letters(rest: &str) -> &str {
    rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default()
}

/// The numbers at the beginning, and the rest.
fn parts(version: &str) -> (Vec<u64>, &str) {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let (numbers, rest) = version.split_at(end);
    (digits(numbers), rest)
}

/// Too large a number counts as the largest.
fn digits(text: &str) -> Vec<u64> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    numbers.map(|digits| digits.parse().unwrap_or(u64::MAX)).collect()
}

/// Whether a version is `series` or one of its releases: `10.11.4` is in `10.11` and in `10`, not in `10.1`.
pub fn is_in_series(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether no release is between two, such as 8.0.11 and 8.0.12.
pub fn is_next(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|version| version.rsplit_once('.'));
    let (Some((series, one)), Some((other_series, other))) = (one, other) else { return false };
    let [one, other] = [one, other].map(|number| number.parse::<u64>().ok());
    series == other_series && one.is_some_and(|one| one.checked_add(1) == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order() {
        let ascending =
            ["5.5.62", "8.0.9", "8.0.11", "8.0.36", "8.0.36-28", "8.4.0", "19beta2", "19rc1", "19"];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(version_order(one, other), at.cmp(&other_at), "{one} {other}");
            }
        }
        assert!(version_order("99999999999999999999.1", "1").is_gt());
    }

    #[test]
    fn series_have_whole_numbers() {
        assert!(is_in_series("10.11.4", "10.11") && is_in_series("10.11", "10.11"));
        assert!(!is_in_series("10.11.4", "10.1") && !is_in_series("10.11", "10.11.4"));
        assert!(is_next("8.0.11", "8.0.12") && is_next("16.9", "16.10"));
        assert!(!is_next("8.0.12", "8.0.11") && !is_next("5.7.44", "8.0.45") && !is_next("x", "x"));
    }
}
