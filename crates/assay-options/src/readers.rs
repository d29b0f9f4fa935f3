//! Readers of values, for fields to name.

use std::ops::RangeInclusive;

use assay_model::{Words, cpus_text, read_cpus, thousands};
use clap::builder::{BoolValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::OptionError;
use crate::units::{parse_clients, parse_count, parse_duration_s};

/// The help lists the words with the documentation of the values.
pub fn word<T: Words>() -> impl TypedValueParser<Value = T> {
    let none: &[&str] = &[];
    one_of(T::WORDS.iter().map(move |&(value, word, about)| (value, word, none, about)))
}

/// Reads one of some words: each with its value, its aliases, and its help.
pub fn one_of<T: Words>(
    words: impl IntoIterator<Item = (T, &'static str, &'static [&'static str], &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let words: Vec<_> = words.into_iter().collect();
    let shown = words.iter().map(|(_, word, aliases, about)| {
        let help = about.trim().trim_end_matches('.');
        PossibleValue::new(*word).aliases(aliases.iter().copied()).help(help)
    });
    PossibleValuesParser::new(shown).try_map(move |typed: String| {
        let is_typed = |word: &str, aliases: &[&str]| word == typed || aliases.contains(&&*typed);
        let found = words.iter().find(|(_, word, aliases, _)| is_typed(word, aliases));
        found.map(|(value, ..)| *value).ok_or("no such word")
    })
}

/// A switch: the value if it is given, and the value without it.
pub fn switch<T: Clone + Send + Sync + 'static>(
    given: T,
    otherwise: T,
) -> impl TypedValueParser<Value = T> {
    BoolValueParser::new().map(move |is_given| match is_given {
        true => given.clone(),
        false => otherwise.clone(),
    })
}

pub fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: Copy + PartialOrd + Into<u64> + TryFrom<u64>,
{
    move |text| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
            return Err(format!("`{text}` is not a whole number"));
        }
        within(text.parse().ok(), &range)
    }
}

/// Reads a count such as `100k` within a range.
pub fn count<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: Copy + PartialOrd + Into<u64> + TryFrom<u64>,
{
    move |text| within(Some(parse_count(text).map_err(|error| error.to_string())?), &range)
}

fn within<T>(number: Option<u64>, range: &RangeInclusive<T>) -> Result<T, String>
where
    T: Copy + PartialOrd + Into<u64> + TryFrom<u64>,
{
    let number = number.and_then(|number| T::try_from(number).ok());
    let (least, most) = ((*range.start()).into(), (*range.end()).into());
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("must be between {} and {}", thousands(least), thousands(most)))
}

pub fn whole_seconds(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let seconds = parse_duration_s(text).map_err(|error| error.to_string())?;
        if seconds.fract() == 0.0 {
            return within(Some(seconds as u64), &range);
        }
        Err("must be a whole number of seconds".to_owned())
    }
}

/// Reads client counts and ranges of them, such as `1,4` or `1-8`.
pub fn client_counts(text: &str) -> Result<Vec<u32>, OptionError> {
    let counts: Result<Vec<Vec<u32>>, OptionError> = text.split(',').map(parse_clients).collect();
    Ok(counts?.concat())
}

/// Reads a list of CPUs such as `0-11`, and returns the shortest form of it.
pub fn cpu_list(text: &str) -> Result<String, OptionError> {
    read_cpus(text).map(|cpus| cpus_text(&cpus)).ok_or_else(|| OptionError::Unreadable {
        value: text.to_owned(),
        what: "a list of CPUs such as `0-11` or `0,2,4-7`",
    })
}

pub fn fraction(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("must be between {} and {}", range.start(), range.end()))
    }
}

pub fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("must be `on` or `off`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::limits::{ROWS, TABLES};

    use super::*;

    #[test]
    fn invalid_numbers_have_readable_errors() {
        let seed = whole(0..=u64::MAX);
        assert_eq!(seed("x").unwrap_err(), "`x` is not a whole number");
        assert_eq!(whole(1..=4096_u32)("-1").unwrap_err(), "must be between 1 and 4,096");
        assert_eq!(whole(0..=u16::MAX)("70000").unwrap_err(), "must be between 0 and 65,535");
        assert_eq!((seed("0"), whole(TABLES)("8")), (Ok(0), Ok(8)));
        assert!(seed("99999999999999999999").is_err() && seed("").is_err());
    }

    #[test]
    fn a_count_beyond_the_range_is_told_the_range() {
        let range = "must be between 1,000 and 2,000,000,000";
        for text in ["10G", "3G", "4_294_967_296", "99999999999999999999999", "10"] {
            assert_eq!(count(ROWS)(text).unwrap_err(), range, "{text}");
        }
        assert!(count(ROWS)("10X").unwrap_err().contains("a count such as"));
        assert_eq!(count(ROWS)("1.5M"), Ok(1_500_000));
    }
}
