//! Classifies statements by their words.

use assay_model::Dialect;

use super::reach::{Touches, executed, touches};
use super::token::{Kind, Token, tokenize};
use super::words::begins_statement;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
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
pub(crate) fn does(text: &[u8], tokens: &[Token], dialect: Dialect) -> Does {
    match executed(text, tokens) {
        // Dump programs write `SQL_NO_CACHE` in such a comment.
        Some(_) if is_dump(text, tokens) => Does::Dump,
        Some(all) => of_words(text, &all, dialect),
        None => of_words(text, tokens, dialect),
    }
}

fn of_words(text: &[u8], tokens: &[Token], dialect: Dialect) -> Does {
    let mut words = tokens.iter().filter(|it| it.kind != Kind::Hint && it.of(text) != b"(");
    let Some(first) = words.next() else {
        return Does::Nothing;
    };
    let is = |token: Option<&Token>, word: &str| {
        token.is_some_and(|it| {
            it.kind == Kind::Word && it.of(text).eq_ignore_ascii_case(word.as_bytes())
        })
    };
    let has = |word: &str| tokens.iter().any(|it| is(Some(it), word));
    let second = words.next();
    let first = first.of(text).to_ascii_uppercase();
    let work = match first.as_slice() {
        b"SELECT" | b"TABLE" | b"VALUES" => query(text, tokens),
        b"WITH" => {
            let changes = ["INSERT", "DELETE", "MERGE", "REPLACE"].iter().any(|word| has(word));
            if changes || updates(text, tokens) { Does::Write } else { query(text, tokens) }
        }
        // The code of such a block can do anything.
        b"DO" if dialect == Dialect::Postgres => return Does::Outside,
        b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" | b"MERGE" | b"CALL" | b"DO" => Does::Write,
        b"BEGIN" => return Does::Begin,
        b"START" if is(second, "TRANSACTION") => return Does::Begin,
        b"COMMIT" | b"END" => return Does::Commit,
        b"ROLLBACK" | b"ABORT" if !has("TO") => return Does::Rollback,
        b"USE" => return Does::Use,
        b"SET" => return autocommit(text, tokens).unwrap_or(Does::Session),
        // A dump reads and loads tables through its own connection.
        b"COPY" if has("STDIN") || has("STDOUT") => return Does::Session,
        b"COPY" | b"LOAD" => return Does::Outside,
        b"SAVEPOINT" | b"RELEASE" | b"ROLLBACK" | b"SHOW" | b"DESCRIBE" | b"DESC" | b"EXPLAIN"
        | b"HELP" | b"PREPARE" | b"EXECUTE" | b"DEALLOCATE" | b"DECLARE" | b"FETCH" | b"CLOSE"
        | b"MOVE" | b"LISTEN" | b"UNLISTEN" | b"NOTIFY" | b"DISCARD" | b"RESET" | b"KILL"
        | b"LOCK" | b"UNLOCK" | b"HANDLER" | b"XA" => return Does::Session,
        word if !begins_statement(word) => return Does::Unknown,
        _ => return Does::Definition,
    };
    match touches(text, tokens, dialect) {
        Some(Touches::Outside) => Does::Outside,
        Some(Touches::System) => Does::System,
        Some(Touches::Session) => Does::Session,
        None => work,
    }
}

/// Whether a query reads a table for a dump: all its columns, by `*` or by their names.
fn is_dump(text: &[u8], tokens: &[Token]) -> bool {
    tokens.windows(2).any(|pair| match pair {
        [hint, next] => {
            let next = next.of(text);
            hint.of(text).starts_with(b"/*!40001 SQL_NO_CACHE")
                && (next == b"*" || next.starts_with(b"`"))
        }
        _ => false,
    })
}

fn query(text: &[u8], tokens: &[Token]) -> Does {
    const CHANGING: [&str; 3] = ["NEXTVAL", "SETVAL", "LASTVAL"];
    let word = |at: usize| tokens.get(at).map_or(b"".as_slice(), |it| it.of(text));
    for (at, token) in tokens.iter().enumerate().filter(|(_, it)| it.kind == Kind::Word) {
        let bytes = token.of(text);
        let is_call = word(at + 1) == b"(";
        if is_call && CHANGING.iter().any(|it| bytes.eq_ignore_ascii_case(it.as_bytes())) {
            return Does::Write;
        }
        // `LAST_INSERT_ID(5)` sets its next result.
        if is_call && bytes.eq_ignore_ascii_case(b"LAST_INSERT_ID") && word(at + 2) != b")" {
            return Does::Session;
        }
        // `INTO` a variable is no change; into a file or a new table is no query.
        if bytes.eq_ignore_ascii_case(b"INTO") && !word(at + 1).starts_with(b"@") {
            return Does::Definition;
        }
    }
    Does::Read
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
    let word = |at: usize| tokens.get(at).map_or(b"".as_slice(), |it| it.of(text));
    tokens.iter().enumerate().filter(|(_, it)| it.kind == Kind::Word).any(|(at, token)| {
        let bytes = token.of(text);
        let is_call = word(at + 1) == b"(" && word(at + 2) == b")";
        // The value of a sequence by its name.
        let is_sequence = bytes.eq_ignore_ascii_case(b"CURRVAL") && word(at + 1) == b"(";
        let mut known = OF_STATEMENT_BEFORE.iter();
        let is_known = known.any(|it| bytes.eq_ignore_ascii_case(it.as_bytes()));
        is_sequence || is_known && (is_call || bytes.starts_with(b"@@"))
    })
}

/// Whether `UPDATE` is a change, not part of `FOR UPDATE`.
fn updates(text: &[u8], tokens: &[Token]) -> bool {
    let is = |token: &Token, word: &str| {
        token.kind == Kind::Word && token.of(text).eq_ignore_ascii_case(word.as_bytes())
    };
    tokens.windows(2).any(|pair| match pair {
        [before, it] => is(it, "UPDATE") && !is(before, "FOR") && !is(before, "KEY"),
        _ => false,
    })
}

/// `SET autocommit = 0` and its variants.
fn autocommit(text: &[u8], tokens: &[Token]) -> Option<Does> {
    let name = tokens.iter().position(|it| {
        let bytes = it.of(text).to_ascii_lowercase();
        it.kind == Kind::Word
            && matches!(bytes.as_slice(), b"autocommit" | b"@@autocommit" | b"@@session.autocommit")
    })?;
    if tokens.iter().any(|it| it.of(text).eq_ignore_ascii_case(b"GLOBAL")) {
        return None;
    }
    let value = tokens.get(name + 2)?.of(text).to_ascii_lowercase();
    match value.as_slice() {
        b"0" | b"off" | b"false" | b"'off'" => Some(Does::Autocommit(false)),
        b"1" | b"on" | b"true" | b"'on'" => Some(Does::Autocommit(true)),
        _ => None,
    }
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
            ("/* c */ (select 1)", Does::Read),
            ("SELECT a FROM t FOR UPDATE", Does::Read),
            ("WITH x AS (SELECT 1) SELECT * FROM x FOR UPDATE", Does::Read),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1", Does::Write),
            ("SELECT a INTO @x FROM t", Does::Session),
            ("SELECT a INTO OUTFILE 'x' FROM t", Does::Outside),
            ("SELECT a INTO t2 FROM t", Does::Definition),
            ("SELECT LAST_INSERT_ID()", Does::Read),
            ("SELECT LAST_INSERT_ID(5)", Does::Session),
            ("UPDATE s SET id = LAST_INSERT_ID(id + 1)", Does::Write),
            ("INSERT INTO t VALUES (LOAD_FILE('x'))", Does::Outside),
            ("LOAD DATA INFILE 'x' INTO TABLE t", Does::Outside),
            ("COPY t TO stdout", Does::Session),
            ("COPY t TO PROGRAM 'x'", Does::Outside),
            ("LOCK TABLE t", Does::Session),
            ("/*!40101 SET NAMES utf8 */", Does::Session),
            ("/*!50000 DROP TABLE t */", Does::Definition),
            ("SELECT nextval('s')", Does::Write),
            ("SELECT a FROM t JOIN `mysql`.user u", Does::System),
            ("SELECT mysql.a FROM t mysql", Does::Read),
            ("SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`", Does::Dump),
            ("SELECT /*!40001 SQL_NO_CACHE */ `a`, `b` FROM `t`", Does::Dump),
            ("SELECT /*!40001 SQL_NO_CACHE */ a FROM `t`", Does::Read),
            ("insert into t values (1)", Does::Write),
            ("START TRANSACTION READ ONLY", Does::Begin),
            ("START SLAVE", Does::Definition),
            ("ROLLBACK TO SAVEPOINT a", Does::Session),
            ("ROLLBACK", Does::Rollback),
            ("SET autocommit=0", Does::Autocommit(false)),
            ("SET @@session.autocommit = ON", Does::Autocommit(true)),
            ("SET GLOBAL autocommit = ON", Does::Session),
            ("SET NAMES utf8", Does::Session),
            ("CREATE TABLE t (a INT)", Does::Definition),
            ("-- nothing", Does::Nothing),
            ("VACUUM t", Does::Definition),
            ("Dear all", Does::Unknown),
            ("`a` b", Does::Unknown),
        ] {
            let mut tokens = Vec::new();
            tokenize(text.as_bytes(), Dialect::MySql, &mut tokens);
            assert_eq!(does(text.as_bytes(), &tokens, Dialect::MySql), expected, "{text}");
        }
    }
}
