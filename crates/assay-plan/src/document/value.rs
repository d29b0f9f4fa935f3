//! Values and tables of a file, with their places.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use assay_options::{parse_count, parse_percent};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::{FileFault, FileResult};
use crate::error::PlanError;

/// Places of a kind of file that have keys, for errors, with their keys.
pub(crate) type Homes = fn() -> Vec<(&'static str, &'static [&'static str])>;

#[derive(Clone, Copy)]
pub struct FileTable<'t> {
    source: &'t str,
    homes: Homes,
    pub(crate) entries: &'t DeTable<'t>,
}

#[derive(Clone)]
pub struct FileValue<'t> {
    /// Its key, also within a list.
    pub key: &'t str,
    pub key_span: Range<usize>,
    pub span: Range<usize>,
    source: &'t str,
    homes: Homes,
    pub value: &'t DeValue<'t>,
}

impl<'t> FileTable<'t> {
    pub fn new(source: &'t str, entries: &'t DeTable<'t>, homes: Homes) -> Self {
        Self { source, homes, entries }
    }

    pub fn get(&self, key: &str) -> Option<FileValue<'t>> {
        let (key, value) = self.entries.get_key_value(key)?;
        Some(self.value(key, value))
    }

    pub(crate) fn values(&self) -> Vec<FileValue<'t>> {
        let mut values: Vec<_> =
            self.entries.iter().map(|(key, value)| self.value(key, value)).collect();
        values.sort_by_key(|value| value.key_span.start);
        values
    }

    pub fn refuse_unknown(&self, known: &[&str]) -> FileResult<()> {
        let mut values = self.values().into_iter();
        let Some(value) = values.find(|value| !known.contains(&value.key)) else { return Ok(()) };
        let key = value.key;
        let fault = FileFault::at(value.key_span, format!("unknown key `{key}`"));
        let home = (self.homes)().into_iter().find(|(_, keys)| keys.contains(&key));
        Err(match home {
            Some((place, _)) => fault.hint(format!("`{key}` belongs {place}")),
            None => {
                let keys = format!("the known keys here are {}", listed(known));
                fault.hint_nearest(key, known, keys)
            }
        })
    }

    fn value(
        &self,
        key: &'t Spanned<DeString<'t>>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> FileValue<'t> {
        FileValue {
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            source: self.source,
            homes: self.homes,
            value: value.get_ref(),
        }
    }
}

impl<'t> FileValue<'t> {
    pub fn fault(&self, message: impl Into<String>) -> FileFault {
        FileFault::at(self.span.clone(), message)
    }

    /// Place of a part of a text in the file; that of the whole text if it contains escapes.
    pub(crate) fn span_of(&self, part: Range<usize>) -> Range<usize> {
        let (Some(written), Some(text)) = (self.source.get(self.span.clone()), self.value.as_str())
        else {
            return self.span.clone();
        };
        // After one quote, three, or three and the newline that TOML ignores.
        let verbatim = |open: &usize| written.get(*open..open + text.len()) == Some(text);
        match [1, 3, 4].iter().find(|open| verbatim(open)) {
            Some(open) => {
                let start = self.span.start + open;
                start + part.start..start + part.end
            }
            None => self.span.clone(),
        }
    }

    pub fn text(&self, expected: &str) -> FileResult<&'t str> {
        self.value.as_str().ok_or_else(|| self.is_not(expected))
    }

    pub fn list(&self, expected: &str) -> FileResult<Vec<Self>> {
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

    pub fn table(&self, expected: &str) -> FileResult<FileTable<'t>> {
        let entries = self.value.as_table().ok_or_else(|| self.is_not(expected))?;
        Ok(FileTable { source: self.source, homes: self.homes, entries })
    }

    pub(crate) fn option_value(&self) -> FileResult<String> {
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

    pub fn is_not(&self, expected: &str) -> FileFault {
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

impl<'t> FileValue<'t> {
    pub(crate) fn mistaken(&self, error: &PlanError) -> FileFault {
        FileFault::from_error(self.span.clone(), error)
    }

    pub fn number<T>(&self, range: &RangeInclusive<T>) -> FileResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        let number = self.value.as_integer().ok_or_else(|| self.is_not("a whole number"))?;
        let number = i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX);
        self.in_range(number, range)
    }

    pub(crate) fn in_range<T>(&self, number: i128, range: &RangeInclusive<T>) -> FileResult<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        T::try_from(number).ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.fault(format!("`{}` must be between {low} and {high}", self.key))
        })
    }

    /// A number, or a text such as `"1M"`.
    pub(crate) fn count(&self, range: &RangeInclusive<u32>) -> FileResult<u32> {
        let Some(text) = self.value.as_str() else { return self.number(range) };
        let count = parse_count(text).map_err(|error| self.mistaken(&error.into()))?;
        self.in_range(count.into(), range)
    }

    pub fn fraction(&self, range: &RangeInclusive<f64>) -> FileResult<f64> {
        let text = match self.value {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.is_not("a number")),
        };
        let number = text.replace('_', "").parse().ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.fault(format!("`{}` must be between {low} and {high}", self.key))
        })
    }

    pub(crate) fn flag(&self) -> FileResult<bool> {
        self.value.as_bool().ok_or_else(|| self.is_not("`true` or `false`"))
    }

    pub fn percent(&self, expected: &str) -> FileResult<f64> {
        parse_percent(self.text(expected)?).map_err(|error| self.mistaken(&error.into()))
    }

    pub fn word(&self, words: &[&'static str]) -> FileResult<&'static str> {
        let choice = listed(words);
        let text = self.text(&format!("one of {choice}"))?;
        words.iter().copied().find(|word| *word == text).ok_or_else(|| {
            self.fault(format!("`{text}` is not a valid `{}`", self.key)).hint_nearest(
                text,
                words,
                format!("it must be one of {choice}"),
            )
        })
    }

    /// The values of a list, or the only value.
    pub fn one_or_more(&self, expected: &str) -> FileResult<Vec<Self>> {
        if self.value.is_array() { self.list(expected) } else { Ok(vec![self.clone()]) }
    }
}

pub fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
