//! Settings that a config file gives to a server.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Dialect, Product};
use assay_plan::{ConfigFault, ConfigLine, written_lines};
use assay_terms::adds_up;

use crate::units::{mysql_value, postgres_value};

pub(crate) struct ConfigSettings {
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) notes: Vec<String>,
}

/// Variables whose names begin with `skip_`. In any other option, this prefix switches the variable off.
const SKIPPING: [&str; 8] = [
    "skip_external_locking",
    "skip_name_resolve",
    "skip_networking",
    "skip_parallel_replication",
    "skip_replica_start",
    "skip_replication",
    "skip_show_database",
    "skip_slave_start",
];

/// Options whose variables have another name, among them older names. Sources: the chapters on server options and the
/// release notes of MySQL and MariaDB.
const RENAMED: [(&str, &str); 7] = [
    ("default_character_set", "character_set_server"),
    ("default_collation", "collation_server"),
    ("default_time_zone", "time_zone"),
    ("key_buffer", "key_buffer_size"),
    ("log_slow_query", "slow_query_log"),
    ("storage_engine", "default_storage_engine"),
    ("table_cache", "table_open_cache"),
];

const LOG_SIZE: &str = "innodb_log_file_size";
const LOG_FILES: &str = "innodb_log_files_in_group";

/// The last value of each option. `version` decides which groups for a release series count. `is_sure`: whether the
/// product is known, and not only its dialect.
pub(crate) fn config_settings(
    text: &str,
    product: Product,
    version: Option<&str>,
    is_sure: bool,
) -> Result<ConfigSettings, ConfigFault> {
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    let mut notes = BTreeSet::new();
    for scoped in written_lines(product, text)? {
        if let Some(series) = scoped.series
            && !version.is_some_and(|version| is_of_series(version, &series))
        {
            notes.insert(format!("groups for series {series} are ignored"));
            continue;
        }
        match scoped.line {
            ConfigLine::Option(name, value) => {
                let (name, value) = match product.dialect() {
                    Dialect::MySql => mysql_option(&name, &value),
                    Dialect::Postgres => (name.clone(), postgres_value(&name, &value, None)),
                };
                match settings.get_mut(&name).filter(|_| adds_up(&name)) {
                    Some(all) => all.extend([",", value.as_str()]),
                    None => drop(settings.insert(name, value)),
                }
            }
            ConfigLine::LeftOut(_) => {}
            ConfigLine::Include { path, .. } | ConfigLine::IncludeDir { path, .. } => {
                notes.insert(format!("it includes `{}`, which is not read", path.display()));
            }
        }
    }
    if settings.contains_key(LOG_SIZE) && !settings.contains_key(LOG_FILES) {
        match product.facts().log_files {
            _ if !is_sure => {
                settings.remove(LOG_SIZE);
                notes.insert(format!(
                    "`{LOG_SIZE}` is not compared: products differ in the number of log files; name the product, \
                     as in `mysql=FILE`"
                ));
            }
            Some(files) => {
                settings.insert(LOG_FILES.to_owned(), files.to_string());
            }
            None => {}
        }
    }
    Ok(ConfigSettings { settings, notes: notes.into_iter().collect() })
}

fn is_of_series(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The variable that an option sets, and its value in the spelling of servers.
fn mysql_option(option: &str, value: &str) -> (String, String) {
    let option = option.to_ascii_lowercase();
    let plain = option.strip_prefix("loose_").unwrap_or(&option);
    let opposite = ["skip_", "disable_"].iter().find_map(|it| plain.strip_prefix(it));
    let opposite = opposite.filter(|_| !SKIPPING.contains(&plain));
    let name = opposite.unwrap_or(plain.strip_prefix("enable_").unwrap_or(plain));
    let name = RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, now)| *now);
    let is_off = ["0", "off", "false", "no"].iter().any(|off| value.eq_ignore_ascii_case(off));
    let value = match name {
        _ if opposite.is_some() => if is_off { "ON" } else { "OFF" }.to_owned(),
        // The value of the option is the name of the files.
        "log_bin" => if is_off { "OFF" } else { "ON" }.to_owned(),
        _ => mysql_value(value),
    };
    (name.to_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, product: Product, version: Option<&str>) -> (Vec<String>, Vec<String>) {
        let ConfigSettings { settings, notes } =
            config_settings(text, product, version, version.is_some()).unwrap();
        (settings.into_iter().map(|(name, value)| format!("{name}={value}")).collect(), notes)
    }

    #[test]
    fn options_of_mysql_become_variables() {
        let text = "[mysqld]\ninnodb-buffer-pool-size = 1G\nskip-log-bin\nskip-name-resolve\n\
                    loose_innodb_doublewrite=OFF\ntable_cache=400\noptimizer_switch=mrr=on\n\
                    optimizer-switch=x=off\ntmp_table_size=1M\ntmp_table_size=2M\n!includedir /etc/more.d\n\
                    [mysqld-5.7]\nquery_cache_size=1M\n";
        let (settings, notes) = read(text, Product::MySql, None);
        assert_eq!(
            settings,
            [
                "innodb_buffer_pool_size=1073741824",
                "innodb_doublewrite=OFF",
                "log_bin=OFF",
                "optimizer_switch=mrr=on,x=off",
                "skip_name_resolve=1",
                "table_open_cache=400",
                "tmp_table_size=2097152",
            ]
        );
        let expected =
            ["groups for series 5.7 are ignored", "it includes `/etc/more.d`, which is not read"];
        assert_eq!(notes, expected);
        let (settings, _) = read(text, Product::MySql, Some("5.7.44"));
        assert!(settings.contains(&"query_cache_size=1048576".to_owned()), "{settings:?}");
    }

    #[test]
    fn the_number_of_log_files_depends_on_the_product() {
        let text = "[mysqld]\ninnodb_log_file_size=1G\nlog_bin=/var/log/bin\n";
        let (settings, notes) = read(text, Product::MySql, None);
        assert_eq!(settings, ["log_bin=ON"]);
        assert!(notes[0].contains("`innodb_log_file_size` is not compared"), "{notes:?}");
        let (settings, _) = read(text, Product::MySql, Some("8.0"));
        assert!(settings.contains(&"innodb_log_files_in_group=2".to_owned()), "{settings:?}");
        let (settings, _) = read(text, Product::MariaDb, Some("11.8"));
        assert_eq!(settings, ["innodb_log_file_size=1073741824", "log_bin=ON"]);
    }

    #[test]
    fn options_of_postgres_have_the_units_that_servers_show() {
        let text = "shared_buffers = 16384\nwork_mem = '65536kB' # x\nWork_Mem = 8MB\ninclude_dir 'conf.d'\n";
        let (settings, notes) = read(text, Product::Postgres, None);
        assert_eq!(settings, ["shared_buffers=128MB", "work_mem=8MB"]);
        assert_eq!(notes, ["it includes `conf.d`, which is not read"]);
    }
}
