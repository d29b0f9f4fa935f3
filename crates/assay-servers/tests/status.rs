//! Counters that real servers keep of their own work.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use assay_model::Product;
use assay_servers::Status;
use assay_testkit::{TestServer, start};

assay_testkit::supervisor_entry!();

/// Statements that a server must count.
const STATEMENTS: u64 = 100;

fn grown(server: &TestServer, product: Product, work: impl FnOnce()) -> BTreeMap<String, u64> {
    let mut status = Status::open(&server.connect_options(), product).unwrap().unwrap();
    let before = status.read().unwrap();
    work();
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
fn rows_and_handler_calls_are_counted() {
    for (product, version) in [(Product::MariaDb, "11.8"), (Product::MySql, "5.7")] {
        let server = start(product, version, &[]);
        let mut control = server.connect();
        control.query("CREATE DATABASE d").unwrap();
        control.query("CREATE TABLE d.t (a INT PRIMARY KEY) ENGINE=InnoDB").unwrap();
        let found = grown(&server, product, || insert(&server));
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
        let idle = grown(&server, product, || {});
        let of_clients = |name: &&String| {
            ["Handler_", "Select_", "Created_"].iter().any(|it| name.starts_with(it))
        };
        assert_eq!(idle.keys().filter(of_clients).collect::<Vec<_>>(), [""; 0], "{product:?}");
    }
}

#[test]
fn postgres_tells_its_counters_too_seldom() {
    let server = start(Product::Postgres, "16", &[]);
    assert!(Status::open(&server.connect_options(), Product::Postgres).unwrap().is_none());
}
