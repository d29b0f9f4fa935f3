//! The TPC-C-like workload on real servers: exact row counts, consistency, transactions as statements and as
//! procedures, and detected violations.

use assay_load::{
    ClientSession, ClientWork, KindWork, LoadError, LoadTarget, RunBound, Workload as _,
    workload_of,
};
use assay_model::{
    DataSet, Dialect, Product, Setup, StatementMode, TableForm, Test, Tpcc, TpccKind, WorkCounters,
};
use assay_workloads::{TPCC_CONDITIONS, TpccClient, TpccInput, TpccOptions, tpcc_tests};

use super::bed::{Bed, SEED};

const CLIENTS: u32 = 4;
const EVENTS: u64 = 125;

fn test(procedures: bool) -> Test {
    tpcc_tests(&TpccOptions { procedures, ..TpccOptions::default() })[0]
}

fn with_place<T>(bed: &Bed, product: Product, act: impl FnOnce(&LoadTarget<'_>) -> T) -> T {
    let form = TableForm::default();
    act(&LoadTarget {
        options: &bed.options,
        dialect: product.dialect(),
        engine: product.default_engine(),
        form: &form,
        data: DataSet { tables: 1, rows: 600_000 },
        seed: SEED,
        files: &|_| Err("there are no files".to_owned()),
        dumps: &|_| Err("there are no dumps".to_owned()),
    })
}

fn run(
    bed: &Bed,
    product: Product,
    (procedures, statements): (bool, StatementMode),
    first: u64,
) -> (WorkCounters, Vec<KindWork>) {
    let setup = Setup { clients: CLIENTS, tables: 1, rows: 600_000 };
    let dialect = product.dialect();
    let work = ClientWork { dialect, test: test(procedures), setup, statements, seed: SEED };
    let mut session = ClientSession::open(&bed.options, &work, &[]).unwrap();
    let bound = RunBound::Events(EVENTS * u64::from(CLIENTS));
    let stretch = assay_load::Stretch { first_sequence: first, bound };
    session.turn(None, stretch).unwrap();
    let kinds = session.kinds();
    (session.take_work().unwrap(), kinds)
}

/// How many events of a kind the clients have, computed from their inputs.
fn expected(first: u64, is_of_kind: impl Fn(&TpccInput) -> bool) -> u64 {
    let of_client = |number| {
        let mut client = TpccClient::new(SEED, 1, number);
        let mut inputs = (first..first + EVENTS).map(move |sequence| client.input(sequence));
        inputs.by_ref().filter(|input| is_of_kind(input)).count() as u64
    };
    (0..CLIENTS).map(of_client).sum()
}

fn count(kinds: &[KindWork], kind: TpccKind) -> u64 {
    kinds.iter().find(|it| it.name == kind.counter()).map_or(0, |it| it.events)
}

/// How far the events of a product are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TpccDepth {
    /// One load and its events.
    Events,
    /// Also violations, and a second load for procedures that do what statements do.
    Whole,
}

const TPCC: Tpcc = Tpcc { warehouses: 1, procedures: true, thinks: false };

/// A load takes seconds of a server's CPU time, so all checks share two loads, or one.
fn check(product: Product, version: &str, depth: TpccDepth) {
    let mut bed = Bed::alone(product, version);
    let mut seen = 0;
    let has_switch = product.dialect() == Dialect::MySql;
    let switch = |bed: &mut Bed| has_switch.then(|| bed.number("SELECT @@GLOBAL.local_infile"));
    let before = switch(&mut bed);
    let filled = with_place(&bed, product, |place| {
        TPCC.fill(place, true, &mut |done| seen = done.rows).unwrap()
    });
    assert_eq!(switch(&mut bed), before, "{product}");
    let lines = check_rows(&mut bed, product);
    assert_eq!(filled.rows, 299_011 + lines as u64);
    assert_eq!(seen, filled.rows);
    if depth == TpccDepth::Whole {
        check_violations(&mut bed, product);
        // Equal inputs leave equal tables, whether a client or procedures run the transactions.
        let by_statements = sums_after_events(&mut bed, product, false);
        check_inconsistent(&mut bed, product);
        // A second load replaces the first one and has the same content, though MySQL and MariaDB copy no rows this
        // time.
        if has_switch {
            bed.rows("SET GLOBAL local_infile = 0");
        }
        let again =
            with_place(&bed, product, |place| TPCC.fill(place, false, &mut |_| ()).unwrap());
        assert_eq!(again.content, filled.content, "{product}");
        assert_eq!(again.bytes_sent > filled.bytes_sent, has_switch, "{product}");
        assert_eq!(by_statements, sums_after_events(&mut bed, product, true), "{product}");
    }
    check_events(&mut bed, product);
}

/// Returns the number of order lines.
fn check_rows(bed: &mut Bed, product: Product) -> i64 {
    let fixed = [
        ("item", 100_000),
        ("warehouse", 1),
        ("district", 10),
        ("stock", 100_000),
        ("customer", 30_000),
        ("history", 30_000),
        ("orders", 30_000),
        ("new_order", 9000),
    ];
    for (table, rows) in fixed {
        let found = bed.number(&format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(found, rows, "{product} {table}");
    }
    let lines = bed.number("SELECT COUNT(*) FROM order_line");
    assert_eq!(lines, bed.number("SELECT SUM(o_ol_cnt) FROM orders"), "{product}");
    lines
}

/// Each violates one condition of new tables, and the last one that of any.
const VIOLATIONS: [&str; 4] = [
    "UPDATE warehouse SET w_ytd = w_ytd + 1",
    "DELETE FROM orders WHERE o_d_id = 4 AND o_id = 3000",
    "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 2500",
    "DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = 17 AND ol_number = 1",
];

fn check_violations(bed: &mut Bed, product: Product) {
    for (condition, sql) in TPCC_CONDITIONS.iter().zip(VIOLATIONS) {
        bed.control.query("BEGIN").unwrap();
        bed.control.query(sql).unwrap();
        let found = bed.rows(condition.violation);
        assert_eq!(found.len(), 1, "{product} {sql}");
        bed.control.query("ROLLBACK").unwrap();
        assert_eq!(bed.rows(condition.violation).len(), 0, "{product} {sql}");
    }
}

fn check_inconsistent(bed: &mut Bed, product: Product) {
    bed.control.query(VIOLATIONS[3]).unwrap();
    let workload = workload_of(&test(false).definition().schema);
    let found = with_place(bed, product, |place| workload.consistent(place)).unwrap_err();
    let LoadError::Inconsistent { number: 4, found, .. } = &found else { panic!("{found}") };
    assert!(found.starts_with("warehouse 1, district 4, sum of O_OL_CNT "), "{found}");
}

fn sums_after_events(bed: &mut Bed, product: Product, procedures: bool) -> Vec<String> {
    let setup = Setup { clients: 1, tables: 1, rows: 600_000 };
    let (dialect, statements) = (product.dialect(), StatementMode::Prepared);
    let work = ClientWork { dialect, test: test(procedures), setup, statements, seed: SEED };
    let mut session = ClientSession::open(&bed.options, &work, &[]).unwrap();
    session.run(0, RunBound::Events(200)).unwrap();
    let sums = [
        "SELECT SUM(w_ytd) FROM warehouse",
        "SELECT SUM(d_ytd * d_id) FROM district",
        "SELECT SUM(c_balance * c_id) FROM customer",
        "SELECT SUM(c_ytd_payment * c_id) FROM customer",
        "SELECT SUM(LENGTH(c_data) * c_id) FROM customer",
        "SELECT SUM(c_payment_cnt + 3 * c_delivery_cnt) FROM customer",
        "SELECT SUM(s_quantity * s_i_id) FROM stock",
        "SELECT SUM(s_ytd + 5 * s_order_cnt + 7 * s_remote_cnt) FROM stock",
        "SELECT SUM(ol_amount * ol_number) FROM order_line",
        "SELECT SUM(o_carrier_id * o_id) FROM orders",
        "SELECT SUM(no_o_id) FROM new_order",
        "SELECT COUNT(DISTINCT ol_dist_info) FROM order_line",
        "SELECT SUM(LENGTH(h_data)) FROM history",
        "SELECT SUM(h_amount * h_c_id) FROM history",
    ];
    sums.into_iter().map(|sql| bed.rows(sql)[0][0].clone()).collect()
}

fn check_events(bed: &mut Bed, product: Product) {
    let ways = [
        (false, StatementMode::Prepared),
        (true, StatementMode::Prepared),
        (false, StatementMode::Text),
        (true, StatementMode::Text),
    ];
    let mut orders = bed.number("SELECT COUNT(*) FROM orders");
    for (number, way) in (0..).zip(ways) {
        let first = number * 1000;
        let (work, kinds) = run(bed, product, way, first);
        assert_eq!(work.events, EVENTS * u64::from(CLIENTS), "{product} {way:?}");
        let rolled = expected(first, |it| matches!(it, TpccInput::NewOrder(it) if it.rolls_back()));
        let entered =
            expected(first, |it| matches!(it, TpccInput::NewOrder(it) if !it.rolls_back()));
        let paid = expected(first, |it| matches!(it, TpccInput::Payment(_)));
        assert_eq!(count(&kinds, TpccKind::RolledBack), rolled, "{product} {way:?}");
        assert_eq!(count(&kinds, TpccKind::NewOrder), entered, "{product} {way:?}");
        assert_eq!(count(&kinds, TpccKind::Payment), paid, "{product} {way:?}");
        assert_eq!(kinds.iter().map(|it| it.events).sum::<u64>(), work.events);
        assert_eq!(kinds.iter().map(|it| it.ns_sum).sum::<u64>(), work.event_ns_sum);
        orders += entered as i64;
        assert_eq!(bed.number("SELECT COUNT(*) FROM orders"), orders, "{product} {way:?}");
        let next = bed.number("SELECT SUM(d_next_o_id) FROM district");
        assert_eq!(next, orders + 10, "{product} {way:?}");
        with_place(bed, product, |place| TPCC.consistent(place))
            .unwrap_or_else(|error| panic!("{product} {way:?}: {error}"));
    }
    assert!(bed.number("SELECT COUNT(*) FROM orders WHERE o_carrier_id IS NOT NULL") > 21_000);
}

#[test]
fn loads_and_transactions_of_mariadb_are_as_specified() {
    check(Product::MariaDb, "10.11", TpccDepth::Whole);
}

#[test]
fn loads_and_transactions_of_postgres_are_as_specified() {
    check(Product::Postgres, "16", TpccDepth::Whole);
}

#[test]
fn transactions_of_mysql_are_as_specified() {
    check(Product::MySql, "8.0", TpccDepth::Events);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn loads_and_transactions_of_mysql_are_as_specified() {
    check(Product::MySql, "8.0", TpccDepth::Whole);
}
