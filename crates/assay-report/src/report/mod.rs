//! The pages of a study: its report, the result of its gate, and its tables as in published posts.

mod answer;
mod counts;
mod details;
mod matrix;
mod profiles;
mod published;
mod sections;
mod study;
mod table;
mod tables;
mod versions;

pub use published::published;
pub use study::{answer, gate, report};
