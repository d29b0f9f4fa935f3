//! Evidence for a change of a waiting term: server counters, and observed waits of threads.

use crate::phrases::per_operation;
use crate::{CounterChange, ProfileChange, QuantityChange, TimeTerm, Wait};

/// Counters of waiting time, their description, and microseconds per unit of the counter.
const TIMES: [(&str, &str, f64); 2] = [
    ("Innodb_row_lock_time", "waiting for row locks", 1000.0),
    ("Rocksdb_stall_micros", "write stalls", 1.0),
];

const WAITS: [(&str, &str); 6] = [
    ("Innodb_row_lock_waits", "waits for row locks"),
    ("Table_locks_waited", "waits for table locks"),
    ("Innodb_log_waits", "waits for the log buffer"),
    ("Innodb_buffer_pool_wait_free", "waits for free pages"),
    ("Rocksdb_stall_micros", "µs of write stalls"),
    ("pg_stat_wal.wal_buffers_full", "waits for the log buffer"),
];

const DISK: [(&str, &str); 8] = [
    ("Innodb_os_log_fsyncs", "flushes of the log"),
    ("Rocksdb_wal_synced", "flushes of the log"),
    ("Innodb_data_fsyncs", "flushes of files"),
    ("Innodb_buffer_pool_reads", "pages read from files"),
    ("pg_stat_wal.wal_sync", "flushes of the log"),
    ("pg_stat_io.fsyncs", "flushes of files"),
    ("pg_statio_user_tables.heap_blks_read", "pages read from files"),
    ("pg_statio_user_tables.idx_blks_read", "pages read from files"),
];

/// Appended if no such counter changed.
pub(crate) const NO_EVIDENCE: &str = " (no counter of the server tells why)";

/// Longest duration of a counted wait, µs. Fewer events than this implies are no evidence.
const LONGEST_US: f64 = 10_000.0;

/// Evidence for a change of a waiting term: a time measured by the server, if large enough; otherwise, of counters that
/// changed in the same direction often enough to explain it, the one with the largest change. Nothing if the counters
/// were not read.
pub(crate) fn evidence(
    term: TimeTerm,
    tells_disk: bool,
    wait_us: f64,
    counters: Option<&[CounterChange]>,
    profile: Option<&ProfileChange>,
) -> String {
    let sampled = profile.and_then(|profile| sampled(term, wait_us, profile));
    if term == TimeTerm::Unknown {
        return sampled.unwrap_or_default();
    }
    let Some(counters) = counters else { return sampled.unwrap_or_default() };
    if let Some(timed) = timed(term, wait_us, counters) {
        return timed;
    }
    let listed: &[&[(&str, &str)]] = match term {
        TimeTerm::DiskWait => &[&DISK],
        TimeTerm::OtherWait if tells_disk => &[&WAITS],
        TimeTerm::OtherWait => &[&WAITS, &DISK],
        TimeTerm::ClientCpu | TimeTerm::ServerCpu | TimeTerm::CpuWait | TimeTerm::Unknown => {
            return String::new();
        }
    };
    let words = |counter: &CounterChange| {
        let mut known = listed.iter().flat_map(|known| known.iter());
        known.find(|(name, _)| *name == counter.name).map(|(_, words)| *words)
    };
    let usual = counters.iter().filter(|it| it.is_usual);
    let found = usual.filter_map(|it| Some((words(it)?, it.changed)));
    let found = found.filter(|(_, changed)| {
        let needed = wait_us / changed.by.value;
        needed > 0.0 && needed < LONGEST_US
    });
    let most =
        found.max_by(|(_, one), (_, other)| one.by.value.abs().total_cmp(&other.by.value.abs()));
    most.map_or_else(
        || sampled.unwrap_or_else(|| NO_EVIDENCE.to_owned()),
        |(words, changed)| {
            let [before, after] = [changed.before, changed.after].map(per_operation);
            format!(" ({words} per operation {before} → {after})")
        },
    )
}

/// Share of a term by which sampled or server-measured waits must change to support it.
const SUPPORT: f64 = 0.5;

fn timed(term: TimeTerm, wait_us: f64, counters: &[CounterChange]) -> Option<String> {
    if term != TimeTerm::OtherWait {
        return None;
    }
    let known = counters.iter().filter(|it| it.is_usual).filter_map(|counter| {
        let (_, words, us) = TIMES.iter().find(|(name, ..)| *name == counter.name)?;
        Some((words, [counter.changed.before, counter.changed.after].map(|value| value * us)))
    });
    let by = |[before, after]: [f64; 2]| (after - before) / wait_us;
    let most = known
        .filter(|(_, times)| by(*times) >= SUPPORT)
        .max_by(|(_, one), (_, other)| by(*one).total_cmp(&by(*other)));
    most.map(|(words, times)| {
        let [before, after] = times.map(per_operation);
        format!(" ({words} {before} → {after} µs per operation)")
    })
}

fn sampled(term: TimeTerm, wait_us: f64, profile: &ProfileChange) -> Option<String> {
    let listed: &[Wait] = match term {
        TimeTerm::DiskWait => &[Wait::Flush, Wait::Disk],
        TimeTerm::OtherWait | TimeTerm::Unknown => {
            &[Wait::Lock, Wait::Flush, Wait::Disk, Wait::Sleep]
        }
        TimeTerm::ClientCpu | TimeTerm::ServerCpu | TimeTerm::CpuWait => return None,
    };
    let waits = profile.waits.iter().flatten().filter(|(wait, _)| listed.contains(wait));
    let supports = |(_, changed): &&(Wait, QuantityChange)| changed.by.value / wait_us >= SUPPORT;
    let most = waits
        .filter(supports)
        .max_by(|(_, one), (_, other)| one.by.value.abs().total_cmp(&other.by.value.abs()));
    most.map(|(wait, changed)| {
        let [before, after] = [changed.before, changed.after].map(per_operation);
        format!(" (sampled threads wait {} {before} → {after} µs)", wait.word())
    })
}
