//! Values of a study file with their places, for what serde does not see: systems, their options, and lists of tables.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::fault::Fault;
use crate::entry::{KEY, Mistake, listed};
use crate::nearest::nearest;

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

    /// Reads values with serde. `skipped` are the keys that are read elsewhere.
    pub(super) fn read<T: serde::Deserialize<'t>>(&self, skipped: &[&str]) -> Result<T, Fault> {
        let entries = self.entries.clone().into_iter();
        let kept: DeTable<'t> =
            entries.filter(|(key, _)| !skipped.contains(&key.get_ref().as_ref())).collect();
        let deserializer = toml::de::Deserializer::from(Spanned::new(0..0, kept));
        T::deserialize(deserializer).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let holds =
                |value: &Value<'_>| value.span.start <= span.start && span.end <= value.span.end;
            let value = self.values().into_iter().find(holds);
            let key = value.map(|value| value.key).unwrap_or_default();
            Fault::of_value(span, key, Mistake::from_text(error.message()))
        })
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
    pub(super) fn fault(&self, mistake: impl Into<Mistake>) -> Fault {
        Fault::of_value(self.span.clone(), self.key, mistake.into())
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
        self.value.as_str().ok_or_else(|| self.fault(self.is_not(expected)))
    }

    pub(super) fn list(&self, expected: &str) -> Result<Vec<Self>, Fault> {
        let entries = self.value.as_array().ok_or_else(|| self.fault(self.is_not(expected)))?;
        if entries.is_empty() {
            return Err(self.fault(format!("`{KEY}` is empty")));
        }
        let value = |entry: &'t Spanned<DeValue<'t>>| Self {
            span: entry.span(),
            value: entry.get_ref(),
            ..self.clone()
        };
        Ok(entries.iter().map(value).collect())
    }

    pub(super) fn table(&self, expected: &str) -> Result<Table<'t>, Fault> {
        let entries = self.value.as_table().ok_or_else(|| self.fault(self.is_not(expected)))?;
        Ok(Table { source: self.source, entries })
    }

    /// A server option's value as the server takes it.
    pub(super) fn option_value(&self) -> Result<String, Fault> {
        match self.value {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) => {
                let value = i128::from_str_radix(number.as_str(), number.radix());
                Ok(value.map_err(|_| self.fault(self.is_not("a number")))?.to_string())
            }
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(true) => Ok("ON".to_owned()),
            DeValue::Boolean(false) => Ok("OFF".to_owned()),
            _ => Err(self.fault(
                self.is_not("a string, a number, `true` or `false`")
                    .hint("an option whose name has a dot needs quotes: `\"group.option\"`"),
            )),
        }
    }

    fn is_not(&self, expected: &str) -> Mistake {
        let is = match self.value.type_str() {
            "string" => "a string",
            "integer" | "float" => "a number",
            "boolean" => "`true` or `false`",
            "datetime" => "a date",
            "array" => "a list",
            _ => "a table",
        };
        Mistake::of_type(expected, is, self.value.as_str())
    }
}
