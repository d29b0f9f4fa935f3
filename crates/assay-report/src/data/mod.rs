//! Figures for scripts: JSON, CSV and their reference, from lists of fields.

pub(crate) mod cell;
pub(crate) mod csv;
pub(crate) mod field;
pub(crate) mod fields;
mod findings;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod sections;
pub(crate) mod value;
