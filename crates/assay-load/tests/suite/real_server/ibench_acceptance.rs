//! The published Insert Benchmark on a real server of each product: indexes, values, answers, pace and coupling.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_load::{IbenchProgress, IbenchSession, LoadError};
use assay_model::{Dialect, Product};
use assay_wire::Stop;
use assay_workloads::IbenchSizes;

use super::bed::Bed;
use super::ibench::{PRODUCTS, SIZES, run, work};

const SIZE: IbenchSizes = IbenchSizes { rows: [20_000, 5000, 500], ..SIZES };

/// The columns of every index of `pi1`, sorted by index name.
fn indexes(bed: &mut Bed, product: Product) -> Vec<Vec<String>> {
    bed.rows(match product.dialect() {
        Dialect::Postgres => {
            "SELECT i.relname, string_agg(a.attname, ',' ORDER BY k.place) FROM pg_index x \
             JOIN pg_class i ON i.oid = x.indexrelid \
             CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(attnum, place) \
             JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum \
             WHERE x.indrelid = 'pi1'::regclass AND NOT x.indisprimary GROUP BY 1 ORDER BY 1"
        }
        Dialect::MySql => {
            "SELECT INDEX_NAME, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX) \
             FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = 'pi1' AND INDEX_NAME <> 'PRIMARY' GROUP BY 1 ORDER BY 1"
        }
    })
}

#[test]
fn indexes_values_and_answers_are_those_published() {
    for (product, version) in PRODUCTS {
        let mut bed = Bed::shared(product, version);
        run(&bed, &work(product, &SIZE, "l.i0", 1));
        assert!(indexes(&mut bed, product).is_empty(), "{product}");
        check_values(&mut bed, product);
        run(&bed, &work(product, &SIZE, "l.x", 1));
        let expected = [
            ["pi1_marketsegment", "productid,customerid,price"],
            ["pi1_pdc", "price,dateandtime,customerid"],
            ["pi1_registersegment", "cashregisterid,customerid,price"],
        ];
        assert_eq!(indexes(&mut bed, product), expected, "{product}");
        let queried = run(&bed, &work(product, &SIZE, "qr100", 1)).step.query;
        let (count, rows) = (queried.statements as f64, queried.rows as f64);
        // A query in 3000 asks for registers above the last one and finds nothing. A product has two rows on average in
        // so small a table, so a query that starts at one of the last four products finds 8, 6, 4 or 2 rows.
        let expected = 10.0 - 10.0 / 3000.0 - 20.0 / 30_000.0;
        let error = (100.0 / 3000.0 / count).sqrt();
        assert!((rows / count - expected).abs() < 5.0 * error, "{product}: {rows} / {count}");
    }
}

fn check_values(bed: &mut Bed, product: Product) {
    let bounds = [
        ("transactionid", 1, 20_000),
        ("cashregisterid", 0, 999),
        ("customerid", 0, 99_999),
        ("productid", 0, 9999),
        ("price", 0, 499),
        ("LENGTH(data)", 10, 20),
    ];
    for (column, least, most) in bounds {
        let found = bed.rows(&format!("SELECT MIN({column}), MAX({column}) FROM pi1"));
        let [low, high] = [0, 1].map(|at| found[0][at].parse::<i64>().unwrap());
        assert!((least..=most).contains(&low) && (least..=most).contains(&high), "{column}");
        // 20,000 rows need not include the minimum and maximum of many values.
        let slack = (most - least) / 1000;
        assert!(low <= least + slack && high >= most - slack, "{product} {column}: {low} {high}");
    }
    let found = bed.rows("SELECT AVG(customerid), STDDEV_POP(customerid) FROM pi1");
    let [mean, deviation] = [0, 1].map(|at| found[0][at].parse::<f64>().unwrap());
    assert!((mean - 49_999.5).abs() < 4.0 * 28_867.5 / 20_000_f64.sqrt(), "{product}: {mean}");
    assert!((deviation - 28_867.5).abs() < 300.0, "{product}: {deviation}");
    let pattern = "'^a{7,13}[A-Za-z0-9+/=]{3,7}$'";
    let matches = match product {
        Product::Postgres => format!("data ~ {pattern}"),
        Product::MariaDb => format!("data REGEXP BINARY {pattern}"),
        _ => format!("REGEXP_LIKE(data, {pattern}, 'c')"),
    };
    let others = format!("SELECT COUNT(*) FROM pi1 WHERE NOT ({matches})");
    assert_eq!(bed.number(&others), 0, "{product}");
    let lengths = bed.rows("SELECT LENGTH(data), COUNT(*) FROM pi1 GROUP BY 1");
    assert_eq!(lengths.len(), 11, "{product}: {lengths:?}");
    for length in &lengths {
        // 20,000 / 11 = 1818, standard deviation 41.
        assert!((1640..2000).contains(&length[1].parse().unwrap()), "{product}: {lengths:?}");
    }
}

#[test]
fn a_paced_step_sends_whole_statements_and_lasts_its_time() {
    let bed = Bed::new();
    for name in ["l.i0", "l.x"] {
        run(&bed, &work(Product::MariaDb, &SIZE, name, 1));
    }
    for (name, statements_per_second) in [("qr100", 2), ("qp500", 10), ("qr1000", 20)] {
        let paced = run(&bed, &work(Product::MariaDb, &SIZE, name, 1));
        let expected = (statements_per_second, statements_per_second * 50);
        let (inserts, deletes) = (&paced.step.insert, &paced.step.delete);
        assert_eq!((inserts.statements, inserts.rows), expected, "{name}");
        assert_eq!((deletes.statements, deletes.rows), expected, "{name}");
        let seconds = paced.work.elapsed_ns as f64 / 1e9;
        assert!(seconds >= 0.9, "{name}: {seconds} s");
    }
}

/// Runs `l.i1` until another transaction's lock stops it. Returns how many statements inserts are then ahead, once that
/// is `expected` or no longer changes.
fn ahead(bed: &Bed, product: Product, expected: i64) -> i64 {
    let work = work(product, &IbenchSizes { rows: [20_000, 10_000, 500], ..SIZE }, "l.i1", 1);
    let (options, stop) = (bed.options.clone(), Stop::default());
    let progress = Arc::new(Mutex::new(IbenchProgress::default()));
    let (message, asked) = (Arc::clone(&progress), stop.clone());
    let running = std::thread::spawn(move || {
        let mut session = IbenchSession::open(&options, &work).unwrap();
        session.run(&asked, &mut |now| *message.lock().unwrap() = now)
    });
    let (mut last, mut calm, mut ahead) = ((0, 0), 0, 0);
    // A busy machine may stop both sides for a while, but not forever.
    while calm < if ahead == expected { 5 } else { 50 } && !running.is_finished() {
        std::thread::sleep(Duration::from_millis(200));
        let now = *progress.lock().unwrap();
        let now = (now.inserted, now.deleted);
        calm = if now == last { calm + 1 } else { 0 };
        ahead = now.0 as i64 / 50 - now.1 as i64 / 50;
        last = now;
    }
    stop.ask();
    assert!(matches!(running.join().unwrap(), Err(LoadError::Stopped)));
    ahead
}

#[test]
fn inserts_and_deletes_stay_within_eight_statements_of_each_other() {
    for (product, version) in PRODUCTS {
        let mut bed = Bed::shared(product, version);
        run(&bed, &work(product, &SIZE, "l.i0", 1));
        // A row that deletes reach after some time. The delete in progress is not counted.
        bed.control.query("BEGIN").unwrap();
        bed.control.query("SELECT * FROM pi1 WHERE transactionid = 1020 FOR UPDATE").unwrap();
        assert_eq!(ahead(&bed, product, 9), 8 + 1, "{product}");
        bed.control.query("ROLLBACK").unwrap();
        if product == Product::Postgres {
            continue;
        }
        // The gap above the last row, where inserts go.
        bed.control.query("BEGIN").unwrap();
        bed.control.query("SELECT * FROM pi1 WHERE transactionid > 1000000000 FOR UPDATE").unwrap();
        assert_eq!(ahead(&bed, product, -9), -8 - 1, "{product}");
    }
}
