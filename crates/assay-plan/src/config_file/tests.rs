//! Config files found in practice.

use proptest::prelude::*;

use super::*;
use crate::parse_system;

fn read(system: &str, text: &str) -> Result<Vec<ConfigLine>, ConfigFault> {
    config_lines(&parse_system(system).unwrap(), text)
}

/// Options as `name=value`, omissions as `-name`, includes as `<path`.
fn shown(system: &str, text: &str) -> Vec<String> {
    let line = |line: &ConfigLine| match line {
        ConfigLine::Option(name, value) => format!("{name}={value}"),
        ConfigLine::LeftOut(name) => format!("-{name}"),
        ConfigLine::Include { path, .. } | ConfigLine::IncludeDir { path, .. } => {
            format!("<{}", path.display())
        }
    };
    read(system, text).unwrap().iter().map(line).collect()
}

const MY_CNF: &str = "
# of a real server
[client]
port = 3306
[mysqld]
datadir=/var/lib/mysql
  innodb-buffer-pool-size = 2G   # most of it
skip-name-resolve
sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'
; another comment
init_connect=\"SET @a = '#'\"
[mariadb-10.11]
innodb_doublewrite=OFF
[mysqld-5.7]
innodb_doublewrite=ON
[mysqldump]
quick
!includedir /etc/mysql/conf.d/
";

#[test]
fn a_my_cnf_gives_the_options_of_the_servers_groups() {
    let common = [
        "-datadir",
        "innodb_buffer_pool_size=2G",
        "skip_name_resolve=1",
        "sql_mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
        "init_connect=SET @a = '#'",
    ];
    for (system, own) in [
        ("mariadb@10.11", Some("innodb_doublewrite=OFF")),
        ("mariadb@10.11.19", Some("innodb_doublewrite=OFF")),
        ("mysql@5.7", Some("innodb_doublewrite=ON")),
        ("mysql@8.0", None),
        ("mariadb@dir:/opt/m", None),
    ] {
        let expected: Vec<&str> =
            common.into_iter().chain(own).chain(["</etc/mysql/conf.d/"]).collect();
        assert_eq!(shown(system, MY_CNF), expected, "{system}");
    }
}

#[test]
fn a_postgresql_conf_gives_its_options() {
    let text = "
data_directory = '/var/lib/postgresql/16/main'  # use data in another directory
shared_buffers = 128MB\t# min 128kB
work_mem 4MB
#fsync = on
search_path='\"$user\", public'
auto_explain.log_min_duration = '3s'
default_text_search_config = 'it''s \\'so'
Wal_Compression=on
include_dir = 'conf.d'
include_if_exists 'more.conf'
";
    assert_eq!(
        shown("postgres@16", text),
        [
            "-data_directory",
            "shared_buffers=128MB",
            "work_mem=4MB",
            "search_path=\"$user\", public",
            "auto_explain.log_min_duration=3s",
            "default_text_search_config=it's 'so",
            "wal_compression=on",
            "<conf.d",
            "<more.conf",
        ]
    );
}

/// Nothing of a study is written elsewhere, and no secret is kept.
#[test]
fn options_with_outside_paths_or_secrets_are_omitted() {
    let text = "[mysqld]
log-bin=/var/log/mysql/mysql-bin.log
log_bin
log_bin_index=/var/log/mysql/index
server_audit_file_path = /var/log/audit.log
innodb_data_file_path=ibdata1:10M;/x/ibdata2:10M
innodb_temp_data_file_path=../t:10M
slave_load_tmpdir=~/x
loose-hashicorp-key-management-token=s.1
loose_file_key_management_filekey=abc
wsrep_cluster_address=gcomm://a,b
report-password=x
loose-authentication_ldap_simple_bind_ROOT_PWD=x
validate_password_length=9
innodb_ft_min_token_size=2
mysqlx-port=1
default_time_zone=Europe/Berlin
";
    assert_eq!(
        shown("mariadb@10.11", text),
        [
            "log_bin=mysql-bin.log",
            "log_bin=binlog",
            "-log_bin_index",
            "-server_audit_file_path",
            "-innodb_data_file_path",
            "-innodb_temp_data_file_path",
            "-slave_load_tmpdir",
            "-loose_hashicorp_key_management_token",
            "-loose_file_key_management_filekey",
            "-wsrep_cluster_address",
            "-report_password",
            "-loose_authentication_ldap_simple_bind_ROOT_PWD",
            "validate_password_length=9",
            "innodb_ft_min_token_size=2",
            "-mysqlx_port",
            "default_time_zone=Europe/Berlin",
        ]
    );
    let text = "ssl = on\nssl_cert_file = '/c.pem'\nunix_socket_directories = 'x'\nwork_mem = 1MB
archive_command = 'cp %p x'\nstats_temp_directory = 'pg_stat_tmp'";
    let left_out = shown("postgres@16", text);
    assert_eq!(left_out.iter().filter(|it| it.starts_with('-')).count(), 5, "{left_out:?}");
}

#[test]
fn a_system_gets_what_its_server_reads_and_nothing_more_particular_sets() {
    let all: Vec<_> = [
        "mysql: innodb_io_capacity=100",
        "mysql: binlog_ignore_db=a",
        "mysql@5.7: innodb_io_capacity=200",
        "mysql: skip_name_resolve=1",
        "mysql: binlog_ignore_db=b",
        "postgres: work_mem=1MB",
    ]
    .into_iter()
    .map(|text| CommonOption::read(text).unwrap())
    .collect();
    let settings = |words: &str| {
        let options = common_options(&all, &parse_system(words).unwrap());
        options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    let rest = ["binlog_ignore_db=a", "skip_name_resolve=1", "binlog_ignore_db=b"];
    assert_eq!(settings("mysql@8.0"), [&["innodb_io_capacity=100"][..], &rest].concat());
    let old = settings("mysql@5.7+skip_name_resolve=0");
    assert_eq!(old, ["binlog_ignore_db=a", "innodb_io_capacity=200", "binlog_ignore_db=b"]);
    assert_eq!(settings("postgres@16"), ["work_mem=1MB"]);
    assert!(settings("mariadb@10.11").is_empty());
}

#[test]
fn an_unreadable_line_is_named() {
    for (system, text, line) in [
        ("mysql@8.0", "[mysql]\n--- = 1\n[mysqld]\n--- = 1", 4),
        ("mysql@8.0", "[mysqld", 1),
        ("mysql@8.0", "!inclusion x", 1),
        ("mysql@8.0", "[mysqld]\na='x\\ny'", 2),
        ("postgres@16", "fsync", 1),
        ("postgres@16", "\nsearch_path = a, b", 2),
        ("postgres@16", "a = 'b", 1),
        ("postgres@16", "[mysqld]\na = b", 1),
    ] {
        assert_eq!(read(system, text).map_err(|it| it.line), Err(line), "{text:?}");
    }
}

#[test]
fn the_last_option_wins_and_the_study_overrides_the_file() {
    let text =
        "[mysqld]\nsync-binlog=0\nplugin-load-add=ha_a\nloose_sync_binlog=1\nplugin-load-add=ha_b";
    let lines = read("mysql@8.0", text).unwrap();
    let options = |request: SystemRequest| -> Vec<String> {
        let options = request.started_from(&lines).options;
        options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    };
    let of_file = ["plugin_load_add=ha_a", "loose_sync_binlog=1", "plugin_load_add=ha_b"];
    assert_eq!(options(SystemRequest::parse("mysql@8.0")), of_file);
    let in_words = SystemRequest::parse("mysql@8.0+sync-binlog=7");
    assert_eq!(options(in_words), ["plugin_load_add=ha_a", "plugin_load_add=ha_b"]);
    let asked = vec![("sync_binlog".to_owned(), "7".to_owned())];
    let in_study = SystemRequest { options: asked, ..SystemRequest::parse("mysql@8.0") };
    assert_eq!(
        options(in_study),
        ["plugin_load_add=ha_a", "plugin_load_add=ha_b", "sync_binlog=7"]
    );
}

proptest! {
    #[test]
    fn any_input_is_read_or_refused(text in "[\\[\\]a-z!=#'\"\\\\ \n.-]{0,80}") {
        for system in ["mysql@8.0", "postgres@16"] {
            if let Ok(lines) = read(system, &text) {
                prop_assert!(lines.len() <= text.lines().count());
            }
        }
    }
}

#[test]
fn a_file_that_is_compared_is_read_as_it_is() {
    let text =
        "[mysqld]\nport=1\nread-only\ndatadir=/a\n[mysqld-8.0]\nsync_binlog=1\n!include b.cnf\n";
    let lines = written_lines(Product::MySql, text).unwrap();
    let shown = lines.iter().map(|it| match &it.line {
        ConfigLine::Option(name, value) => format!("{:?} {name}={value}", it.series.as_deref()),
        other => format!("{other:?}"),
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "None port=1",
            "None read_only=1",
            "None datadir=/a",
            "Some(\"8.0\") sync_binlog=1",
            "Include { path: \"b.cnf\", optional: false }",
        ]
    );
}

#[test]
fn groups_name_their_product() {
    assert_eq!(product_of_groups("[client]\n[mysqld]\n"), Some(Product::MySql));
    assert_eq!(product_of_groups("[mysqld]\n[mariadb-10.11]\n"), Some(Product::MariaDb));
    assert_eq!(product_of_groups("[client]\nx=1\n[mysqld"), None);
    assert_eq!(product_of_groups("shared_buffers = 1GB\n"), None);
}
