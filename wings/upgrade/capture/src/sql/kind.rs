//! Classifies statements by their words, and finds out what they touch apart from the rows of their database.

use assay_model::Dialect;

use super::token::{SqlToken, TokenKind, TokenView, tokenize};
use super::words::begins_statement;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementEffect {
    Read,
    /// Changes rows, or may do so.
    Write,
    Begin,
    Commit,
    Rollback,
    Autocommit(bool),
    /// Changes the current database to the one with this token.
    Use,
    Session,
    /// Defines or maintains an object.
    Definition,
    System,
    Dump,
    /// Reaches outside the database: files, other servers, other sessions.
    Outside,
    Nothing,
    Unknown,
}

/// Classifies a statement. A query that calls a user-defined function counts as reading.
pub(crate) fn does(text: &[u8], tokens: &[SqlToken], dialect: Dialect) -> StatementEffect {
    let executed = executed(text, tokens);
    // Dump programs write `SQL_NO_CACHE` in such a comment.
    if executed.is_some() && is_dump(TokenView { text, tokens }) {
        return StatementEffect::Dump;
    }
    let view = TokenView { text, tokens: executed.as_deref().unwrap_or(tokens) };
    let is_hint = |at: usize| view.kind(at) == Some(TokenKind::Hint);
    let mut words = (0..view.tokens.len()).filter(|at| !is_hint(*at) && view.bytes(*at) != b"(");
    let Some(first) = words.next() else {
        return StatementEffect::Nothing;
    };
    let second = words.next().unwrap_or(usize::MAX);
    let first = view.bytes(first).to_ascii_uppercase();
    let work = match first.as_slice() {
        b"SELECT" | b"TABLE" | b"VALUES" => query(view),
        b"WITH" => {
            let mut changing = ["INSERT", "DELETE", "MERGE", "REPLACE"].into_iter();
            let changes = changing.any(|word| view.has(word)) || updates(view);
            if changes { StatementEffect::Write } else { query(view) }
        }
        // The code of such a block can do anything.
        b"DO" if dialect == Dialect::Postgres => return StatementEffect::Outside,
        b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" | b"MERGE" | b"CALL" | b"DO" => {
            StatementEffect::Write
        }
        b"BEGIN" => return StatementEffect::Begin,
        b"START" if view.is(second, "TRANSACTION") => return StatementEffect::Begin,
        b"COMMIT" | b"END" => return StatementEffect::Commit,
        b"ROLLBACK" | b"ABORT" if !view.has("TO") => return StatementEffect::Rollback,
        b"USE" => return StatementEffect::Use,
        b"SET" => return autocommit(view).unwrap_or(StatementEffect::Session),
        // A dump reads and loads tables through its own connection.
        b"COPY" if view.has("STDIN") || view.has("STDOUT") => return StatementEffect::Session,
        b"COPY" | b"LOAD" => return StatementEffect::Outside,
        b"SAVEPOINT" | b"RELEASE" | b"ROLLBACK" | b"SHOW" | b"DESCRIBE" | b"DESC" | b"EXPLAIN"
        | b"HELP" | b"PREPARE" | b"EXECUTE" | b"DEALLOCATE" | b"DECLARE" | b"FETCH" | b"CLOSE"
        | b"MOVE" | b"LISTEN" | b"UNLISTEN" | b"NOTIFY" | b"DISCARD" | b"RESET" | b"KILL"
        | b"LOCK" | b"UNLOCK" | b"HANDLER" | b"XA" => return StatementEffect::Session,
        word if !begins_statement(word) => return StatementEffect::Unknown,
        _ => return StatementEffect::Definition,
    };
    match touches(view, dialect) {
        Some(TouchedObjects::Outside) => StatementEffect::Outside,
        Some(TouchedObjects::System) => StatementEffect::System,
        Some(TouchedObjects::Session) => StatementEffect::Session,
        None => work,
    }
}

/// Whether a query reads a table for a dump: all its columns, by `*` or by their names.
fn is_dump(view: TokenView<'_>) -> bool {
    (1..view.tokens.len()).any(|at| {
        view.bytes(at - 1).starts_with(b"/*!40001 SQL_NO_CACHE")
            && (view.bytes(at) == b"*" || view.bytes(at).starts_with(b"`"))
    })
}

fn query(view: TokenView<'_>) -> StatementEffect {
    for at in 0..view.tokens.len() {
        let is_call = view.bytes(at + 1) == b"(";
        if is_call && view.is_any(at, &["NEXTVAL", "SETVAL", "LASTVAL"]) {
            return StatementEffect::Write;
        }
        // `LAST_INSERT_ID(5)` sets its next result.
        if is_call && view.is(at, "LAST_INSERT_ID") && view.bytes(at + 2) != b")" {
            return StatementEffect::Session;
        }
        // `INTO` a variable is no change; into a file or a new table is no query.
        if view.is(at, "INTO") && !view.bytes(at + 1).starts_with(b"@") {
            return StatementEffect::Definition;
        }
    }
    StatementEffect::Read
}

/// Functions called without a value, and variables, that describe the session's previous statement.
const OF_STATEMENT_BEFORE: [&str; 8] = [
    "FOUND_ROWS",
    "ROW_COUNT",
    "LAST_INSERT_ID",
    "LASTVAL",
    "@@identity",
    "@@last_insert_id",
    "@@warning_count",
    "@@error_count",
];

/// Whether a statement's answer depends on the previous one in its session, so that it means nothing alone.
pub(crate) fn follows_another(text: &[u8], dialect: Dialect) -> bool {
    let mut tokens = Vec::new();
    tokenize(text, dialect, &mut tokens);
    let view = TokenView { text, tokens: &tokens };
    (0..tokens.len()).any(|at| {
        let is_call = view.bytes(at + 1) == b"(";
        // The value of a sequence by its name.
        let is_sequence = view.is(at, "CURRVAL") && is_call;
        let is_asking = is_call && view.bytes(at + 2) == b")" || view.bytes(at).starts_with(b"@@");
        is_sequence || is_asking && view.is_any(at, &OF_STATEMENT_BEFORE)
    })
}

/// Whether `UPDATE` is a change, not part of `FOR UPDATE`.
fn updates(view: TokenView<'_>) -> bool {
    (1..view.tokens.len()).any(|at| view.is(at, "UPDATE") && !view.is_any(at - 1, &["FOR", "KEY"]))
}

/// `SET autocommit = 0` and its variants.
fn autocommit(view: TokenView<'_>) -> Option<StatementEffect> {
    const NAMES: [&str; 3] = ["autocommit", "@@autocommit", "@@session.autocommit"];
    let name = (0..view.tokens.len()).find(|at| view.is_any(*at, &NAMES))?;
    if view.tokens.iter().any(|token| token.bytes(view.text).eq_ignore_ascii_case(b"GLOBAL")) {
        return None;
    }
    match view.bytes(name + 2).to_ascii_lowercase().as_slice() {
        b"0" | b"off" | b"false" | b"'off'" => Some(StatementEffect::Autocommit(false)),
        b"1" | b"on" | b"true" | b"'on'" => Some(StatementEffect::Autocommit(true)),
        _ => None,
    }
}

/// Objects that a statement touches apart from the rows of its database, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TouchedObjects {
    Session,
    System,
    /// Files, other servers, other sessions, or the server itself.
    Outside,
}

/// Functions that reach outside, and those that execute a text, which could do so. A trailing `*` matches any suffix.
const OUTSIDE: [&str; 47] = [
    "dblink*",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "lo_export",
    "lo_import",
    "load_file",
    "master_pos_wait",
    "pg_backup_*",
    "pg_cancel_backend",
    "pg_copy_*",
    "pg_create_*",
    "pg_drop_*",
    "pg_export_snapshot",
    "pg_file_*",
    "pg_import_system_collations",
    "pg_log_*",
    "pg_logdir_ls",
    "pg_logfile_*",
    "pg_logical_*",
    "pg_ls_*",
    "pg_promote",
    "pg_read_binary_file",
    "pg_read_file",
    "pg_reload_conf",
    "pg_replication_*",
    "pg_rotate_logfile",
    "pg_start_backup",
    "pg_stat_file",
    "pg_stat_reset*",
    "pg_stop_backup",
    "pg_switch_wal",
    "pg_switch_xlog",
    "pg_sync_*",
    "pg_terminate_backend",
    "pg_wal_replay_*",
    "query_to_xml*",
    "release_all_locks",
    "release_lock",
    "source_pos_wait",
    "sys_eval",
    "sys_exec",
    "sys_get",
    "sys_set",
    "ts_stat",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
];

const SESSION: [&str; 5] =
    ["set_config", "setseed", "pg_notify", "pg_advisory_*", "pg_try_advisory_*"];

/// Postgres functions that describe the server, if nothing else is read.
const SYSTEM: [&str; 5] = ["current_setting", "version", "pg_get_*", "pg_is_*", "pg_export_*"];

const SCHEMAS: [&str; 5] =
    ["information_schema", "performance_schema", "mysql", "sys", "pg_catalog"];

/// Words before the name of a table or procedure.
const BEFORE: [&str; 7] = ["FROM", "JOIN", "INTO", "UPDATE", "CALL", "TABLE", "ONLY"];

/// Expands comments that servers execute, `/*!50000 ... */`; `None` without such comments.
pub(crate) fn executed(text: &[u8], tokens: &[SqlToken]) -> Option<Vec<SqlToken>> {
    let is_executed = |token: &SqlToken| {
        token.kind == TokenKind::Hint && matches!(token.bytes(text).get(2), Some(b'!' | b'M'))
    };
    tokens.iter().any(is_executed).then_some(())?;
    let mut all = Vec::with_capacity(tokens.len() + 8);
    for token in tokens {
        if !is_executed(token) {
            all.push(*token);
            continue;
        }
        let source = token.bytes(text);
        let mark = source.iter().position(|byte| *byte == b'!').unwrap_or_default() + 1;
        let digits = source.iter().skip(mark).take(6).take_while(|it| it.is_ascii_digit()).count();
        let start = token.start + mark + digits;
        let inside = text.get(start..token.end.saturating_sub(2)).unwrap_or_default();
        let mut found = Vec::new();
        tokenize(inside, Dialect::MySql, &mut found);
        all.extend(found.into_iter().map(|it| SqlToken {
            start: it.start + start,
            end: it.end + start,
            is_spaced: true,
            ..it
        }));
    }
    Some(all)
}

/// `None` if it touches only rows.
fn touches(view: TokenView<'_>, dialect: Dialect) -> Option<TouchedObjects> {
    let each =
        (0..view.tokens.len()).flat_map(|at| [called(view, at, dialect), named(view, at, dialect)]);
    each.chain([alone(view, dialect)]).flatten().max()
}

/// Effect of the function named here, or of an assignment to a variable, or a file.
fn called(view: TokenView<'_>, at: usize, dialect: Dialect) -> Option<TouchedObjects> {
    let kind = view.kind(at)?;
    if kind == TokenKind::Symbol {
        return (view.bytes(at) == b":=").then_some(TouchedObjects::Session);
    }
    if dialect == Dialect::MySql && view.is(at, "INTO") {
        if view.is_any(at + 1, &["OUTFILE", "DUMPFILE"]) {
            return Some(TouchedObjects::Outside);
        }
        return view.bytes(at + 1).starts_with(b"@").then_some(TouchedObjects::Session);
    }
    if view.bytes(at + 1) != b"(" {
        return None;
    }
    // A function name in this form is meant to be hidden.
    if kind == TokenKind::Fixed {
        return Some(TouchedObjects::Outside);
    }
    let name = view.name(at);
    if is_among(&OUTSIDE, name) {
        // It belongs to dumps of Postgres.
        let is_dump = name.eq_ignore_ascii_case(b"pg_export_snapshot");
        return Some(if is_dump { TouchedObjects::System } else { TouchedObjects::Outside });
    }
    is_among(&SESSION, name).then_some(TouchedObjects::Session)
}

fn named(view: TokenView<'_>, at: usize, dialect: Dialect) -> Option<TouchedObjects> {
    if !view.is_any(at, &BEFORE) {
        return None;
    }
    let name = view.name(at + 1);
    let is_system = if view.bytes(at + 2) == b"." {
        SCHEMAS.iter().any(|schema| name.eq_ignore_ascii_case(schema.as_bytes()))
    } else {
        dialect == Dialect::Postgres && starts_with(name, b"pg_")
    };
    is_system.then_some(TouchedObjects::System)
}

/// Whether a query without a table asks about the server.
fn alone(view: TokenView<'_>, dialect: Dialect) -> Option<TouchedObjects> {
    if view.has("FROM") || !view.is_any(0, &["SELECT", "WITH"]) {
        return None;
    }
    let asks = |at: usize| {
        let (name, next) = (view.name(at), view.bytes(at + 1));
        match dialect {
            Dialect::MySql => name.starts_with(b"@@"),
            Dialect::Postgres => {
                next == b"(" && is_among(&SYSTEM, name)
                    || next == b"." && name.eq_ignore_ascii_case(b"pg_catalog")
            }
        }
    };
    (0..view.tokens.len()).any(asks).then_some(TouchedObjects::System)
}

fn starts_with(name: &[u8], begin: &[u8]) -> bool {
    name.get(..begin.len()).is_some_and(|it| it.eq_ignore_ascii_case(begin))
}

fn is_among(list: &[&str], name: &[u8]) -> bool {
    list.iter().any(|it| match it.strip_suffix('*') {
        Some(begin) => starts_with(name, begin.as_bytes()),
        None => name.eq_ignore_ascii_case(it.as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_mean_nothing_alone_are_known() {
        for (text, expected) in [
            ("SELECT FOUND_ROWS()", true),
            ("select found_rows ( ) as n", true),
            ("INSERT INTO t VALUES (LAST_INSERT_ID(), ?)", true),
            ("UPDATE s SET id = LAST_INSERT_ID(id + ?)", false),
            ("SELECT ROW_COUNT()", true),
            ("INSERT INTO t (a) SELECT @@identity", true),
            ("SELECT found_rows FROM t", false),
            ("SELECT 'FOUND_ROWS()'", false),
        ] {
            assert_eq!(follows_another(text.as_bytes(), Dialect::MySql), expected, "{text}");
        }
        let of_postgres = |text: &str| follows_another(text.as_bytes(), Dialect::Postgres);
        assert!(of_postgres("SELECT lastval()") && of_postgres("SELECT currval('s')"));
        assert!(!of_postgres("SELECT nextval('s')"));
    }

    #[test]
    fn statements_are_told_apart() {
        for (text, expected) in [
            ("/* c */ (select 1)", StatementEffect::Read),
            ("SELECT a FROM t FOR UPDATE", StatementEffect::Read),
            ("WITH x AS (SELECT 1) SELECT * FROM x FOR UPDATE", StatementEffect::Read),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1", StatementEffect::Write),
            ("SELECT a INTO @x FROM t", StatementEffect::Session),
            ("SELECT a INTO OUTFILE 'x' FROM t", StatementEffect::Outside),
            ("SELECT a INTO t2 FROM t", StatementEffect::Definition),
            ("SELECT LAST_INSERT_ID()", StatementEffect::Read),
            ("SELECT LAST_INSERT_ID(5)", StatementEffect::Session),
            ("UPDATE s SET id = LAST_INSERT_ID(id + 1)", StatementEffect::Write),
            ("INSERT INTO t VALUES (LOAD_FILE('x'))", StatementEffect::Outside),
            ("LOAD DATA INFILE 'x' INTO TABLE t", StatementEffect::Outside),
            ("COPY t TO stdout", StatementEffect::Session),
            ("COPY t TO PROGRAM 'x'", StatementEffect::Outside),
            ("LOCK TABLE t", StatementEffect::Session),
            ("/*!40101 SET NAMES utf8 */", StatementEffect::Session),
            ("/*!50000 DROP TABLE t */", StatementEffect::Definition),
            ("SELECT nextval('s')", StatementEffect::Write),
            ("SELECT a FROM t JOIN `mysql`.user u", StatementEffect::System),
            ("SELECT mysql.a FROM t mysql", StatementEffect::Read),
            ("SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`", StatementEffect::Dump),
            ("SELECT /*!40001 SQL_NO_CACHE */ `a`, `b` FROM `t`", StatementEffect::Dump),
            ("SELECT /*!40001 SQL_NO_CACHE */ a FROM `t`", StatementEffect::Read),
            ("insert into t values (1)", StatementEffect::Write),
            ("START TRANSACTION READ ONLY", StatementEffect::Begin),
            ("START SLAVE", StatementEffect::Definition),
            ("ROLLBACK TO SAVEPOINT a", StatementEffect::Session),
            ("ROLLBACK", StatementEffect::Rollback),
            ("SET autocommit=0", StatementEffect::Autocommit(false)),
            ("SET @@session.autocommit = ON", StatementEffect::Autocommit(true)),
            ("SET GLOBAL autocommit = ON", StatementEffect::Session),
            ("SET NAMES utf8", StatementEffect::Session),
            ("CREATE TABLE t (a INT)", StatementEffect::Definition),
            ("-- nothing", StatementEffect::Nothing),
            ("VACUUM t", StatementEffect::Definition),
            ("Dear all", StatementEffect::Unknown),
            ("`a` b", StatementEffect::Unknown),
        ] {
            let mut tokens = Vec::new();
            tokenize(text.as_bytes(), Dialect::MySql, &mut tokens);
            assert_eq!(does(text.as_bytes(), &tokens, Dialect::MySql), expected, "{text}");
        }
    }

    fn touched(text: &str, dialect: Dialect) -> Option<TouchedObjects> {
        let mut tokens = Vec::new();
        tokenize(text.as_bytes(), dialect, &mut tokens);
        let tokens = executed(text.as_bytes(), &tokens).unwrap_or(tokens);
        touches(TokenView { text: text.as_bytes(), tokens: &tokens }, dialect)
    }

    #[test]
    fn statements_of_mysql_that_touch_more_than_rows_are_found() {
        use TouchedObjects::{Outside, Session, System};
        for (text, expected) in [
            ("SELECT LOAD_FILE('/etc/passwd')", Some(Outside)),
            ("SELECT a FROM t WHERE b = load_file /* c */ ('x')", Some(Outside)),
            ("SELECT LOAD_FILE/*!50000 (*/'x')", Some(Outside)),
            ("SELECT a FROM t /*!50000 INTO OUTFILE '/tmp/x' */", Some(Outside)),
            ("SELECT a FROM t /*M!100100 INTO DUMPFILE '/tmp/x' */", Some(Outside)),
            ("SELECT GET_LOCK('a', 1)", Some(Outside)),
            ("SELECT `sys_exec`('id')", Some(Outside)),
            ("SELECT a INTO @x FROM t", Some(Session)),
            ("SELECT @a := a FROM t", Some(Session)),
            ("SELECT @@session.sql_mode", Some(System)),
            ("DELETE FROM mysql.user", Some(System)),
            ("CALL sys.ps_setup_save(1)", Some(System)),
            ("SELECT a FROM pg_orders", None),
            ("SELECT load_file, 'LOAD_FILE(' FROM t /*!40001 SQL_NO_CACHE */", None),
            ("SELECT mysql.a FROM t mysql", None),
        ] {
            assert_eq!(touched(text, Dialect::MySql), expected, "{text}");
        }
    }

    #[test]
    fn statements_of_postgres_that_touch_more_than_rows_are_found() {
        use TouchedObjects::{Outside, Session, System};
        for (text, expected) in [
            ("SELECT pg_read_file('/etc/passwd')", Some(Outside)),
            ("SELECT pg_catalog.PG_LS_DIR('.')", Some(Outside)),
            ("SELECT \"pg_read_file\"('x')", Some(Outside)),
            ("SELECT U&\"pg\\005fread_file\"('x')", Some(Outside)),
            ("SELECT * FROM dblink('host=x', 'SELECT 1') t (a int)", Some(Outside)),
            ("INSERT INTO t SELECT lo_import('/etc/passwd')", Some(Outside)),
            ("SELECT pg_terminate_backend(pid) FROM pg_stat_activity", Some(Outside)),
            ("SELECT pg_create_restore_point('a')", Some(Outside)),
            ("SELECT pg_advisory_xact_lock(5)", Some(Session)),
            ("SELECT set_config('a', 'b', true)", Some(Session)),
            ("SELECT pg_catalog.set_config('search_path', '', false)", Some(System)),
            ("SELECT pg_export_snapshot()", Some(System)),
            ("SELECT current_setting('a')", Some(System)),
            ("SELECT c.oid FROM pg_class c", Some(System)),
            ("SELECT a FROM t JOIN \"pg_proc\" p ON true", Some(System)),
            ("SELECT a FROM t WHERE b = pg_catalog.lower('X')", None),
            ("SELECT a FROM t WHERE b = 'pg_read_file('", None),
            ("SELECT pg_sleep(1)", None),
        ] {
            assert_eq!(touched(text, Dialect::Postgres), expected, "{text}");
        }
    }
}
