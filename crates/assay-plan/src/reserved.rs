//! Server options that only assay sets: those that determine a server's location and identity. One rule serves system
//! names, study files, config files and ledgers.

use assay_model::{Product, may_be_secret};

use crate::error::{Error, Refusal};

/// Checks that an option may be passed to a server, so that the server stays where assay puts it.
///
/// # Errors
/// [`Error::ReservedOption`].
pub(crate) fn check_option(product: Product, name: &str, value: &str) -> Result<(), Error> {
    match refusal(product, name, value) {
        None => Ok(()),
        Some(why) => Err(Error::ReservedOption { option: name.to_owned(), why }),
    }
}

pub(crate) fn refusal(product: Product, name: &str, value: &str) -> Option<Refusal> {
    let by_name = match product {
        Product::MariaDb | Product::MySql => match plain(name).as_str() {
            "plugin_load" | "plugin_load_add" if are_engines(value) => None,
            name => mysql(name),
        },
        Product::Postgres => postgres(&name.replace('-', "_").to_ascii_lowercase()),
    };
    let shown = if may_be_secret(name) { "..." } else { value };
    by_name.or_else(|| leads_away(value).then(|| Refusal::LeadsAway(shown.to_owned())))
}

/// The canonical name of an option. Servers accept `-` and `_`, any case, prefixes that say how an option is given,
/// and, before a dot, the name of a cache to which nearly no option belongs.
fn plain(name: &str) -> String {
    let name = name.replace('-', "_").to_ascii_lowercase();
    let mut name = name.rsplit_once('.').map_or(name.as_str(), |(_, option)| option);
    let modifiers = ["loose_", "skip_", "disable_", "enable_", "maximum_"];
    while let Some(rest) = modifiers.iter().find_map(|modifier| name.strip_prefix(modifier)) {
        name = rest;
    }
    name.to_owned()
}

/// Whether all plugins in a value are storage engines, according to the names of their files. Other plugins may listen
/// on a port.
///
/// The servers separate plugins by semicolons, colons or commas, and take a name before each file.
fn are_engines(value: &str) -> bool {
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    value.split([';', ':', ',']).all(|plugin| {
        let (name, file) = plugin.split_once('=').unwrap_or(("", plugin));
        let file = file.strip_suffix(".so").unwrap_or(file);
        is_word(name) && is_word(file) && file.starts_with("ha_")
    })
}

fn mysql(name: &str) -> Option<Refusal> {
    if RESERVED_MYSQL.iter().any(|reserved| is_named(reserved, name)) {
        return Some(Refusal::Reserved);
    }
    // Servers accept any unambiguous beginning of a name. A single letter is never unambiguous.
    let long = RESERVED_MYSQL.iter().find(|it| name.len() > 1 && it.starts_with(name));
    let long = long.filter(|_| !COMPLETE_MYSQL.contains(&name));
    long.map(|reserved| Refusal::ShortFor(reserved))
}

fn postgres(name: &str) -> Option<Refusal> {
    RESERVED_POSTGRES.iter().any(|reserved| is_named(reserved, name)).then_some(Refusal::Reserved)
}

/// Whether an entry of the tables covers a name.
fn is_named(reserved: &str, name: &str) -> bool {
    match (reserved.strip_suffix('_'), reserved.strip_prefix('_')) {
        (Some(_), _) => name.starts_with(reserved),
        (None, Some(_)) => name.ends_with(reserved),
        (None, None) => name == reserved,
    }
}

/// Whether a value has a path that does not lie in the data directory.
fn leads_away(value: &str) -> bool {
    let mut paths =
        value.split([':', ';', ',', '=']).map(|it| it.trim_start_matches([' ', '\t', '"', '\'']));
    paths.any(|path| {
        path.starts_with(['/', '~']) || path.split('/').any(|part| part.trim_end() == "..")
    })
}

/// Options for directories, sockets, ports, users and logs, and options that turn the server into another program.
/// Plugins are among them, because some listen. An entry that ends in `_` stands for all names that begin with it.
/// Files with relative names are not listed: they lie in the data directory.
const RESERVED_MYSQL: &[&str] = &[
    "admin_",
    "basedir",
    "bind_address",
    "bootstrap",
    "character_sets_dir",
    "chroot",
    "daemonize",
    "datadir",
    "defaults_",
    "early_plugin_load",
    "extra_port",
    "grant_tables",
    "help",
    "init_file",
    "initialize",
    "initialize_insecure",
    "lc_messages_dir",
    "log_error",
    "log_error_services",
    "log_syslog",
    "login_path",
    "mysqlx",
    "mysqlx_",
    "networking",
    "no_defaults",
    "pid_file",
    "plugin_dir",
    "plugin_load",
    "plugin_load_",
    "port",
    "print_defaults",
    "replica_load_tmpdir",
    "report_",
    "secure_file_priv",
    "slave_load_tmpdir",
    "socket",
    "tmpdir",
    "user",
    "wsrep_",
];

/// Beginnings of these names that are options by themselves.
const COMPLETE_MYSQL: &[&str] = &["lc_messages"];

/// The same for Postgres. An entry that begins with `_` stands for all names that end with it: commands that the server
/// executes, and code that its procedural languages run, such as `plperl.on_init`.
const RESERVED_POSTGRES: &[&str] = &[
    "_command",
    "_init",
    "_proc",
    "archive_library",
    "bonjour",
    "bonjour_name",
    "config_file",
    "data_directory",
    "dynamic_shared_memory_type",
    "event_source",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "log_directory",
    "log_filename",
    "logging_collector",
    "port",
    "ssl",
    "ssl_",
    "stats_temp_directory",
    "syslog_",
    "unix_socket_",
];

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
            ("hot_cache.datadir", "x"),
            ("secure-file-priv", ""),
            ("skip_grant_tables", "1"),
            ("mysqlx_port", "1"),
            ("mysqlx", "ON"),
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
            "plperl.on_init",
            "pltcl.start_proc",
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
        ] {
            assert_eq!(refusal(Product::MariaDb, name, value), None, "{name}");
        }
        for (name, value) in [
            ("shared_preload_libraries", "pg_stat_statements, auto_explain"),
            ("search_path", "\"$user\", public"),
            ("log_line_prefix", "%m [%p]"),
            ("datad", "x"),
            ("lc_messages", "C"),
        ] {
            assert_eq!(refusal(Product::Postgres, name, value), None, "{name}");
        }
    }
}
