//! A load replaces only the tables of another load, and looks at everything with their names first.

use assay_load::{
    LoadError, Tables, check_engine, existing_tables, fill, fill_cache, fill_over, numbers,
};
use assay_model::{DataSet, Dialect, Engine, Product, TableForm};
use assay_wire::ConnectOptions;

use super::bed::{Bed, SEED};

fn tables(product: Product) -> Tables {
    Tables {
        dialect: product.dialect(),
        engine: product.default_engine(),
        form: TableForm::default(),
        data: DataSet { tables: 2, rows: 100 },
        seed: SEED,
    }
}

fn load(options: &ConnectOptions, product: Product) -> Result<(), LoadError> {
    fill(options, &tables(product), &mut |_| ()).map(drop)
}

/// As `assay load --replace` does.
fn load_over(options: &ConnectOptions, product: Product) -> Result<(), LoadError> {
    let there = existing_tables(options, product.dialect(), 2)?;
    fill_over(options, &tables(product), &there, &mut |_| ()).map(drop)
}

/// Tables with other columns are replaced on request, and anything else never.
fn only_loaded_tables_are_replaced(product: Product, version: &str, others: &[&str]) {
    let mut bed = Bed::shared(product, version);
    let options = bed.options.clone();
    for _ in 0..2 {
        load(&options, product).unwrap();
    }
    for sql in ["DROP TABLE sbtest1", "CREATE TABLE sbtest1 (precious int)"] {
        bed.control.query(sql).unwrap();
    }
    bed.control.query("INSERT INTO sbtest1 VALUES (42)").unwrap();
    let error = load(&options, product).unwrap_err().to_string();
    assert!(error.ends_with(": `sbtest1` (precious integer)"), "{product}: {error}");
    assert_eq!(bed.number("SELECT precious FROM sbtest1"), 42);
    assert_eq!(bed.number("SELECT COUNT(*) FROM sbtest2"), 100);
    load_over(&options, product).unwrap();
    for create in others {
        bed.control.query("DROP TABLE sbtest2").unwrap();
        bed.control.query(create).unwrap();
        for refused in [load(&options, product), load_over(&options, product)] {
            let error = refused.unwrap_err();
            assert!(
                matches!(&error, LoadError::NoTable(name) if name == "sbtest2"),
                "{create}: {error}"
            );
        }
        assert_eq!(bed.number("SELECT COUNT(*) FROM sbtest1"), 100);
        let kind = create.split(' ').nth(1).filter(|word| *word != "MATERIALIZED");
        let kind = kind.unwrap_or("MATERIALIZED VIEW");
        bed.control.query(&format!("DROP {kind} sbtest2")).unwrap();
        load(&options, product).unwrap();
    }
}

#[test]
fn only_loaded_tables_of_mariadb_are_replaced() {
    let others = ["CREATE VIEW sbtest2 AS SELECT 1", "CREATE SEQUENCE sbtest2"];
    only_loaded_tables_are_replaced(Product::MariaDb, "10.11", &others);
}

#[test]
fn only_loaded_tables_of_mysql_are_replaced() {
    only_loaded_tables_are_replaced(Product::MySql, "8.0", &["CREATE VIEW sbtest2 AS SELECT 1"]);
}

#[test]
fn only_loaded_tables_of_postgres_are_replaced() {
    let others = [
        "CREATE VIEW sbtest2 AS SELECT 1",
        "CREATE MATERIALIZED VIEW sbtest2 AS SELECT 1",
        "CREATE SEQUENCE sbtest2",
        "CREATE TABLE sbtest2 (id int) PARTITION BY HASH (id)",
    ];
    only_loaded_tables_are_replaced(Product::Postgres, "16", &others);
}

/// The server itself refuses to drop a table to which another one refers, even one that the user may not see.
#[test]
fn a_table_with_an_invisible_reference_is_kept() {
    let mut bed = Bed::alone(Product::MariaDb, "10.11");
    load(&bed.options, Product::MariaDb).unwrap();
    for sql in [
        "CREATE DATABASE hidden",
        "CREATE TABLE hidden.orders (id INT, FOREIGN KEY (id) REFERENCES test.sbtest1 (id))",
        "CREATE USER app IDENTIFIED BY ''",
        "GRANT ALL ON test.* TO app",
    ] {
        bed.control.query(sql).unwrap();
    }
    let app = ConnectOptions { user: "app".to_owned(), ..bed.options.clone() };
    let before = bed.rows("CHECKSUM TABLE test.sbtest1");
    assert!(load(&app, Product::MariaDb).is_err());
    assert_eq!(bed.rows("CHECKSUM TABLE test.sbtest1"), before);
}

/// Objects that an unprivileged user puts into `public` never run with this user's privileges, and hide nothing.
#[test]
fn loads_into_postgres_run_no_code_of_other_users() {
    let mut bed = Bed::shared(Product::Postgres, "16");
    load(&bed.options, Product::Postgres).unwrap();
    let function = |signature: &str, returns: &str| {
        format!(
            "CREATE FUNCTION public.{signature} RETURNS {returns} LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'evil'; END $$"
        )
    };
    for sql in [
        &function("evil(name, name)", "text"),
        &function("evil_is(name, name)", "boolean"),
        &function("evil_like(text, text)", "boolean"),
        &function("current_schema()", "name"),
        &function("current_setting(text)", "text"),
        &function("rtrim(char)", "text"),
        &function("length(char)", "int"),
        &function("concat_ws(text, bigint, name)", "text"),
        "CREATE OPERATOR public.|| (leftarg = name, rightarg = name, function = public.evil)",
        "CREATE OPERATOR public.= (leftarg = name, rightarg = name, function = public.evil_is)",
        "CREATE OPERATOR public.~ (leftarg = text, rightarg = text, function = public.evil_like)",
        "CREATE TABLE public.pg_class (oid oid, relname name)",
        &format!("ALTER DATABASE {} SET search_path = public, pg_catalog", bed.database()),
        "CREATE VIEW sbtest3 AS SELECT 1 AS id",
    ] {
        bed.control.query(sql).unwrap();
    }
    load(&bed.options, Product::Postgres).unwrap();
    let error = existing_tables(&bed.options, Dialect::Postgres, 3).unwrap_err();
    assert_eq!(error.to_string(), "`sbtest3` exists and is not an ordinary table");
    let data = DataSet { tables: 2, rows: 100 };
    assert_eq!(bed.content(data).rows, 200);
    fill_cache(&bed.options, Dialect::Postgres, &TableForm::default(), data).unwrap();
    let mut control = assay_wire::Connection::connect(&bed.options).unwrap();
    let mut there = numbers(&mut control, Dialect::Postgres).unwrap();
    there.sort_unstable();
    // The view is left out, because it would run its owner's code.
    assert_eq!(there, [1, 2]);
    assert!(!assay_servers::effective_settings(&mut control).unwrap().is_empty());
    let attached = assay_servers::AttachedServer::connect(bed.options.clone()).unwrap();
    assert!(attached.identity().unwrap().ends_with(&format!(" {}", bed.database())));
}

#[test]
fn a_missing_engine_is_reported_before_anything_is_dropped() {
    let bed = Bed::new();
    check_engine(&bed.options, Engine::InnoDb).unwrap();
    let error = check_engine(&bed.options, Engine::RocksDb).unwrap_err();
    assert!(matches!(error, LoadError::NoEngine(Engine::RocksDb)), "{error}");
}

/// The table in the first schema is dropped and recreated, even if another schema has a table of the same name. A
/// connection's schema outranks the search path of the database.
#[test]
fn only_the_first_schema_of_a_search_path_is_used() {
    let mut bed = Bed::shared(Product::Postgres, "16");
    let search_path = format!("ALTER DATABASE {} SET search_path =", bed.database());
    for sql in [
        "CREATE SCHEMA first",
        "CREATE SCHEMA ours",
        "CREATE TABLE public.sbtest1 (precious int)",
        &format!("{search_path} first, public"),
    ] {
        bed.control.query(sql).unwrap();
    }
    let ours = ConnectOptions { schema: Some("ours".to_owned()), ..bed.options.clone() };
    for options in [&bed.options, &bed.options, &ours, &ours] {
        load(options, Product::Postgres).unwrap();
    }
    let schemas = bed.rows(
        "SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'sbtest%' ORDER BY 1, 2",
    );
    let expected = [["first", "1"], ["first", "2"], ["ours", "1"], ["ours", "2"], ["public", "1"]];
    let expected = expected.map(|[schema, number]| [schema.to_owned(), format!("sbtest{number}")]);
    assert_eq!(schemas, expected);
}
