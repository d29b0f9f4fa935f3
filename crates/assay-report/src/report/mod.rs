//! The pages of a study: its report, what its gate says, and its tables as in published posts.

mod gate;
mod judged;
mod published;
mod study;
mod summary;
mod tables;
pub(crate) mod tests;

pub use published::published;
pub use study::{answer, report};
pub use summary::gate;
