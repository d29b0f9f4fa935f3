//! Values in files for scripts.

use std::collections::BTreeMap;

use assay_model::Estimate;
use serde::{Serialize, Serializer};

use super::number::{Interval, Number};

/// A value in JSON. Keys keep their order.
pub enum JsonValue {
    /// Left out of its object.
    Absent,
    Null,
    Flag(bool),
    Whole(u64),
    /// Null if it is not finite.
    Fraction(f64),
    Interval(Estimate),
    Text(String),
    List(Vec<Self>),
    Fields(Vec<(&'static str, Self)>),
    /// By names from elsewhere, in alphabetical order.
    Named(BTreeMap<String, Self>),
}

impl JsonValue {
    pub fn object<const N: usize>(fields: [(&'static str, Self); N]) -> Self {
        Self::Fields(fields.into())
    }

    /// The value below a key; `None` without it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Fields(fields) = self else { return None };
        fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

macro_rules! values {
    ($($type:ty => $variant:ident($value:ident $(. $converted:ident())?);)+) => {$(
        impl From<$type> for JsonValue {
            fn from($value: $type) -> Self {
                Self::$variant($value$(.$converted())?)
            }
        }
    )+};
}

values! {
    bool => Flag(value);
    u32 => Whole(value.into());
    u64 => Whole(value);
    f64 => Fraction(value);
    Estimate => Interval(value);
    &str => Text(value.to_owned());
    String => Text(value);
}

impl From<usize> for JsonValue {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<JsonValue>> FromIterator<T> for JsonValue {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_none(),
            Self::Flag(value) => serializer.serialize_bool(*value),
            Self::Whole(value) => serializer.serialize_u64(*value),
            Self::Fraction(value) => Number::from(*value).serialize(serializer),
            Self::Interval(value) => Interval::from(*value).serialize(serializer),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
            Self::Fields(fields) => {
                let there = fields.iter().filter(|(_, value)| !matches!(value, Self::Absent));
                serializer.collect_map(there.map(|(key, value)| (key, value)))
            }
            Self::Named(fields) => serializer.collect_map(fields),
        }
    }
}
