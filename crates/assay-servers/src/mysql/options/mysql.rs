//! The options of MySQL.
//!
//! Sources: `mysqld --verbose --help` of 5.5.9, 5.5.34, 5.6.14, 5.7.22, 8.0.12, 8.0.15, 8.0.33 and 9.7.4, and the
//! MySQL reference manual and release notes for the release in which an option or a default came or went.

use assay_model::Engine::InnoDb;

use super::{ALWAYS_DIVES, COMPACT_ROWS, cache, commit, connections, fixed, half_of_log, log};
use crate::setting::Instead::{AsAsked, Otherwise};
use crate::setting::{FIRST, NEVER, Setting};

/// The options, in the order of the command line.
pub(crate) const OPTIONS: &[Setting] = &[
    Setting::of("innodb-buffer-pool-size", cache),
    // Default OFF before 5.6.6.
    Setting::of("innodb-file-per-table", fixed!("ON")),
    // Until 8.0.29 two files by default, and any number of them; since 8.0.30 as many as are needed.
    Setting::of("innodb-log-file-size", half_of_log).missing(&[((8, 0, 30), NEVER, None)]),
    Setting::of("innodb-log-files-in-group", fixed!("2")).missing(&[((8, 0, 30), NEVER, None)]),
    Setting::of("innodb-redo-log-capacity", log).missing(&[(FIRST, (8, 0, 30), None)]),
    // Default 8M before 5.7.6, 64M since 8.4.0.
    Setting::of("innodb-log-buffer-size", fixed!("16M")),
    Setting::of("innodb-flush-log-at-trx-commit", commit),
    Setting::of("character-set-server", fixed!("latin1")),
    Setting::of("collation-server", fixed!("latin1_swedish_ci")),
    // Default without a strict mode before 5.7, with many modes since.
    Setting::of("sql-mode", fixed!("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION")),
    Setting::of("max-connections", connections),
    // Default 16382: many clients with many tables prepare more.
    Setting::of("max-prepared-stmt-count", fixed!("1048576")),
    // Default 0 in 5.5, later by the number of connections.
    Setting::of("thread-cache-size", connections),
    // Default 256K since 5.6, where MariaDB has 2M; a join's default is 128K before 5.6.6.
    Setting::of("sort-buffer-size", fixed!("2M")),
    Setting::of("join-buffer-size", fixed!("256K")),
    Setting::of("read-rnd-buffer-size", fixed!("256K")),
    Setting::of("tmp-table-size", fixed!("16M")),
    Setting::of("max-heap-table-size", fixed!("16M")),
    // Default 10 before 5.7.4.
    Setting::of("eq-range-index-dive-limit", fixed!("200")).missing(&[(
        FIRST,
        (5, 6, 5),
        Some(ALWAYS_DIVES),
    )]),
    Setting::of("innodb-default-row-format", fixed!("dynamic")).missing(&[(
        FIRST,
        (5, 7, 9),
        Some(COMPACT_ROWS),
    )]),
    // Default ON since 8.0.3: a thread that wakes up.
    Setting::of("event-scheduler", fixed!("OFF")),
    Setting::of("innodb-doublewrite", fixed!("ON")),
    // The number of pages written at once before 8.0.20 and since 8.4.0; default 4 in between.
    Setting::of("innodb-doublewrite-pages", fixed!("128")).missing(&[(FIRST, (8, 0, 20), None)]),
    Setting::of("innodb-flush-method", fixed!("O_DIRECT")),
    // Default ON since 8.4.0.
    Setting::of("innodb-use-fdatasync", fixed!("OFF")).missing(&[(
        FIRST,
        (8, 0, 26),
        Some(AsAsked("flushes with `fsync`")),
    )]),
    // Default 75 before 8.0.3.
    Setting::of("innodb-max-dirty-pages-pct", fixed!("90")),
    // Default 10 since 8.0.3.
    Setting::of("innodb-max-dirty-pages-pct-lwm", fixed!("0")).missing(&[(
        FIRST,
        (5, 6, 6),
        Some(AsAsked("does not flush dirty pages in advance")),
    )]),
    // Default 200, since 8.4.0 10000.
    Setting::of("innodb-io-capacity", fixed!("2000")),
    // Default ON before 8.0.0.
    Setting::of("innodb-flush-neighbors", fixed!("0")).missing(&[(
        FIRST,
        (5, 6, 3),
        Some(Otherwise("flushes the dirty neighbours of a page with it")),
    )]),
    // Default `innodb` before 5.7.7.
    Setting::of("innodb-checksum-algorithm", fixed!("crc32")).missing(&[(
        FIRST,
        (5, 6, 3),
        Some(Otherwise("has only the older page checksum, which costs more CPU than CRC-32")),
    )]),
    Setting::of("innodb-log-write-ahead-size", fixed!("4096")).missing(&[(
        FIRST,
        (5, 7, 4),
        Some(Otherwise("writes blocks of 512 bytes to the log")),
    )]),
    // Default ON before 8.4.0 and, since, on machines with many CPUs: other versions write the log where they commit.
    Setting::of("innodb-log-writer-threads", fixed!("OFF")).missing(&[
        (FIRST, (8, 0, 11), Some(AsAsked("writes the log in the committing thread"))),
        ((8, 0, 11), (8, 0, 22), Some(Otherwise("always writes the log in dedicated threads"))),
    ]),
    // Default ON before 8.4.0.
    Setting::of("innodb-adaptive-hash-index", fixed!("OFF")),
    // Default `all` before 8.4.0.
    Setting::of("innodb-change-buffering", fixed!("none")),
    // Default ON since 8.0.2: a truncation is work in the background at a time of its own.
    Setting::of("innodb-undo-log-truncate", fixed!("OFF")).missing(&[(
        FIRST,
        (5, 7, 5),
        Some(AsAsked("never truncates undo logs")),
    )]),
    // The content of an instance's cache must come from the study alone.
    Setting::of("innodb-buffer-pool-dump-at-shutdown", fixed!("OFF")).missing(&[(
        FIRST,
        (5, 6, 3),
        Some(AsAsked("never saves the contents of the buffer pool")),
    )]),
    Setting::of("innodb-buffer-pool-load-at-startup", fixed!("OFF")).missing(&[(
        FIRST,
        (5, 6, 3),
        None,
    )]),
    // Default ON since 8.4.0, where the build has it.
    Setting::of("loose-innodb-numa-interleave", fixed!("OFF")).only(InnoDb).missing(&[(
        FIRST,
        (5, 6, 27),
        Some(AsAsked("leaves the placement of memory to the kernel")),
    )]),
    Setting::of("query-cache-type", fixed!("0")).missing(&[(
        (8, 0, 3),
        NEVER,
        Some(AsAsked("has no query cache")),
    )]),
    Setting::of("query-cache-size", fixed!("0")).missing(&[((8, 0, 3), NEVER, None)]),
    // Default ON since 5.6.6.
    Setting::of("performance-schema", fixed!("OFF")),
    // Default off before 8.0.1.
    Setting::of("skip-log-bin", fixed!("1")),
    // The builds of 5.5 may come without TLS.
    Setting::of("loose-ssl", fixed!("0")).missing(&[((8, 0, 26), NEVER, None)]),
    Setting::of("tls-version", fixed!("")).missing(&[(FIRST, (8, 0, 26), None)]),
    // A second port and its threads; a plugin that is not loaded before.
    Setting::of("mysqlx", fixed!("OFF")).missing(&[(FIRST, (8, 0, 11), None)]),
    // Logins are not measured; this one needs neither TLS nor a key for a password.
    Setting::of("default-authentication-plugin", fixed!("mysql_native_password")).missing(&[
        (FIRST, (8, 0, 4), None),
        (
            (8, 4, 0),
            NEVER,
            Some(Otherwise("logs in with `caching_sha2_password`; logins are not measured")),
        ),
    ]),
];
