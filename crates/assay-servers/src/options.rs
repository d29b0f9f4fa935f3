//! What the intent is in options, by version. Data: a new version is a new bound here.
//!
//! Sources: `mariadbd --verbose --help` of 10.5.23, 10.11.19 and 11.8.6, and the MariaDB documentation for the
//! release in which an option came or went.

use assay_model::Engine;

use crate::intent::{Charset, Durability, Intent};

/// An option of some versions.
pub(crate) struct Setting {
    /// Its name.
    pub(crate) option: &'static str,
    /// Its value for an intent.
    pub(crate) value: fn(&Intent) -> String,
    /// The only engine it is for.
    pub(crate) engine: Option<Engine>,
    /// Versions that do not have it, from the first up to but not including the last, and what they do.
    pub(crate) missing: &'static [(Version, Version, &'static str)],
}

/// Major, minor, patch.
type Version = (u32, u32, u32);

const FIRST: Version = (0, 0, 0);
const NEVER: Version = (u32::MAX, 0, 0);

impl Setting {
    /// Why a version cannot be given the option, if it cannot.
    pub(crate) fn missing(&self, version: Version) -> Option<&'static str> {
        let mut ranges = self.missing.iter();
        ranges.find(|(from, until, _)| (*from..*until).contains(&version)).map(|(.., why)| *why)
    }

    pub(crate) const fn of(option: &'static str, value: fn(&Intent) -> String) -> Self {
        Self { option, value, engine: None, missing: &[] }
    }

    const fn rocksdb(option: &'static str, value: fn(&Intent) -> String) -> Self {
        Self { engine: Some(Engine::RocksDb), ..Self::of(option, value) }
    }
}

macro_rules! fixed {
    ($value:literal) => {
        |_| $value.to_owned()
    };
}

/// A history of the rows that older versions showed, which newer ones refuse to write over (MDEV-35124).
const NO_SNAPSHOT_ISOLATION: &str = "never refuses to write over a row changed since the snapshot";

/// The options of MariaDB, in the order in which they are given.
pub(crate) const MARIADB: &[Setting] = &[
    Setting::of("innodb-buffer-pool-size", |it| format!("{}M", it.buffer_pool_mb)),
    Setting::of("innodb-log-file-size", |it| format!("{}M", it.log_mb)),
    Setting::of("innodb-flush-log-at-trx-commit", commit),
    Setting::of("character-set-server", |it| charset(it).0.to_owned()),
    Setting::of("collation-server", |it| charset(it).1.to_owned()),
    Setting::of("max-connections", |it| it.connections_max.to_string()),
    Setting::of("innodb-doublewrite", fixed!("ON")),
    // Default `fsync` before 10.6.0.
    Setting::of("innodb-flush-method", fixed!("O_DIRECT")),
    // Default 8192 in 10.5, 512 later: a partial block of the log is read before it is written.
    Setting::of("innodb-log-write-ahead-size", fixed!("4096")),
    // Default ON before 10.5.0.
    Setting::of("innodb-adaptive-hash-index", fixed!("OFF")),
    Setting {
        // Default `all` before 10.5.15.
        missing: &[((11, 0, 0), NEVER, "has no change buffer, as asked for")],
        ..Setting::of("innodb-change-buffering", fixed!("none"))
    },
    Setting {
        missing: &[(FIRST, (10, 8, 4), "always buffers the log, as asked for")],
        ..Setting::of("innodb-log-file-buffering", fixed!("ON"))
    },
    Setting {
        // Default ON from 11.6.2.
        missing: &[
            (FIRST, (10, 6, 18), NO_SNAPSHOT_ISOLATION),
            ((10, 7, 0), (10, 11, 8), NO_SNAPSHOT_ISOLATION),
            ((11, 0, 0), (11, 0, 6), NO_SNAPSHOT_ISOLATION),
            ((11, 1, 0), (11, 1, 5), NO_SNAPSHOT_ISOLATION),
            ((11, 2, 0), (11, 2, 4), NO_SNAPSHOT_ISOLATION),
            ((11, 4, 0), (11, 4, 2), NO_SNAPSHOT_ISOLATION),
        ],
        ..Setting::of("innodb-snapshot-isolation", fixed!("OFF"))
    },
    // What an instance has in its cache shall come from the study alone.
    Setting::of("innodb-buffer-pool-dump-at-shutdown", fixed!("OFF")),
    Setting::of("innodb-buffer-pool-load-at-startup", fixed!("OFF")),
    Setting::of("query-cache-type", fixed!("0")),
    Setting::of("query-cache-size", fixed!("0")),
    Setting::of("performance-schema", fixed!("OFF")),
    Setting::of("skip-log-bin", fixed!("1")),
    // Default ON from 11.4.
    Setting::of("ssl", fixed!("OFF")),
    Setting::rocksdb("plugin-load-add", fixed!("ha_rocksdb.so")),
    Setting::rocksdb("rocksdb-block-cache-size", |it| format!("{}M", it.buffer_pool_mb)),
    Setting::rocksdb("rocksdb-flush-log-at-trx-commit", commit),
];

fn commit(intent: &Intent) -> String {
    match intent.durability {
        Durability::Relaxed => "2".to_owned(),
        Durability::Full => "1".to_owned(),
    }
}

fn charset(intent: &Intent) -> (&'static str, &'static str) {
    match intent.charset {
        Charset::Latin1 => ("latin1", "latin1_swedish_ci"),
        Charset::Utf8mb4 => ("utf8mb4", "utf8mb4_general_ci"),
    }
}
