//! Numbers in files.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::de::DeValue;

use super::fault::Fault;
use super::value::Value;
use crate::error::Error;
use assay_options::parse_count;

impl Value<'_> {
    pub(crate) fn mistaken(&self, error: &Error) -> Fault {
        Fault::from_error(self.span.clone(), error)
    }

    pub(crate) fn number<T>(&self, range: &RangeInclusive<T>) -> Result<T, Fault>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        let number = self.value.as_integer().ok_or_else(|| self.is_not("a whole number"))?;
        let number = i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX);
        self.in_range(number, range)
    }

    pub(crate) fn in_range<T>(&self, number: i128, range: &RangeInclusive<T>) -> Result<T, Fault>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        T::try_from(number).ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.fault(format!("`{}` must be between {low} and {high}", self.key))
        })
    }

    /// A number, or a text such as `"1M"`.
    pub(crate) fn count(&self, range: &RangeInclusive<u32>) -> Result<u32, Fault> {
        let Some(text) = self.value.as_str() else { return self.number(range) };
        let count = parse_count(text).map_err(|error| self.mistaken(&error.into()))?;
        self.in_range(count.into(), range)
    }

    pub(crate) fn fraction(&self, range: &RangeInclusive<f64>) -> Result<f64, Fault> {
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
}
