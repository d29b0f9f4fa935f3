//! Values of a study file with their places, and tables of them.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::Fault;
use crate::nearest::nearest;
use crate::request::{Request, SetupRequest};

/// Keys at the top that are not options.
pub(super) const TABLES: [&str; 4] = ["compare", "system", "setup", "gate"];

pub(super) const SYSTEM_KEYS: [&str; 3] = ["is", "config", "options"];

pub(super) const GATE_KEYS: [&str; 3] = ["max-slowdown", "limits", "allow-undecided"];

/// The places that have keys, in words, and their keys.
fn places() -> [(&'static str, &'static [&'static str]); 4] {
    [
        ("at the top of the file, before all tables", keys_of::<Request>()),
        ("in a `[system.NAME]` table", &SYSTEM_KEYS),
        ("in a `[[setup]]` table", keys_of::<SetupRequest>()),
        ("in the `[gate]` table", &GATE_KEYS),
    ]
}

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Table<'t> {
    source: &'t str,
    pub(super) entries: &'t DeTable<'t>,
}

/// A value of the file, its key, and where both are.
#[derive(Clone)]
pub(super) struct Value<'t> {
    /// The key it stands under, also where it is part of a list.
    pub(super) key: &'t str,
    pub(super) key_span: Range<usize>,
    pub(super) span: Range<usize>,
    source: &'t str,
    pub(super) value: &'t DeValue<'t>,
}

impl<'t> Table<'t> {
    pub(super) fn new(source: &'t str, entries: &'t DeTable<'t>) -> Self {
        Self { source, entries }
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'t>> {
        let (key, value) = self.entries.get_key_value(key)?;
        Some(self.value(key, value))
    }

    /// Everything in the table, in the order of the file.
    pub(super) fn values(&self) -> Vec<Value<'t>> {
        let mut values: Vec<_> =
            self.entries.iter().map(|(key, value)| self.value(key, value)).collect();
        values.sort_by_key(|value| value.key_span.start);
        values
    }

    /// Refuses keys that are not among `known`.
    pub(super) fn refuse_unknown(&self, known: &[&str]) -> Result<(), Fault> {
        let mut values = self.values().into_iter();
        let Some(value) = values.find(|value| !known.contains(&value.key)) else { return Ok(()) };
        let key = value.key;
        let fault = Fault::at(value.key_span, format!("unknown key `{key}`"));
        let home = places().into_iter().find(|(_, keys)| keys.contains(&key));
        Err(match (home, nearest(key, known)) {
            (Some((place, _)), _) => fault.hint(format!("`{key}` belongs {place}")),
            (None, Some(meant)) => fault.hint(format!("did you mean `{meant}`")),
            (None, None) => fault.hint(format!("the known keys here are {}", listed(known))),
        })
    }

    /// Reads all but [`TABLES`] with serde.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        let values = self.values().into_iter().filter(|value| !TABLES.contains(&value.key));
        T::deserialize(MapDeserializer::new(values.map(|value| (value.key, value))))
    }

    fn value(&self, key: &'t Spanned<DeString<'t>>, value: &'t Spanned<DeValue<'t>>) -> Value<'t> {
        Value {
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            source: self.source,
            value: value.get_ref(),
        }
    }
}

impl<'t> Value<'t> {
    /// A mistake in the value as a whole.
    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::at(self.span.clone(), message)
    }

    /// The place of a part of a text in the file; that of the whole text if it is written with escapes.
    pub(super) fn span_of(&self, part: Range<usize>) -> Range<usize> {
        let (Some(written), Some(text)) = (self.source.get(self.span.clone()), self.value.as_str())
        else {
            return self.span.clone();
        };
        let is_verbatim =
            written.len() == text.len() + 2 && written.get(1..=text.len()) == Some(text);
        if !is_verbatim {
            return self.span.clone();
        }
        let start = self.span.start + 1;
        start + part.start..start + part.end
    }

    /// `expected` says what the value is to be.
    pub(super) fn text(&self, expected: &str) -> Result<&'t str, Fault> {
        self.value.as_str().ok_or_else(|| self.is_not(expected))
    }

    pub(super) fn list(&self, expected: &str) -> Result<Vec<Self>, Fault> {
        let entries = self.value.as_array().ok_or_else(|| self.is_not(expected))?;
        if entries.is_empty() {
            return Err(self.fault(format!("`{}` is empty", self.key)));
        }
        let value = |entry: &'t Spanned<DeValue<'t>>| Self {
            span: entry.span(),
            value: entry.get_ref(),
            ..self.clone()
        };
        Ok(entries.iter().map(value).collect())
    }

    pub(super) fn table(&self, expected: &str) -> Result<Table<'t>, Fault> {
        let entries = self.value.as_table().ok_or_else(|| self.is_not(expected))?;
        Ok(Table { source: self.source, entries })
    }

    /// A server option's value as the server takes it.
    pub(super) fn option_value(&self) -> Result<String, Fault> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let value = i128::from_str_radix(number.as_str(), number.radix());
                Ok(value.map_err(|_| self.is_not("a number"))?.to_string())
            }
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(true) => Ok("ON".to_owned()),
            DeValue::Boolean(false) => Ok("OFF".to_owned()),
            _ => Err(self
                .is_not("a string, a number, `true` or `false`")
                .hint("an option whose name has a dot needs quotes: `\"group.option\"`")),
        }
    }

    /// The mistake of a value that is not what is expected.
    pub(super) fn is_not(&self, expected: &str) -> Fault {
        let is = match self.value.type_str() {
            "string" => "a string",
            "integer" | "float" => "a number",
            "boolean" => "`true` or `false`",
            "datetime" => "a date",
            "array" => "a list",
            _ => "a table",
        };
        let fault = self.fault(format!("`{}` must be {expected}, not {is}", self.key));
        match self.value.as_str().map(str::trim) {
            Some(text) if text.parse::<i64>().is_ok() || matches!(text, "true" | "false") => {
                fault.hint(format!("write it without quotes: `{text}`"))
            }
            _ => fault,
        }
    }
}

pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The keys of a type that refuses unknown ones: serde gives them with the error for a key that is none of them.
pub(super) fn keys_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::new(std::iter::once(("", "")));
    T::deserialize(unknown).err().map_or(&[], |Keys(keys)| keys)
}

#[derive(Debug, thiserror::Error)]
#[error("the keys are {0:?}")]
struct Keys(&'static [&'static str]);

impl serde::de::Error for Keys {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_field(_: &str, keys: &'static [&'static str]) -> Self {
        Self(keys)
    }
}
