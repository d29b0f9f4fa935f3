//! The tables that `pgbench -i` makes.

use assay_model::{Generator, PerDialect, Scalar, UserColumn, UserRows, UserTable};

/// Rows at scale 1.
const TELLERS: u32 = 10;
const ACCOUNTS: u32 = 100_000;

/// The four tables at scale 1.
pub(super) fn tables() -> Vec<UserTable> {
    let zero = || Generator::Constant(Scalar::Integer(0));
    let branch = || Generator::Constant(Scalar::Integer(1));
    let number = || Generator::Sequence { first: 1 };
    let blank = || Generator::Constant(Scalar::Text(String::new()));
    vec![
        table(
            "pgbench_branches",
            "bid int not null, bbalance int, filler char(88)",
            Some("bid"),
            1,
            vec![("bid", number()), ("bbalance", zero())],
        ),
        table(
            "pgbench_tellers",
            "tid int not null, bid int, tbalance int, filler char(84)",
            Some("tid"),
            TELLERS,
            vec![("tid", number()), ("bid", branch()), ("tbalance", zero())],
        ),
        table(
            "pgbench_accounts",
            "aid int not null, bid int, abalance int, filler char(84)",
            Some("aid"),
            ACCOUNTS,
            vec![("aid", number()), ("bid", branch()), ("abalance", zero()), ("filler", blank())],
        ),
        table(
            "pgbench_history",
            "tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)",
            None,
            0,
            vec![("tid", number())],
        ),
    ]
}

fn table(
    name: &str,
    columns: &str,
    key: Option<&str>,
    count: u32,
    values: Vec<(&str, Generator)>,
) -> UserTable {
    let of_postgres = |sql: String| PerDialect { mysql: None, postgres: Some(sql) };
    let column = |(name, values): (&str, Generator)| UserColumn { name: name.to_owned(), values };
    let add_key = |key| of_postgres(format!("ALTER TABLE {name} ADD PRIMARY KEY ({key})"));
    UserTable {
        name: name.to_owned(),
        create: vec![of_postgres(format!("CREATE TABLE {name} ({columns})"))],
        after: key.map(add_key).into_iter().collect(),
        rows: UserRows::Generated { count, columns: values.into_iter().map(column).collect() },
    }
}
