//! One intent, rendered into each version's own options.

use assay_model::{Engine, Prefix, Product};

use crate::options::{MARIADB, Setting};
use crate::postgres::options::POSTGRES;

/// When a committed transaction is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written at commit, flushed to the disk about once a second.
    Relaxed,
    /// Flushed to the disk at every commit.
    Full,
}

/// The character set that a server uses for what names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// `latin1` with `latin1_swedish_ci`, as the published results.
    Latin1,
    /// `utf8mb4` with `utf8mb4_general_ci`, which every version has.
    Utf8mb4,
}

/// What all compared systems are meant to have in common.
///
/// What has no field here is the same in every study: no binary log, no TLS, doublewrite on, no query cache,
/// no performance schema, direct data files, no buffer pool dump. The options are listed in `options.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Size of the engine's cache, MiB.
    pub buffer_pool_mb: u64,
    /// Size of the redo log, MiB.
    pub log_mb: u64,
    /// When a commit is safe.
    pub durability: Durability,
    /// Character set of tables and sessions that name none.
    pub charset: Charset,
    /// Connections that may be open at once.
    pub connections_max: u32,
}

/// Options for one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Options in order, each `--name=value`, those asked for in the system's name last.
    pub options: Vec<String>,
    /// What this version has no option for.
    pub left_out: Vec<LeftOut>,
}

/// A part of the intent that a version has no option for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is about.
    pub setting: &'static str,
    /// What the version does instead.
    pub why: &'static str,
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
    let mut rendered = Rendered { options: Vec::new(), left_out: Vec::new() };
    let settings = match prefix.product {
        Product::MariaDb | Product::MySql => MARIADB,
        Product::Postgres => POSTGRES,
    };
    for setting in settings.iter().filter(|it| it.engine.is_none_or(|only| only == engine)) {
        match setting.missing(version) {
            None => rendered.options.push(text(setting, intent)),
            Some(why) => rendered.left_out.push(LeftOut { setting: setting.option, why }),
        }
    }
    for (name, value) in overrides {
        // Both are the same to the servers; Postgres' own spelling has `_`, the MySQL family's `-`.
        let name = match prefix.product {
            Product::MariaDb | Product::MySql => name.replace('_', "-"),
            Product::Postgres => name.replace('-', "_").to_ascii_lowercase(),
        };
        rendered.options.retain(|option| option_name(option) != name);
        rendered.options.push(format!("--{name}={value}"));
    }
    rendered
}

fn text(setting: &Setting, intent: &Intent) -> String {
    format!("--{}={}", setting.option, (setting.value)(intent))
}

/// The name in `--name=value`.
fn option_name(option: &str) -> &str {
    let option = option.trim_start_matches("--");
    option.split_once('=').map_or(option, |(name, _)| name)
}

/// `10.11.19` as numbers that compare in order; what is not a number counts as 0.
pub(crate) fn version_number(version: &str) -> (u32, u32, u32) {
    // A number may be followed by that of a vendor's own build: `8.0.36-28`.
    let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let mut parts = version.split('.').map(|part| digits(part).unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use assay_model::{Build, Layout, Product};

    use super::*;

    pub(crate) fn prefix(version: &str) -> Prefix {
        let path = PathBuf::from("/p");
        Prefix {
            path: path.clone(),
            sha256: version.to_owned(),
            product: Product::MariaDb,
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
        charset: Charset::Latin1,
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
            rendered.options.iter().map(|option| option_name(option).to_owned()).collect()
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
        let count = rendered.iter().filter(|it| option_name(it) == "innodb-doublewrite").count();
        assert_eq!(count, 1);
    }

    #[test]
    fn rocksdb_options_only_for_rocksdb() {
        let has = |engine| {
            let rendered = render(&INTENT, &prefix("10.11.19"), engine, &[]).options;
            rendered.contains(&"--plugin-load-add=ha_rocksdb.so".to_owned())
        };
        assert!(has(Engine::RocksDb) && !has(Engine::InnoDb));
    }
}
