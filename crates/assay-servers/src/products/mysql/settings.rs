//! Settings and counters of a running server, and its answers about requested options.

use assay_model::SystemSpec;
use assay_terms::variable;
use assay_wire::Connection;

use crate::audit::{ANSWER, ServerSettings};
use crate::error::Result;
use crate::products::kind::{CounterQueries, name_values};

const SESSION_VARIABLES: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN \
    ('autocommit', 'character_set_client', 'character_set_connection', 'character_set_database', \
    'character_set_results', 'collation_connection', 'collation_database', 'sql_mode', \
    'transaction_isolation', 'tx_isolation')";

const SESSION_STATUS: &str =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression')";

/// Queries for the properties of the session's database and its tables, with the settings for their columns in order.
const OF_DATABASE: [(&str, &[&str]); 3] = [
    (
        "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME \
         FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = DATABASE()",
        &["schema.charset", "schema.collation"],
    ),
    (
        "SELECT GROUP_CONCAT(DISTINCT TABLE_COLLATION ORDER BY 1), \
         GROUP_CONCAT(DISTINCT ENGINE ORDER BY 1), GROUP_CONCAT(DISTINCT ROW_FORMAT ORDER BY 1) \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()",
        &["table.collation", "table.engine", "table.row_format"],
    ),
    (
        "SELECT GROUP_CONCAT(DISTINCT CHARACTER_SET_NAME ORDER BY 1) \
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()",
        &["table.charset"],
    ),
];

/// Global variables under their own names, the session below `session.`, the database below `schema.` and `table.`.
pub(super) fn effective_settings(control: &mut Connection) -> Result<ServerSettings> {
    let mut settings = name_values(control, "SHOW GLOBAL VARIABLES", "")?;
    settings.extend(name_values(control, SESSION_VARIABLES, "session.")?);
    settings.extend(name_values(control, SESSION_STATUS, "session.")?);
    for (sql, names) in OF_DATABASE {
        let found = control.query(sql)?;
        for (column, name) in names.iter().enumerate() {
            let value = found.text(0, column).map(str::to_owned);
            settings.extend(value.map(|value| ((*name).to_owned(), value)));
        }
    }
    if let Some(capabilities) = control.capabilities() {
        let agreed = capabilities.iter_names().map(|(name, _)| name);
        let agreed = agreed.map(|it| it.trim_start_matches("CLIENT_").to_lowercase());
        settings.insert("session.capabilities".to_owned(), agreed.collect::<Vec<_>>().join(" "));
    }
    Ok(settings)
}

/// The state of requested instruments and plugins, and log messages about options.
pub(super) fn answers(
    control: &mut Connection,
    spec: &SystemSpec,
    log: &str,
) -> Result<ServerSettings> {
    let mut found = instruments(control, spec)?;
    found.extend(plugins(control, spec)?);
    found.extend(logged(spec, log));
    Ok(found)
}

fn values_of<'a>(spec: &'a SystemSpec, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_it = |name: &str| names.contains(&variable(name).as_str());
    let of_name = spec.overrides.iter().filter(move |(name, _)| is_it(name));
    of_name.map(|(_, value)| value.as_str())
}

fn instruments(control: &mut Connection, spec: &SystemSpec) -> Result<ServerSettings> {
    let mut settings = ServerSettings::new();
    for value in values_of(spec, &["performance_schema_instrument"]) {
        let pattern = value.split_once('=').map_or(value, |(pattern, _)| pattern).trim();
        let text = pattern.replace('\\', "\\\\").replace('\'', "''");
        let found = control.query(&format!(
            "SELECT COUNT(*), COALESCE(SUM(ENABLED = 'YES'), 0) FROM performance_schema.setup_instruments \
             WHERE NAME LIKE '{text}'"
        ));
        match found {
            Ok(found) => {
                let numbers = [0, 1].map(|at| found.text(0, at).unwrap_or("0").to_owned());
                settings.insert(format!("{ANSWER}instruments.{pattern}"), numbers.join(" "));
            }
            // Its version has no such table.
            Err(error) if error.server_code().is_some() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(settings)
}

fn plugins(control: &mut Connection, spec: &SystemSpec) -> Result<ServerSettings> {
    if values_of(spec, &["plugin_load", "plugin_load_add"]).next().is_none() {
        return Ok(ServerSettings::new());
    }
    let sql = "SELECT PLUGIN_NAME, PLUGIN_LIBRARY FROM information_schema.PLUGINS \
               WHERE PLUGIN_STATUS = 'ACTIVE'";
    let found = control.query(sql)?;
    let words = (0..found.rows.len()).flat_map(|row| [found.text(row, 0), found.text(row, 1)]);
    let words: Vec<&str> = words.flatten().collect();
    Ok(ServerSettings::from([(format!("{ANSWER}plugins"), words.join(","))]))
}

/// The first warning of the log that names each option, in any spelling.
fn logged(spec: &SystemSpec, log: &str) -> ServerSettings {
    let warnings = || log.lines().filter(|line| line.contains("[Warning]"));
    let of_option = |(name, _): &(String, String)| {
        let option = variable(name);
        let dashed = option.replace('_', "-");
        let line = warnings().find(|line| {
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
            let names = words.map(|it| it.trim_start_matches("--").trim_start_matches("loose-"));
            names.into_iter().any(|it| it == option || it == dashed)
        })?;
        let at = line.find("[Warning]").unwrap_or(0);
        let said = line.get(at..).unwrap_or(line).trim_start_matches("[Warning]").trim();
        Some((format!("{ANSWER}log.{option}"), said.to_owned()))
    };
    spec.overrides.iter().filter_map(of_option).collect()
}

/// Counters in `SHOW GLOBAL STATUS`, as far as a version has them. All of them only grow while the server runs, except
/// for the levels ([`assay_model::STATUS_LEVELS`]).
const NAMES: &[&str] = &[
    "Binlog_cache_disk_use",
    "Bytes_received",
    "Bytes_sent",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_commit",
    "Handler_delete",
    "Handler_read_first",
    "Handler_read_key",
    "Handler_read_last",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
    "Handler_tmp_write",
    "Handler_update",
    "Handler_write",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_read_ahead",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_write_requests",
    "Innodb_data_fsyncs",
    "Innodb_data_reads",
    "Innodb_data_writes",
    "Innodb_data_written",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_history_list_length",
    "Innodb_log_waits",
    "Innodb_log_write_requests",
    "Innodb_log_writes",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_pages_created",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
    "Opened_tables",
    "Rocksdb_block_cache_hit",
    "Rocksdb_block_cache_miss",
    "Rocksdb_bytes_read",
    "Rocksdb_bytes_written",
    "Rocksdb_compact_read_bytes",
    "Rocksdb_compact_write_bytes",
    "Rocksdb_flush_write_bytes",
    "Rocksdb_number_keys_read",
    "Rocksdb_number_keys_written",
    "Rocksdb_rows_deleted",
    "Rocksdb_rows_inserted",
    "Rocksdb_rows_read",
    "Rocksdb_rows_updated",
    "Rocksdb_stall_micros",
    "Rocksdb_wal_bytes",
    "Rocksdb_wal_synced",
    "Select_full_join",
    "Select_scan",
    "Sort_merge_passes",
    "Sort_rows",
    "Table_locks_waited",
];

/// Prefixes of the counters that reading changes: it is a query that sorts rows into a temporary table.
const OF_READING: [&str; 5] = ["Bytes_", "Created_", "Handler_", "Select_", "Sort_"];

/// The level that most versions of MariaDB have among their counters and MySQL does not.
const HISTORY: &str = "Innodb_history_list_length";

/// Unpurged transactions in the undo log, in versions without that counter.
const HISTORY_QUERY: &str = "SELECT 'Innodb_history_list_length', `COUNT` FROM information_schema.INNODB_METRICS \
     WHERE NAME = 'trx_rseg_history_len'";

pub(super) fn counters(control: &mut Connection) -> Result<CounterQueries> {
    let names: Vec<String> = NAMES.iter().map(|name| format!("'{name}'")).collect();
    let query = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "));
    let found = control.query(&query)?;
    let has_history = (0..found.rows.len()).any(|row| found.text(row, 0) == Some(HISTORY));
    let mut queries = vec![query];
    if !has_history && control.query(HISTORY_QUERY).is_ok() {
        queries.push(HISTORY_QUERY.to_owned());
    }
    let known = NAMES.iter().map(|name| (*name).to_owned()).collect();
    Ok(CounterQueries { queries, known, publish: None, of_reading: &OF_READING })
}

#[cfg(test)]
mod tests {
    use assay_model::{BuildFlags, Engine, Origin, Product};

    use super::*;

    #[test]
    fn a_warning_is_found_by_the_options_name() {
        let spec = SystemSpec {
            product: Product::MariaDb,
            origin: Origin::Version("11.8".to_owned()),
            engine: Engine::InnoDb,
            overrides: vec![
                ("innodb_change_buffering".to_owned(), "none".to_owned()),
                ("loose_x".to_owned(), "1".to_owned()),
                ("innodb_change".to_owned(), "1".to_owned()),
            ],
            build: BuildFlags::new(),
        };
        let log = "2026 0 [Note] innodb-change-buffering\n\
                   2026 0 [Warning] 'innodb-change-buffering' was removed. It does nothing now\n\
                   2026 0 [Warning] /p/mariadbd: unknown variable 'loose-x=1'\n";
        let found = logged(&spec, log);
        assert_eq!(
            found["asked.log.innodb_change_buffering"],
            "'innodb-change-buffering' was removed. It does nothing now"
        );
        assert!(found["asked.log.x"].contains("unknown variable"), "{found:?}");
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn names_are_in_order_and_single() {
        assert!(NAMES.is_sorted_by(|one, next| one < next));
    }
}
