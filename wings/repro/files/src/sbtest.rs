//! SQL that fills sysbench's tables with the same rows on every server.

use std::fmt::Write as _;

use assay_model::{Dialect, System, counted, thousands};
use assay_workloads::{create_index, create_table};

use crate::finding::{Finding, ReproFile, ReproRefusal};
use crate::safe;

/// Rows per statement: a transaction that any server can hold.
const ROWS: u32 = 100_000;

/// Statements of some 2 kB each; enough for two thousand million rows.
const INSERTS_MAX: u64 = 20_000;

/// Groups of digits in the columns `c` and `pad`.
const GROUPS: [u32; 2] = [10, 5];

/// Groups of digits from one MD5 sum.
const GROUPS_OF_SUM: u32 = 3;

pub(crate) fn files(finding: &Finding<'_>) -> Result<Vec<ReproFile>, ReproRefusal> {
    let setup = finding.cell.setup;
    let inserts = u64::from(setup.tables) * u64::from(setup.rows.div_ceil(ROWS));
    if inserts > INSERTS_MAX {
        return Err(ReproRefusal::new(
            format!(
                "{} statements would be needed to fill {} of {} rows",
                thousands(inserts),
                counted(u64::from(setup.tables), "table"),
                thousands(setup.rows)
            ),
            "measure the test again with fewer tables or rows: smaller ones often show the same",
        ));
    }
    for (_, system) in finding.sides() {
        for sql in created(finding, system) {
            safe::check(finding.dialect(), &sql)?;
        }
    }
    let schemas = finding.sides().map(|(side, system)| (side, schema(finding, system)));
    let [(_, base), (_, other)] = &schemas;
    let mut files = if base == other {
        vec![ReproFile::new("schema.sql", base.clone())]
    } else {
        schemas.map(|(side, sql)| ReproFile::new(format!("schema-{side}.sql"), sql)).to_vec()
    };
    files.push(ReproFile::new("data.sql", data(finding)));
    Ok(files)
}

fn schema(finding: &Finding<'_>, system: &System) -> String {
    format!("{};\n", created(finding, system).join(";\n"))
}

fn created(finding: &Finding<'_>, system: &System) -> Vec<String> {
    let study = &finding.record.study;
    let spec = &system.spec;
    let tables = 1..=finding.cell.setup.tables;
    let create =
        |table| create_table(spec.product.dialect(), spec.engine, &study.table_form, table);
    tables.map(create).collect()
}

fn data(finding: &Finding<'_>) -> String {
    let setup = finding.cell.setup;
    let dialect = finding.dialect();
    let mut sql =
        "-- Rows as sysbench makes them: k is uniform, c and pad are groups of digits. They are computed from\n\
         -- the number of the row, so all servers get the same ones.\n"
            .to_owned();
    if dialect != Dialect::Postgres {
        sql += "CREATE TABLE digits (n INT NOT NULL);\n\
             INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);\n";
    }
    for table in 1..=setup.tables {
        for first in (1..=setup.rows).step_by(ROWS as usize) {
            let last = setup.rows.min(first.saturating_add(ROWS - 1));
            insert(dialect, table, setup.rows, [first, last], &mut sql);
        }
    }
    if dialect != Dialect::Postgres {
        sql += "DROP TABLE digits;\n";
    }
    for table in 1..=setup.tables {
        let form = &finding.record.study.table_form;
        if dialect == Dialect::Postgres && form.auto_inc {
            let _ = writeln!(
                sql,
                "SELECT setval(pg_get_serial_sequence('sbtest{table}', 'id'), {});",
                setup.rows
            );
        }
        let index = create_index(form, table);
        sql.extend(index.map(|index| format!("{index};\n")));
        sql += &analyze(dialect, &format!("sbtest{table}"));
    }
    sql
}

pub(crate) fn analyze(dialect: Dialect, table: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("VACUUM (ANALYZE) {table};\n"),
        Dialect::MySql => format!("ANALYZE TABLE {table};\n"),
    }
}

fn insert(dialect: Dialect, table: u32, rows: u32, [first, last]: [u32; 2], sql: &mut String) {
    let sums = GROUPS.iter().sum::<u32>().div_ceil(GROUPS_OF_SUM) + 1;
    let sum = |number: u32| match dialect {
        Dialect::Postgres => format!("md5('{table}/' || id || '/{number}') AS h{number}"),
        Dialect::MySql => {
            format!("MD5(CONCAT('{table}/', id, '/{number}')) AS h{number}")
        }
    };
    let sums: Vec<String> = (0..sums).map(sum).collect();
    let mut group = 0;
    let columns = GROUPS.map(|groups| {
        let parts: Vec<String> =
            (group..group + groups).map(|group| digits(dialect, group)).collect();
        group += groups;
        format!("concat_ws('-', {})", parts.join(", "))
    });
    let (k, numbers) = match dialect {
        Dialect::Postgres => (
            format!("1 + ('x' || substr(h0, 1, 12))::bit(48)::bigint % {rows}"),
            format!("generate_series({first}, {last}) AS id"),
        ),
        Dialect::MySql => (
            format!("1 + CAST(CONV(LEFT(h0, 12), 16, 10) AS UNSIGNED) % {rows}"),
            format!(
                "(SELECT {first} + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS id \
                 FROM digits a, digits b, digits c, digits d, digits e) AS ids WHERE id <= {last}"
            ),
        ),
    };
    let _ = writeln!(
        sql,
        "INSERT INTO sbtest{table} (id, k, c, pad)\nSELECT id, {k},\n  {},\n  {}\nFROM (SELECT id, {}\n  \
            FROM {numbers}) AS rows_of_table ORDER BY id;",
        columns[0],
        columns[1],
        sums.join(", "),
    );
}

/// Eleven digits from ten hexadecimal ones of a sum.
fn digits(dialect: Dialect, group: u32) -> String {
    let sum = 1 + group / GROUPS_OF_SUM;
    let at = 1 + 10 * (group % GROUPS_OF_SUM);
    match dialect {
        Dialect::Postgres => format!(
            "lpad((('x' || substr(h{sum}, {at}, 10))::bit(40)::bigint % 100000000000)::text, 11, '0')"
        ),
        Dialect::MySql => format!(
            "LPAD(CAST(CONV(SUBSTR(h{sum}, {at}, 10), 16, 10) AS UNSIGNED) % 100000000000, 11, '0')"
        ),
    }
}
