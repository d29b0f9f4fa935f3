//! Figures for scripts: JSON and CSV of one row type.

pub(crate) mod csv;
pub(crate) mod fields;
mod findings;
pub(crate) mod json;
pub(crate) mod number;
pub(crate) mod row;
pub(crate) mod sections;
