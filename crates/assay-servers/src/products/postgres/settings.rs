//! Settings and counters of a running server, and its answers about requested options.

use std::fmt::Write as _;

use assay_model::SystemSpec;
use assay_terms::variable;
use assay_wire::Connection;

use crate::audit::{ANSWER, JIT, NO_JIT, ServerSettings};
use crate::error::Result;
use crate::products::kind::{CounterQueries, name_values};

// Settings are read with the session's own search path, which may contain functions of other users. So every name is
// qualified.
const ALL: &str =
    "SELECT s.name, pg_catalog.current_setting(s.name, true) FROM pg_catalog.pg_settings s";

const SESSION: &str = "SELECT s.name, pg_catalog.current_setting(s.name, true) FROM pg_catalog.pg_settings s \
    WHERE s.name OPERATOR(pg_catalog.=) ANY (ARRAY['client_encoding', 'transaction_isolation', \
    'plan_cache_mode', 'jit']::pg_catalog.text[])";

const DATABASE: &str = "SELECT *, pg_encoding_to_char(encoding) AS encoding_name FROM pg_database \
    WHERE datname = current_database()";

/// Properties of a Postgres database, with the columns that hold them. The first existing column counts.
const OF_POSTGRES_DATABASE: &[(&str, &[&str])] = &[
    ("database.locale", &["datlocale", "daticulocale", "datcollate"]),
    ("database.encoding", &["encoding_name"]),
    ("database.ctype", &["datctype"]),
    ("database.locale_provider", &["datlocprovider"]),
];

/// Settings with their units, the database below `database.`, the session below `session.`.
pub(super) fn effective_settings(control: &mut Connection) -> Result<ServerSettings> {
    // Values include their units, since the unit of a setting may change between versions.
    let mut settings = name_values(control, ALL, "")?;
    // Versions differ in the columns.
    let database = control.query_catalog(DATABASE)?;
    for (name, columns) in OF_POSTGRES_DATABASE {
        let value = columns.iter().find_map(|column| database.named(0, column));
        settings.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
    }
    settings.extend(name_values(control, SESSION, "session.")?);
    let session = control
        .query_catalog("SELECT ssl, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()")?;
    let cipher = session.text(0, 1).unwrap_or_default().to_owned();
    settings.insert("session.ssl_cipher".to_owned(), cipher);
    // Versions before 11 have no such function, and compile nothing.
    if let Ok(found) = control.query_catalog("SELECT pg_catalog.pg_jit_available()") {
        let is_available = found.text(0, 0) == Some("t");
        let message = if is_available { "available" } else { NO_JIT };
        settings.insert(JIT.to_owned(), message.to_owned());
    }
    let schema = control.schema()?.map_or(0, |it| it.oid);
    let tables = control.query_catalog(&format!(
        "SELECT string_agg(DISTINCT relpersistence::text, ',') FROM pg_class \
         WHERE relkind = 'r' AND relnamespace = {schema}"
    ))?;
    settings.extend(tables.first_string().map(|it| ("table.persistence".to_owned(), it)));
    Ok(settings)
}

pub(super) fn sources(control: &mut Connection, spec: &SystemSpec) -> Result<ServerSettings> {
    if spec.overrides.is_empty() {
        return Ok(ServerSettings::new());
    }
    let found = control.query_catalog("SELECT s.name, s.source FROM pg_catalog.pg_settings s")?;
    let names: Vec<String> = spec.overrides.iter().map(|(name, _)| variable(name)).collect();
    let source = |row| {
        let name = found.text(row, 0)?.to_ascii_lowercase();
        let source = found.text(row, 1)?.to_owned();
        names.contains(&name).then(|| (format!("{ANSWER}source.{name}"), source))
    };
    Ok((0..found.rows.len()).filter_map(source).collect())
}

/// The first version in which a process can publish its counters on request. Before that, processes publish about twice
/// a second: rounds are shorter, so the counters of one would be those of another.
const SINCE: u32 = 15;

/// Makes the process that serves a connection publish its counters before it answers.
const PUBLISH: &str = "SELECT pg_catalog.pg_stat_force_next_flush()";

/// Views of counters, with the relevant rows, the first version that has them, and their counters. Those that a version
/// lacks are left out. The views of all tables leave out the catalogs, which reading these views changes.
const VIEWS: [(&str, &str, u32, &[&str]); 7] = [
    (
        "pg_stat_user_tables",
        "true",
        SINCE,
        &[
            "autovacuum_count",
            "idx_scan",
            "idx_tup_fetch",
            "n_tup_del",
            "n_tup_hot_upd",
            "n_tup_ins",
            "n_tup_newpage_upd",
            "n_tup_upd",
            "seq_scan",
            "seq_tup_read",
        ],
    ),
    (
        "pg_statio_user_tables",
        "true",
        SINCE,
        &["heap_blks_hit", "heap_blks_read", "idx_blks_hit", "idx_blks_read"],
    ),
    (
        "pg_stat_database",
        "datname = current_database()",
        SINCE,
        &["deadlocks", "temp_bytes", "temp_files", "xact_rollback"],
    ),
    (
        "pg_stat_wal",
        "true",
        SINCE,
        &["wal_buffers_full", "wal_bytes", "wal_fpi", "wal_records", "wal_sync", "wal_write"],
    ),
    (
        "pg_stat_bgwriter",
        "true",
        SINCE,
        &[
            "buffers_alloc",
            "buffers_backend",
            "buffers_backend_fsync",
            "buffers_checkpoint",
            "buffers_clean",
        ],
    ),
    ("pg_stat_checkpointer", "true", 17, &["buffers_written", "num_done", "num_requested"]),
    (
        "pg_stat_io",
        "backend_type = 'client backend' AND object <> 'wal'",
        16,
        &["evictions", "extends", "fsyncs", "writebacks", "writes"],
    ),
];

/// Source of counters of `pg_stat_wal` from a version on.
const WAL: (u32, &str) = (
    18,
    " UNION ALL SELECT 'pg_stat_wal', jsonb_build_object('wal_sync', fsyncs, 'wal_write', writes) FROM pg_stat_io \
     WHERE object = 'wal'",
);

/// `None` if a version's processes do not publish on request.
pub(super) fn counters(version: u32) -> Option<CounterQueries> {
    (version >= SINCE).then(|| CounterQueries {
        queries: vec![query(version)],
        known: names().collect(),
        publish: Some(PUBLISH),
        of_reading: &[],
    })
}

fn names() -> impl Iterator<Item = String> {
    let counters = |(view, _, _, columns): &(&'static str, _, _, &'static [&'static str])| {
        let view = *view;
        columns.iter().map(move |column| format!("{view}.{column}"))
    };
    VIEWS.iter().flat_map(counters)
}

/// Its rows are names and sums.
fn query(version: u32) -> String {
    let mut views = String::new();
    for (view, rows, _, _) in VIEWS.iter().filter(|(_, _, since, _)| version >= *since) {
        let union = if views.is_empty() { "" } else { " UNION ALL " };
        // Writing to a string does not fail.
        let _ = write!(views, "{union}SELECT '{view}', to_jsonb(v) FROM {view} v WHERE {rows}");
    }
    if version >= WAL.0 {
        views += WAL.1;
    }
    let names: Vec<String> = names().map(|name| format!("'{name}'")).collect();
    format!(
        "WITH views (view, figures) AS ({views}) SELECT view || '.' || key, sum(value::numeric)::text FROM views, \
         jsonb_each_text(figures) WHERE view || '.' || key IN ({}) GROUP BY 1",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_asked_for_the_views_that_it_has() {
        assert!(!query(15).contains("FROM pg_stat_io"));
        assert!(query(16).contains("FROM pg_stat_io") && query(17).contains("_checkpointer v"));
        assert_eq!(names().filter(|it| it == "pg_stat_wal.wal_bytes").count(), 1);
    }
}
