//! What a running server really does, as it says itself.

use std::collections::BTreeMap;

use assay_wire::Control;

use crate::{Error, postgres};

/// Every setting in effect, by name: global variables under their own names, the state of this very session
/// below `session.`, what the tables of its database are made of below `table.`.
///
/// # Errors
/// When the server cannot be asked.
pub fn effective_settings(control: &mut Control) -> Result<BTreeMap<String, String>, Error> {
    if let Control::Postgres(_) = control {
        return postgres::effective_settings(control);
    }
    let mut settings = pairs(control, "SHOW GLOBAL VARIABLES", "")?;
    let session = "SHOW SESSION VARIABLES WHERE Variable_name IN ('character_set_client', \
                   'character_set_connection', 'character_set_results', 'collation_connection', \
                   'sql_mode', 'transaction_isolation', 'tx_isolation')";
    settings.extend(pairs(control, session, "session.")?);
    settings.extend(pairs(control, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", "session.")?);
    let tables = control.query(
        "SELECT GROUP_CONCAT(DISTINCT TABLE_COLLATION ORDER BY 1), \
         GROUP_CONCAT(DISTINCT ENGINE ORDER BY 1), GROUP_CONCAT(DISTINCT ROW_FORMAT ORDER BY 1) \
         FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()",
    )?;
    for (column, name) in ["table.collation", "table.engine", "table.row_format"].iter().enumerate()
    {
        let value = tables.text(0, column).map(str::to_owned);
        settings.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    Ok(settings)
}

/// The rows of a statement with a name and a value each.
fn pairs(
    control: &mut Control,
    sql: &str,
    prefix: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let found = control.query(sql)?;
    let pair = |row| {
        let name = found.text(row, 0)?.to_ascii_lowercase();
        // Two names of one setting, of which older versions have but this.
        let name = if name == "tx_isolation" { "transaction_isolation" } else { &name };
        Some((format!("{prefix}{name}"), found.text(row, 1).unwrap_or_default().to_owned()))
    };
    Ok((0..found.rows.len()).filter_map(pair).collect())
}
