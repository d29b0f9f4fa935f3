//! Work after a study as a value, so that all of it is a list.

use assay_report::section::{AfterwardSection, set_sections};
use assay_run::study::afterwards::{Afterwards, set_afterwards};

/// Work after a study, and its section in reports.
pub struct Afterward {
    work: &'static dyn Afterwards,
    section: Option<&'static dyn AfterwardSection>,
}

impl Afterward {
    pub const fn for_wing<W: Afterwards + AfterwardSection>(wing: &'static W) -> Self {
        Self { work: wing, section: Some(wing) }
    }

    /// Work that leaves documents of which the core makes causes of changes, and sections.
    pub const fn for_core(work: &'static dyn Afterwards) -> Self {
        Self { work, section: None }
    }
}

/// Sets all work after studies; only the first call counts.
pub fn set_all(list: &'static [Afterward]) {
    set_afterwards(list.iter().map(|it| it.work).collect());
    set_sections(list.iter().filter_map(|it| it.section).collect());
}
