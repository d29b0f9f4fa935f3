//! Values of a study file with their places, and tables that know their keys.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Fault;
use crate::nearest::nearest;

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Table<'t> {
    source: &'t str,
    entries: &'t DeTable<'t>,
}

/// A value of the file, its key, and where both are.
#[derive(Clone)]
pub(super) struct Value<'t> {
    /// The key it stands under, also where it is part of a list.
    pub(super) key: &'t str,
    pub(super) key_span: Range<usize>,
    pub(super) span: Range<usize>,
    source: &'t str,
    value: &'t DeValue<'t>,
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

    /// Refuses keys that are not among `known`; `elsewhere` says where the keys of other tables belong.
    pub(super) fn refuse_unknown(
        &self,
        known: &[&str],
        elsewhere: &[(&str, &[&str])],
    ) -> Result<(), Fault> {
        let Some(value) = self.values().into_iter().find(|value| !known.contains(&value.key))
        else {
            return Ok(());
        };
        let key = value.key;
        let fault = Fault::at(value.key_span, format!("unknown key `{key}`"));
        let home = elsewhere.iter().find(|(_, keys)| keys.contains(&key));
        Err(match (home, nearest(key, known)) {
            (Some((place, _)), _) => fault.hint(format!("`{key}` belongs {place}")),
            (None, Some(meant)) => fault.hint(format!("did you mean `{meant}`")),
            (None, None) => fault.hint(format!("the known keys here are {}", listed(known))),
        })
    }

    fn value(
        &self,
        key: &'t Spanned<toml::de::DeString<'t>>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Value<'t> {
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

    /// Where a part of a text is in the file; the whole text where it is written with escapes.
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
        self.value.as_str().ok_or_else(|| self.not(expected))
    }

    pub(super) fn flag(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.not("`true` or `false`"))
    }

    /// A list, or a single value in its place.
    pub(super) fn one_or_more(&self) -> Result<Vec<Self>, Fault> {
        if self.value.is_array() { self.list("") } else { Ok(vec![self.clone()]) }
    }

    pub(super) fn list(&self, expected: &str) -> Result<Vec<Self>, Fault> {
        let entries = self.value.as_array().ok_or_else(|| self.not(expected))?;
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
        let entries = self.value.as_table().ok_or_else(|| self.not(expected))?;
        Ok(Table { source: self.source, entries })
    }

    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Result<u64, Fault> {
        let number = self.value.as_integer().ok_or_else(|| self.not("a whole number"))?;
        u64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (low, high) = (range.start(), range.end());
                self.fault(format!("`{}` must lie between {low} and {high}", self.key))
            })
    }

    pub(super) fn count(&self, range: &RangeInclusive<u32>) -> Result<u32, Fault> {
        let number = self.number(u64::from(*range.start())..=u64::from(*range.end()))?;
        Ok(u32::try_from(number).unwrap_or(*range.end()))
    }

    /// A number that was read from a text.
    pub(super) fn in_range(&self, number: u32, range: &RangeInclusive<u32>) -> Result<u32, Fault> {
        let (low, high) = (range.start(), range.end());
        let wrong = || self.fault(format!("`{}` must lie between {low} and {high}", self.key));
        if range.contains(&number) { Ok(number) } else { Err(wrong()) }
    }

    /// A number as it is written, or a text.
    pub(super) fn text_or_number(&self, expected: &str) -> Result<String, Fault> {
        match self.value {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            _ => self.text(expected).map(str::to_owned),
        }
    }

    /// The one of `all` whose word stands here.
    pub(super) fn word<T: Copy>(&self, all: &[T], word: fn(T) -> &'static str) -> Result<T, Fault> {
        let words: Vec<_> = all.iter().map(|&one| word(one)).collect();
        let choice = listed(&words);
        let text = self.text(&format!("one of {choice}"))?;
        all.iter().copied().find(|&one| word(one) == text).ok_or_else(|| {
            let fault = self.fault(format!("`{text}` is not a valid `{}`", self.key));
            match nearest(text, words) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`")),
                None => fault.hint(format!("it must be one of {choice}")),
            }
        })
    }

    /// A server option's value as the server takes it.
    pub(super) fn option_value(&self) -> Result<String, Fault> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let value = i128::from_str_radix(number.as_str(), number.radix());
                Ok(value.map_err(|_| self.not("a number"))?.to_string())
            }
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(true) => Ok("ON".to_owned()),
            DeValue::Boolean(false) => Ok("OFF".to_owned()),
            _ => Err(self
                .not("a text, a number, `true` or `false`")
                .hint("an option whose name has a dot is written in quotes: `\"group.option\"`")),
        }
    }

    fn not(&self, expected: &str) -> Fault {
        let is = match self.value.type_str() {
            "string" => "text",
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

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
