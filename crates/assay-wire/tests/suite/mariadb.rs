//! Connections to real MariaDB servers.

use assay_model::Product;
use assay_testkit::{database, mariadb};
use assay_wire::WireError;
use assay_wire::{Connection, Param, ParamType, Reply, ReplyClass, ResultSet};

#[test]
fn a_session_knows_what_was_agreed_on() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    assert!(control.server_version().contains("MariaDB"));
    let id = control.query("SELECT CONNECTION_ID()").unwrap().first_string().unwrap();
    assert_eq!(id, control.connection_id().to_string());
    let variables = control.query("SHOW VARIABLES LIKE 'character_set_client'").unwrap();
    assert_eq!(variables.named(0, "VALUE"), Some("latin1"));
    let tls = control.query("SHOW STATUS LIKE 'Ssl_cipher'").unwrap();
    assert_eq!(tls.text(0, 1), Some(""));
    let hot = Connection::connect(&server.connect_options()).unwrap();
    assert!(control.capabilities().is_some());
    assert_eq!(control.capabilities(), hot.capabilities());
    assert_ne!(control.connection_id(), hot.connection_id());
}

#[test]
fn control_keeps_what_it_reads() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c VARCHAR(20), b BLOB)");
    let inserted = run("INSERT INTO t (c, b) VALUES ('a', x'00ff'), (NULL, ''), ('c', NULL)");
    assert_eq!((inserted.affected, inserted.last_insert_id), (3, 1));
    let rows = run("SELECT id, c, b AS bytes FROM t ORDER BY id");
    assert_eq!(rows.columns, ["id", "c", "bytes"]);
    let texts: Vec<_> = (0..4).map(|row| rows.text(row, 1)).collect();
    assert_eq!(texts, [Some("a"), None, Some("c"), None]);
    assert_eq!(rows.rows[0][2].as_deref(), Some(&[0, 0xff][..]));
    assert_eq!(rows.rows[1][2].as_deref(), Some(&[][..]));
    assert_eq!(rows.rows[2][2], None);
    assert_eq!(run("UPDATE t SET c = 'a' WHERE id = 1").affected, 0, "changed, not found, rows");
    assert_eq!(run("SELECT id FROM t WHERE id > 9").columns, ["id"]);
    assert_eq!(run("DO 1"), ResultSet::default());
}

#[test]
fn a_failed_statement_leaves_the_connection_in_order() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let error = control.query("SELECT * FROM nowhere.nothing").unwrap_err();
    assert_eq!(error.server_code(), Some(1146));
    assert!(error.to_string().contains("`42S02`"), "{error}");
    assert_eq!(control.query("SELECT 1; SELECT 2").unwrap_err().server_code(), Some(1064));
    assert_eq!(control.query("SELECT 1").unwrap().first_string().as_deref(), Some("1"));
}

#[test]
fn messages_of_any_length_arrive_whole() {
    let server = mariadb();
    let mut control = server.connect();
    control.query("SET GLOBAL max_allowed_packet = 64 << 20").unwrap();
    let mut control = server.connect();
    let overhead = "SELECT LENGTH('')".len() + 1;
    for length in [512 << 10, 0xff_ffff - overhead - 1, 0xff_ffff - overhead, 40 << 20] {
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(length));
        let result = control.query(&sql).unwrap();
        assert_eq!(result.first_string(), Some(length.to_string()));
        let sql = format!("SELECT REPEAT('x', {length}), 'end'");
        let result = control.query(&sql).unwrap();
        assert_eq!(result.rows[0][0].as_ref().map(Vec::len), Some(length));
        assert_eq!(result.text(0, 1), Some("end"));
        let mut hot = Connection::connect(&server.connect_options()).unwrap();
        assert_eq!(hot.execute_text(sql.as_bytes()).unwrap().rows, 1);
    }
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(40 << 20));
    assert_eq!(
        Connection::connect(&server.connect_options())
            .unwrap()
            .execute_text(sql.as_bytes())
            .unwrap()
            .rows,
        1
    );
}

#[test]
fn a_procedure_gives_its_first_rows() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE PROCEDURE p() BEGIN SELECT 7 AS n; SELECT 8; DO 1; END");
    let result = run("CALL p()");
    assert_eq!((result.columns, result.rows.len()), (vec!["n".to_owned()], 1));
    assert_eq!(run("SELECT 1").first_string().as_deref(), Some("1"));
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    assert_eq!(hot.execute_text(b"CALL p()").unwrap().rows, 2);
    let call = hot.prepare("CALL p()", &[]).unwrap();
    for _ in 0..3 {
        assert_eq!(hot.execute(call, &[]).unwrap().rows, 2);
    }
}

#[test]
fn logins_with_passwords_are_checked() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE OR REPLACE USER wire_user@localhost IDENTIFIED BY 'secret'");
    let mut options = server.connect_options();
    options.user = "wire_user".to_owned();
    options.password = Some("secret".to_owned());
    options.database = None;
    let control = Connection::connect(&options).unwrap();
    assert_eq!(control.auth_method(), "mysql_native_password");
    options.password = Some("wrong".to_owned());
    assert_eq!(Connection::connect(&options).unwrap_err().server_code(), Some(1045));
    options.password = None;
    assert_eq!(Connection::connect(&options).unwrap_err().server_code(), Some(1045));
    options.password = Some("secret".to_owned());
    options.database = Some("wire_no_such_database".to_owned());
    let code = Connection::connect(&options).unwrap_err().server_code();
    assert!(matches!(code, Some(1044 | 1049)), "{code:?}");
    run("DROP USER wire_user@localhost");
}

#[test]
fn statements_count_by_their_result() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id INT PRIMARY KEY, k INT) ENGINE=InnoDB");
    run("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let mut statement = |sql, params: &[i64]| {
        let id = hot.prepare(sql, &vec![ParamType::Int; params.len()]).unwrap();
        let params: Vec<Param<'_>> = params.iter().copied().map(Param::Int).collect();
        let reply = hot.execute(id, &params).unwrap();
        assert_eq!(hot.execute(id, &params).unwrap().counted(), reply.counted(), "{sql}");
        (reply.rows, reply.affected, reply.counted())
    };
    assert_eq!(statement("BEGIN", &[]), (0, 0, ReplyClass::Other));
    assert_eq!(statement("SELECT k FROM t WHERE id <= ?", &[2]), (2, 0, ReplyClass::Read));
    assert_eq!(statement("SELECT k FROM t WHERE id = ?", &[9]), (0, 0, ReplyClass::Read));
    assert_eq!(statement("UPDATE t SET k=k+1 WHERE id > ?", &[1]), (0, 2, ReplyClass::Write));
    assert_eq!(statement("UPDATE t SET k=1 WHERE id = ?", &[1]), (0, 0, ReplyClass::Other));
    assert_eq!(statement("DELETE FROM t WHERE id = ?", &[9]), (0, 0, ReplyClass::Other));
    assert_eq!(statement("COMMIT", &[]), (0, 0, ReplyClass::Other));
}

#[test]
fn parameters_arrive_as_they_were_given() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id BIGINT PRIMARY KEY, c LONGBLOB)");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let types = [ParamType::Int, ParamType::Text];
    let insert = hot.prepare("INSERT INTO t VALUES (?, ?)", &types).unwrap();
    let lengths = [0, 1, 250, 251, 65_535, 65_536, 119, 3];
    for (number, length) in lengths.into_iter().enumerate() {
        let id = -(number as i64);
        let reply =
            hot.execute(insert, &[Param::Int(id), Param::Text(&vec![0xe9; length])]).unwrap();
        assert_eq!(reply, Reply { affected: 1, ..Reply::default() });
        let stored = run(&format!("SELECT c FROM t WHERE id = {id}"));
        assert_eq!(stored.rows, [[Some(vec![0xe9; length])]]);
    }
    let error = hot.execute(insert, &[Param::Int(0), Param::Text(b"")]).unwrap_err();
    assert_eq!(error.server_code(), Some(1062));
    hot.execute(insert, &[Param::Int(i64::MIN), Param::Text(b"")]).unwrap();
    let smallest = run("SELECT MIN(id) FROM t").first_string();
    assert_eq!(smallest, Some(i64::MIN.to_string()));
}

#[test]
fn the_first_execution_may_fail() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id INT PRIMARY KEY)");
    run("INSERT INTO t VALUES (1)");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let insert = hot.prepare("INSERT INTO t VALUES (?)", &[ParamType::Int]).unwrap();
    assert_eq!(hot.execute(insert, &[Param::Int(1)]).unwrap_err().server_code(), Some(1062));
    assert_eq!(hot.execute(insert, &[Param::Int(2)]).unwrap().affected, 1);
    // The server re-prepares the statement by itself.
    run("ALTER TABLE t ADD COLUMN c INT DEFAULT 0 INVISIBLE");
    assert_eq!(hot.execute(insert, &[Param::Int(3)]).unwrap().affected, 1);
}

#[test]
fn a_thousand_parameters_and_ten_thousand_rows_are_counted() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(120) DEFAULT 'x')");
    run("INSERT INTO t (id) SELECT seq FROM seq_1_to_10000");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let marks = vec!["?"; 1000].join(",");
    let sql = format!("SELECT c FROM t WHERE id IN ({marks})");
    let points = hot.prepare(&sql, &[ParamType::Int; 1000]).unwrap();
    let ids: Vec<Param<'_>> = (1..=1000).map(Param::Int).collect();
    for _ in 0..3 {
        assert_eq!(hot.execute(points, &ids).unwrap().rows, 1000);
    }
    let before = hot.bytes_received();
    assert_eq!(hot.execute_text(b"SELECT id, RPAD(c, 120, 'y') FROM t").unwrap().rows, 10_000);
    assert!(hot.bytes_received() - before > 10_000 * 120);
}

#[test]
fn prepared_statements_return_the_values_that_text_returns() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut run = |sql: &str| control.query(sql).unwrap();
    run(
        "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a TINYINT, b SMALLINT, c MEDIUMINT, d BIGINT, e DECIMAL(9, 2), \
         f CHAR(5), g TEXT, h YEAR, i FLOAT)",
    );
    run(
        "INSERT INTO t VALUES (4000000000, -1, -300, -70000, -5000000000, -1.50, 'a', REPEAT('b', 300), 1999, 1.5)",
    );
    run("INSERT INTO t (id) VALUES (7)");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    for sql in ["id, a, b, c, d, e, f, g, h", "SUM(a), COUNT(*), MAX(e), MIN(f)", "DISTINCT f"] {
        let sql = format!("SELECT {sql} FROM t WHERE id > ");
        let prepared = hot.prepare(&format!("{sql} ?"), &[ParamType::Int]).unwrap();
        for id in [0, 7, i64::from(u32::MAX)] {
            let found = hot.query_prepared(prepared, &[Param::Int(id)]).unwrap();
            assert_eq!(found, run(&format!("{sql} {id}")), "{sql} {id}");
        }
        assert!(hot.execute(prepared, &[Param::Int(0)]).unwrap().rows > 0);
    }
    let float = hot.prepare("SELECT i FROM t", &[]).unwrap();
    assert!(matches!(hot.query_prepared(float, &[]), Err(WireError::Unsupported(_))));
    assert!(hot.query("SELECT 1").is_err(), "the rest of the reply was not read");
}

#[test]
fn misuse_is_reported_and_harmless() {
    let server = database(Product::MariaDb, "10.11");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    assert_eq!(hot.prepare("SELEC 1", &[]).unwrap_err().server_code(), Some(1064));
    assert!(matches!(hot.prepare("SELECT ?", &[]), Err(WireError::Usage(_))));
    let select = hot.prepare("SELECT ?", &[ParamType::Int]).unwrap();
    assert!(matches!(hot.execute(select, &[]), Err(WireError::Usage(_))));
    assert!(matches!(hot.execute(select, &[Param::Text(b"1")]), Err(WireError::Usage(_))));
    let sent = hot.bytes_sent();
    assert_eq!(hot.execute(select, &[Param::Int(1)]).unwrap().rows, 1);
    let first = hot.bytes_sent() - sent;
    hot.execute(select, &[Param::Int(2)]).unwrap();
    assert_eq!(hot.bytes_sent() - sent, 2 * first - 2, "types are sent once");
    let mut other = Connection::connect(&server.connect_options()).unwrap();
    assert!(matches!(other.execute(select, &[Param::Int(1)]), Err(WireError::Usage(_))));
}

#[test]
fn a_killed_connection_is_an_error() {
    let server = database(Product::MariaDb, "10.11");
    let mut control = server.connect();
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    control.query(&format!("KILL {}", hot.connection_id())).unwrap();
    let error = hot.execute_text(b"SELECT 1").unwrap_err();
    assert!(matches!(error, WireError::Io { .. }) || error.server_code() == Some(1927), "{error}");
}

#[test]
fn all_versions_agree_on_the_same_capabilities() {
    let capabilities = ["10.5", "10.11", "11.8"].map(|version| {
        let server = database(Product::MariaDb, version);
        let mut hot = Connection::connect(&server.connect_options()).unwrap();
        assert!(hot.server_version().contains(version));
        let select = hot.prepare("SELECT seq FROM seq_1_to_9 WHERE seq > ?", &[ParamType::Int]);
        let select = select.unwrap();
        for _ in 0..2 {
            assert_eq!(hot.execute(select, &[Param::Int(2)]).unwrap().rows, 7);
        }
        hot.capabilities()
    });
    assert_eq!(capabilities[0], capabilities[1]);
    assert_eq!(capabilities[0], capabilities[2]);
}

#[test]
fn rows_are_copied_where_both_sides_allow_it() {
    let server = mariadb();
    let mut plain = server.connect();
    plain.query("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(20))").unwrap();
    let sql = "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t";
    // This client has not announced the capability, so the server refuses.
    assert!(plain.copy_in(sql, b"1\ta\n").unwrap_err().server_code().is_some());
    let options = assay_wire::ConnectOptions { may_copy: true, ..server.connect_options() };
    let mut control = Connection::connect(&options).unwrap();
    let many: String = (1..=50_000).map(|id| format!("{id}\trow {id}\n")).collect();
    assert_eq!(control.copy_in(sql, many.as_bytes()).unwrap().affected, 50_000);
    assert_eq!(control.copy_in(sql, b"0\t\\N\n").unwrap().affected, 1);
    assert_eq!(control.copy_in(sql, b"").unwrap().affected, 0);
    // Whatever file the statement names, the client sends its rows, and other statements never send any.
    let found = control.query("SELECT COUNT(*), COUNT(c), MAX(id) FROM t").unwrap();
    let texts = [0, 1, 2].map(|column| found.text(0, column));
    assert_eq!(texts, [Some("50001"), Some("50000"), Some("50000")]);
    let nowhere = sql.replace("TABLE t", "TABLE nowhere");
    assert_eq!(control.copy_in(&nowhere, b"1\n").unwrap_err().server_code(), Some(1146));
    plain.query("SET GLOBAL local_infile = 0").unwrap();
    assert!(control.copy_in(sql, b"1\ta\n").unwrap_err().server_code().is_some());
    assert_eq!(control.query("SELECT 1").unwrap().first_string().as_deref(), Some("1"));
    let error = control.copy_in("DO 1", b"1\ta\n").unwrap_err();
    assert!(matches!(error, WireError::Protocol(_)), "{error}");
    // A statement that should copy nothing sends nothing, even if the server asks.
    plain.query("SET GLOBAL local_infile = 1").unwrap();
    let mut other = Connection::connect(&options).unwrap();
    assert!(matches!(other.execute_text(sql.as_bytes()), Err(WireError::Protocol(_))));
}
