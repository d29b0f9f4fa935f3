//! Real servers on the terms of the published studies.

use std::time::Duration;

use assay_model::Product;
use assay_servers::audit::ServerSettings;
use assay_servers::{effective_settings, maintain, remove_binary_logs};
use assay_terms::Terms;
use assay_testkit::{TestServer, start_on};
use assay_wire::Connection;

fn published(product: Product, version: &str) -> TestServer {
    start_on(Terms::named("published").unwrap(), product, version)
}

fn assert_effective(settings: &ServerSettings, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(settings.get(*name).map(String::as_str), Some(*value), "{name}");
    }
}

const OF_BOTH: [(&str, &str); 11] = [
    ("log_bin", "ON"),
    ("binlog_format", "ROW"),
    ("sync_binlog", "0"),
    ("performance_schema", "ON"),
    ("slow_query_log", "ON"),
    ("eq_range_index_dive_limit", "10"),
    ("innodb_flush_method", "O_DIRECT_NO_FSYNC"),
    ("innodb_io_capacity_max", "20000"),
    ("innodb_max_purge_lag", "500000"),
    ("innodb_purge_threads", "4"),
    ("innodb_doublewrite", "ON"),
];

fn binary_logs(control: &mut Connection) -> usize {
    control.query("SHOW BINARY LOGS").unwrap().rows.len()
}

#[test]
fn mysql_and_mariadb_have_the_published_settings_and_a_bounded_binary_log() {
    for (product, version, change_buffer, log_files) in
        [(Product::MySql, "5.7", "all", Some("15")), (Product::MariaDb, "10.11", "none", None)]
    {
        let server = published(product, version);
        let mut control = server.connect();
        let settings = effective_settings(&mut control).unwrap();
        assert_effective(&settings, &OF_BOTH);
        assert_effective(&settings, &[("innodb_change_buffering", change_buffer)]);
        let files = settings.get("innodb_log_files_in_group").map(String::as_str);
        assert_eq!(files, log_files, "{product}");
        control.query("CREATE TABLE t (a INT) ENGINE = InnoDB").unwrap();
        for _ in 0..2 {
            control.query("INSERT INTO t VALUES (1)").unwrap();
            control.query("FLUSH BINARY LOGS").unwrap();
        }
        assert!(binary_logs(&mut control) > 2, "{product}");
        remove_binary_logs(&mut control).unwrap();
        // MariaDB keeps them until the engine has flushed its own log.
        if product == Product::MySql {
            assert_eq!(binary_logs(&mut control), 1);
        }
        // A template has an empty binary log.
        control.query("INSERT INTO t VALUES (1)").unwrap();
        maintain(&mut control, &["t".to_owned()], Duration::from_secs(60)).unwrap();
        let logs = control.query("SHOW BINARY LOGS").unwrap();
        let size: u64 = logs.text(0, 1).unwrap().parse().unwrap();
        assert!(logs.rows.len() == 1 && size < 1000, "{product}: {size} bytes");
    }
}

#[test]
fn postgres_has_the_published_settings() {
    let server = published(Product::Postgres, "16");
    let settings = effective_settings(&mut server.connect()).unwrap();
    assert_effective(
        &settings,
        &[
            ("wal_level", "replica"),
            ("checkpoint_timeout", "30min"),
            ("autovacuum_naptime", "10s"),
            ("autovacuum_vacuum_cost_limit", "4000"),
            ("bgwriter_lru_maxpages", "2000"),
            ("max_parallel_workers", "0"),
            ("track_io_timing", "on"),
            ("synchronous_commit", "off"),
            ("jit", "off"),
        ],
    );
}
