//! Values as stored in columns.

use serde::Serialize;

use crate::Problem;
use crate::bounds::CheckBounds;
use crate::limits::COUNTER_MAX;

pub(crate) fn word<T: Serialize>(kind: &T) -> Result<String, Problem> {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Err(Problem::Unstorable(format!("`{other}` as a word"))),
        Err(error) => Err(Problem::Unstorable(error.to_string())),
    }
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, Problem> {
    serde_json::to_string(value)
        .map_err(|error| Problem::Unstorable(format!("a value without JSON ({error})")))
}

pub(crate) fn integer(column: &str, number: u64) -> Result<i64, Problem> {
    i64::try_from(number)
        .ok()
        .filter(|_| number <= COUNTER_MAX)
        .ok_or_else(|| Problem::Unstorable(format!("`{column}` of {number}")))
}

/// Refuses a value that could not be read back.
pub(crate) fn storable(value: &impl CheckBounds) -> Result<(), Problem> {
    value.check().map_err(Problem::Unstorable)
}

pub(crate) fn index(index: usize) -> Result<i64, Problem> {
    i64::try_from(index).map_err(|_| Problem::Unstorable(format!("index {index}")))
}
