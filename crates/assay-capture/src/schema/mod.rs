//! The tables of a dump without rows, and rows generated from their definitions.

mod definition;
mod rows;
mod statements;

pub use statements::{SCHEMA_BYTES, Schema, schema};

pub(crate) use rows::tables;
