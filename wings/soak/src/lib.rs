//! Longer looks at tests that changed: long turns after a study, in which decay and stalls show.

mod judgement;
mod section;
mod turns;
mod work;

pub use turns::{Soak, SoakTurn};

/// `--soak`: the work, and the section that shows it.
#[derive(Debug, Clone, Copy)]
pub struct LongerLooks;
