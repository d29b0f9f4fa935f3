//! Options of servers: named terms, rendered for each version. Pure.
//!
//! The terms are data: `terms.toml`. [`Terms::named`] finds them, [`Terms::render`] gives the options of one build.

mod data;
mod render;
mod table;
mod terms;
mod value;
mod version;

pub use data::DEFAULT;
pub use render::{LeftOut, Rendered};
pub use table::option_table;
pub use terms::{Instead, Terms, adds_up, variable};
pub use value::Sizes;
pub use version::{Version, version_number};
