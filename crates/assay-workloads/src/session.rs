//! Statements that apply a workload's session settings.

use assay_model::{Dialect, SessionSetting, SettingForm};

use crate::literal::quoted_literal;

/// The statements for a setting on servers of a dialect, in order. A workload's texts are UTF-8, whatever the character
/// set of its sessions: another character set applies to literals and their collation, not to the connection.
pub fn set_statements(dialect: Dialect, setting: &SessionSetting) -> Vec<String> {
    if !setting.is_of(dialect) {
        return Vec::new();
    }
    let (name, value) = (setting.name(), setting.value());
    match (dialect, setting.form()) {
        (Dialect::MySql, SettingForm::Isolation) => {
            vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {value}")]
        }
        (Dialect::Postgres, SettingForm::Isolation) => {
            vec![format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {value}")]
        }
        (Dialect::MySql, SettingForm::Names) => names(value),
        (Dialect::MySql, SettingForm::CharacterSet) => {
            let set = if is_utf8(value) { value } else { "utf8mb4" };
            vec![format!("SET CHARACTER SET {}", quoted_literal(dialect, set))]
        }
        (Dialect::MySql, SettingForm::Modes) => {
            vec![format!("SET SESSION {name} = {}", modes(value))]
        }
        (Dialect::MySql, _) => {
            let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
            let value = if is_number { value.to_owned() } else { quoted_literal(dialect, value) };
            vec![format!("SET SESSION {name} = {value}")]
        }
        (Dialect::Postgres, _) => {
            let value = quoted_literal(dialect, value);
            vec![format!("SELECT pg_catalog.set_config('{name}', {value}, false)")]
        }
    }
}

fn is_utf8(set: &str) -> bool {
    ["utf8", "utf8mb3", "utf8mb4"].contains(&set)
}

fn names(value: &str) -> Vec<String> {
    let (set, collation) = match value.split_once(" COLLATE ") {
        Some((set, collation)) => (set, Some(collation)),
        None => (value, None),
    };
    if is_utf8(set) {
        let collate = collation.map_or(String::new(), |it| format!(" COLLATE '{it}'"));
        return vec![format!("SET NAMES '{set}'{collate}")];
    }
    let connection = match collation {
        Some(collation) => format!("SET SESSION collation_connection = '{collation}'"),
        None => format!("SET SESSION character_set_connection = '{set}'"),
    };
    vec!["SET NAMES 'utf8mb4'".to_owned(), connection]
}

/// A list of modes, or the server's default list with changes, as SQL.
fn modes(value: &str) -> String {
    if !value.starts_with(['+', '-']) {
        return format!("'{value}'");
    }
    let mut sql = "CONCAT(',', @@SESSION.sql_mode, ',')".to_owned();
    for change in value.split(',') {
        if let Some(mode) = change.strip_prefix('-') {
            sql = format!("REPLACE({sql}, ',{mode},', ',')");
        } else if let Some(mode) = change.strip_prefix('+') {
            sql = format!("CONCAT({sql}, '{mode},')");
        }
    }
    format!("TRIM(BOTH ',' FROM {sql})")
}

pub fn modes_of(setting: &SessionSetting) -> Vec<&str> {
    let is_list = setting.form() == SettingForm::Modes;
    let parts = setting.value().split(',').filter(|it| is_list && !it.is_empty());
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(dialect: Dialect, name: &str, value: &str) -> String {
        set_statements(dialect, &SessionSetting::new(name, value).unwrap()).join("; ")
    }

    #[test]
    fn settings_are_statements_of_their_dialect() {
        use Dialect::{MySql, Postgres};
        for (dialect, name, value, expected) in [
            (MySql, "names", "utf8", "SET NAMES 'utf8'"),
            (
                MySql,
                "names",
                "utf8mb4 COLLATE utf8mb4_bin",
                "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'",
            ),
            (
                MySql,
                "names",
                "latin1",
                "SET NAMES 'utf8mb4'; SET SESSION character_set_connection = 'latin1'",
            ),
            (
                MySql,
                "names",
                "latin1 COLLATE latin1_bin",
                "SET NAMES 'utf8mb4'; SET SESSION collation_connection = 'latin1_bin'",
            ),
            (MySql, "sql_mode", "", "SET SESSION sql_mode = ''"),
            (MySql, "sql_mode", "ANSI", "SET SESSION sql_mode = 'ANSI'"),
            (
                MySql,
                "sql_mode",
                "+ANSI_QUOTES,-ONLY_FULL_GROUP_BY",
                "SET SESSION sql_mode = TRIM(BOTH ',' FROM REPLACE(CONCAT(CONCAT(',', @@SESSION.sql_mode, ','), \
                 'ANSI_QUOTES,'), ',ONLY_FULL_GROUP_BY,', ','))",
            ),
            (MySql, "group_concat_max_len", "4096", "SET SESSION group_concat_max_len = 4096"),
            (MySql, "query_cache_type", "OFF", "SET SESSION query_cache_type = 'OFF'"),
            (
                MySql,
                "isolation",
                "read committed",
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            ),
            (MySql, "work_mem", "64MB", ""),
            (
                Postgres,
                "work_mem",
                "64MB",
                "SELECT pg_catalog.set_config('work_mem', '64MB', false)",
            ),
            (
                Postgres,
                "search_path",
                "tenant, \"A b\"",
                "SELECT pg_catalog.set_config('search_path', 'tenant, \"A b\"', false)",
            ),
            (Postgres, "sql_mode", "ANSI", ""),
        ] {
            assert_eq!(sql(dialect, name, value), expected);
        }
    }
}
