//! The tables of a dump that has no rows, and rows for them that follow from their definitions.

mod definition;
mod rows;
mod statements;

pub use statements::{SCHEMA_BYTES, Schema, schema};

pub(crate) use rows::tables;
