//! The options of MariaDB.
//!
//! Sources: `mariadbd --verbose --help` of 10.1.23, 10.2.11, 10.5.23, 10.11.5, 10.11.19, 11.4.5 and 11.8.6, and the
//! MariaDB documentation for the release in which an option or a default came or went.

use assay_model::Engine::{InnoDb, RocksDb};

use super::{
    ALWAYS_DIVES, COMPACT_ROWS, block_cache, cache, column_family, commit, connections, fixed,
    half_of_log, log,
};
use crate::setting::Instead::{AsAsked, Otherwise};
use crate::setting::{FIRST, Instead, NEVER, Setting};

/// A history of the rows that older versions showed, which newer ones refuse to write over (MDEV-35124).
const NO_SNAPSHOT_ISOLATION: Option<Instead> =
    Some(Otherwise("lets a transaction overwrite a row that changed since its snapshot"));

/// Taken away with the new log format of 10.8, given back by MDEV-33894.
const BLOCK_OF_THE_DEVICE: Option<Instead> =
    Some(Otherwise("writes blocks of the device's size to the log"));

/// The options, in the order of the command line.
pub(crate) const OPTIONS: &[Setting] = &[
    Setting::of("innodb-buffer-pool-size", cache).only(InnoDb),
    // Used by the few system tables.
    Setting::of("innodb-buffer-pool-size", fixed!("64M")).only(RocksDb),
    // Two files before 10.5.0.
    Setting::of("innodb-log-file-size", half_of_log).missing(&[((10, 5, 0), NEVER, None)]),
    Setting::of("innodb-log-files-in-group", fixed!("2")).missing(&[((10, 5, 0), NEVER, None)]),
    Setting::of("innodb-log-file-size", log).missing(&[(FIRST, (10, 5, 0), None)]),
    Setting::of("innodb-log-buffer-size", fixed!("16M")),
    Setting::of("innodb-flush-log-at-trx-commit", commit),
    Setting::of("character-set-server", fixed!("latin1")),
    Setting::of("collation-server", fixed!("latin1_swedish_ci")),
    // Default without a strict mode before 10.2.4, with more modes since.
    Setting::of("sql-mode", fixed!("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION")),
    Setting::of("max-connections", connections),
    // Default 16382: many clients with many tables prepare more.
    Setting::of("max-prepared-stmt-count", fixed!("1048576")),
    // Default 0 before 10.2.0, later by the number of connections.
    Setting::of("thread-cache-size", connections),
    // MySQL sorts in 256K by default.
    Setting::of("sort-buffer-size", fixed!("2M")),
    Setting::of("join-buffer-size", fixed!("256K")),
    Setting::of("read-rnd-buffer-size", fixed!("256K")),
    Setting::of("tmp-table-size", fixed!("16M")),
    Setting::of("max-heap-table-size", fixed!("16M")),
    // Default 0 before 10.4.3: every point of a list is looked up.
    Setting::of("eq-range-index-dive-limit", fixed!("200")).missing(&[
        (FIRST, (10, 2, 18), Some(ALWAYS_DIVES)),
        ((10, 3, 0), (10, 3, 10), Some(ALWAYS_DIVES)),
    ]),
    // Default `preferably_for_queries` since 10.4.1; the statistics of other versions are the engine's.
    Setting::of("use-stat-tables", fixed!("never")),
    Setting::of("innodb-default-row-format", fixed!("dynamic")).missing(&[(
        FIRST,
        (10, 2, 2),
        Some(COMPACT_ROWS),
    )]),
    Setting::of("event-scheduler", fixed!("OFF")),
    Setting::of("innodb-doublewrite", fixed!("ON")),
    // Default `fsync` before 10.6.0.
    Setting::of("innodb-flush-method", fixed!("O_DIRECT")),
    // Default 75 before 10.5.7.
    Setting::of("innodb-max-dirty-pages-pct", fixed!("90")),
    Setting::of("innodb-max-dirty-pages-pct-lwm", fixed!("0")).missing(&[(
        FIRST,
        (10, 2, 2),
        Some(Otherwise(
            "starts to flush dirty pages in advance when 0.001 % of all pages are dirty",
        )),
    )]),
    Setting::of("innodb-io-capacity", fixed!("2000")),
    Setting::of("innodb-flush-neighbors", fixed!("0")),
    // Later versions have a form of CRC-32 by default.
    Setting::of("innodb-checksum-algorithm", fixed!("crc32")).missing(&[((10, 2, 2), NEVER, None)]),
    Setting::of("innodb-log-checksum-algorithm", fixed!("crc32")).missing(&[(
        (10, 2, 2),
        NEVER,
        None,
    )]),
    // Default 8192 until 10.7, 512 later: a partial block of the log is read before it is written.
    Setting::of("innodb-log-write-ahead-size", fixed!("4096")).missing(&[
        (FIRST, (10, 2, 2), Some(Otherwise("writes blocks of 512 bytes to the log"))),
        ((10, 8, 0), (10, 11, 9), BLOCK_OF_THE_DEVICE),
        ((11, 0, 0), (11, 1, 6), BLOCK_OF_THE_DEVICE),
        ((11, 2, 0), (11, 2, 5), BLOCK_OF_THE_DEVICE),
        ((11, 3, 0), (11, 4, 3), BLOCK_OF_THE_DEVICE),
    ]),
    // Default ON before 10.5.0.
    Setting::of("innodb-adaptive-hash-index", fixed!("OFF")),
    // Default `all` before 10.5.15.
    Setting::of("innodb-change-buffering", fixed!("none")).missing(&[(
        (11, 0, 0),
        NEVER,
        Some(AsAsked("has no change buffer")),
    )]),
    Setting::of("innodb-log-file-buffering", fixed!("ON")).missing(&[(
        FIRST,
        (10, 8, 4),
        Some(AsAsked("always buffers the log")),
    )]),
    // Default ON from 11.6.2.
    Setting::of("innodb-snapshot-isolation", fixed!("OFF")).missing(&[
        (FIRST, (10, 6, 18), NO_SNAPSHOT_ISOLATION),
        ((10, 7, 0), (10, 11, 8), NO_SNAPSHOT_ISOLATION),
        ((11, 0, 0), (11, 0, 6), NO_SNAPSHOT_ISOLATION),
        ((11, 1, 0), (11, 1, 5), NO_SNAPSHOT_ISOLATION),
        ((11, 2, 0), (11, 2, 4), NO_SNAPSHOT_ISOLATION),
        ((11, 4, 0), (11, 4, 2), NO_SNAPSHOT_ISOLATION),
    ]),
    // The content of an instance's cache must come from the study alone.
    Setting::of("innodb-buffer-pool-dump-at-shutdown", fixed!("OFF")),
    Setting::of("innodb-buffer-pool-load-at-startup", fixed!("OFF")),
    Setting::of("query-cache-type", fixed!("0")),
    Setting::of("query-cache-size", fixed!("0")),
    Setting::of("performance-schema", fixed!("OFF")),
    Setting::of("skip-log-bin", fixed!("1")),
    // Default ON from 11.4.
    Setting::of("ssl", fixed!("OFF")),
    Setting::of("plugin-load-add", fixed!("ha_rocksdb.so")).only(RocksDb),
    Setting::of("rocksdb-block-cache-size", block_cache).only(RocksDb),
    Setting::of("rocksdb-max-total-wal-size", log).only(RocksDb),
    Setting::of("rocksdb-flush-log-at-trx-commit", commit).only(RocksDb),
    Setting::of("rocksdb-default-cf-options", column_family).only(RocksDb),
    // Past the page cache, as InnoDB with O_DIRECT.
    Setting::of("rocksdb-use-direct-reads", fixed!("ON")).only(RocksDb),
    Setting::of("rocksdb-use-direct-io-for-flush-and-compaction", fixed!("ON")).only(RocksDb),
];
