//! The tables of a dump without rows, and rows generated from their definitions.

mod rows;
mod statements;

pub use statements::{DumpSchema, SCHEMA_BYTES, schema};

pub(crate) use rows::tables;
