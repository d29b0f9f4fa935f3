//! Server options that only assay sets, because they determine a server's location and identity. Applies to system
//! names, study files, config files and ledgers.

use crate::{BUILD_PREFIX, Dialect, Product, may_be_secret};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Reserved,
    /// It may be an abbreviation of this option, which assay sets.
    ShortFor(&'static str),
    LeadsAway(String),
    /// It is a flag of a build, which no server knows.
    OfBuild,
}

/// Whether an option is well-formed, so that it becomes exactly one word of a command line and one line of a config
/// file.
pub fn is_option(name: &str, value: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && !value.contains(char::is_control)
}

/// Reason for refusing an option, to keep the server where assay puts it and from running anything else.
pub fn refusal(product: Product, name: &str, value: &str) -> Option<Refusal> {
    if name.to_ascii_lowercase().starts_with(BUILD_PREFIX) {
        return Some(Refusal::OfBuild);
    }
    let reserved = product.facts().reserved;
    let by_name = match product.dialect() {
        Dialect::MySql => match plain(name).as_str() {
            "plugin_load" | "plugin_load_add" if are_engines(value) => None,
            "mysqlx" if is_off(value) => None,
            name => by_name(reserved, name).or_else(|| by_beginning(reserved, name)),
        },
        Dialect::Postgres => match name.replace('-', "_").to_ascii_lowercase().as_str() {
            "ssl" if is_off(value) => None,
            name => by_name(reserved, name),
        },
    };
    let shown = if may_be_secret(name) { "..." } else { value };
    by_name.or_else(|| leads_away(value).then(|| Refusal::LeadsAway(shown.to_owned())))
}

/// Whether a value disables listening or encryption, as the terms do.
fn is_off(value: &str) -> bool {
    ["off", "0"].iter().any(|off| value.eq_ignore_ascii_case(off))
}

/// Canonical name of an option. Servers accept `-` and `_`, any case, prefixes such as `loose-`, and a cache name
/// before a dot, which few options have.
fn plain(name: &str) -> String {
    let name = name.replace('-', "_").to_ascii_lowercase();
    let mut name = name.rsplit_once('.').map_or(name.as_str(), |(_, option)| option);
    let modifiers = ["loose_", "skip_", "disable_", "enable_", "maximum_", "autoset_"];
    while let Some(rest) = modifiers.iter().find_map(|modifier| name.strip_prefix(modifier)) {
        name = rest;
    }
    name.to_owned()
}

/// Whether all plugins in a value are storage engines, judged by file name. Other plugins may listen on a port. The
/// servers separate plugins by semicolons, colons or commas, and accept a name before each file.
fn are_engines(value: &str) -> bool {
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    value.split([';', ':', ',']).all(|plugin| {
        let (name, file) = plugin.split_once('=').unwrap_or(("", plugin));
        let file = file.strip_suffix(".so").unwrap_or(file);
        is_word(name) && is_word(file) && file.starts_with("ha_")
    })
}

fn by_name(reserved: &[&str], name: &str) -> Option<Refusal> {
    reserved.iter().any(|entry| is_named(entry, name)).then_some(Refusal::Reserved)
}

/// MySQL servers accept unambiguous prefixes of a name. A single letter is never unambiguous.
fn by_beginning(reserved: &[&'static str], name: &str) -> Option<Refusal> {
    let long = reserved.iter().find(|entry| name.len() > 1 && entry.starts_with(name));
    let long = long.filter(|_| !COMPLETE.contains(&name));
    long.map(|entry| Refusal::ShortFor(entry))
}

fn is_named(reserved: &str, name: &str) -> bool {
    match (reserved.strip_suffix('_'), reserved.strip_prefix('_')) {
        (Some(_), _) => name.starts_with(reserved),
        (None, Some(_)) => name.ends_with(reserved),
        (None, None) => name == reserved,
    }
}

fn leads_away(value: &str) -> bool {
    let mut paths =
        value.split([':', ';', ',', '=']).map(|it| it.trim_start_matches([' ', '\t', '"', '\'']));
    paths.any(|path| {
        path.starts_with(['/', '~']) || path.split('/').any(|part| part.trim_end() == "..")
    })
}

/// Prefixes of reserved names that are options themselves.
const COMPLETE: &[&str] = &["lc_messages"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_location_and_identity_are_refused() {
        for (name, value) in [
            ("datadir", "x"),
            ("DataDir", "x"),
            ("loose-datadir", "x"),
            ("loose_skip_networking", "0"),
            ("maximum-port", "1"),
            ("autoset-port", "1"),
            ("loose_autoset_datadir", "x"),
            ("hot_cache.datadir", "x"),
            ("secure-file-priv", ""),
            ("skip_grant_tables", "1"),
            ("mysqlx_port", "1"),
            ("mysqlx", "ON"),
            ("mysqlx_port", "0"),
            ("loose_mysqlx", "ON"),
            ("plugin_load_add", "mysqlx.so"),
            ("plugin-load", "libmemcached.so"),
            ("plugin_load", "ha_rocksdb.so;x=mysqlx.so"),
            ("plugin_load", "ha_example.so:group_replication.so"),
            ("plugin-load-add", "ha_example.so,auth_socket.so"),
            ("plugin_load_add", "ha_x#evil.so"),
            ("plugin_load_add", "ha_x evil.so"),
            ("plugin_load", "ha_example.so=evil.so"),
            ("early_plugin_load", "ha_rocksdb.so"),
            ("wsrep_sst_method", "x"),
            ("log_error", "x"),
            ("user", "root"),
            ("init_file", "x"),
        ] {
            let found = refusal(Product::MySql, name, value);
            assert_eq!(found, Some(Refusal::Reserved), "{name}");
        }
        for (name, long) in [
            ("datad", "datadir"),
            ("loose-datad", "datadir"),
            ("skip-net", "networking"),
            ("sock", "socket"),
            ("init_f", "init_file"),
            ("defaults", "defaults_"),
            ("pl", "plugin_dir"),
        ] {
            let found = refusal(Product::MariaDb, name, "x");
            assert_eq!(found, Some(Refusal::ShortFor(long)), "{name}");
        }
        for name in [
            "Data_Directory",
            "data-directory",
            "archive_command",
            "include_dir",
            "plperl.on_init",
            "pltcl.start_proc",
            "ssl",
            "ssl_passphrase_command",
            "unix_socket_directories",
            "dynamic_shared_memory_type",
            "listen_addresses",
        ] {
            let found = refusal(Product::Postgres, name, "x");
            assert_eq!(found, Some(Refusal::Reserved), "{name}");
        }
    }

    #[test]
    fn flags_of_builds_are_no_options_of_servers() {
        for product in [Product::MySql, Product::Postgres] {
            assert_eq!(refusal(product, "Build.cxx", "clang"), Some(Refusal::OfBuild));
            assert_eq!(refusal(product, "builds", "1"), None);
        }
    }

    #[test]
    fn an_option_is_one_word_and_one_line() {
        for (name, value) in
            [("sync-binlog", "1"), ("a.b_c", ""), ("sql_mode", "A,B 'c' \"d\" $(e)")]
        {
            assert!(is_option(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("", "1"),
            ("-x", "1"),
            ("!includedir", "x"),
            ("a b", "1"),
            ("a\nb", "1"),
            ("a", "1\nb=2"),
            ("é", "1"),
        ] {
            assert!(!is_option(name, value), "{name}={value}");
        }
    }

    #[test]
    fn values_outside_the_servers_directory_are_refused() {
        for value in [
            "/x",
            "~/x",
            "~other/x",
            "../x",
            "a/../../x",
            "a/..",
            "ibdata1:10M;/x/ibdata2:10M",
            "d:t:o,/tmp/trace",
            "\"/x/evil.so\"",
            "ok, \"/x\"",
            "file:///x",
        ] {
            for product in [Product::MySql, Product::Postgres] {
                let found = refusal(product, "some_option", value);
                assert_eq!(found, Some(Refusal::LeadsAway(value.to_owned())));
            }
        }
    }

    #[test]
    fn names_within_the_servers_directory_and_other_options_are_allowed() {
        for (name, value) in [
            ("log_bin", "binlog"),
            ("skip_log_bin", "1"),
            ("slow_query_log", "1"),
            ("slow_query_log_file", "slow.log"),
            ("general_log_file", "./sub/general.log"),
            ("innodb_undo_directory", "undo"),
            ("innodb_data_file_path", "ibdata1:12M:autoextend"),
            ("innodb_ft_server_stopword_table", "db/stopwords"),
            ("default_time_zone", "Europe/Berlin"),
            ("plugin_load_add", "ha_rocksdb.so"),
            ("plugin_load", "rocksdb=ha_rocksdb.so;ha_archive.so"),
            ("plugin_load", "ha_example.so:ha_blackhole"),
            ("lc_messages", "de_DE"),
            ("hot_cache.key_buffer_size", "1M"),
            ("port_open_timeout", "1"),
            ("log_error_verbosity", "3"),
            ("sql_mode", "ANSI,NO_ENGINE_SUBSTITUTION"),
            ("init_connect", "SET @a = 1 / 2, @b = '...'"),
            ("ssl", "0"),
            ("userstat", "1"),
            ("mysqlx", "OFF"),
        ] {
            assert_eq!(refusal(Product::MariaDb, name, value), None, "{name}");
        }
        for (name, value) in [
            ("shared_preload_libraries", "pg_stat_statements, auto_explain"),
            ("search_path", "\"$user\", public"),
            ("log_line_prefix", "%m [%p]"),
            ("ssl", "off"),
            ("datad", "x"),
            ("lc_messages", "C"),
        ] {
            assert_eq!(refusal(Product::Postgres, name, value), None, "{name}");
        }
    }
}
