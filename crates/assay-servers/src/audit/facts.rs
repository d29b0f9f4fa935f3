//! Facts about systems, and whether they differ.

use std::collections::BTreeMap;

use assay_model::{AuditClass, AuditFinding, Engine, Origin, Product, SystemSpec};
use assay_terms::{Version, version_number};

/// Facts other than server variables have a prefix with a dot.
pub type ServerSettings = BTreeMap<String, String>;

/// Prefix of a server's answers about an option beyond its variable: `asked.source.NAME` the source of a setting of
/// Postgres, `asked.instruments.PATTERN` the number of instruments that match the pattern and how many of them are on,
/// `asked.plugins` the loaded plugins with their libraries, `asked.log.NAME` a line of its log.
pub const ANSWER: &str = "asked.";

/// Whether this build of Postgres can compile statements.
pub(crate) const JIT: &str = "build.jit";

pub(crate) const NO_JIT: &str = "not available";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedPlan {
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

/// The value of a setting that a file neither has nor rules out.
pub(super) const NOT_IN_FILE: &str = "(not in file)";

/// Prefixes of facts other than server variables.
const NO_VARIABLES: [&str; 9] =
    [ANSWER, "build.", "data.", "database.", "plan.", "process.", "schema.", "session.", "table."];

/// The settings that the server certainly lacks if the facts lack them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FactsExtent {
    /// All: the facts are from a running server.
    #[default]
    Server,
    /// Variables, but nothing about sessions, tables and builds: the facts are from a dump of variables.
    Variables,
    /// None: the facts are from a config file, or from a part of a dump.
    Part,
}

impl FactsExtent {
    /// Returns whether the server lacks a setting of this name if the facts lack it.
    pub(super) fn covers(self, name: &str) -> bool {
        match self {
            Self::Server => true,
            Self::Variables => !NO_VARIABLES.iter().any(|prefix| name.starts_with(prefix)),
            Self::Part => false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFacts {
    /// Effective settings, the build below `build.`, the data below `data.`.
    pub settings: ServerSettings,
    /// In the same order for all systems.
    pub plans: Vec<AuditedPlan>,
    pub extent: FactsExtent,
}

#[derive(Debug, Clone, Copy)]
pub struct AuditedSystem<'a> {
    pub spec: &'a SystemSpec,
    pub facts: &'a AuditFacts,
}

impl AuditedSystem<'_> {
    /// Returns whether the settings are those of its user: assay did not start the server, or only read a file.
    pub(super) fn is_attached(&self) -> bool {
        matches!(self.spec.origin, Origin::Url(_)) || self.facts.extent != FactsExtent::Server
    }

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

pub(super) fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

pub(super) fn differ_within_series(systems: &[AuditedSystem], values: &[Option<String>]) -> bool {
    let known: Vec<_> = systems
        .iter()
        .zip(values)
        .filter_map(|(system, value)| Some((system.series(), value.as_ref()?)))
        .collect();
    known.iter().any(|(series, value)| known.iter().any(|it| it.0 == *series && it.1 != *value))
}

/// A finding that no specification explains.
pub(super) fn finding(
    setting: &str,
    values: Vec<Option<String>>,
    class: AuditClass,
    why: &str,
) -> AuditFinding {
    let (setting, why) = (setting.to_owned(), why.to_owned());
    AuditFinding { setting, values, class, why, is_asked: false, statements: Vec::new() }
}
