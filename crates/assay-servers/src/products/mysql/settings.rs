//! Settings reported by a running MySQL or MariaDB.

use assay_wire::Connection;

use crate::audit::Settings;
use crate::error::Error;
use crate::name_value::name_values;

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
pub(super) fn effective_settings(control: &mut Connection) -> Result<Settings, Error> {
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
