//! Captured values reach servers exactly as in their file, however statements are sent.

use assay_load::{RunBound, UserTables, fill_user_data};
use assay_model::{Dialect, Product, Setup, StatementMode, Test};
use assay_plan::{UserFile, read_workload};

use super::bed::{Bed, SEED};

const WORKLOAD: &str = r#"
[table.seen]
rows = 1
[table.seen.create]
mysql = """CREATE TABLE seen
  (id INT, n DECIMAL(20,4), t VARCHAR(40) CHARACTER SET utf8mb4, b VARBINARY(9), f BOOL)"""
postgres = "CREATE TABLE seen (id INT, n DECIMAL(20,4), t VARCHAR(40), b BYTEA, f BOOL)"
[table.seen.columns]
id = { sequence = 0 }

[test.add]
values = { file = "seen.jsonl", names = ["id", "n", "t", "b", "f"], draw = "in-order" }
steps = ["INSERT INTO seen VALUES (:id, :n, :t, :b, :f)"]

[test.find]
values = { file = "ids.jsonl", names = ["ids"] }
steps = ["INSERT INTO seen (id) SELECT 100 + COUNT(*) FROM (SELECT DISTINCT id FROM seen) AS s WHERE id IN (:ids)"]
writes = true
"#;

const SEEN: &[u8] = br#"[1, 1.5000, "it's \\ \u00e9\n", {"hex": "00ff27"}, true]
[-2, 12345678901234.5678, null, null, false]
[3, -7, "", {"hex": ""}, null]
"#;

fn tests() -> Vec<Test> {
    let files = |name: &str| {
        let content: &[u8] = if name == "seen.jsonl" { SEEN } else { b"[[1, -2, null, 99]]\n" };
        Ok(UserFile {
            path: name.to_owned(),
            sha256: name.to_owned(),
            content: content.to_vec(),
            bytes: 0,
        })
    };
    read_workload("values.toml", WORKLOAD, &files).unwrap().tests
}

fn check(product: Product, version: &str) {
    let mut bed = Bed::shared(product, version);
    let (dialect, tests) = (product.dialect(), tests());
    let data = tests[0].user_data().unwrap();
    let files = |_: &assay_model::UserRowsFile| Err("no file".to_owned());
    let setup = Setup { clients: 1, tables: 1, rows: 1 };
    let mut modes = vec![StatementMode::Prepared, StatementMode::Text];
    if dialect == Dialect::Postgres {
        modes.push(StatementMode::Extended);
    }
    for mode in modes {
        let tables = UserTables { dialect, data, seed: SEED, files: &files, dumps: &no_dump };
        fill_user_data(&bed.options, tables, true, &mut |_| ()).unwrap();
        let mut session = bed.open_as(tests[0], setup, mode);
        session.run(0, RunBound::Events(3)).unwrap();
        let bytes = match dialect {
            Dialect::MySql => "LOWER(HEX(b)), f + 0",
            Dialect::Postgres => "ENCODE(b, 'hex'), f::int",
        };
        // The connection's character set does not affect the bytes of a text.
        let text = match dialect {
            Dialect::MySql => "LOWER(HEX(t))",
            Dialect::Postgres => "ENCODE(CONVERT_TO(t, 'UTF8'), 'hex')",
        };
        let rows =
            bed.rows(&format!("SELECT id, n, {text}, {bytes} FROM seen WHERE id <> 0 ORDER BY id"));
        let expected = [
            ["-2", "12345678901234.5678", "", "", "0"],
            ["1", "1.5000", "69742773205c20c3a90a", "00ff27", "1"],
            ["3", "-7.0000", "", "", ""],
        ];
        assert_eq!(rows, expected, "{mode:?}");
        drop(session);
        let mut session = bed.open_as(tests[1], setup, mode);
        session.run(0, RunBound::Events(1)).unwrap();
        assert_eq!(bed.number("SELECT COUNT(*) FROM seen WHERE id = 102"), 1, "{mode:?}");
    }
}

#[test]
fn values_arrive_as_their_file_has_them() {
    check(Product::MariaDb, "10.11");
    check(Product::Postgres, "16");
}

fn no_dump(_: &assay_model::UserRowsFile) -> Result<Box<dyn std::io::Read>, String> {
    Err("no dump".to_owned())
}
