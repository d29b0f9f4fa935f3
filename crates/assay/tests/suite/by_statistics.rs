//! `upgrade --stats`: the plans of tables without rows are those of the loaded tables.

use assay_model::Product;
use serde_json::Value;

use crate::common::Place;

const VERSION: &str = "15";

const SCHEMA: &str = "
CREATE TYPE mood AS ENUM ('fine', 'bad');
CREATE TABLE account (id int PRIMARY KEY, name varchar(40), mood mood, tags text[], opened date);
CREATE TABLE visit (id bigint PRIMARY KEY, account_id int, kind int, note text);
CREATE INDEX visit_account ON visit (account_id);
CREATE INDEX visit_kind ON visit (kind);
CREATE INDEX account_name ON account (lower(name));
";

const ROWS: &str = "
INSERT INTO account SELECT i, 'name ' || i, CASE WHEN i % 50 = 0 THEN 'bad' ELSE 'fine' END::mood,
  ARRAY['a', 'b' || i % 9], date '2020-01-01' + i % 900 FROM generate_series(1, 20000) i;
INSERT INTO visit SELECT i, 1 + i % 20000, CASE WHEN i % 1000 = 0 THEN 2 ELSE 1 END, repeat('it''s ', 9)
  FROM generate_series(1, 200000) i;
VACUUM ANALYZE account;
VACUUM ANALYZE visit
";

const QUERIES: [&str; 8] = [
    "SELECT name FROM account WHERE id = 4711",
    "SELECT COUNT(*) FROM visit WHERE kind = 1",
    "SELECT note FROM visit WHERE kind = 2",
    "SELECT a.name, v.note FROM visit v JOIN account a ON a.id = v.account_id WHERE v.kind = 2",
    "SELECT a.mood, COUNT(*) FROM visit v JOIN account a ON a.id = v.account_id GROUP BY a.mood",
    "SELECT id FROM visit WHERE id > 199990 ORDER BY id LIMIT 10",
    "SELECT id FROM account WHERE lower(name) = 'name 12'",
    "SELECT id FROM account WHERE mood = 'bad' AND opened < '2020-02-01'",
];

/// Plans of the loaded tables, and their statistics as the query of assay writes them.
fn loaded() -> (Vec<String>, String) {
    let database = assay_testkit::database(Product::Postgres, VERSION);
    let mut control = database.connect();
    for sql in SCHEMA.split(';').chain(ROWS.split(';')).filter(|sql| !sql.trim().is_empty()) {
        control.query(sql).unwrap();
    }
    let explained = QUERIES.map(|sql| assay_servers::explain(&mut control, sql).unwrap());
    let plans = explained.map(|explained| explained.unwrap().plan).to_vec();
    let query = Place::bare().run_to_end(&["workload", "stats-query"]);
    let mut statistics = String::new();
    for sql in String::from_utf8(query.stdout).unwrap().split(";\n").filter(|sql| !sql.is_empty()) {
        let found = control.query(sql).unwrap();
        for row in 0..found.rows.len() {
            statistics += &format!("{}\n", found.text(row, 0).unwrap());
        }
    }
    (plans, statistics)
}

#[test]
fn plans_without_rows_are_those_of_the_loaded_tables() {
    let (plans, statistics) = loaded();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs_err::write(&path, text).unwrap();
        path.display().to_string()
    };
    let schema = file("schema.sql", SCHEMA);
    let queries = file("queries.sql", &(QUERIES.join(";\n") + ";\n"));
    let statistics = file("stats.sql", &statistics);
    let base = format!("postgres@{VERSION}");
    let other = format!("{base}+enable_hashjoin=off");
    let words = ["upgrade", &base, &other, "--queries", &queries, "--schema", &schema];
    let how = ["--stats", &statistics, "--terms", "lean", "--offline", "--format", "json"];
    let output = Place::with(&base).run_to_end(&[&words[..], &how].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), QUERIES.len(), "{result:#}");
    for cell in cells {
        let (pair, changed) = (&cell["plans"][0], cell["plan_changed"] == true);
        let (base, other) = (pair["base"].as_str().unwrap(), pair["other"].as_str().unwrap());
        assert!(plans.iter().any(|plan| plan == base), "{base} is none of {plans:#?}");
        assert_eq!(changed, base != other, "{cell:#}");
        assert_eq!(changed, base.contains("Hash Join"), "{cell:#}");
    }
    assert!(cells.iter().all(|cell| cell["tie"].is_null()), "{result:#}");
    assert!(!result["limits"].to_string().contains("refuses"), "{result:#}");
}
