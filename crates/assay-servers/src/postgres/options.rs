//! The intent in Postgres' settings, by version. This is data: a new version is a new bound here.
//!
//! Sources: the Postgres manual, "Server Configuration", and the release notes of the release in which a setting
//! was added or removed. The tests check each one on real servers.

use crate::intent::Durability;
use crate::setting::Instead::AsAsked;
use crate::setting::{FIRST, Setting};

/// The settings, in the order of the command line.
pub(crate) const POSTGRES: &[Setting] = &[
    Setting::of("shared_buffers", |it| format!("{}MB", it.buffer_pool_mb)),
    // A checkpoint is due after this much log, and the files of the log are reused, like those of InnoDB.
    Setting::of("max_wal_size", |it| format!("{}MB", it.log_mb)),
    Setting::of("min_wal_size", |it| format!("{}MB", it.log_mb)),
    // Default 5 minutes: checkpoints would depend on time instead of work.
    Setting::of("checkpoint_timeout", |_| "1h".to_owned()),
    // Default 0.5 before 14.
    Setting::of("checkpoint_completion_target", |_| "0.9".to_owned()),
    Setting::of("synchronous_commit", |it| match it.durability {
        Durability::Relaxed => "off".to_owned(),
        Durability::Full => "on".to_owned(),
    }),
    Setting::of("fsync", |_| "on".to_owned()),
    // Pages torn by a crash are restored from the log; InnoDB uses the doublewrite buffer for that.
    Setting::of("full_page_writes", |_| "on".to_owned()),
    // No log for replication: the MySQL family runs without its binary log too.
    Setting::of("wal_level", |_| "minimal".to_owned()),
    Setting::of("max_wal_senders", |_| "0".to_owned()),
    Setting::of("wal_compression", |_| "off".to_owned()),
    Setting::of("max_connections", |it| it.connections_max.to_string()),
    // Default `try`: the machine would decide whether they are used.
    Setting::of("huge_pages", |_| "off".to_owned()),
    // One statement, one process, as in the MySQL family.
    Setting::of("max_parallel_workers_per_gather", |_| "0".to_owned()),
    // Default on from 12.
    Setting::of("jit", |_| "off".to_owned()).missing(&[(
        FIRST,
        (11, 0, 0),
        Some(AsAsked("cannot compile expressions")),
    )]),
    // Default `worker` from 18. Before, a process reads pages itself.
    Setting::of("io_method", |_| "sync".to_owned()).missing(&[(
        FIRST,
        (18, 0, 0),
        Some(AsAsked("reads pages in the process that needs them")),
    )]),
    // Default 16 from 18.
    Setting::of("effective_io_concurrency", |_| "1".to_owned()),
    // Default 2 from 15.
    Setting::of("hash_mem_multiplier", |_| "1".to_owned()).missing(&[(
        FIRST,
        (13, 0, 0),
        Some(AsAsked("builds hash tables in `work_mem`")),
    )]),
    Setting::of("autovacuum", |_| "on".to_owned()),
    Setting::of("track_io_timing", |_| "off".to_owned()),
    // Default on from 15.
    Setting::of("log_checkpoints", |_| "off".to_owned()),
    Setting::of("ssl", |_| "off".to_owned()),
];
