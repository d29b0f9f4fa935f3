//! Generators of column values and variables.

use assay_model::{Generator, Range, Scalar, Term};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::distribution::RandomSampler;
use crate::literal::push_decimal;
use crate::number::EventValue;
use crate::random::RandomStream;

#[derive(Debug, Clone)]
pub(crate) enum ValueSource {
    Constant(Scalar),
    Sequence { first: i64, each: u32 },
    Integer(Integers),
    Decimal { integers: Integers, decimals: u8 },
    Text { least: u32, most: u32 },
    Pattern(Vec<PatternPlace>),
    OneOf { values: Vec<Scalar>, up_to: Vec<f64> },
    Time(Integers),
    TimeSequence { first_s: i64, step_ms: u64 },
    Nullable { share: f64, of: Box<Self> },
    Computed(Vec<Term>),
    Captured(u32),
}

#[derive(Debug, Clone)]
pub(crate) struct Integers {
    low: i64,
    high: i64,
    offsets: RandomSampler,
    is_reversed: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum PatternPlace {
    Digit,
    Letter,
    Char(char),
}

impl ValueSource {
    pub(crate) fn new(generator: &Generator) -> Self {
        match generator {
            Generator::Constant(value) => Self::Constant(value.clone()),
            Generator::Sequence { first, each } => {
                Self::Sequence { first: *first, each: (*each).max(1) }
            }
            Generator::Integer(range) => Self::Integer(Integers::new(*range)),
            Generator::Decimal { range, decimals } => {
                Self::Decimal { integers: Integers::new(*range), decimals: *decimals }
            }
            Generator::Text { least, most } => Self::Text { least: *least, most: *most },
            Generator::Pattern(text) => Self::Pattern(places(text)),
            Generator::OneOf { values, weights } => {
                Self::OneOf { values: values.clone(), up_to: shares(weights) }
            }
            Generator::Time(range) => Self::Time(Integers::new(*range)),
            Generator::TimeSequence { first_s, step_ms } => {
                Self::TimeSequence { first_s: *first_s, step_ms: *step_ms }
            }
            Generator::Nullable { share, of } => {
                Self::Nullable { share: *share, of: Box::new(Self::new(of)) }
            }
            Generator::Computed(terms) => Self::Computed(terms.clone()),
            Generator::Captured { column, .. } => Self::Captured(*column),
        }
    }

    /// The next value; `row` counts from 0. Text is appended to `bytes`.
    pub(crate) fn value(
        &self,
        row: u64,
        stream: &mut RandomStream,
        bytes: &mut Vec<u8>,
    ) -> EventValue {
        let start = bytes.len();
        match self {
            Self::Constant(value) => return scalar(value, bytes),
            // Only an event knows the other variables and its line.
            Self::Computed(_) | Self::Captured(_) => return EventValue::Null,
            Self::Sequence { first, each } => {
                return EventValue::Int(first.wrapping_add_unsigned(row / u64::from(*each)));
            }
            Self::Integer(integers) => return EventValue::Int(integers.draw(stream)),
            Self::Decimal { integers, decimals } => {
                push_scaled(bytes, integers.draw(stream), *decimals);
            }
            Self::Text { least, most } => push_letters(bytes, *least, *most, stream),
            Self::Pattern(places) => {
                places.iter().for_each(|place| place.push(bytes, stream));
            }
            Self::OneOf { values, up_to } => {
                let unit = stream.unit();
                let at = up_to.partition_point(|end| *end <= unit);
                let value = values.get(at).or(values.last());
                return value.map_or(EventValue::Null, |value| scalar(value, bytes));
            }
            Self::Time(seconds) => push_time(bytes, seconds.draw(stream)),
            Self::TimeSequence { first_s, step_ms } => {
                let passed_s = row.saturating_mul(*step_ms) / 1000;
                push_time(bytes, first_s.saturating_add_unsigned(passed_s));
            }
            Self::Nullable { share, of } => {
                return if stream.unit() < *share {
                    EventValue::Null
                } else {
                    of.value(row, stream, bytes)
                };
            }
        }
        EventValue::Text(start..bytes.len())
    }
}

impl Integers {
    fn new(Range { low, high, draw, is_reversed }: Range) -> Self {
        let high = high.max(low);
        let size = high.abs_diff(low).saturating_add(1);
        Self { low, high, offsets: RandomSampler::of_size(draw, size), is_reversed }
    }

    fn draw(&self, stream: &mut RandomStream) -> i64 {
        let offset = self.offsets.offset(stream);
        if self.is_reversed {
            self.high.saturating_sub_unsigned(offset)
        } else {
            self.low.saturating_add_unsigned(offset)
        }
    }
}

impl PatternPlace {
    fn push(self, bytes: &mut Vec<u8>, stream: &mut RandomStream) {
        match self {
            Self::Digit => bytes.push(b'0' + stream.below(10) as u8),
            Self::Letter => bytes.push(b'a' + stream.below(26) as u8),
            Self::Char(char) => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

fn places(pattern: &str) -> Vec<PatternPlace> {
    let mut chars = pattern.chars();
    let next = || {
        Some(match chars.next()? {
            '#' => PatternPlace::Digit,
            '@' => PatternPlace::Letter,
            '\\' => PatternPlace::Char(chars.next().unwrap_or('\\')),
            other => PatternPlace::Char(other),
        })
    };
    std::iter::from_fn(next).collect()
}

fn shares(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let sum = |sum: &mut f64, weight: &f64| {
        *sum += weight / total;
        Some(*sum)
    };
    weights.iter().scan(0.0, sum).collect()
}

fn scalar(value: &Scalar, bytes: &mut Vec<u8>) -> EventValue {
    match value {
        Scalar::Integer(value) => EventValue::Int(*value),
        Scalar::Text(text) => {
            let start = bytes.len();
            bytes.extend_from_slice(text.as_bytes());
            EventValue::Text(start..bytes.len())
        }
    }
}

/// Words of one to nine letters, separated by spaces.
fn push_letters(bytes: &mut Vec<u8>, least: u32, most: u32, stream: &mut RandomStream) {
    let length = least + stream.below(u64::from(most.saturating_sub(least)) + 1) as u32;
    let mut word = 1 + stream.below(9);
    for at in 0..length {
        // A padded column would lose a trailing space.
        if word == 0 && at + 1 < length {
            bytes.push(b' ');
            word = 1 + stream.below(9);
        } else {
            bytes.push(b'a' + stream.below(26) as u8);
            word = word.saturating_sub(1);
        }
    }
}

/// `-12.05` for −1205 and two decimals.
fn push_scaled(bytes: &mut Vec<u8>, value: i64, decimals: u8) {
    if value < 0 {
        bytes.push(b'-');
    }
    let unit = 10_u64.saturating_pow(decimals.into());
    let (whole, part) = (value.unsigned_abs() / unit, value.unsigned_abs() % unit);
    push_decimal(bytes, whole);
    if decimals > 0 {
        bytes.push(b'.');
        push_padded(bytes, part, decimals.into());
    }
}

/// `2026-01-31 12:00:00`; empty beyond the calendar's range.
fn push_time(bytes: &mut Vec<u8>, second: i64) {
    let Ok(moment) = Timestamp::from_second(second) else { return };
    let time = moment.to_zoned(TimeZone::UTC).datetime();
    let parts = [
        (time.year().unsigned_abs(), 4, "-"),
        (time.month().unsigned_abs().into(), 2, "-"),
        (time.day().unsigned_abs().into(), 2, " "),
        (time.hour().unsigned_abs().into(), 2, ":"),
        (time.minute().unsigned_abs().into(), 2, ":"),
        (time.second().unsigned_abs().into(), 2, ""),
    ];
    for (number, digits, after) in parts {
        push_padded(bytes, u64::from(number), digits);
        bytes.extend_from_slice(after.as_bytes());
    }
}

fn push_padded(bytes: &mut Vec<u8>, value: u64, digits: u32) {
    let length = value.checked_ilog10().map_or(1, |log| log + 1);
    (length..digits).for_each(|_| bytes.push(b'0'));
    push_decimal(bytes, value);
}

#[cfg(test)]
mod tests {
    use assay_model::Distribution;

    use super::*;

    fn drawn(generator: &Generator, count: u64) -> Vec<String> {
        let (source, mut stream, mut bytes) =
            (ValueSource::new(generator), RandomStream::new(7), Vec::new());
        let mut value = |row| match source.value(row, &mut stream, &mut bytes) {
            EventValue::Int(number) => number.to_string(),
            EventValue::Text(range)
            | EventValue::Rows(range)
            | EventValue::Raw(range)
            | EventValue::Computed(_, range) => String::from_utf8(bytes[range].to_vec()).unwrap(),
            EventValue::Null | EventValue::Kept(_) => "NULL".to_owned(),
        };
        (0..count).map(&mut value).collect()
    }

    fn range(low: i64, high: i64, draw: Distribution) -> Range {
        Range { low, high, draw, is_reversed: false }
    }

    #[test]
    fn sequences_follow_the_rows() {
        assert_eq!(drawn(&Generator::Sequence { first: -1, each: 1 }, 3), ["-1", "0", "1"]);
        assert_eq!(drawn(&Generator::Sequence { first: 1, each: 2 }, 5), ["1", "1", "2", "2", "3"]);
        let times = Generator::TimeSequence { first_s: 1_767_225_599, step_ms: 500 };
        assert_eq!(
            drawn(&times, 3),
            ["2025-12-31 23:59:59", "2025-12-31 23:59:59", "2026-01-01 00:00:00"]
        );
    }

    #[test]
    fn integers_stay_within_any_range() {
        for (low, high) in [(1, 1), (-5, 5), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
            for draw in [Distribution::Uniform, Distribution::Zipfian { s: 0.8 }] {
                for is_reversed in [false, true] {
                    let range = Range { is_reversed, ..range(low, high, draw) };
                    for text in drawn(&Generator::Integer(range), 100) {
                        let value: i64 = text.parse().unwrap();
                        assert!((low..=high.max(low)).contains(&value), "{value}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_reversed_distribution_prefers_the_highest_values() {
        let draw = Distribution::Zipfian { s: 1.2 };
        let newest = Range { is_reversed: true, ..range(1, 1000, draw) };
        let drawn = drawn(&Generator::Integer(newest), 1000);
        let high = drawn.iter().filter(|text| text.parse::<i64>().unwrap() > 900).count();
        assert!(high > 700, "{high}");
    }

    #[test]
    fn decimals_have_their_digits() {
        let decimal = |value, decimals| {
            let range = range(value, value, Distribution::Uniform);
            drawn(&Generator::Decimal { range, decimals }, 1).remove(0)
        };
        assert_eq!(decimal(-1205, 2), "-12.05");
        assert_eq!(decimal(7, 3), "0.007");
        assert_eq!(decimal(7, 0), "7");
        assert_eq!(decimal(i64::MIN, 1), "-922337203685477580.8");
    }

    #[test]
    fn text_has_letters_and_the_asked_length() {
        for text in drawn(&Generator::Text { least: 5, most: 40 }, 200) {
            assert!((5..=40).contains(&text.len()) && !text.ends_with(' '), "{text:?}");
            assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_lowercase()), "{text:?}");
        }
        assert_eq!(drawn(&Generator::Text { least: 0, most: 0 }, 1), [""]);
    }

    #[test]
    fn patterns_keep_what_is_not_random() {
        let text = drawn(&Generator::Pattern("é@#-\\##\\".to_owned()), 1).remove(0);
        let chars: Vec<char> = text.chars().collect();
        assert_eq!((chars[0], chars[3], chars[4], chars[6]), ('é', '-', '#', '\\'));
        assert!(
            chars[1].is_ascii_lowercase() && chars[2].is_ascii_digit() && chars[5].is_ascii_digit()
        );
    }

    #[test]
    fn values_come_in_proportion_to_their_weights() {
        let text = |text: &str| Scalar::Text(text.to_owned());
        let values = vec![text("a"), Scalar::Integer(5), text("never")];
        let of = Box::new(Generator::OneOf { values, weights: vec![3.0, 1.0, 0.0] });
        let drawn = drawn(&Generator::Nullable { share: 0.5, of }, 8000);
        let count = |word: &str| drawn.iter().filter(|value| *value == word).count();
        assert!((3800..4200).contains(&count("NULL")));
        assert!((2850..3150).contains(&count("a")) && (900..1100).contains(&count("5")));
        assert_eq!(count("never"), 0);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |second| {
            let range = range(second, second, Distribution::Uniform);
            drawn(&Generator::Time(range), 1).remove(0)
        };
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(951_827_696), "2000-02-29 12:34:56");
        assert_eq!(at(i64::MAX), "");
    }
}
