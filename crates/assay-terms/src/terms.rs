//! A named set of server options.

use assay_model::{Engine, Product};
use serde::Deserialize;

use crate::version::{Range, Version};

/// A named set of server options, with their values for each product and version.
#[derive(Debug, PartialEq, Eq)]
pub struct Terms {
    pub name: &'static str,
    /// A description that follows the name.
    pub about: &'static str,
    /// Whether all systems get equal values for the options that they have. Otherwise each version may have different
    /// values, or keep its defaults.
    pub is_equal: bool,
    /// Whether each version keeps its defaults, apart from places, sizes and requirements of a study.
    pub keeps_defaults: bool,
    /// Step in which the redo log grows, MiB.
    pub log_step_mb: u64,
    /// The largest redo log, MiB; `None` for no limit.
    pub log_most_mb: Option<u64>,
    /// Step in which the cache grows above 1 GiB, MiB.
    pub pool_step_mb: u64,
    /// Memory of a server besides its cache, MiB.
    pub server_mb: u64,
    /// Maximum size of a server's binary log at the start of a round, MiB; 0 if it has none.
    pub binary_log_mb: u64,
    pub(crate) settings: Vec<(Product, Vec<Setting>)>,
}

/// Behaviour of a version without an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instead {
    /// As a verb phrase.
    pub does: &'static str,
    /// Whether that is the requested behaviour.
    pub is_as_asked: bool,
}

impl Terms {
    /// The behaviour of a version that lacks an option of these terms. `variable` has the form that [`variable`] gives.
    #[must_use]
    pub fn instead(
        &self,
        (product, version, engine): (Product, Version, Engine),
        variable: &str,
    ) -> Option<Instead> {
        let settings = self.settings(product).iter();
        let setting = settings.filter(|it| it.variable() == variable);
        setting.filter_map(|it| it.missing(version)?.instead(it.value(version, engine)?)).next()
    }

    /// The value of a variable in these terms, with sizes as names in braces; `None` if the version keeps its default.
    #[must_use]
    pub fn value(
        &self,
        (product, version, engine): (Product, Version, Engine),
        variable: &str,
    ) -> Option<&'static str> {
        let settings = self.settings(product).iter().filter(|it| it.variable() == variable);
        settings.filter(|it| it.missing(version).is_none()).find_map(|it| it.value(version, engine))
    }

    pub(crate) fn settings(&self, product: Product) -> &[Setting] {
        let found = self.settings.iter().find(|(of, _)| *of == product);
        found.map_or(&[], |(_, settings)| settings.as_slice())
    }
}

/// The variable that an option sets.
#[must_use]
pub fn variable(option: &str) -> String {
    let name = option.replace('-', "_").to_ascii_lowercase();
    let name = name.strip_prefix("loose_").unwrap_or(&name);
    name.strip_prefix("skip_").unwrap_or(name).to_owned()
}

/// Options of MySQL and MariaDB of which each occurrence adds to those before it. Of any other option, the last
/// occurrence counts. Source: the types of their options in `mysqld.cc`, `GET_FLAGSET` and those with a function.
const ADD_UP: &[&str] = &[
    "binlog_do_db",
    "binlog_ignore_db",
    "ignore_db_dir",
    "optimizer_switch",
    "performance_schema_instrument",
    "plugin_load_add",
    "replicate_do_db",
    "replicate_do_table",
    "replicate_ignore_db",
    "replicate_ignore_table",
    "replicate_rewrite_db",
    "replicate_wild_do_table",
    "replicate_wild_ignore_table",
];

#[must_use]
pub fn adds_up(option: &str) -> bool {
    ADD_UP.contains(&variable(option).as_str())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// With `loose-` in front if not every build of a version has it.
    pub(crate) option: &'static str,
    pub(crate) missing: &'static [Missing],
    pub(crate) values: Vec<Value>,
    pub(crate) why: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) value: &'static str,
    pub(crate) versions: Range,
    pub(crate) engine: Option<Engine>,
}

/// Versions without an option.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Missing {
    #[serde(flatten)]
    pub(crate) versions: Range,
    /// Their behaviour instead, if it is worth mentioning.
    instead: Option<String>,
    /// The equivalent value of the option.
    acts_as: Option<String>,
}

impl Setting {
    /// `None` if these terms leave the option at its default.
    pub(crate) fn value(&self, version: Version, engine: Engine) -> Option<&'static str> {
        let mut values = self.values.iter();
        let fits =
            |it: &&Value| it.versions.has(version) && it.engine.is_none_or(|only| only == engine);
        values.find(fits).map(|it| it.value)
    }

    /// Why a version lacks the option, if it does.
    pub(crate) fn missing(&self, version: Version) -> Option<&'static Missing> {
        self.missing.iter().find(|it| it.versions.has(version))
    }

    pub(crate) fn variable(&self) -> String {
        variable(self.option)
    }
}

impl Missing {
    /// The versions' behaviour instead of the option with a value; `None` if not worth mentioning.
    pub(crate) fn instead(&'static self, value: &str) -> Option<Instead> {
        let is_as_asked = self.acts_as.as_deref() == Some(value);
        self.instead.as_deref().map(|does| Instead { does, is_as_asked })
    }
}
