//! `upgrade` with a dump without rows: rows are made, and the report mentions it.

use serde_json::Value;

use crate::common::Place;

const DUMPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wings/upgrade/capture/tests/dumps");

fn upgrade(systems: [&str; 2], dump: &str, log: &str) -> (Value, String) {
    let place = Place::with(systems[0]);
    let folder = tempfile::tempdir().unwrap();
    let queries = folder.path().join("queries.sql").display().to_string();
    fs_err::write(&queries, log).unwrap();
    let schema = format!("{DUMPS}/{dump}");
    let words = [
        "upgrade",
        systems[0],
        systems[1],
        "--queries",
        &queries,
        "--schema",
        &schema,
        "--offline",
    ];
    let measured =
        ["--preset", "smoke", "--budget", "20m", "--key", "blocks=1", "--format", "json"];
    let output = place.run_to_end(&[&words[..], &measured].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("the dump has no rows"), "{stderr}");
    let report = place.run_to_end(&["report", "latest"]);
    let report = String::from_utf8(report.stdout).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), report)
}

#[track_caller]
fn assert_made((result, report): &(Value, String), tables: u64) {
    let restored = result["restored"].as_array().unwrap();
    let made: Vec<&Value> = restored.iter().filter(|it| it["what"] == "made").collect();
    assert_eq!(made.len(), 2, "{restored:?}");
    assert!(made.iter().all(|it| it["count"] == tables), "{made:?}");
    assert!(restored.iter().all(|it| it["what"] != "error"), "{restored:?}");
    assert!(report.contains(&format!("the dump has no rows of {tables} tables")), "{report}");
    assert!(!report.contains("returned no rows"), "{report}");
}

#[test]
fn tables_of_mariadb_get_rows() {
    let log = "
SELECT state, placed FROM orders WHERE id = 4711;
SELECT o.id, l.sku FROM orders o JOIN order_line l ON l.order_id = o.id WHERE o.id BETWEEN 100 AND 200;
SELECT COUNT(*) FROM customers WHERE email < '500';
SELECT t.name FROM order_tag x JOIN tag t ON t.id = x.tag ORDER BY t.id LIMIT 5;
SELECT MAX(day) FROM visit;
";
    let systems = ["mariadb@10.11", "mariadb@10.11+sort_buffer_size=64K"];
    assert_made(&upgrade(systems, "mysql.sql", log), 6);
}

#[test]
fn tables_of_postgres_get_rows() {
    let log = "
SELECT name, balance FROM account WHERE id = 4711;
SELECT a.mood, COUNT(*) FROM visit v JOIN account a ON a.id = v.account_id WHERE v.id < 100 GROUP BY a.mood;
SELECT COUNT(*) FROM account WHERE name IS NULL AND is_open;
";
    let systems = ["postgres@15", "postgres@15+work_mem=2MB"];
    assert_made(&upgrade(systems, "postgres.sql", log), 2);
}
