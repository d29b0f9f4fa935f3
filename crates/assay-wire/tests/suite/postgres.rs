//! Connections to real Postgres servers.

use assay_model::Product;
use assay_servers::Listen;
use assay_testkit::{TestServer, database, start_listening};
use assay_wire::{
    Address, ConnectOptions, Connection, Param, ParamType, Protocol, Reply, ReplyClass, WireError,
};

fn refused(error: &WireError) -> &str {
    match error {
        WireError::Server { state, .. } => state,
        other => panic!("not a refusal of the server: {other}"),
    }
}

#[test]
fn control_keeps_what_it_reads() {
    let server = database(Product::Postgres, "16");
    let mut control = server.connect();
    assert!(control.server_version().starts_with("16."), "{}", control.server_version());
    assert_eq!(control.auth_method(), "trust");
    let pid = control.query("SELECT pg_backend_pid()").unwrap().first_string().unwrap();
    assert_eq!(pid, control.connection_id().to_string());
    let mut run = |sql: &str| control.query(sql).unwrap();
    run("CREATE TABLE t (id SERIAL PRIMARY KEY, c VARCHAR(20), b BYTEA)");
    assert_eq!(
        run("INSERT INTO t (c, b) VALUES ('a', '\\x00ff'), (NULL, ''), ('c', NULL)").affected,
        3
    );
    let rows = run("SELECT id, c, b AS bytes FROM t ORDER BY id");
    assert_eq!(rows.columns, ["id", "c", "bytes"]);
    let texts: Vec<_> = (0..4).map(|row| rows.text(row, 1)).collect();
    assert_eq!(texts, [Some("a"), None, Some("c"), None]);
    assert_eq!([rows.text(0, 2), rows.text(1, 2)], [Some("\\x00ff"), Some("\\x")]);
    assert_eq!(run("SELECT id FROM t WHERE id > 9").columns, ["id"]);
    let several = run("SELECT 7 AS n; SELECT 8; UPDATE t SET c = 'x' WHERE id < 3");
    assert_eq!((several.columns.len(), several.rows.len(), several.affected), (1, 1, 2));
    assert_eq!(run("").rows.len(), 0);
    // The server also sends a notice.
    run("DROP TABLE IF EXISTS nothing");
}

#[test]
fn a_failed_statement_leaves_the_connection_in_order() {
    let server = database(Product::Postgres, "16");
    let mut control = server.connect();
    let error = control.query("SELECT * FROM nothing").unwrap_err();
    assert_eq!(refused(&error), "42P01");
    assert_eq!(control.query("SELECT 1").unwrap().first_string().as_deref(), Some("1"));
    assert!(matches!(control.query("SELECT '\0'"), Err(WireError::Usage(_))));
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    assert_eq!(refused(&hot.prepare("SELECT * FROM nothing", &[]).unwrap_err()), "42P01");
    let divide = hot.prepare("SELECT 1 / $1", &[ParamType::Int]).unwrap();
    assert_eq!(refused(&hot.execute(divide, &[Param::Int(0)]).unwrap_err()), "22012");
    assert_eq!(hot.execute(divide, &[Param::Int(1)]).unwrap().rows, 1);
    assert_eq!(refused(&hot.execute_text(b"SELEKT").unwrap_err()), "42601");
    assert_eq!(hot.execute_text(b"SELECT 1").unwrap().rows, 1);
    assert!(matches!(hot.prepare("SELECT $1::int8", &[]), Err(WireError::Usage(_))));
    assert_eq!(hot.execute_text(b"SELECT 1").unwrap().rows, 1);
}

#[test]
fn statements_count_by_their_result() {
    let server = database(Product::Postgres, "16");
    server.connect().query("CREATE TABLE t (id INT PRIMARY KEY, c CHAR(120))").unwrap();
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let insert =
        hot.prepare("INSERT INTO t VALUES ($1, $2)", &[ParamType::Int, ParamType::Text]).unwrap();
    for id in 1..=3 {
        let reply = hot.execute(insert, &[Param::Int(id), Param::Text(b"it's")]).unwrap();
        assert_eq!(reply, Reply { affected: 1, ..Reply::default() });
    }
    let select =
        hot.prepare("SELECT c FROM t WHERE id BETWEEN $1 AND $2", &[ParamType::Int; 2]).unwrap();
    let mut between = |from, to| hot.execute(select, &[Param::Int(from), Param::Int(to)]).unwrap();
    assert_eq!(between(1, 3), Reply { result_set: true, rows: 3, affected: 0 });
    assert_eq!(between(7, 9).counted(), ReplyClass::Read);
    let update = hot
        .prepare("UPDATE t SET c = $1 WHERE id = $2", &[ParamType::Text, ParamType::Int])
        .unwrap();
    let mut set = |id| hot.execute(update, &[Param::Text(b"x"), Param::Int(id)]).unwrap().counted();
    assert_eq!((set(1), set(9)), (ReplyClass::Write, ReplyClass::Other));
    let begin = hot.prepare("BEGIN", &[]).unwrap();
    let commit = hot.prepare("COMMIT", &[]).unwrap();
    for statement in [begin, commit] {
        assert_eq!(hot.execute(statement, &[]).unwrap().counted(), ReplyClass::Other);
    }
    assert_eq!(
        hot.execute_text(b"SELECT * FROM t WHERE LENGTH(c) < 0").unwrap().counted(),
        ReplyClass::Read
    );
    assert!(hot.bytes_sent() > 500 && hot.bytes_received() > 500);
}

#[test]
fn prepared_statements_return_the_values_that_text_returns() {
    let server = database(Product::Postgres, "16");
    let mut control = server.connect();
    control.query("CREATE TABLE t (id INT PRIMARY KEY, a NUMERIC, b CHAR(5), c FLOAT)").unwrap();
    control.query("INSERT INTO t VALUES (-1, 1.50, 'a', 1.5), (2, NULL, '', NULL)").unwrap();
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let sql = "SELECT *, id + 1 FROM t WHERE id > ";
    let prepared = hot.prepare(&format!("{sql} $1"), &[ParamType::Int]).unwrap();
    for id in [-2, 0, 9] {
        let found = hot.query_prepared(prepared, &[Param::Int(id)]).unwrap();
        assert_eq!(found.rows, control.query(&format!("{sql} {id}")).unwrap().rows, "{id}");
    }
    let divide = hot.prepare("SELECT 1 / $1", &[ParamType::Int]).unwrap();
    assert_eq!(refused(&hot.query_prepared(divide, &[Param::Int(0)]).unwrap_err()), "22012");
    assert_eq!(hot.execute(prepared, &[Param::Int(-2)]).unwrap().rows, 2);
}

#[test]
fn messages_of_any_length_arrive_whole() {
    let server = database(Product::Postgres, "16");
    let mut control = server.connect();
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    for length in [1, 64 << 10, 40 << 20] {
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(length));
        assert_eq!(control.query(&sql).unwrap().first_string(), Some(length.to_string()));
        assert_eq!(hot.execute_text(sql.as_bytes()).unwrap().rows, 1);
        let sql = format!("SELECT REPEAT('x', {length}), 'end'");
        let result = control.query(&sql).unwrap();
        assert_eq!(result.rows[0][0].as_ref().map(Vec::len), Some(length));
        assert_eq!(result.text(0, 1), Some("end"));
        assert_eq!(hot.execute_text(sql.as_bytes()).unwrap().rows, 1);
    }
}

/// A user whose password is stored in this way.
fn with_password(server: &TestServer, port: u16, encryption: &str) -> ConnectOptions {
    let mut control = server.connect();
    control.query(&format!("SET password_encryption = '{encryption}'")).unwrap();
    let user = format!("wire_{}", &encryption[..3]);
    control.query(&format!("CREATE USER {user} PASSWORD 'secret'")).unwrap();
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    let password = Some("secret".to_owned());
    ConnectOptions { address, user, password, ..server.connect_options() }
}

#[test]
fn logins_with_passwords_are_checked() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = start_listening(Product::Postgres, "16", &[], Listen::Loopback(port));
    for method in ["scram-sha-256", "md5"] {
        let mut options = with_password(&server, port, method);
        let control = Connection::connect(&options).unwrap();
        assert_eq!(control.auth_method(), method);
        options.password = Some("wrong".to_owned());
        assert_eq!(refused(&Connection::connect(&options).unwrap_err()), "28P01");
        options.password = None;
        assert_eq!(refused(&Connection::connect(&options).unwrap_err()), "28P01");
        options.password = Some("secret".to_owned());
        options.database = Some("wire_no_such_database".to_owned());
        assert_eq!(refused(&Connection::connect(&options).unwrap_err()), "3D000");
    }
}

#[test]
fn a_killed_connection_is_reported() {
    let server = database(Product::Postgres, "16");
    let mut hot = Connection::connect(&server.connect_options()).unwrap();
    let kill = format!("SELECT pg_terminate_backend({})", hot.connection_id());
    server.connect().query(&kill).unwrap();
    // The server's last message, if the socket still has it when the next statement is sent.
    let error = hot.execute_text(b"SELECT 1").unwrap_err();
    assert!(matches!(&error, WireError::Io { .. }) || refused(&error) == "57P01", "{error}");
}

#[test]
fn the_protocol_of_another_server_is_recognised() {
    let postgres = database(Product::Postgres, "16");
    let mariadb = database(Product::MariaDb, "10.11");
    let servers = [(postgres, Protocol::MySql, "Postgres"), (mariadb, Protocol::Postgres, "MySQL")];
    for (server, protocol, said) in servers {
        let options = ConnectOptions { protocol, ..server.connect_options() };
        let error = Connection::connect(&options).unwrap_err();
        assert!(
            matches!(error, WireError::OtherProtocol { spoken, .. } if spoken == said),
            "{error}"
        );
    }
}

#[test]
fn rows_are_copied_and_refused_ones_leave_the_connection_in_order() {
    let server = database(Product::Postgres, "16");
    let mut control = server.connect();
    control.query("CREATE TABLE t (id INT PRIMARY KEY, c TEXT)").unwrap();
    let sql = "COPY t FROM STDIN";
    let many: String = (1..=100_000).map(|id| format!("{id}\trow {id}\n")).collect();
    assert_eq!(control.copy_in(sql, many.as_bytes()).unwrap().affected, 100_000);
    assert_eq!(control.copy_in(sql, b"0\t\\N\n").unwrap().affected, 1);
    assert_eq!(control.copy_in(sql, b"").unwrap().affected, 0);
    // A duplicate row, an invalid number, and a missing table: the rest is ignored.
    let more = format!("{many}200000\tmore\n");
    assert_eq!(refused(&control.copy_in(sql, more.as_bytes()).unwrap_err()), "23505");
    assert_eq!(refused(&control.copy_in(sql, b"x\ty\n").unwrap_err()), "22P02");
    let nowhere = control.copy_in("COPY nowhere FROM STDIN", many.as_bytes());
    assert_eq!(refused(&nowhere.unwrap_err()), "42P01");
    let found = control.query("SELECT count(*), count(c), max(id) FROM t").unwrap();
    let texts = [0, 1, 2].map(|column| found.text(0, column));
    assert_eq!(texts, [Some("100001"), Some("100000"), Some("100000")]);
}
