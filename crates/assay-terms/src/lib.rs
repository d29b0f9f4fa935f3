//! Options of servers: named terms, rendered for each version. Pure.
//!
//! The terms are data: `terms.toml`. [`Terms::named`] finds them, [`Terms::render`] gives the options of one build.

mod data;
mod render;
mod terms;

pub use data::DEFAULT;
pub use render::{OmittedOption, RenderedTerms, ServerSizes};
pub use terms::{
    OptionSubstitute, Terms, Version, adds_up, option_table, variable, version_number,
};
