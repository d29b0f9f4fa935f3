//! Figures for scripts: JSON and CSV of one row type.

mod course;
pub(crate) mod csv;
pub(crate) mod fields;
mod findings;
pub(crate) mod gate;
pub(crate) mod json;
pub(crate) mod number;
mod ranking;
pub(crate) mod row;
pub(crate) mod same;
mod soak;
mod steps;
