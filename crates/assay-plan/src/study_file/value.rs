//! Values of the types that a study file has, each with the mistake it can be.

use assay_model::Hint;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::diagnostic::{Source, StudyFileError, nearest_or_all};
use super::{Result, Value};
use crate::{Error, parse_duration_s, parse_percent};

/// Reads values, and shows where they are wrong.
#[derive(Clone, Copy)]
pub(super) struct Reader<'s> {
    pub(super) source: Source<'s>,
}

impl Reader<'_> {
    /// A mistake that the plan's own reading found.
    pub(super) fn wrong(&self, value: &Value, error: &Error) -> StudyFileError {
        let hint = error.hints().into_iter().next();
        self.source.error(value.span(), error.to_string(), hint)
    }

    pub(super) fn unknown_key(&self, key: &Spanned<DeString>, known: &[&str]) -> StudyFileError {
        let message = format!("`{}` is no key here", key.get_ref());
        self.source.error(key.span(), message, nearest_or_all(key.get_ref(), known))
    }

    fn not(&self, value: &Value, wanted: &str) -> StudyFileError {
        let message = format!("{wanted} is wanted here, not {}", kind(value.get_ref()));
        self.source.error(value.span(), message, None)
    }

    pub(super) fn string<'v>(&self, value: &'v Value) -> Result<&'v str> {
        value.get_ref().as_str().ok_or_else(|| self.not(value, "a string"))
    }

    pub(super) fn boolean(&self, value: &Value) -> Result<bool> {
        value.get_ref().as_bool().ok_or_else(|| self.not(value, "`true` or `false`"))
    }

    pub(super) fn table<'v, 'i>(&self, value: &'v Value<'i>) -> Result<&'v DeTable<'i>> {
        value.get_ref().as_table().ok_or_else(|| self.not(value, "a table"))
    }

    pub(super) fn list<'v, 'i>(
        &self,
        value: &'v Value<'i>,
    ) -> Result<impl Iterator<Item = &'v Value<'i>>> {
        let array = value.get_ref().as_array().ok_or_else(|| self.not(value, "a list"))?;
        Ok(array.iter())
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, value: &Value, words: &[(&str, T)]) -> Result<T> {
        let typed = self.string(value)?;
        words.iter().find(|(word, _)| *word == typed).map(|(_, meant)| *meant).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("`{typed}` is no word for this");
            self.source.error(value.span(), message, nearest_or_all(typed, &known))
        })
    }

    pub(super) fn integer(&self, value: &Value, low: u64, high: u64) -> Result<u64> {
        let integer =
            value.get_ref().as_integer().ok_or_else(|| self.not(value, "a whole number"))?;
        let number = u64::from_str_radix(integer.as_str(), integer.radix());
        number.ok().filter(|number| (low..=high).contains(number)).ok_or_else(|| {
            let message =
                format!("{integer} is out of range: it must lie between {low} and {high}");
            self.source.error(value.span(), message, None)
        })
    }

    pub(super) fn number(&self, value: &Value, low: u32, high: u32) -> Result<u32> {
        let number = self.integer(value, u64::from(low), u64::from(high))?;
        // Within bounds that are.
        Ok(u32::try_from(number).unwrap_or(high))
    }

    /// A number or a list of numbers.
    pub(super) fn numbers(&self, value: &Value, low: u32, high: u32) -> Result<Vec<u32>> {
        let Some(array) = value.get_ref().as_array() else {
            return Ok(vec![self.number(value, low, high)?]);
        };
        if array.is_empty() {
            return Err(self.source.error(value.span(), "at least one number is needed", None));
        }
        array.iter().map(|item| self.number(item, low, high)).collect()
    }

    pub(super) fn duration_s(&self, value: &Value) -> Result<f64> {
        let typed = self.string(value)?;
        parse_duration_s(typed).map_err(|error| self.wrong(value, &error))
    }

    pub(super) fn percent(&self, value: &Value) -> Result<f64> {
        let typed = self.string(value)?;
        parse_percent(typed).map_err(|error| self.wrong(value, &error))
    }

    /// The value of a server option, as the server reads it.
    pub(super) fn option_value(&self, value: &Value) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.to_string()),
            DeValue::Float(number) => Ok(number.to_string()),
            DeValue::Boolean(true) => Ok("ON".to_owned()),
            DeValue::Boolean(false) => Ok("OFF".to_owned()),
            _ => Err(self.not(value, "a string, a number or a boolean")),
        }
    }
}

fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
