//! What a running server really does, as it says itself.

use assay_wire::Control;

use crate::audit::Settings;
use crate::{Error, postgres};

const SESSION_VARIABLES: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN \
    ('autocommit', 'character_set_client', 'character_set_connection', 'character_set_database', \
    'character_set_results', 'collation_connection', 'collation_database', 'sql_mode', \
    'transaction_isolation', 'tx_isolation')";

const SESSION_STATUS: &str =
    "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_cipher', 'Compression')";

/// What the tables of the session's database are made of; names of the columns in order.
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

/// Every setting in effect, by name: global variables under their own names, the state of this very session
/// below `session.`, its database below `schema.`, what the tables there are made of below `table.`.
///
/// The connection is made as those of the clients are, so its session is as theirs.
///
/// # Errors
/// When the server cannot be asked.
pub fn effective_settings(control: &mut Control) -> Result<Settings, Error> {
    let mut settings = match control {
        Control::MySql(_) => of_mysql(control)?,
        Control::Postgres(_) => postgres::effective_settings(control)?,
    };
    settings.insert("session.auth_plugin".to_owned(), control.auth_method().to_owned());
    Ok(settings)
}

fn of_mysql(control: &mut Control) -> Result<Settings, Error> {
    let mut settings = pairs(control, "SHOW GLOBAL VARIABLES", "")?;
    settings.extend(pairs(control, SESSION_VARIABLES, "session.")?);
    settings.extend(pairs(control, SESSION_STATUS, "session.")?);
    for (sql, names) in OF_DATABASE {
        let found = control.query(sql)?;
        for (column, name) in names.iter().enumerate() {
            let value = found.text(0, column).map(str::to_owned);
            settings.extend(value.map(|value| ((*name).to_owned(), value)));
        }
    }
    if let Some(session) = control.mysql_session() {
        let agreed = session.capabilities().iter_names().map(|(name, _)| name);
        let agreed = agreed.map(|it| it.trim_start_matches("CLIENT_").to_lowercase());
        settings.insert("session.capabilities".to_owned(), agreed.collect::<Vec<_>>().join(" "));
    }
    Ok(settings)
}

/// The rows of a statement with a name and a value each.
pub(crate) fn pairs(control: &mut Control, sql: &str, prefix: &str) -> Result<Settings, Error> {
    let found = control.query(sql)?;
    let pair = |row| {
        let name = found.text(row, 0)?.to_ascii_lowercase();
        Some((format!("{prefix}{name}"), found.text(row, 1).unwrap_or_default().to_owned()))
    };
    Ok((0..found.rows.len()).filter_map(pair).collect())
}
