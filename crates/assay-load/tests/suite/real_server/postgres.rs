//! Runs every test against a real Postgres server. It returns the rows that the generator predicts, and leaves the same
//! data as MariaDB.

use std::collections::HashMap;

use assay_load::{RunBound, fill_cache};
use assay_model::{Class, DataSet, Dialect, Product, Setup, TableForm, TestSet};
use assay_workloads::tests_of;

use super::bed::{Bed, SEED, loaded_k, test};
use super::functional::{EVENTS, MODES, SETUP, all_sent, check_counters, expected_rows};

const VERSION: &str = "16";

#[test]
fn reads_return_the_rows_that_the_generator_predicts() {
    let bed = Bed::shared(Product::Postgres, VERSION);
    let k_of: HashMap<u32, Vec<i64>> =
        (1..=SETUP.tables).map(|table| (table, loaded_k(table, SETUP.rows))).collect();
    let loaded = bed.load(SETUP.tables, SETUP.rows, SEED).content;
    assert_eq!(bed.content(SETUP.data()), loaded);
    for test in tests_of(TestSet::All).into_iter().filter(|test| test.class == Class::Read) {
        let predicted = |operation| expected_rows(operation, &k_of);
        let rows: u64 = all_sent(test).iter().map(predicted).sum();
        for statements in MODES {
            let case = format!("{test}, {statements:?}");
            let mut session = bed.open_as(test, SETUP, statements);
            assert!(session.unprepared().is_empty());
            let counters = session.run(0, RunBound::Events(EVENTS)).unwrap();
            check_counters(&counters, test, &case);
            assert_eq!(counters.rows, rows, "{case}");
        }
    }
}

/// One client, so that the order of events is fixed.
#[test]
fn writes_leave_the_same_data_as_on_mariadb() {
    let beds = [Bed::new(), Bed::shared(Product::Postgres, VERSION)];
    let setup = Setup { clients: 1, ..SETUP };
    for statements in MODES {
        let contents = beds.each_ref().map(|bed| {
            bed.load(setup.tables, setup.rows, SEED);
            let writes = tests_of(TestSet::All).into_iter();
            let writes = writes.filter(|test| test.class == Class::Write);
            let after = writes.map(|test| {
                let mut session = bed.open_as(test, setup, statements);
                let counters = session.run(0, RunBound::Events(EVENTS)).unwrap();
                check_counters(&counters, test, &format!("{test}, {statements:?}"));
                (test, bed.content(setup.data()))
            });
            after.collect::<Vec<_>>()
        });
        assert_eq!(contents[0], contents[1], "{statements:?}");
    }
}

/// Many clients work on few rows: a deleted row reappears before its deleter inserts it, and others deadlock.
#[test]
fn failed_transactions_are_counted_and_retried() {
    let mut bed = Bed::shared(Product::Postgres, VERSION);
    bed.load(2, 10, SEED);
    // By default, a waiting transaction looks for a deadlock only after a second.
    let of_database = format!("ALTER DATABASE {} SET deadlock_timeout = '1ms'", bed.database());
    bed.control.query(&of_database).unwrap();
    let setup = Setup { clients: 6, tables: 2, rows: 10 };
    let events = 3000;
    let mut session = bed.open(test("write-only"), setup);
    let counters = session.run(0, RunBound::Events(events)).unwrap();
    let states: Vec<String> =
        counters.errors.iter().map(|(code, _)| assay_wire::code_name(*code)).collect();
    assert!(states.contains(&"23505".to_owned()), "{states:?}");
    assert!(states.iter().all(|it| ["23505", "40P01"].contains(&it.as_str())), "{states:?}");
    assert_eq!(counters.events, events);
    assert_eq!(bed.sum(2, "COUNT(*)"), 20);
}

#[test]
fn caches_are_filled_with_tables_and_indexes() {
    let mut bed = Bed::alone_with(Product::Postgres, VERSION, &["--shared_buffers=16MB"]);
    // The table takes more than a quarter of the buffers, so a sequential scan would leave none of it in the cache.
    let data = DataSet { tables: 1, rows: 25_000 };
    bed.load(data.tables, data.rows, SEED);
    bed.control.query("VACUUM ANALYZE").unwrap();
    fill_cache(&bed.options, Dialect::Postgres, &TableForm::default(), data).unwrap();
    // Everything that is read afterwards is in the cache.
    let before = blocks_read(&mut bed);
    fill_cache(&bed.options, Dialect::Postgres, &TableForm::default(), data).unwrap();
    assert_eq!(blocks_read(&mut bed), before);
}

/// Blocks read so far that were not in the server's cache.
fn blocks_read(bed: &mut Bed) -> i64 {
    // A backend's counts are published once it has ended.
    while bed.number("SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        > 1
    {}
    bed.number("SELECT heap_blks_read + COALESCE(idx_blks_read, 0) FROM pg_statio_user_tables")
}
