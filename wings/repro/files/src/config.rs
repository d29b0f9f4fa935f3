//! The configuration of a server as a file that it reads.

use assay_model::{Dialect, System, is_option, may_be_secret, refusal};

use crate::finding::{Finding, ReproFile, ReproRefusal, is_started, line};

/// One file per system that assay started.
pub(crate) fn files(finding: &Finding<'_>) -> Result<Vec<ReproFile>, ReproRefusal> {
    let started = finding.sides().into_iter().filter(|(_, system)| is_started(system));
    started.map(|(side, system)| Ok(ReproFile::new(name(side, system), content(system)?))).collect()
}

/// `base.my.cnf`, `base.postgresql.conf`.
pub(crate) fn name(side: &str, system: &System) -> String {
    match system.spec.product.dialect() {
        Dialect::Postgres => format!("{side}.postgresql.conf"),
        Dialect::MySql => format!("{side}.my.cnf"),
    }
}

/// Settings made by `initdb`; Postgres rejects them in its configuration.
const OF_DATA: [&str; 5] =
    ["data_checksums", "lc_collate", "lc_ctype", "server_encoding", "wal_segment_size"];

/// Allows only options with a name and a value: no includes, no plugins.
fn content(system: &System) -> Result<String, ReproRefusal> {
    let is_postgres = system.spec.product.dialect() == Dialect::Postgres;
    let mut text = format!("# {} as it was measured.\n", line(&system.name));
    if !is_postgres {
        text += "[mysqld]\n";
    }
    for option in &system.options {
        let option = option.trim_start_matches("--");
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let given = value.unwrap_or_default();
        if (is_postgres && value.is_none())
            || !is_option(name, given)
            || refusal(system.spec.product, name, given).is_some()
        {
            return Err(ReproRefusal::new(
                format!(
                    "`{}` of `{}` is no option that a config file may have",
                    line(option),
                    line(&system.name)
                ),
                "measure the systems again without it",
            ));
        }
        let written = match value {
            _ if may_be_secret(name) => {
                format!("# {name}: left out, because it may hold a password")
            }
            None => name.to_owned(),
            Some(value) if is_postgres && OF_DATA.contains(&name) => {
                format!("# {name} = {value}: a property of the data directory, for `initdb`")
            }
            Some(value) if is_postgres => format!("{name} = '{}'", value.replace('\'', "''")),
            Some(value) => format!("{name} = {}", quoted(value)),
        };
        text += &line(&written);
        text.push('\n');
    }
    Ok(text)
}

/// Quotes values for the MySQL family: unquoted, `#` begins a comment and spaces at the ends are lost.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+=%".contains(c);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_file_would_cut_are_quoted() {
        assert_eq!(quoted("16M"), "16M");
        assert_eq!(quoted("a #b"), "\"a #b\"");
        assert_eq!(quoted("a\"\\"), "\"a\\\"\\\\\"");
    }
}
