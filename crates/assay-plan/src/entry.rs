//! Reads and writes the values of a study file for serde: each kind of value has messages of its own.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use assay_model::{CpuPlacement, Hint as _, IdKey, Preset, StatementMode, TestSet};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, TABLES};
use crate::nearest::nearest;
use crate::units::{
    duration_text, parse_clients, parse_count, parse_duration_s, parse_percent, percent_text,
};

/// A mistake in a value. It travels as the text of a serde error, which has the value's place.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Mistake {
    /// The message; [`KEY`] stands for the key of the value.
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// Stands for the key in a message: a value does not know the key that it belongs to.
pub(crate) const KEY: char = '\u{1e}';

/// Comes before each hint in the text of an error.
const BEFORE_HINT: char = '\u{1f}';

impl Mistake {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// A value of another type than `expected`; `text` is the value if it is a text.
    pub(crate) fn of_type(expected: &str, is: &str, text: Option<&str>) -> Self {
        let mistake = Self::new(format!("`{KEY}` must be {expected}, not {is}"));
        match text.map(str::trim) {
            Some(text) if text.parse::<i64>().is_ok() || matches!(text, "true" | "false") => {
                mistake.hint(format!("write it without quotes: `{text}`"))
            }
            _ => mistake,
        }
    }

    fn out_of_range(low: impl Display, high: impl Display) -> Self {
        Self::new(format!("`{KEY}` must be between {low} and {high}"))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Reads the text of a serde error.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut parts = text.split(BEFORE_HINT).map(str::to_owned);
        Self { message: parts.next().unwrap_or_default(), hints: parts.collect() }
    }
}

impl From<String> for Mistake {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<Error> for Mistake {
    fn from(error: Error) -> Self {
        Self { message: error.to_string(), hints: error.hints() }
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "{BEFORE_HINT}{hint}"))
    }
}

/// A value as TOML has it.
pub(crate) enum Raw<'a> {
    Text(&'a str),
    Whole(i128),
    Float(f64),
    Flag(bool),
    /// A list, a table or a date, by its name.
    Other(&'static str),
}

impl Raw<'_> {
    /// The mistake of a value that is not what is expected.
    fn is_not(&self, expected: &str) -> Mistake {
        let (is, text) = match self {
            Self::Text(text) => ("a string", Some(*text)),
            Self::Whole(_) | Self::Float(_) => ("a number", None),
            Self::Flag(_) => ("`true` or `false`", None),
            Self::Other(is) => (*is, None),
        };
        Mistake::of_type(expected, is, text)
    }

    fn text(&self, expected: &str) -> Result<&str, Mistake> {
        if let Self::Text(text) = self { Ok(text) } else { Err(self.is_not(expected)) }
    }

    /// A whole number; one that 32 bits do not hold counts as the nearest that they hold, which is out of all ranges.
    fn count(&self, range: &RangeInclusive<u32>) -> Result<u32, Mistake> {
        let Self::Whole(number) = self else { return Err(self.is_not("a whole number")) };
        in_range(u32::try_from((*number).clamp(0, u32::MAX.into())).unwrap_or_default(), range)
    }

    /// A whole number, or a text such as `"1M"`.
    fn count_or_text(&self, range: &RangeInclusive<u32>) -> Result<u32, Mistake> {
        match self {
            Self::Text(text) => in_range(parse_count(text)?, range),
            _ => self.count(range),
        }
    }
}

fn in_range(number: u32, range: &RangeInclusive<u32>) -> Result<u32, Mistake> {
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(Mistake::out_of_range(range.start(), range.end()))
    }
}

/// A kind of value.
pub(crate) trait Entry: Sized {
    /// Reads a single value.
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake>;

    /// Reads a list; most kinds of value refuse it.
    fn read_list<'de, A: SeqAccess<'de>>(_list: A) -> Result<Self, A::Error> {
        Self::read(&Raw::Other("a list")).map_err(A::Error::custom)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// Reads a value. A mistake in it is raised while it is visited, so that its place is known.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Entry>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(EntryVisitor(PhantomData))
}

pub(crate) fn serialize<S: Serializer, T: Entry>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.write(serializer)
}

/// The value of a list.
struct Element<T>(T);

impl<'de, T: Entry> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

struct EntryVisitor<T>(PhantomData<T>);

impl<'de, T: Entry> Visitor<'de> for EntryVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<T, E> {
        T::read(&Raw::Flag(flag)).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_i128(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_i128(number.into())
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<T, E> {
        T::read(&Raw::Whole(number)).map_err(E::custom)
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<T, E> {
        self.visit_i128(i128::try_from(number).unwrap_or(i128::MAX))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        T::read(&Raw::Float(number)).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::read(&Raw::Text(text)).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::read_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        // The toml crate gives a date as a map with a key that no file can have.
        let is_date = map.next_key::<String>()?.is_some_and(|key| key.starts_with("$__toml"));
        let is = if is_date { "a date" } else { "a table" };
        T::read(&Raw::Other(is)).map_err(A::Error::custom)
    }
}

/// A list, which is not empty.
fn list<'de, T: Entry, A: SeqAccess<'de>>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut values = Vec::new();
    while let Some(Element(value)) = list.next_element()? {
        values.push(value);
    }
    if values.is_empty() { Err(A::Error::custom(format!("`{KEY}` is empty"))) } else { Ok(values) }
}

/// A value that one of a few words stands for.
pub(crate) trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn word(self) -> &'static str;
}

macro_rules! words {
    ($($type:ident: $($variant:ident),+;)+) => {$(
        impl Word for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn word(self) -> &'static str {
                // The list is complete: otherwise the match would not compile.
                match self { $(Self::$variant)|+ => $type::word(self) }
            }
        }
    )+};
}

words! {
    Preset: Smoke, Quick, Standard, Published;
    IdKey: Primary, Secondary;
    StatementMode: Prepared, Text;
    CpuPlacement: OneCpu, ConnectionsOnOneCpu, Free;
}

impl<T: Word> Entry for T {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        let words: Vec<_> = T::ALL.iter().map(|one| one.word()).collect();
        let choice = listed(&words);
        let text = raw.text(&format!("one of {choice}"))?;
        T::ALL.iter().copied().find(|one| one.word() == text).ok_or_else(|| {
            let mistake = Mistake::new(format!("`{text}` is not a valid `{KEY}`"));
            match nearest(text, words) {
                Some(meant) => mistake.hint(format!("did you mean `{meant}`")),
                None => mistake.hint(format!("it must be one of {choice}")),
            }
        })
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl<T: Entry> Entry for Option<T> {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        T::read(raw).map(Some)
    }

    fn read_list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        T::read_list(list).map(Some)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(serializer),
            None => serializer.serialize_none(),
        }
    }
}

impl Entry for bool {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        if let Raw::Flag(flag) = raw { Ok(*flag) } else { Err(raw.is_not("`true` or `false`")) }
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }
}

impl Entry for u64 {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        let Raw::Whole(number) = raw else { return Err(raw.is_not("a whole number")) };
        Self::try_from(*number).map_err(|_| Mistake::out_of_range(0, Self::MAX))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*self)
    }
}

impl Entry for TestSet {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        let number = u64::read(raw)?;
        Self::ALL.into_iter().find(|set| set.len() as u64 == number).ok_or_else(|| {
            Mistake::new(format!("there is no set of {number} tests"))
                .hint("the sets are `27`, `32`, `42` and `47`")
        })
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.len() as u64)
    }
}

/// A pattern for tests.
struct Pattern(String);

impl Entry for Pattern {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        raw.text("patterns for tests").map(|text| Self(text.to_owned()))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Patterns for tests.
impl Entry for Vec<String> {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        Err(raw.is_not("a list of patterns such as `[\"point*\", \"scan\"]`"))
    }

    fn read_list<'de, A: SeqAccess<'de>>(patterns: A) -> Result<Self, A::Error> {
        Ok(list::<Pattern, A>(patterns)?.into_iter().map(|pattern| pattern.0).collect())
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Serialize::serialize(self, serializer)
    }
}

/// Makes a kind of value for a type that has several: `with = "entry::NAME"` on a field of type `Option<...>`.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident, $kind:ident: $type:ty, $read:expr, $write:expr;)+) => {$(
        $(#[$doc])*
        struct $kind($type);

        impl Entry for $kind {
            fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
                let read: fn(&Raw<'_>) -> Result<$type, Mistake> = $read;
                read(raw).map(Self)
            }

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Serialize::serialize(&$write(&self.0), serializer)
            }
        }

        $(#[$doc])*
        pub(crate) mod $name {
            use super::*;

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Option<$type>, D::Error> {
                super::deserialize(deserializer).map(|$kind(value)| Some(value))
            }

            pub(crate) fn serialize<S: Serializer>(
                value: &Option<$type>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                super::serialize(&value.clone().map($kind), serializer)
            }
        }
    )+};
}

kinds! {
    /// A number of seconds, or a text such as `"10m"`.
    duration, Duration: f64, duration_s, |seconds: &f64| duration_text(*seconds);
    /// A text such as `"2%"`.
    percent, Percent: f64,
        |raw| Ok(parse_percent(raw.text("a percentage in quotes, such as `\"2%\"`")?)?),
        |fraction: &f64| percent_text(*fraction);
    /// A source of servers.
    source, Source: String, source_word, String::clone;
    /// A number of blocks.
    blocks, Blocks: u32, |raw| raw.count(&BLOCKS), u32::clone;
    /// A number of rounds.
    rounds, Rounds: u32, |raw| raw.count(&ROUNDS), u32::clone;
    /// A number of tables, or a text such as `"1k"`.
    tables, Tables: u32, |raw| raw.count_or_text(&TABLES), u32::clone;
    /// A number of rows, or a text such as `"1M"`.
    rows, Rows: u32, |raw| raw.count_or_text(&ROWS), u32::clone;
}

fn duration_s(raw: &Raw<'_>) -> Result<f64, Mistake> {
    Ok(match raw {
        Raw::Text(text) => parse_duration_s(text)?,
        Raw::Whole(number) => parse_duration_s(&number.to_string())?,
        Raw::Float(number) => parse_duration_s(&number.to_string())?,
        _ => {
            let expected = "a number of seconds, or a time in quotes such as `\"10m\"`";
            return Err(raw.is_not(expected));
        }
    })
}

fn source_word(raw: &Raw<'_>) -> Result<String, Mistake> {
    let word = raw.text("a source in quotes, such as `\"maven\"`")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:_-@/".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Ok(word.to_owned());
    }
    Err(Mistake::new("this is not a source").hint("one is `apt` or `maven` for example"))
}

/// Client counts: numbers, or texts such as `"1-8"`, one or a list of them.
struct Clients(Vec<u32>);

impl Entry for Clients {
    fn read(raw: &Raw<'_>) -> Result<Self, Mistake> {
        let Raw::Text(text) = raw else { return Ok(Self(vec![raw.count(&CLIENTS)?])) };
        let counts = parse_clients(text)?;
        counts.iter().try_for_each(|&count| in_range(count, &CLIENTS).map(drop))?;
        Ok(Self(counts))
    }

    fn read_list<'de, A: SeqAccess<'de>>(counts: A) -> Result<Self, A::Error> {
        Ok(Self(list::<Self, A>(counts)?.into_iter().flat_map(|counts| counts.0).collect()))
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [count] => serializer.serialize_u32(*count),
            counts => counts.serialize(serializer),
        }
    }
}

pub(crate) mod clients {
    use super::*;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u32>>, D::Error> {
        super::deserialize(deserializer).map(|Clients(counts)| Some(counts))
    }

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Vec<u32>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        super::serialize(&value.clone().map(Clients), serializer)
    }
}

/// The names of the fields of a type, as serde reads them.
pub(crate) fn keys_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut keys: &[&str] = &[];
    // Stops at the names, before any value is asked for.
    let _ = T::deserialize(Keys(&mut keys));
    keys
}

struct Keys<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Keys<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
