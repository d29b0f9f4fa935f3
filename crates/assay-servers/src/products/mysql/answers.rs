//! Answers of MySQL and MariaDB about requested options, beyond settings.

use assay_model::SystemSpec;
use assay_terms::variable;
use assay_wire::Connection;

use crate::audit::{ANSWER, Settings};
use crate::error::Error;

/// The state of requested instruments and plugins, and log messages about options.
pub(super) fn answers(
    control: &mut Connection,
    spec: &SystemSpec,
    log: &str,
) -> Result<Settings, Error> {
    let mut found = instruments(control, spec)?;
    found.extend(plugins(control, spec)?);
    found.extend(logged(spec, log));
    Ok(found)
}

fn asked<'a>(spec: &'a SystemSpec, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_it = |name: &str| names.contains(&variable(name).as_str());
    let of_name = spec.overrides.iter().filter(move |(name, _)| is_it(name));
    of_name.map(|(_, value)| value.as_str())
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
    use assay_model::{Engine, Origin, Product};

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
