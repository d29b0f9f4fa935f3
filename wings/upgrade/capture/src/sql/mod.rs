//! SQL in logs: tokens, normal forms, values and kinds of statements.

pub(crate) mod kind;
pub(crate) mod normal;
pub(crate) mod set;
pub(crate) mod token;
pub(crate) mod value;
pub(crate) mod words;

#[cfg(test)]
mod normal_tests;
