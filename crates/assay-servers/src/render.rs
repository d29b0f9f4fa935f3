//! Renders one intent into each version's own options.

use assay_model::{Engine, EventKind, Prefix, Product};

use crate::intent::Intent;
use crate::mysql::options::{MARIADB, MYSQL};
use crate::postgres::options::POSTGRES;
use crate::setting::{Instead, OptionSupport, Setting, Version, version_number};

/// Options for one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Options in order, each `--name=value`. Those from the system's name come last.
    pub options: Vec<String>,
    /// Parts of the intent that this version has no option for.
    pub left_out: Vec<LeftOut>,
}

/// A part of the intent that a version has no option for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The option.
    pub setting: &'static str,
    /// The version's behaviour instead: a verb and what follows it.
    pub instead: &'static str,
    /// Whether the option asks for the same behaviour.
    pub is_as_asked: bool,
}

impl From<&LeftOut> for EventKind {
    fn from(left_out: &LeftOut) -> Self {
        Self::OptionLeftOut {
            option: left_out.setting.trim_start_matches("loose-").replace('-', "_"),
            instead: left_out.instead.to_owned(),
            is_as_asked: left_out.is_as_asked,
        }
    }
}

/// The options of a product, in the order of the command line.
pub(crate) fn table(product: Product) -> &'static [Setting] {
    match product {
        Product::MariaDb => MARIADB,
        Product::MySql => MYSQL,
        Product::Postgres => POSTGRES,
    }
}

/// Renders an intent for one build and engine; `overrides` are option names (with `-` or `_`) and values.
#[must_use]
pub fn render(
    intent: &Intent,
    prefix: &Prefix,
    engine: Engine,
    overrides: &[(String, String)],
) -> Rendered {
    let version = version_number(&prefix.version);
    let spell = |value: &str| spelt_for(prefix.product, version, value).to_owned();
    let mut rendered = Rendered { options: Vec::new(), left_out: Vec::new() };
    let settings = table(prefix.product).iter();
    for setting in settings.filter(|it| it.engine.is_none_or(|only| only == engine)) {
        match setting.support(version) {
            OptionSupport::Supported => rendered.options.push(text(setting, intent, spell)),
            OptionSupport::CoveredElsewhere => {}
            OptionSupport::Missing(instead) => {
                let setting = plain_name(setting.option);
                let (instead, is_as_asked) = match instead {
                    Instead::AsAsked(does) => (does, true),
                    Instead::Otherwise(does) => (does, false),
                };
                rendered.left_out.push(LeftOut { setting, instead, is_as_asked });
            }
        }
    }
    // Servers accept both. Postgres spells names with `_`, the MySQL family with `-`.
    let named = |name: &str| match prefix.product {
        Product::MariaDb | Product::MySql => name.replace('_', "-"),
        Product::Postgres => name.replace('-', "_").to_ascii_lowercase(),
    };
    let asked: Vec<_> = overrides.iter().map(|(name, value)| (named(name), value)).collect();
    rendered.options.retain(|option| {
        let option = variable_of(option);
        !asked.iter().any(|(name, _)| contradicts(option, name))
    });
    for (name, value) in asked {
        rendered.options.retain(|option| variable_of(option) != plain_name(&name));
        rendered.options.push(match (name.starts_with("skip-"), spell(value).as_str()) {
            // Some of these options take no value.
            (true, "1" | "ON") => format!("--{name}"),
            (_, value) => format!("--{name}={value}"),
        });
    }
    rendered
}

/// Whether an option of the intent contradicts one from the system's name. A character set alone implies its default
/// collation, and a collation alone implies its character set.
fn contradicts(of_intent: &str, asked: &str) -> bool {
    let pair = ["character-set-server", "collation-server"];
    pair.contains(&of_intent) && pair.contains(&asked)
}

fn text(setting: &Setting, intent: &Intent, spell: impl Fn(&str) -> String) -> String {
    format!("--{}={}", setting.option, spell(&(setting.value)(intent)))
}

/// A switch in the spelling that all options of old versions accept. MySQL 5.5 warns about `ON` and uses the default.
fn spelt_for(product: Product, version: Version, value: &str) -> &str {
    match value.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" if product == Product::MySql && version < (5, 6, 0) => "1",
        "OFF" | "FALSE" if product == Product::MySql && version < (5, 6, 0) => "0",
        _ => value,
    }
}

/// The variable that `--name=value` sets.
fn variable_of(option: &str) -> &str {
    let option = option.trim_start_matches("--");
    plain_name(option.split_once('=').map_or(option, |(name, _)| name))
}

/// An option's name without `loose-` and `skip-`.
fn plain_name(option: &str) -> &str {
    let option = option.strip_prefix("loose-").unwrap_or(option);
    option.strip_prefix("skip-").unwrap_or(option)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use assay_model::{Build, Layout};

    use super::*;
    use crate::intent::Durability;

    pub(crate) fn prefix(version: &str) -> Prefix {
        product_prefix(Product::MariaDb, version)
    }

    fn product_prefix(product: Product, version: &str) -> Prefix {
        let path = PathBuf::from("/p");
        Prefix {
            path: path.clone(),
            sha256: version.to_owned(),
            product,
            version: version.to_owned(),
            build: Build {
                source: "apt".to_owned(),
                channel: "stable".to_owned(),
                package_version: format!("1:{version}"),
                released: true,
                notes: Vec::new(),
            },
            packages: Vec::new(),
            layout: Layout {
                loader: None,
                library_path: Vec::new(),
                server: path.clone(),
                basedir: path.clone(),
                share_dir: path.clone(),
                charsets_dir: path.clone(),
                plugin_dir: path,
            },
        }
    }

    const INTENT: Intent = Intent {
        buffer_pool_mb: 1024,
        log_mb: 512,
        durability: Durability::Relaxed,
        connections_max: 200,
    };

    fn options(version: &str, overrides: &[(&str, &str)]) -> Rendered {
        let overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        render(&INTENT, &prefix(version), Engine::InnoDb, &overrides)
    }

    #[test]
    fn each_version_gets_the_options_it_knows_and_the_rest_is_reported() {
        let names = |rendered: &Rendered| -> Vec<String> {
            rendered.options.iter().map(|option| variable_of(option).to_owned()).collect()
        };
        for (version, option, has) in [
            ("10.5.23", "innodb-change-buffering", true),
            ("10.11.19", "innodb-change-buffering", true),
            ("11.8.6", "innodb-change-buffering", false),
            ("10.5.23", "innodb-snapshot-isolation", false),
            ("10.11.5", "innodb-snapshot-isolation", false),
            ("10.11.19", "innodb-snapshot-isolation", true),
            ("11.4.0", "innodb-snapshot-isolation", false),
            ("11.8.6", "innodb-snapshot-isolation", true),
            ("10.5.23", "innodb-log-file-buffering", false),
            ("11.8.6", "innodb-log-file-buffering", true),
        ] {
            let rendered = options(version, &[]);
            let left_out = rendered.left_out.iter().any(|it| it.setting == option);
            assert_eq!(names(&rendered).contains(&option.to_owned()), has, "{version} {option}");
            assert_eq!(left_out, !has, "{version} {option}");
        }
    }

    #[test]
    fn durability_and_sizes_reach_the_options() {
        let relaxed = options("11.8.6", &[]).options;
        assert!(relaxed.contains(&"--innodb-buffer-pool-size=1024M".to_owned()));
        assert!(relaxed.contains(&"--innodb-flush-log-at-trx-commit=2".to_owned()));
        let full = Intent { durability: Durability::Full, ..INTENT };
        let full = render(&full, &prefix("11.8.6"), Engine::InnoDb, &[]).options;
        assert!(full.contains(&"--innodb-flush-log-at-trx-commit=1".to_owned()));
    }

    #[test]
    fn override_replaces_the_intent_and_comes_last() {
        let rendered = options("10.11.19", &[("innodb_doublewrite", "OFF")]).options;
        assert_eq!(rendered.last().map(String::as_str), Some("--innodb-doublewrite=OFF"));
        let count = rendered.iter().filter(|it| variable_of(it) == "innodb-doublewrite").count();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_character_set_without_a_collation_uses_its_default() {
        let with = |overrides: &[(&str, &str)]| options("10.11.19", overrides).options;
        let charset = "--character-set-server=utf8mb4".to_owned();
        let collation = "--collation-server=utf8mb4_bin".to_owned();
        let one = with(&[("character_set_server", "utf8mb4")]);
        assert!(one.contains(&charset) && !one.iter().any(|it| it.contains("collation")));
        let other = with(&[("collation_server", "utf8mb4_bin")]);
        assert!(other.contains(&collation) && !other.iter().any(|it| it.contains("character")));
        let pair = [("character_set_server", "utf8mb4"), ("collation_server", "utf8mb4_bin")];
        let both = with(&pair);
        assert_eq!(both.iter().rev().take(2).rev().collect::<Vec<_>>(), [&charset, &collation]);
    }

    #[test]
    fn rocksdb_options_only_for_rocksdb() {
        let has = |engine| {
            let rendered = render(&INTENT, &prefix("10.11.19"), engine, &[]).options;
            rendered.contains(&"--plugin-load-add=ha_rocksdb.so".to_owned())
        };
        assert!(has(Engine::RocksDb) && !has(Engine::InnoDb));
    }

    #[test]
    fn rocksdb_caches_share_the_size_of_the_buffer_pool() {
        for (pool_mb, blocks, memtable) in [(1024, 896, 64), (256, 192, 32), (8, 6, 1), (1, 1, 1)] {
            let intent = Intent { buffer_pool_mb: pool_mb, ..INTENT };
            let options = render(&intent, &prefix("10.11.19"), Engine::RocksDb, &[]).options;
            let family = format!("compression=kNoCompression;write_buffer_size={memtable}m");
            assert!(
                options.contains(&format!("--rocksdb-block-cache-size={blocks}M")),
                "{options:?}"
            );
            assert!(
                options.contains(&format!("--rocksdb-default-cf-options={family}")),
                "{options:?}"
            );
        }
    }

    #[test]
    fn index_dive_limits_are_equal_where_versions_have_them() {
        let dives = "--eq-range-index-dive-limit=200".to_owned();
        for version in ["5.6.14", "5.7.22", "9.7.4"] {
            assert!(mysql(version, &[]).options.contains(&dives), "{version}");
        }
        for version in ["10.2.18", "10.3.10", "11.8.6"] {
            assert!(options(version, &[]).options.contains(&dives), "{version}");
        }
        for rendered in [mysql("5.5.34", &[]), options("10.2.11", &[]), options("10.3.9", &[])] {
            assert!(!rendered.options.contains(&dives));
            let mut left_out = rendered.left_out.iter();
            assert!(left_out.any(|it| it.setting == "eq-range-index-dive-limit"), "{rendered:?}");
        }
    }

    fn mysql(version: &str, overrides: &[(&str, &str)]) -> Rendered {
        let overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        render(&INTENT, &product_prefix(Product::MySql, version), Engine::InnoDb, &overrides)
    }

    #[test]
    fn the_redo_log_has_the_same_size_however_a_version_divides_it() {
        for (options, expected) in [
            (mysql("5.5.9", &[]).options, "--innodb-log-file-size=256M"),
            (mysql("8.0.29", &[]).options, "--innodb-log-file-size=256M"),
            (mysql("8.0.30", &[]).options, "--innodb-redo-log-capacity=512M"),
            (options("10.2.11", &[]).options, "--innodb-log-file-size=256M"),
            (options("10.5.23", &[]).options, "--innodb-log-file-size=512M"),
        ] {
            assert!(options.contains(&expected.to_owned()), "{expected}: {options:?}");
            let files = options.contains(&"--innodb-log-files-in-group=2".to_owned());
            assert_eq!(files, expected.contains("256M"), "{options:?}");
        }
    }

    #[test]
    fn options_implied_by_others_are_not_reported_as_missing() {
        let left_out: Vec<_> = mysql("9.7.4", &[]).left_out.iter().map(|it| it.setting).collect();
        assert_eq!(left_out, ["query-cache-type", "default-authentication-plugin"]);
    }

    #[test]
    fn the_oldest_versions_get_digits_for_switches() {
        let given = |version| mysql(version, &[("innodb_doublewrite", "off")]).options;
        assert_eq!(given("5.5.9").last().map(String::as_str), Some("--innodb-doublewrite=0"));
        assert_eq!(given("5.6.14").last().map(String::as_str), Some("--innodb-doublewrite=off"));
        assert!(mysql("5.5.9", &[]).options.iter().all(|it| !it.ends_with("=ON")));
    }

    #[test]
    fn an_override_replaces_an_option_in_any_spelling() {
        for (name, gone) in [("log_bin", "--skip-log-bin=1"), ("ssl", "--loose-ssl=0")] {
            assert!(mysql("5.7.22", &[]).options.contains(&gone.to_owned()));
            let options = mysql("5.7.22", &[(name, "ON")]).options;
            assert!(!options.contains(&gone.to_owned()), "{options:?}");
        }
    }
}
