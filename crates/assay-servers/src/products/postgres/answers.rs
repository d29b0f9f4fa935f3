//! Answers of Postgres about requested options, beyond settings.

use assay_model::SystemSpec;
use assay_terms::variable;
use assay_wire::Connection;

use crate::audit::{ANSWER, Settings};
use crate::error::Error;

/// Sources of the options' values.
pub(super) fn sources(control: &mut Connection, spec: &SystemSpec) -> Result<Settings, Error> {
    if spec.overrides.is_empty() {
        return Ok(Settings::new());
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
