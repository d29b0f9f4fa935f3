//! pgbench's built-in scripts, as printed in its manual.

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
#[must_use]
pub fn pgbench_script(name: &str) -> Option<String> {
    match name {
        "tpcb-like" => Some([DRAWS, ACCOUNT, TELLER_AND_BRANCH, HISTORY].concat()),
        "simple-update" => Some([DRAWS, ACCOUNT, HISTORY].concat()),
        "select-only" => Some(SELECT.to_owned()),
        _ => None,
    }
}
