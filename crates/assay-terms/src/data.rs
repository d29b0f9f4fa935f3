//! The terms as data, read from a built-in file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assay_model::Product;
use serde::Deserialize;

use crate::terms::{LackingVersions, SettingValue, Terms, TermsSetting, VersionRange};

pub const DEFAULT: &str = "lean";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TermsFile {
    option: BTreeMap<Product, Vec<OptionRow>>,
    terms: BTreeMap<String, TermsRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionRow {
    name: String,
    kind: Option<OptionSubject>,
    #[serde(default)]
    missing: Vec<LackingVersions>,
}

/// The subject of an option, if it is not the behaviour of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OptionSubject {
    /// Memory and logs.
    Size,
    /// Resources that several servers on one machine would compete for.
    Place,
    /// Requirements of a study.
    Study,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TermsRow {
    about: String,
    is_equal: bool,
    /// The terms from which options of a [`OptionSubject`] take their values.
    like: Option<String>,
    log_step_mb: u64,
    log_most_mb: Option<u64>,
    pool_step_mb: u64,
    server_mb: u64,
    #[serde(default)]
    binary_log_mb: u64,
    #[serde(flatten)]
    products: BTreeMap<Product, BTreeMap<String, ReasonedValues>>,
}

/// The values of an option in some terms, and the reason for them.
#[derive(Debug, Deserialize)]
#[serde(from = "TermsValue")]
struct ReasonedValues {
    values: Vec<SettingValue>,
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TermsValue {
    One(String),
    Several(Vec<SettingValue>),
    Explained {
        value: Option<String>,
        #[serde(default)]
        values: Vec<SettingValue>,
        why: String,
    },
}

impl From<TermsValue> for ReasonedValues {
    fn from(written: TermsValue) -> Self {
        let always =
            |value| SettingValue { value, versions: VersionRange::default(), engine: None };
        match written {
            TermsValue::One(value) => Self { values: vec![always(value)], why: String::new() },
            TermsValue::Several(values) => Self { values, why: String::new() },
            TermsValue::Explained { value, values, why } => {
                Self { values: value.map(always).into_iter().chain(values).collect(), why }
            }
        }
    }
}

impl Terms {
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::list().iter().find(|terms| terms.name == name)
    }

    /// The default first.
    pub fn names() -> Vec<&'static str> {
        Self::list().iter().map(|terms| terms.name).collect()
    }

    /// The terms of this name, or the default ones.
    pub fn or_default(name: Option<&str>) -> &'static Self {
        let default = || Self::named(DEFAULT).expect("a test finds them");
        name.and_then(Self::named).unwrap_or_else(default)
    }

    /// The default ones first.
    pub(crate) fn list() -> &'static [Self] {
        static FILE: LazyLock<TermsFile> =
            LazyLock::new(|| toml::from_str(include_str!("terms.toml")).expect("a test reads it"));
        static TERMS: LazyLock<Vec<Terms>> = LazyLock::new(|| {
            let mut all: Vec<_> = FILE.terms.iter().map(|row| terms_of_row(row, &FILE)).collect();
            all.sort_by_key(|terms| terms.name != DEFAULT);
            all
        });
        &TERMS
    }
}

fn terms_of_row(
    (name, row): (&'static String, &'static TermsRow),
    file: &'static TermsFile,
) -> Terms {
    let of_product = |(product, options): (&Product, &'static Vec<OptionRow>)| {
        let like = row.like.as_ref().and_then(|name| file.terms.get(name));
        let found = |row: &'static TermsRow, name: &String| row.products.get(product)?.get(name);
        let settings = options.iter().filter_map(|option| {
            let OptionRow { name, kind, missing } = option;
            let of_like = || found(like?, name).filter(|_| kind.is_some());
            let ReasonedValues { values, why } = found(row, name).or_else(of_like)?;
            Some(TermsSetting { option: name, missing, values, why })
        });
        (*product, settings.collect())
    };
    Terms {
        name,
        about: &row.about,
        is_equal: row.is_equal,
        keeps_defaults: row.like.is_some(),
        log_step_mb: row.log_step_mb,
        log_most_mb: row.log_most_mb,
        pool_step_mb: row.pool_step_mb,
        server_mb: row.server_mb,
        binary_log_mb: row.binary_log_mb,
        settings: file.option.iter().map(of_product).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::ServerSizes;

    #[test]
    fn the_file_is_in_order() {
        let text = include_str!("terms.toml");
        let file: TermsFile = toml::from_str(text).unwrap();
        assert!(file.terms.contains_key(DEFAULT));
        let is_version =
            |it: &String| it.split('.').filter(|it| it.parse::<u32>().is_ok()).count() == 3;
        let sizes = ServerSizes { pool_mb: 256, log_mb: 512, connections: 256, purge_threads: 2 };
        for (name, terms) in &file.terms {
            assert!(terms.like.iter().all(|like| file.terms.contains_key(like)), "{name}");
            assert!(name.chars().all(|it| it.is_ascii_lowercase() || it == '-'), "{name}");
            for (product, asked) in &terms.products {
                let known: Vec<_> = file.option[product].iter().map(|it| &it.name).collect();
                let unknown: Vec<_> = asked.keys().filter(|it| !known.contains(it)).collect();
                assert_eq!(unknown, [""; 0], "no such `[[option.{product}]]`");
            }
        }
        for (product, options) in &file.option {
            let names: std::collections::BTreeSet<_> = options.iter().map(|it| &it.name).collect();
            assert_eq!(names.len(), options.len(), "an option of {product} is there twice");
            let ranges = options.iter().flat_map(|it| &it.missing).map(|it| &it.versions);
            let bounds = ranges.flat_map(|it| it.from.iter().chain(&it.until));
            let wrong: Vec<_> = bounds.filter(|it| !is_version(it)).collect();
            assert_eq!(wrong, [""; 0], "not a version");
        }
        for terms in Terms::list() {
            let settings = terms.settings.iter().flat_map(|(_, settings)| settings);
            for setting in settings {
                let option = setting.option;
                assert!(!setting.values.is_empty(), "{} gives {option} no value", terms.name);
                for value in setting.values {
                    assert!(sizes.fill(&value.value).is_some(), "{option}: {}", value.value);
                    let mut bounds = value.versions.from.iter().chain(&value.versions.until);
                    assert!(bounds.all(is_version), "{option}");
                }
            }
        }
    }

    #[test]
    fn shipped_terms_have_only_sizes_places_and_what_a_study_needs() {
        let [lean, shipped] = ["lean", "shipped"].map(|name| Terms::named(name).unwrap());
        let file: TermsFile = toml::from_str(include_str!("terms.toml")).unwrap();
        for (product, options) in &file.option {
            let is_marked =
                |name: &str| options.iter().any(|it| it.name == name && it.kind.is_some());
            let own = file.terms["shipped"].products.get(product);
            for setting in shipped.settings(*product) {
                let is_own = own.is_some_and(|own| own.contains_key(setting.option));
                assert!(is_own || is_marked(setting.option), "{product} {}", setting.option);
            }
            for setting in lean.settings(*product).iter().filter(|it| is_marked(it.option)) {
                let mut all = shipped.settings(*product).iter();
                assert!(all.any(|it| it.option == setting.option), "{product} {}", setting.option);
            }
        }
    }

    #[test]
    fn the_default_terms_come_first() {
        assert_eq!(Terms::names(), ["lean", "published", "shipped"]);
        assert_eq!(Terms::or_default(None).name, "lean");
        assert_eq!(Terms::or_default(Some("published")).name, "published");
    }
}
