//! What a running server answers about the options that were asked for, beyond its settings.

use assay_model::{Product, SystemSpec};
use assay_terms::variable;
use assay_wire::Connection;

use crate::audit::{ANSWER, Settings};
use crate::error::Error;

/// The server's answers, by name ([`ANSWER`]). `log` is what the server has logged, if that is known.
///
/// # Errors
/// When the connection is lost.
pub fn answers(
    control: &mut Connection,
    spec: &SystemSpec,
    log: Option<&str>,
) -> Result<Settings, Error> {
    let mut found = Settings::new();
    match spec.product {
        Product::Postgres => found.extend(sources(control, spec)?),
        Product::MySql | Product::MariaDb => {
            found.extend(instruments(control, spec)?);
            found.extend(plugins(control, spec)?);
            found.extend(logged(spec, log.unwrap_or_default()));
        }
    }
    Ok(found)
}

/// The requested options with one of these names, and their values.
fn asked<'a>(spec: &'a SystemSpec, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_it = |name: &str| names.contains(&variable(name).as_str());
    let of_name = spec.overrides.iter().filter(move |(name, _)| is_it(name));
    of_name.map(|(_, value)| value.as_str())
}

fn sources(control: &mut Connection, spec: &SystemSpec) -> Result<Settings, Error> {
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

fn instruments(control: &mut Connection, spec: &SystemSpec) -> Result<Settings, Error> {
    let mut settings = Settings::new();
    for value in asked(spec, &["performance_schema_instrument"]) {
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

fn plugins(control: &mut Connection, spec: &SystemSpec) -> Result<Settings, Error> {
    if asked(spec, &["plugin_load", "plugin_load_add"]).next().is_none() {
        return Ok(Settings::new());
    }
    let sql = "SELECT PLUGIN_NAME, PLUGIN_LIBRARY FROM information_schema.PLUGINS \
               WHERE PLUGIN_STATUS = 'ACTIVE'";
    let found = control.query(sql)?;
    let words = (0..found.rows.len()).flat_map(|row| [found.text(row, 0), found.text(row, 1)]);
    let words: Vec<&str> = words.flatten().collect();
    Ok(Settings::from([(format!("{ANSWER}plugins"), words.join(","))]))
}

/// The first warning of the log that names each option, in any spelling.
fn logged(spec: &SystemSpec, log: &str) -> Settings {
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

#[cfg(test)]
mod tests {
    use assay_model::{Engine, Origin};

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
}
