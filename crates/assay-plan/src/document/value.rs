//! Values and tables of a file, with their places.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::Fault;
use crate::nearest::nearest;

/// Places of a kind of file that have keys, for errors, with their keys.
pub(crate) type Homes = fn() -> Vec<(&'static str, &'static [&'static str])>;

#[derive(Clone, Copy)]
pub(crate) struct Table<'t> {
    source: &'t str,
    homes: Homes,
    pub(crate) entries: &'t DeTable<'t>,
}

#[derive(Clone)]
pub(crate) struct Value<'t> {
    /// Its key, also within a list.
    pub(crate) key: &'t str,
    pub(crate) key_span: Range<usize>,
    pub(crate) span: Range<usize>,
    source: &'t str,
    homes: Homes,
    pub(crate) value: &'t DeValue<'t>,
}

impl<'t> Table<'t> {
    pub(crate) fn new(source: &'t str, entries: &'t DeTable<'t>, homes: Homes) -> Self {
        Self { source, homes, entries }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Value<'t>> {
        let (key, value) = self.entries.get_key_value(key)?;
        Some(self.value(key, value))
    }

    pub(crate) fn values(&self) -> Vec<Value<'t>> {
        let mut values: Vec<_> =
            self.entries.iter().map(|(key, value)| self.value(key, value)).collect();
        values.sort_by_key(|value| value.key_span.start);
        values
    }

    pub(crate) fn refuse_unknown(&self, known: &[&str]) -> Result<(), Fault> {
        let mut values = self.values().into_iter();
        let Some(value) = values.find(|value| !known.contains(&value.key)) else { return Ok(()) };
        let key = value.key;
        let fault = Fault::at(value.key_span, format!("unknown key `{key}`"));
        let home = (self.homes)().into_iter().find(|(_, keys)| keys.contains(&key));
        Err(match (home, nearest(key, known)) {
            (Some((place, _)), _) => fault.hint(format!("`{key}` belongs {place}")),
            (None, Some(meant)) => fault.hint(format!("did you mean `{meant}`")),
            (None, None) => fault.hint(format!("the known keys here are {}", listed(known))),
        })
    }

    fn value(&self, key: &'t Spanned<DeString<'t>>, value: &'t Spanned<DeValue<'t>>) -> Value<'t> {
        Value {
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            source: self.source,
            homes: self.homes,
            value: value.get_ref(),
        }
    }
}

impl<'t> Value<'t> {
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::at(self.span.clone(), message)
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

    pub(crate) fn text(&self, expected: &str) -> Result<&'t str, Fault> {
        self.value.as_str().ok_or_else(|| self.is_not(expected))
    }

    pub(crate) fn list(&self, expected: &str) -> Result<Vec<Self>, Fault> {
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

    pub(crate) fn table(&self, expected: &str) -> Result<Table<'t>, Fault> {
        let entries = self.value.as_table().ok_or_else(|| self.is_not(expected))?;
        Ok(Table { source: self.source, homes: self.homes, entries })
    }

    pub(crate) fn option_value(&self) -> Result<String, Fault> {
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

    pub(crate) fn is_not(&self, expected: &str) -> Fault {
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

pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
