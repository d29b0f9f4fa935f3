//! Counters that real servers keep of their own work.

use std::collections::BTreeMap;

use assay_model::Product;
use assay_servers::ServerStatus;
use assay_testkit::{TestServer, start};

const STATEMENTS: u64 = 100;

/// Growth of the counters during some work, which gets the statement that publishes it.
fn grown(
    server: &TestServer,
    product: Product,
    work: impl FnOnce(Option<&'static str>),
) -> BTreeMap<String, u64> {
    let mut status = ServerStatus::open(&server.connect_options(), product).unwrap().unwrap();
    let before = status.read().unwrap();
    work(status.publish());
    let after = status.read().unwrap();
    let grown = status.grown(&before, &after).into_iter();
    grown.filter(|(_, count)| *count > 0).collect()
}

fn insert(server: &TestServer) {
    let mut control = server.connect();
    for number in 0..STATEMENTS {
        control.query(&format!("INSERT INTO d.t VALUES ({number})")).unwrap();
    }
}

#[test]
fn rows_handler_calls_and_the_history_of_innodb_are_counted() {
    for (product, version) in [(Product::MariaDb, "11.8"), (Product::MySql, "5.7")] {
        let server = start(product, version, &[]);
        let mut control = server.connect();
        control.query("CREATE DATABASE d").unwrap();
        control.query("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
        let found = grown(&server, product, |_| insert(&server));
        for name in ["Innodb_rows_inserted", "Handler_write"] {
            // MariaDB 11.8 has no counter of InnoDB's rows any more.
            let is_known = product == Product::MySql || name == "Handler_write";
            assert_eq!(
                found.get(name).copied(),
                is_known.then_some(STATEMENTS),
                "{name}: {found:?}"
            );
        }
        // Reading counts nothing.
        let idle = grown(&server, product, |_| {});
        let of_clients = |name: &&String| {
            ["Handler_", "Select_", "Created_"].iter().any(|it| name.starts_with(it))
        };
        assert_eq!(idle.keys().filter(of_clients).collect::<Vec<_>>(), [""; 0], "{product:?}");
        history_grows_while_a_transaction_needs_it(&server, product);
    }
}

fn history_grows_while_a_transaction_needs_it(server: &TestServer, product: Product) {
    let mut control = server.connect();
    control.query("CREATE TABLE d.h (a INT PRIMARY KEY, b INT) ENGINE=InnoDB").unwrap();
    control.query("INSERT INTO d.h VALUES (1, 0)").unwrap();
    let mut reader = server.connect();
    reader.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").unwrap();
    reader.query("BEGIN").unwrap();
    reader.query("SELECT * FROM d.h").unwrap();
    let found = grown(server, product, |_| {
        (0..STATEMENTS).for_each(|_| drop(control.query("UPDATE d.h SET b = b + 1").unwrap()));
    });
    let length = found.get("Innodb_history_list_length").copied();
    assert!(length.is_some_and(|it| it >= STATEMENTS), "{product:?}: {found:?}");
}

#[test]
fn postgres_publishes_what_a_client_did_when_it_is_asked() {
    for version in ["15", "16", "18.4"] {
        let server = start(Product::Postgres, version, &[]);
        let mut client = server.connect();
        client.query("CREATE TABLE t (a INT PRIMARY KEY)").unwrap();
        let found = grown(&server, Product::Postgres, |publish| {
            for number in 0..STATEMENTS {
                client.query(&format!("INSERT INTO t VALUES ({number})")).unwrap();
            }
            client.query(publish.unwrap()).unwrap();
        });
        assert_eq!(found.get("pg_stat_user_tables.n_tup_ins"), Some(&STATEMENTS), "{found:?}");
        assert!(found.get("pg_stat_wal.wal_records") >= Some(&STATEMENTS), "{found:?}");
        let idle = grown(&server, Product::Postgres, |_| {});
        assert_eq!(idle.get("pg_stat_user_tables.seq_scan"), None, "{idle:?}");
    }
    // Its processes publish their counters when they like.
    let server = start(Product::Postgres, "13", &[]);
    assert!(ServerStatus::open(&server.connect_options(), Product::Postgres).unwrap().is_none());
}
