//! Renders terms into each version's options, with sizes filled in.

use assay_model::{Dialect, Engine, EventKind, Prefix, Product};

use crate::terms::{Terms, Version, adds_up, version_number};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedTerms {
    /// Each `--name=value`. Those from the system's name come last.
    pub options: Vec<String>,
    pub left_out: Vec<OmittedOption>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedOption {
    pub setting: &'static str,
    /// The version's behaviour instead, as a verb phrase.
    pub instead: &'static str,
    /// Whether that is the requested behaviour.
    pub is_as_asked: bool,
}

impl From<&OmittedOption> for EventKind {
    fn from(left_out: &OmittedOption) -> Self {
        Self::OptionLeftOut {
            option: left_out.setting.trim_start_matches("loose-").replace('-', "_"),
            instead: left_out.instead.to_owned(),
            is_as_asked: left_out.is_as_asked,
        }
    }
}

impl Terms {
    /// The options of one build and engine; `overrides` are option names (with `-` or `_`) and values.
    pub fn render(
        &self,
        sizes: &ServerSizes,
        prefix: &Prefix,
        engine: Engine,
        overrides: &[(String, String)],
    ) -> RenderedTerms {
        let version = version_number(&prefix.version);
        let spell = |value: &str| spelt_for(prefix.product, version, value).to_owned();
        let mut rendered = RenderedTerms { options: Vec::new(), left_out: Vec::new() };
        for setting in self.settings(prefix.product) {
            let Some(value) = setting.value(version, engine) else { continue };
            match setting.missing(version) {
                // A test fills all values in.
                None => rendered.options.extend(
                    sizes
                        .fill(value)
                        .map(|value| format!("--{}={}", setting.option, spell(&value))),
                ),
                Some(missing) => {
                    let setting = plain_name(setting.option);
                    let left_out = missing.instead(value).map(|instead| OmittedOption {
                        setting,
                        instead: instead.does,
                        is_as_asked: instead.is_as_asked,
                    });
                    rendered.left_out.extend(left_out);
                }
            }
        }
        override_with(overrides, prefix.product, spell, &mut rendered.options);
        rendered
    }
}

/// Replaces options of the terms by those from a system's name.
fn override_with(
    overrides: &[(String, String)],
    product: Product,
    spell: impl Fn(&str) -> String,
    options: &mut Vec<String>,
) {
    // Servers accept both. Postgres spells names with `_`, the MySQL family with `-`.
    let named = |name: &str| match product.dialect() {
        Dialect::MySql => name.replace('_', "-"),
        Dialect::Postgres => name.replace('-', "_").to_ascii_lowercase(),
    };
    let asked: Vec<_> = overrides.iter().map(|(name, value)| (named(name), value)).collect();
    options.retain(|option| {
        let option = variable_of(option);
        !asked.iter().any(|(name, _)| contradicts(option, name))
    });
    for (name, value) in asked {
        options.retain(|option| adds_up(&name) || variable_of(option) != plain_name(&name));
        options.push(match (name.starts_with("skip-"), spell(value).as_str()) {
            // Some of these options take no value.
            (true, "1" | "ON") => format!("--{name}"),
            (_, value) => format!("--{name}={value}"),
        });
    }
}

/// Returns whether an option of the terms contradicts one from the system's name. A character set alone implies its
/// default collation, and a collation alone implies its character set.
fn contradicts(of_terms: &str, asked: &str) -> bool {
    let pair = ["character-set-server", "collation-server"];
    pair.contains(&of_terms) && pair.contains(&asked)
}

/// A switch in the spelling that all options of old versions accept. MySQL 5.5 warns about `ON` and uses the default.
fn spelt_for(product: Product, version: Version, value: &str) -> &str {
    match value.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" if version < product.facts().words_since => "1",
        "OFF" | "FALSE" if version < product.facts().words_since => "0",
        _ => value,
    }
}

fn variable_of(option: &str) -> &str {
    let option = option.trim_start_matches("--");
    plain_name(option.split_once('=').map_or(option, |(name, _)| name))
}

fn plain_name(option: &str) -> &str {
    let option = option.strip_prefix("loose-").unwrap_or(option);
    option.strip_prefix("skip-").unwrap_or(option)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSizes {
    /// The engine's cache, MiB.
    pub pool_mb: u64,
    /// The redo log, MiB.
    pub log_mb: u64,
    pub connections: u32,
    /// Threads that remove old row versions; see [`ServerSizes::purge_threads_of`].
    pub purge_threads: u32,
}

impl ServerSizes {
    /// Purge threads on a machine with this number of CPUs: half as many, but no more than servers have by default.
    /// Four of them on two CPUs mostly wait for each other.
    pub fn purge_threads_of(cpus: u32) -> u32 {
        (cpus / 2).clamp(1, 4)
    }

    fn named(&self, name: &str) -> Option<u64> {
        // A full memtable of MyRocks is written while the next one fills.
        let memtable = (self.pool_mb / 8).clamp(1, 64);
        Some(match name {
            "pool" => self.pool_mb,
            "log" => self.log_mb,
            "connections" => self.connections.into(),
            "purge-threads" => self.purge_threads.into(),
            "memtable" => memtable,
            // Without the memory of two memtables, because a buffer pool holds changed pages too.
            "block-cache" => self.pool_mb.saturating_sub(2 * memtable).max(1),
            _ => return None,
        })
    }

    /// A size in braces: a name, perhaps with `/N` or `*N/M`.
    fn scaled(&self, size: &str) -> Option<u64> {
        let (product, divisor) = size.split_once('/').unwrap_or((size, "1"));
        let (name, factor) = product.split_once('*').unwrap_or((product, "1"));
        let divisor: u64 = divisor.parse().ok().filter(|it| *it > 0)?;
        Some(self.named(name)?.checked_mul(factor.parse().ok()?)?.div_ceil(divisor))
    }

    /// `None` if a size has an unknown name.
    pub(crate) fn fill(&self, value: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once('{') {
            let (size, after) = after.split_once('}')?;
            filled += before;
            filled += &self.scaled(size)?.to_string();
            rest = after;
        }
        Some(filled + rest)
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Build, Layout};

    use super::*;

    fn prefix(version: &str) -> Prefix {
        product_prefix(Product::MariaDb, version)
    }

    fn product_prefix(product: Product, version: &str) -> Prefix {
        Prefix {
            path: "/p".into(),
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
            layout: Layout::default(),
        }
    }

    const SIZES: ServerSizes =
        ServerSizes { pool_mb: 1024, log_mb: 512, connections: 200, purge_threads: 2 };

    fn lean() -> &'static Terms {
        Terms::named("lean").unwrap()
    }

    fn options(version: &str, overrides: &[(&str, &str)]) -> RenderedTerms {
        let overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        lean().render(&SIZES, &prefix(version), Engine::InnoDb, &overrides)
    }

    #[test]
    fn each_version_gets_the_options_it_knows_and_the_rest_is_reported() {
        let names = |rendered: &RenderedTerms| -> Vec<String> {
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
    fn sizes_reach_the_options() {
        let relaxed = options("11.8.6", &[]).options;
        assert!(relaxed.contains(&"--innodb-buffer-pool-size=1024M".to_owned()));
        assert!(relaxed.contains(&"--innodb-flush-log-at-trx-commit=2".to_owned()));
    }

    #[test]
    fn override_replaces_the_intent_and_comes_last() {
        let rendered = options("10.11.19", &[("innodb_doublewrite", "OFF")]).options;
        assert_eq!(rendered.last().map(String::as_str), Some("--innodb-doublewrite=OFF"));
        let count = rendered.iter().filter(|it| variable_of(it) == "innodb-doublewrite").count();
        assert_eq!(count, 1);
    }

    #[test]
    fn options_that_add_up_are_all_given() {
        let instruments = ["statement/%=OFF", "stage/%=ON"];
        let asked = instruments.map(|it| ("performance_schema_instrument", it));
        let given = options("10.11.19", &asked).options;
        let given: Vec<_> = given.iter().filter(|it| it.contains("instrument")).collect();
        let expected = instruments.map(|it| format!("--performance-schema-instrument={it}"));
        assert_eq!(given, expected.iter().collect::<Vec<_>>());
        // The terms' own options stay too: without its plugin, the engine is missing.
        let asked = [("plugin_load_add".to_owned(), "other.so".to_owned())];
        let given = lean().render(&SIZES, &prefix("10.11.19"), Engine::RocksDb, &asked).options;
        for plugin in ["ha_rocksdb.so", "other.so"] {
            assert!(given.contains(&format!("--plugin-load-add={plugin}")), "{given:?}");
        }
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
            let rendered = lean().render(&SIZES, &prefix("10.11.19"), engine, &[]).options;
            rendered.contains(&"--plugin-load-add=ha_rocksdb.so".to_owned())
        };
        assert!(has(Engine::RocksDb) && !has(Engine::InnoDb));
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

    fn mysql(version: &str, overrides: &[(&str, &str)]) -> RenderedTerms {
        let overrides: Vec<_> =
            overrides.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        lean().render(&SIZES, &product_prefix(Product::MySql, version), Engine::InnoDb, &overrides)
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

    /// It has a word of its own for what later versions have another one for.
    #[test]
    fn the_oldest_mariadb_gets_what_it_knows() {
        let rendered = options("5.5.28a", &[]);
        let has = |option: &str| rendered.options.iter().any(|it| it.starts_with(option));
        assert!(has("--innodb-flush-neighbor-pages=none") && has("--innodb-file-per-table=1"));
        for unknown in ["flush-neighbors", "checksum", "buffer-pool-dump", "buffer-pool-load"] {
            assert!(!rendered.options.iter().any(|it| it.contains(unknown)), "{unknown}");
        }
        assert!(!has("--use-stat-tables") && has("--query-cache-type=0") && has("--ssl=0"));
        let newer = options("10.1.23", &[]).options;
        assert!(newer.contains(&"--innodb-flush-neighbors=0".to_owned()));
        assert!(!newer.iter().any(|it| it.contains("neighbor-pages") || it.contains("file-per")));
    }

    #[test]
    fn an_override_replaces_an_option_in_any_spelling() {
        for (name, gone) in [("log_bin", "--skip-log-bin=1"), ("ssl", "--loose-ssl=0")] {
            assert!(mysql("5.7.22", &[]).options.contains(&gone.to_owned()));
            let options = mysql("5.7.22", &[(name, "ON")]).options;
            assert!(!options.contains(&gone.to_owned()), "{options:?}");
        }
    }

    fn message(terms: &Terms, product: Product, engine: Engine, versions: &[&str]) -> String {
        let mut text = String::new();
        for version in versions {
            let rendered = terms.render(&SIZES, &product_prefix(product, version), engine, &[]);
            let left_out = rendered.left_out.iter().map(|it| {
                let mark = if it.is_as_asked { "as asked" } else { "instead" };
                format!("({} is left out; {mark}: {})", it.setting, it.instead)
            });
            let lines: Vec<String> = rendered.options.iter().cloned().chain(left_out).collect();
            text += &format!("{product} {version} {}\n  {}\n\n", engine.word(), lines.join("\n  "));
        }
        text
    }

    #[test]
    fn options_of_all_terms_by_version() {
        use Engine::{Heap, InnoDb, RocksDb};
        use Product::{MariaDb, MySql, Postgres};
        for (product, engine, versions) in [
            (MySql, InnoDb, &["5.5.34", "5.6.51", "5.7.44", "8.0.21", "8.0.40", "9.7.4"][..]),
            (
                MariaDb,
                InnoDb,
                &["5.5.68", "10.0.38", "10.1.23", "10.2.44", "10.6.20", "10.11.10", "11.8.3"],
            ),
            (MariaDb, RocksDb, &["10.11.10"]),
            (Postgres, Heap, &["9.6.24", "14.12", "18.1"]),
        ] {
            for terms in Terms::list() {
                let name = format!("{}_{product}_{}", terms.name, engine.word());
                insta::assert_snapshot!(name, message(terms, product, engine, versions));
            }
        }
    }

    #[test]
    fn sizes_are_filled_in() {
        let sizes = ServerSizes { pool_mb: 1024, log_mb: 512, connections: 200, purge_threads: 2 };
        for (value, filled) in [
            ("ON", Some("ON")),
            ("{pool}M", Some("1024M")),
            ("{log/15}M", Some("35M")),
            ("{log*4/3}MB", Some("683MB")),
            ("a={memtable}m;b={connections}", Some("a=64m;b=200")),
            ("{purge-threads}", Some("2")),
            ("{cache}", None),
            ("{log/0}", None),
            ("{log", None),
        ] {
            assert_eq!(sizes.fill(value).as_deref(), filled, "{value}");
        }
    }

    #[test]
    fn rocksdb_caches_share_the_size_of_the_buffer_pool() {
        for (pool_mb, blocks, memtable) in [(1024, 896, 64), (256, 192, 32), (8, 6, 1), (1, 1, 1)] {
            let sizes = ServerSizes { pool_mb, log_mb: 1, connections: 1, purge_threads: 1 };
            assert_eq!(sizes.named("block-cache"), Some(blocks));
            assert_eq!(sizes.named("memtable"), Some(memtable));
        }
    }
}
