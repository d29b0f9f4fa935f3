//! What a running Postgres server really does, as it says itself.

use std::collections::BTreeMap;

use assay_wire::Control;

use crate::Error;

/// Every setting in effect, by name, with its unit; the state of this very session below `session.`, what the
/// tables of its database are made of below `table.`.
///
/// # Errors
/// When the server cannot be asked.
pub(crate) fn effective_settings(control: &mut Control) -> Result<BTreeMap<String, String>, Error> {
    let mut settings = BTreeMap::new();
    let mut add = |sql: &str, prefix: &str| -> Result<(), Error> {
        let found = control.query(sql)?;
        for row in 0..found.rows.len() {
            if let (Some(name), value) = (found.text(row, 0), found.text(row, 1)) {
                let name = format!("{prefix}{}", name.to_ascii_lowercase());
                settings.insert(name, value.unwrap_or_default().to_owned());
            }
        }
        Ok(())
    };
    add("SELECT name, concat(setting, ' ' || unit) FROM pg_settings", "")?;
    add(
        "SELECT 'client_encoding', current_setting('client_encoding') \
         UNION ALL SELECT 'transaction_isolation', current_setting('transaction_isolation') \
         UNION ALL SELECT 'ssl', coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)::text",
        "session.",
    )?;
    add(
        "SELECT 'encoding', pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database() \
         UNION ALL SELECT 'collation', datcollate FROM pg_database WHERE datname = current_database() \
         UNION ALL SELECT 'ctype', datctype FROM pg_database WHERE datname = current_database()",
        "table.",
    )?;
    Ok(settings)
}
