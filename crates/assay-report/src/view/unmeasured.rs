//! The parts of writes that the settings of a study leave out: durable commits and the binary log.

use assay_model::{Class, Dialect, Origin, StudyRecord, System};

const RELAXED: [&str; 2] = ["lean", "published"];

const WITHOUT_BINLOG: &str = "lean";

/// Options that decide whether a commit waits for the disk, each with the values for which it does not.
const FLUSHES: [(&str, &[&str]); 3] = [
    ("rocksdb_flush_log_at_trx_commit", &["0", "2"]),
    ("innodb_flush_log_at_trx_commit", &["0", "2"]),
    ("synchronous_commit", &["off"]),
];

/// `None` for published results, for studies without writes, and if nothing is left out.
pub(crate) fn note(record: &StudyRecord) -> Option<String> {
    let has_writes = record.study.is_insert_benchmark()
        || record.study.cells.iter().any(|cell| cell.id.test.class == Class::Write);
    if record.is_reported() || !has_writes {
        return None;
    }
    let terms = record.study.terms.as_deref().unwrap_or_default();
    let started = || record.systems.iter().filter(|it| !matches!(it.spec.origin, Origin::Url(_)));
    let is_relaxed = started().any(|system| is_relaxed(system, terms));
    let has_no_binlog = terms == WITHOUT_BINLOG && started().any(has_no_binlog);
    let parts: Vec<&str> = [
        is_relaxed
            .then_some("durable commits (the log is flushed each second, not at each commit)"),
        has_no_binlog.then_some("the binary log (it is off)"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "the writes do not include the cost of {}; many servers in production pay it",
            parts.join(" and of ")
        )
    })
}

/// The last value of an option, whichever way its name is written.
fn option<'a>(system: &'a System, name: &str) -> Option<&'a str> {
    let own = system.options.iter().map(String::as_str);
    own.rev().find_map(|option| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let key = key.trim_start_matches('-').replace('-', "_").to_ascii_lowercase();
        (key.strip_prefix("loose_").unwrap_or(&key) == name).then_some(value.trim())
    })
}

fn is_relaxed(system: &System, terms: &str) -> bool {
    let given = FLUSHES.iter().find_map(|(name, relaxed)| {
        option(system, name).map(|value| relaxed.contains(&value.to_ascii_lowercase().as_str()))
    });
    given.unwrap_or_else(|| RELAXED.contains(&terms))
}

fn has_no_binlog(system: &System) -> bool {
    system.spec.product.dialect() == Dialect::MySql && option(system, "log_bin").is_none()
}
