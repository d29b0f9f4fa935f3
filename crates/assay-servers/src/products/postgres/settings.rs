//! Settings reported by a running Postgres.

use assay_wire::Connection;

use crate::audit::{JIT, NO_JIT, Settings};
use crate::error::Error;
use crate::name_value::name_values;

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
pub(super) fn effective_settings(control: &mut Connection) -> Result<Settings, Error> {
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
