//! Sessions of a user's workload have their configured settings, and assay's own sessions do not depend on the server's
//! defaults.

use assay_load::{RunBound, UserTables, fill_user_data, refused_settings};
use assay_model::{Product, SessionSetting, Setup, StatementMode, Test, UserRowsFile};
use assay_plan::read_workload;
use assay_workloads::without_kinds;

use super::bed::{Bed, SEED};

const WORKLOAD: &str = r#"
[table.parent]
rows = 10
columns = { n = 0 }
[table.parent.create]
mysql = "CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)"
postgres = "CREATE TABLE parent (id SERIAL PRIMARY KEY, n INT NOT NULL)"

[table.child]
rows = 1
columns = { parent = 1, mode = "" }
create = """CREATE TABLE child (parent INT NOT NULL, mode VARCHAR(60) NOT NULL,
  FOREIGN KEY (parent) REFERENCES parent (id))"""

[test.usual]
session = { group_concat_max_len = 1000, work_mem = "1MB" }
steps = [
  "BEGIN",
  { mysql = "INSERT INTO parent (n) VALUES (1)", postgres = "INSERT INTO parent (n) VALUES (1) RETURNING id",
    keep = "id" },
  { mysql = "INSERT INTO child VALUES (:id, @@group_concat_max_len)",
    postgres = "INSERT INTO child VALUES (:id, current_setting('work_mem'))" },
  "COMMIT",
]

[test.other]
session = { sql_mode = "+ANSI_QUOTES", group_concat_max_len = 2000, work_mem = "2MB" }
steps = [
  { mysql = "INSERT INTO \"child\" VALUES (1, @@group_concat_max_len)",
    postgres = "INSERT INTO child VALUES (1, current_setting('work_mem'))" },
]

[test.orphan]
steps = ["INSERT INTO child VALUES (12345678, 'orphan')"]

[test.mix]
mix = { usual = 1, other = 1, orphan = 2 }
"#;

fn check(product: Product, version: &str, options: &[&str], expected: [&str; 2]) {
    let mut bed = Bed::alone_with(product, version, options);
    let tests = read_workload("s.toml", WORKLOAD, &|_| Err("no file".to_owned())).unwrap().tests;
    let mix: Test = tests[3];
    let files = |_: &UserRowsFile| Err("no file".to_owned());
    let dumps = |_: &UserRowsFile| Err::<Box<dyn std::io::Read>, String>("no dump".to_owned());
    let (dialect, data) = (product.dialect(), mix.user_data().unwrap());
    let tables = UserTables { dialect, data, seed: SEED, files: &files, dumps: &dumps };
    fill_user_data(&bed.options, tables, true, &mut |_| ()).unwrap();
    let test = without_kinds(mix, &["orphan".to_owned()]).unwrap();
    let setup = Setup { clients: 2, tables: 1, rows: 1 };
    for mode in [StatementMode::Prepared, StatementMode::Text] {
        let mut session = bed.open_as(test, setup, mode);
        assert_eq!(session.connection_ids().len(), 4, "two for each client");
        (0..4).for_each(|connection| session.round_trips(connection, 2).unwrap());
        assert!(session.round_trips(4, 1).is_err());
        let work = session.run(0, RunBound::Events(40)).unwrap();
        assert_eq!(work.events, 40);
        assert!(work.bytes_sent > 0 && work.bytes_received > 0);
    }
    // Another session sees it, so it was committed.
    let modes = bed.rows("SELECT DISTINCT mode FROM child WHERE mode <> '' ORDER BY mode");
    assert_eq!(modes.concat(), expected);
    let orphans = "SELECT COUNT(*) FROM child WHERE parent > 1 AND parent <= 10";
    assert_eq!(bed.number(orphans), 0, "children belong to rows of their own transactions");
    assert!(bed.number("SELECT COUNT(*) FROM child WHERE parent > 10") > 10);
}

/// The servers default to explicit commits, chained transactions, and a different syntax of literals.
#[test]
fn events_run_with_the_settings_of_their_session() {
    check(
        Product::MariaDb,
        "10.11",
        &["--autocommit=OFF", "--sql-mode=NO_BACKSLASH_ESCAPES", "--completion-type=CHAIN"],
        ["1000", "2000"],
    );
    check(
        Product::Postgres,
        "16",
        &["--standard_conforming_strings=off", "--statement_timeout=20s"],
        ["1MB", "2MB"],
    );
}

#[test]
fn what_a_server_refuses_is_told_and_the_rest_is_set() {
    let bed = Bed::new();
    let setting = |name: &str, value: &str| SessionSetting::new(name, value).unwrap();
    let sessions = [
        vec![setting("sql_mode", "ANSI_QUOTES,NO_SUCH_MODE"), setting("sort_buffer_size", "65536")],
        vec![setting("max_execution_time", "5"), setting("time_zone", "+02:00")],
    ];
    let refused = refused_settings(&bed.options, &sessions).unwrap();
    let message: Vec<(&str, &[String])> =
        refused.iter().map(|it| (it.setting.name(), it.modes.as_slice())).collect();
    let modes = ["NO_SUCH_MODE".to_owned()];
    assert_eq!(message, [("sql_mode", modes.as_slice()), ("max_execution_time", &[])]);
}
