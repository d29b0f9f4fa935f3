//! Settings from queries whose rows are a name and a value.

use assay_wire::Connection;

use crate::audit::Settings;
use crate::error::Error;

pub(crate) fn name_values(
    control: &mut Connection,
    sql: &str,
    prefix: &str,
) -> Result<Settings, Error> {
    let found = control.query(sql)?;
    let pair = |row| {
        let name = found.text(row, 0)?.to_ascii_lowercase();
        Some((format!("{prefix}{name}"), found.text(row, 1).unwrap_or_default().to_owned()))
    };
    Ok((0..found.rows.len()).filter_map(pair).collect())
}
