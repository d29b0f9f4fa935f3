//! Dumps without rows get rows generated from their definitions.

use assay_capture::{Capture, LogHints, PlanOptions, WorkloadTarget, plan, schema, workload};
use assay_model::Dialect;
use assay_model::limits::user::{COLUMNS, NAME_BYTES, VALUES};

/// The workload file of an empty log and this dump.
fn written(dump: &str, dialect: Dialect) -> String {
    let captured =
        Capture::new(LogHints { dialect: Some(dialect), ..LogHints::default() }).finish();
    let plan = plan(&captured, &PlanOptions::default()).unwrap();
    let target = WorkloadTarget {
        stem: "app".to_owned(),
        dump: Some("dump.sql".to_owned()),
        schema: schema(dump.as_bytes(), dialect),
    };
    workload(&captured, &plan, &target).text
}

#[test]
fn tables_of_mysql_get_rows() {
    insta::assert_snapshot!(written(include_str!("../dumps/mysql.sql"), Dialect::MySql));
}

#[test]
fn tables_of_postgres_get_rows() {
    insta::assert_snapshot!(written(include_str!("../dumps/postgres.sql"), Dialect::Postgres));
}

#[test]
fn tables_beyond_the_limits_of_workload_files_stay_empty() {
    let kinds: Vec<String> = (0..=VALUES).map(|number| format!("'{number}'")).collect();
    let columns: String = (0..COLUMNS).map(|number| format!(", c{number} INT NOT NULL")).collect();
    let dump = format!(
        "CREATE TABLE kinds (id INT PRIMARY KEY, kind ENUM({}) NOT NULL);
         CREATE TABLE wide (id INT PRIMARY KEY{columns});
         CREATE TABLE {} (id INT PRIMARY KEY);
         CREATE TABLE fits (id INT PRIMARY KEY);",
        kinds.join(","),
        "n".repeat(NAME_BYTES + 1)
    );
    let text = written(&dump, Dialect::MySql);
    for line in [
        "# kinds: `kind` has 10,001 values, and a list of a workload file at most 10,000\n",
        "# wide: it has 1,001 columns, and a table of a workload file at most 1,000\n",
        "n: it has an unusual name\n",
    ] {
        assert!(text.contains(line), "{line}");
    }
    assert!(text.contains("[table.fits]") && text.matches("\nrows = ").count() == 1);
}

#[test]
fn a_dump_with_rows_keeps_them() {
    let mysql =
        include_str!("../dumps/mysql.sql").to_owned() + "INSERT INTO `tag` VALUES (1,'a');\n";
    assert_eq!(schema(mysql.as_bytes(), Dialect::MySql), None);
    let rows = "COPY public.account (id) FROM stdin;\n1\n\\.\n";
    let postgres = include_str!("../dumps/postgres.sql").to_owned() + rows;
    assert_eq!(schema(postgres.as_bytes(), Dialect::Postgres), None);
    assert_eq!(schema(b"-- MySQL dump 10.13\n", Dialect::MySql), None);
}

#[test]
fn any_beginning_of_a_dump_is_read() {
    for (dump, dialect) in [
        (include_bytes!("../dumps/mysql.sql").as_slice(), Dialect::MySql),
        (include_bytes!("../dumps/postgres.sql").as_slice(), Dialect::Postgres),
    ] {
        for end in 0..dump.len() {
            let _ = schema(&dump[..end], dialect);
            let _ = schema(&dump[end..], dialect);
        }
    }
}
