//! The content of the tables, as computed by the server and by the client.

use assay_load::{ClientSession, ClientWork, RunBound, TableContent, content};
use assay_model::{Class, DataSet, Dialect, Product, Setup, StartFrom, StatementMode, TestSet};
use assay_workloads::tests_of;

use super::bed::{Bed, SEED, work};

/// More tables than connections.
const DATA: DataSet = DataSet { tables: 3, rows: 5000 };

#[test]
fn content_is_the_same_for_all_versions_and_character_sets() {
    let mut contents = Vec::new();
    for (product, version, charset) in [
        (Product::MariaDb, "10.11", "latin1"),
        (Product::MariaDb, "11.8", "latin1"),
        (Product::MariaDb, "11.8", "utf8mb4"),
        (Product::MySql, "5.7", "latin1"),
    ] {
        let mut bed = Bed::shared(product, version);
        let of_database = format!("ALTER DATABASE {} CHARACTER SET {charset}", bed.database());
        bed.control.query(&of_database).unwrap();
        let report = bed.load(DATA.tables, DATA.rows, SEED);
        assert_eq!(bed.content(DATA), report.content, "{version}, {charset}");
        contents.push(report.content);
        let of_column = bed.rows(
            "SELECT CHARACTER_SET_NAME FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'sbtest1' AND COLUMN_NAME = 'c'",
        );
        assert_eq!(of_column, [[charset]]);
    }
    assert_eq!(contents[0].rows, 15_000);
    assert_eq!(contents[0].checksum.len(), 16);
    assert!(contents.windows(2).all(|two| two[0] == two[1]), "{contents:?}");
}

#[test]
fn every_column_and_the_table_of_a_row_count() {
    let mut bed = Bed::new();
    let data = DataSet { tables: 2, rows: 100 };
    let loaded = bed.load(data.tables, data.rows, SEED).content;
    for change in [
        "UPDATE sbtest2 SET c = CONCAT(SUBSTR(c, 1, 50), SUBSTR(c, 51, 1) XOR 1, SUBSTR(c, 52)) \
         WHERE id = 77",
        "UPDATE sbtest2 SET pad = REVERSE(pad) WHERE id = 1",
        "UPDATE sbtest1 SET k = k + 1 WHERE id = 100",
        "UPDATE sbtest1 SET id = 101 WHERE id = 100",
        "UPDATE sbtest1 a JOIN sbtest1 b ON a.id = 1 AND b.id = 2 SET a.pad = b.pad, b.pad = a.pad",
        "RENAME TABLE sbtest1 TO other, sbtest2 TO sbtest1, other TO sbtest2",
    ] {
        bed.load(data.tables, data.rows, SEED);
        bed.control.query(change).unwrap();
        let changed = bed.content(data);
        assert_eq!(changed.rows, loaded.rows, "{change}");
        assert_ne!(changed.checksum, loaded.checksum, "{change}");
    }
    bed.control.query("DELETE FROM sbtest2 WHERE id = 5").unwrap();
    assert_eq!(bed.content(data).rows, loaded.rows - 1);
}

/// One client, so that the order of events is fixed.
#[test]
fn the_same_events_age_data_alike_on_all_versions_in_both_modes() {
    let aged = |product, version, statements| -> TableContent {
        let bed = Bed::shared(product, version);
        bed.load(DATA.tables, DATA.rows, SEED);
        let setup = Setup { clients: 1, tables: DATA.tables, rows: DATA.rows };
        let aging = tests_of(TestSet::Set32)
            .into_iter()
            .filter(|test| test.class == Class::Write && test.start_from == StartFrom::Fresh);
        for test in aging {
            let work = ClientWork { dialect: product.dialect(), ..work(test, setup, statements) };
            let mut session = ClientSession::open(&bed.options, &work, &[]).unwrap();
            session.run(0, RunBound::Events(100)).unwrap();
        }
        bed.content(DATA)
    };
    let (maria, mysql) = (Product::MariaDb, Product::MySql);
    let first = aged(maria, "10.11", StatementMode::Prepared);
    assert_eq!(first, aged(maria, "11.8", StatementMode::Prepared));
    assert_eq!(first, aged(maria, "11.8", StatementMode::Text));
    assert_eq!(first, aged(mysql, "5.7", StatementMode::Prepared));
}

#[test]
fn a_missing_table_is_reported() {
    let bed = Bed::new();
    let error = content(&bed.options, Dialect::MySql, DATA).unwrap_err();
    assert_eq!(error.server_code(), Some(1146));
}
