//! Named sets of server options, and the versions for which they hold.

use std::fmt::Write as _;

use assay_model::{Engine, Product};
use serde::Deserialize;

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
    pub(crate) settings: Vec<(Product, Vec<TermsSetting>)>,
}

/// Behaviour of a version without an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSubstitute {
    /// As a verb phrase.
    pub does: &'static str,
    /// Whether that is the requested behaviour.
    pub is_as_asked: bool,
}

impl Terms {
    /// The behaviour of a version that lacks an option of these terms. `variable` has the form that [`variable`] gives.
    pub fn instead(
        &self,
        (product, version, engine): (Product, Version, Engine),
        variable: &str,
    ) -> Option<OptionSubstitute> {
        let settings = self.settings(product).iter();
        let setting = settings.filter(|it| it.variable() == variable);
        setting.filter_map(|it| it.missing(version)?.instead(it.value(version, engine)?)).next()
    }

    /// The value of a variable in these terms, with sizes as names in braces; `None` if the version keeps its default.
    pub fn value(
        &self,
        (product, version, engine): (Product, Version, Engine),
        variable: &str,
    ) -> Option<&'static str> {
        let settings = self.settings(product).iter().filter(|it| it.variable() == variable);
        settings.filter(|it| it.missing(version).is_none()).find_map(|it| it.value(version, engine))
    }

    pub(crate) fn settings(&self, product: Product) -> &[TermsSetting] {
        let found = self.settings.iter().find(|(of, _)| *of == product);
        found.map_or(&[], |(_, settings)| settings.as_slice())
    }
}

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

pub fn adds_up(option: &str) -> bool {
    ADD_UP.contains(&variable(option).as_str())
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TermsSetting {
    /// With `loose-` in front if not every build of a version has it.
    pub(crate) option: &'static str,
    pub(crate) missing: &'static [LackingVersions],
    pub(crate) values: &'static [SettingValue],
    pub(crate) why: &'static str,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SettingValue {
    pub(crate) value: String,
    #[serde(flatten)]
    pub(crate) versions: VersionRange,
    pub(crate) engine: Option<Engine>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct LackingVersions {
    #[serde(flatten)]
    pub(crate) versions: VersionRange,
    /// Their behaviour instead, if it is worth mentioning.
    instead: Option<String>,
    /// The equivalent value of the option.
    acts_as: Option<String>,
}

impl TermsSetting {
    /// `None` if these terms leave the option at its default.
    pub(crate) fn value(&self, version: Version, engine: Engine) -> Option<&'static str> {
        let mut values = self.values.iter();
        let fits = |it: &&SettingValue| {
            it.versions.has(version) && it.engine.is_none_or(|only| only == engine)
        };
        values.find(fits).map(|value| value.value.as_str())
    }

    pub(crate) fn missing(&self, version: Version) -> Option<&'static LackingVersions> {
        self.missing.iter().find(|it| it.versions.has(version))
    }

    pub(crate) fn variable(&self) -> String {
        variable(self.option)
    }
}

impl LackingVersions {
    /// The versions' behaviour instead of the option with a value; `None` if not worth mentioning.
    pub(crate) fn instead(&'static self, value: &str) -> Option<OptionSubstitute> {
        let is_as_asked = self.acts_as.as_deref() == Some(value);
        self.instead.as_deref().map(|does| OptionSubstitute { does, is_as_asked })
    }
}

/// The options of a product as a Markdown table: values, by version where they differ, and reasons.
pub fn option_table(terms: &Terms, product: Product) -> String {
    let mut table = "| option | value | why |\n|---|---|---|\n".to_owned();
    for setting in terms.settings(product) {
        let TermsSetting { option, values, why, .. } = setting;
        let values: Vec<String> = values.iter().map(in_words).collect();
        let option = option.strip_prefix("loose-").unwrap_or(option).replace('-', "_");
        // Writing to memory cannot fail.
        let _ = writeln!(table, "| `{option}` | {} | {why} |", values.join("; "));
    }
    table
}

fn in_words(value: &SettingValue) -> String {
    let SettingValue { value, versions, engine } = value;
    let mut words = if value.is_empty() { "empty".to_owned() } else { format!("`{value}`") };
    let parts = [
        versions.from.as_ref().map(|from| format!(" from {from}")),
        versions.until.as_ref().map(|until| format!(" before {until}")),
        engine.map(|engine| format!(" with {}", engine.word())),
    ];
    words.extend(parts.into_iter().flatten());
    words
}

/// Major, minor, patch.
pub type Version = (u32, u32, u32);

/// Parses `10.11.19` to numbers that compare in order. A part that is not a number counts as 0.
pub fn version_number(version: &str) -> Version {
    // A vendor's build number may follow: `8.0.36-28`.
    let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let mut parts = version.split('.').map(|part| digits(part).unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// Includes the first version, excludes the second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct VersionRange {
    pub(crate) from: Option<String>,
    pub(crate) until: Option<String>,
}

impl VersionRange {
    pub(crate) fn has(&self, version: Version) -> bool {
        let at_least = |from: &String| version_number(from) <= version;
        let below = |until: &String| version < version_number(until);
        self.from.as_ref().is_none_or(at_least) && self.until.as_ref().is_none_or(below)
    }
}
