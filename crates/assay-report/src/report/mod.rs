//! The pages of a study: its report, the result of its gate, and its tables as in published posts.

mod again;
mod answer;
mod conditions;
mod counts;
mod details;
mod gate;
mod judged;
mod lines;
mod matrix;
mod profiles;
mod published;
mod ranking;
mod soak;
mod study;
mod summary;
mod table;
mod tables;
mod versions;

pub use published::published;
pub use study::{answer, report};
pub use summary::gate;
