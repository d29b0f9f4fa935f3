//! Reads settings of servers from files: dumps of variables, config files, definitions of tables. Pure: takes a text,
//! returns settings. Any text is read or refused, with memory in proportion to its length.

mod config;
mod dump;
mod tables;
mod units;

use std::collections::BTreeMap;

use assay_model::{Dialect, Hint, Product};
use assay_plan::{ConfigFault, product_of_groups};

use self::config::config_settings;
use self::dump::variable_dump;
use self::tables::table_facts;

/// The settings of one server in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub product: Product,
    /// Such as `10.11.19`; `None` if neither the file nor the user names it.
    pub version: Option<String>,
    /// The statement or the kind of file, such as `SHOW VARIABLES`.
    pub form: &'static str,
    /// By name of variable, with values in the spelling of servers. Options of tables are below `table.`.
    pub settings: BTreeMap<String, String>,
    /// Whether the server lacks the variables that the file lacks.
    pub is_whole: bool,
    /// Ignored parts of the file, for users.
    pub notes: Vec<String>,
}

/// The product and the version of a file, as its user names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedServer {
    pub product: Product,
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsFault {
    #[error("it has no settings in a form that assay knows")]
    Unknown,
    #[error(transparent)]
    Config(#[from] ConfigFault),
}

impl SettingsFault {
    /// What to do about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown => vec![
                "assay reads the output of `SHOW GLOBAL VARIABLES`, of `SELECT name, setting, unit FROM pg_settings` \
                 and of `SHOW CREATE TABLE`, and a `my.cnf` or `postgresql.conf`"
                    .to_owned(),
            ],
            Self::Config(fault) => fault.hints(),
        }
    }
}

/// The fewest variables of a whole dump. MySQL 5.5 has 310, Postgres 9.6 has 257.
const WHOLE_MIN: usize = 200;

/// Reads a file. `named` is the server of a config file, if the user names it.
pub fn read_settings(
    text: &str,
    named: Option<&NamedServer>,
) -> Result<SettingsFile, SettingsFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tables = table_facts(text);
    if let Some(dump) = variable_dump(text) {
        let mut settings = dump.settings;
        let (product, version) = reported(dump.dialect, &settings, named);
        let is_whole = version.is_some() && settings.len() >= WHOLE_MIN;
        settings.extend(tables);
        let form = match dump.dialect {
            Dialect::MySql => "SHOW VARIABLES",
            Dialect::Postgres => "pg_settings",
        };
        return Ok(SettingsFile { product, version, form, settings, is_whole, notes: Vec::new() });
    }
    if !tables.is_empty() {
        let (product, version) = reported(Dialect::MySql, &tables, named);
        let form = "SHOW CREATE TABLE";
        let (settings, is_whole, notes) = (tables, false, Vec::new());
        return Ok(SettingsFile { product, version, form, settings, is_whole, notes });
    }
    config_file(text, named)
}

/// The name of the variable with the version.
fn version_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "version",
        Dialect::Postgres => "server_version",
    }
}

/// Product and version of a dump. A user may name those of a dump without a version.
fn reported(
    dialect: Dialect,
    settings: &BTreeMap<String, String>,
    named: Option<&NamedServer>,
) -> (Product, Option<String>) {
    let get = |name: &str| settings.get(name).map_or("", String::as_str);
    let version = get(version_name(dialect));
    if let Some(named) = named.filter(|it| version.is_empty() && it.product.dialect() == dialect) {
        return (named.product, named.version.clone());
    }
    let product = Product::of_server(dialect, &format!("{version} {}", get("version_comment")));
    let number = version.strip_prefix("5.5.5-").unwrap_or(version).split([' ', '-']).next();
    (product, number.filter(|number| !number.is_empty()).map(str::to_owned))
}

fn config_file(text: &str, named: Option<&NamedServer>) -> Result<SettingsFile, SettingsFault> {
    let (of_groups, of_name) = (product_of_groups(text), named.map(|it| it.product));
    let product = of_name.or(of_groups).unwrap_or(Product::of_dialect(Dialect::Postgres));
    let dialect = product.dialect();
    // Servers of several products read the usual groups.
    let is_sure = of_name.is_some() || product != Product::of_dialect(Dialect::MySql);
    let version = named.and_then(|it| it.version.clone());
    let read = config_settings(text, product, version.as_deref(), is_sure);
    let read = read.map_err(|fault| match of_name.or(of_groups) {
        Some(_) => SettingsFault::Config(fault),
        // Nothing shows that it is a config file.
        None => SettingsFault::Unknown,
    })?;
    let (mut settings, notes) = (read.settings, read.notes);
    if settings.is_empty() && notes.is_empty() {
        return Err(SettingsFault::Unknown);
    }
    if let Some(version) = &version {
        settings.insert(version_name(dialect).to_owned(), version.clone());
    }
    let form = match dialect {
        Dialect::MySql => "my.cnf",
        Dialect::Postgres => "postgresql.conf",
    };
    Ok(SettingsFile { product, version, form, settings, is_whole: false, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(version: &str, more: usize) -> String {
        let rows = (0..more).map(|at| format!("v{at}\t{at}\n"));
        format!("Variable_name\tValue\nversion\t{version}\n{}", rows.collect::<String>())
    }

    #[test]
    fn a_dump_has_its_product_and_version() {
        for (version, product, number) in [
            ("10.6.16-MariaDB-log", Product::MariaDb, "10.6.16"),
            ("5.5.5-10.0.38-MariaDB", Product::MariaDb, "10.0.38"),
            ("8.0.36-28", Product::MySql, "8.0.36"),
        ] {
            let found = read_settings(&dump(version, 300), None).unwrap();
            assert_eq!((found.product, found.version.as_deref()), (product, Some(number)));
            assert!(found.is_whole);
        }
        let saved_by_an_editor = format!("\u{feff}{}", dump("8.0.36", 300).replace('\n', "\r\n"));
        assert!(read_settings(&saved_by_an_editor, None).unwrap().is_whole);
        assert!(!read_settings(&dump("8.0.36", 5), None).unwrap().is_whole);
        let comment = "Variable_name\tValue\nversion\t10.2.1\nversion_comment\tMariaDB Server\n";
        assert_eq!(read_settings(comment, None).unwrap().product, Product::MariaDb);
    }

    #[test]
    fn a_user_names_the_server_of_a_file_that_does_not() {
        let named = |product, version: &str| {
            Some(NamedServer { product, version: Some(version.to_owned()) })
        };
        let text = "[mysqld]\ninnodb_log_file_size=1G\n";
        let maria = read_settings(text, named(Product::MariaDb, "11.8").as_ref()).unwrap();
        assert_eq!((maria.product, maria.form), (Product::MariaDb, "my.cnf"));
        assert_eq!(maria.settings["version"], "11.8");
        assert_eq!(maria.settings["innodb_log_file_size"], "1073741824");
        let part = "Variable_name\tValue\nlog_bin\tON\n";
        let part = read_settings(part, named(Product::MariaDb, "11.8").as_ref()).unwrap();
        assert_eq!((part.product, part.version.as_deref()), (Product::MariaDb, Some("11.8")));
        // The version in a dump counts.
        let other = read_settings(&dump("8.0.36", 5), named(Product::MariaDb, "11.8").as_ref());
        assert_eq!(other.unwrap().product, Product::MySql);
    }

    #[test]
    fn a_file_may_have_variables_and_tables() {
        let tables = "CREATE TABLE `t` (\n  `id` int\n) ENGINE=InnoDB DEFAULT CHARSET=latin1\n";
        let both = read_settings(&format!("{}{tables}", dump("8.0.36", 300)), None).unwrap();
        assert!(both.is_whole && both.settings["table.charset"] == "latin1");
        let tables = read_settings(tables, None).unwrap();
        assert_eq!((tables.form, tables.settings.len()), ("SHOW CREATE TABLE", 2));
    }

    #[test]
    fn what_is_no_file_of_settings_is_refused() {
        assert_eq!(read_settings("", None), Err(SettingsFault::Unknown));
        assert_eq!(read_settings("It was a dark night.\n", None), Err(SettingsFault::Unknown));
        let fault = read_settings("[mysqld]\n!exclude x\n", None).unwrap_err();
        assert!(fault.to_string().contains("line 2"), "{fault}");
    }
}
