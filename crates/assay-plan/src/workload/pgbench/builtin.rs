//! pgbench's built-in scripts, as printed in its manual, and the tables made by `pgbench -i`.

use assay_model::{Generator, PerDialect, Scalar, UserColumn, UserRows, UserTable};

const DRAWS: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
";

const ACCOUNT: &str = "BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

const TELLER_AND_BRANCH: &str =
    "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
";

const HISTORY: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SELECT: &str = "\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

pub const PGBENCH_SCRIPTS: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

/// `None` for an unknown name.
pub fn pgbench_script(name: &str) -> Option<String> {
    match name {
        "tpcb-like" => Some([DRAWS, ACCOUNT, TELLER_AND_BRANCH, HISTORY].concat()),
        "simple-update" => Some([DRAWS, ACCOUNT, HISTORY].concat()),
        "select-only" => Some(SELECT.to_owned()),
        _ => None,
    }
}

pub(super) const TABLE_NAMES: [&str; 4] =
    ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"];

/// Rows per branch; the scale factor is the number of branches.
const TELLERS: u32 = 10;
const ACCOUNTS: u32 = 100_000;

/// From this scale on, pgbench numbers accounts with 64 bits.
const LARGE: u32 = 20_000;

pub(super) fn tables(scale: u32) -> Vec<UserTable> {
    let [branches, tellers, accounts, history] = TABLE_NAMES;
    let aid = if scale >= LARGE { "bigint" } else { "int" };
    let zero = || Generator::Constant(Scalar::Integer(0));
    let number = || Generator::Sequence { first: 1, each: 1 };
    let branch = |each| Generator::Sequence { first: 1, each };
    let blank = || Generator::Constant(Scalar::Text(String::new()));
    vec![
        table(
            branches,
            "bid int not null, bbalance int, filler char(88)",
            Some("bid"),
            scale,
            vec![("bid", number()), ("bbalance", zero())],
        ),
        table(
            tellers,
            "tid int not null, bid int, tbalance int, filler char(84)",
            Some("tid"),
            scale.saturating_mul(TELLERS),
            vec![("tid", number()), ("bid", branch(TELLERS)), ("tbalance", zero())],
        ),
        table(
            accounts,
            &format!("aid {aid} not null, bid int, abalance int, filler char(84)"),
            Some("aid"),
            scale.saturating_mul(ACCOUNTS),
            vec![
                ("aid", number()),
                ("bid", branch(ACCOUNTS)),
                ("abalance", zero()),
                ("filler", blank()),
            ],
        ),
        table(
            history,
            &format!("tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22)"),
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
