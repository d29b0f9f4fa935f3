//! Facts about systems.

use std::collections::BTreeMap;

use assay_model::{Engine, Product, SystemSpec};
use assay_terms::{Version, version_number};

/// Facts other than server variables have a prefix with a dot.
pub type Settings = BTreeMap<String, String>;

/// Whether this build of Postgres can compile statements.
pub(crate) const JIT: &str = "build.jit";

/// Value for a build that cannot.
pub(crate) const NO_JIT: &str = "not available";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub test: String,
    /// Without its parameters.
    pub statement: String,
    /// Position in a user's test: the number of the kind of events, and of the step.
    pub place: Option<(u32, u32)>,
    /// The number of the event whose values it has. All systems get the same values in the same event.
    pub event: u64,
    /// The comparable parts of the plan; see [`crate::explain`].
    pub plan: String,
    /// The server's warnings, and figures of later executions.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Effective settings, the build below `build.`, the data below `data.`.
    pub settings: Settings,
    /// In the same order for all systems.
    pub plans: Vec<Plan>,
}

#[derive(Debug, Clone, Copy)]
pub struct Audited<'a> {
    pub spec: &'a SystemSpec,
    pub facts: &'a Facts,
}

impl Audited<'_> {
    pub(super) fn build(&self) -> (Product, Version, Engine) {
        (self.spec.product, self.version(), self.spec.engine)
    }

    pub(super) fn version(&self) -> Version {
        let message = ["server_version", "version"].map(|name| self.facts.settings.get(name));
        message.into_iter().flatten().next().map_or((0, 0, 0), |version| version_number(version))
    }

    /// Releases of one series differ in bug fixes only.
    pub(super) fn series(&self) -> (Product, u32, u32) {
        let (product, (major, minor, _)) = (self.spec.product, self.version());
        let since = product.facts().one_number_since;
        (product, major, if since.is_some_and(|since| major >= since) { 0 } else { minor })
    }
}
