//! Finds out what a statement touches apart from the rows of its database, by its functions and tables.

use assay_model::Dialect;

use super::token::{Kind, Token, tokenize};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touches {
    /// Files, other servers, other sessions, or the server itself.
    Outside,
    Session,
    System,
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

/// Tokens with expanded executed comments.
struct Sight<'s> {
    text: &'s [u8],
    tokens: &'s [Token],
    dialect: Dialect,
}

/// Expands comments that servers execute, `/*!50000 ... */`; `None` without such comments.
pub(crate) fn executed(text: &[u8], tokens: &[Token]) -> Option<Vec<Token>> {
    let is_executed = |token: &Token| {
        token.kind == Kind::Hint && matches!(token.of(text).get(2), Some(b'!' | b'M'))
    };
    tokens.iter().any(is_executed).then_some(())?;
    let mut all = Vec::with_capacity(tokens.len() + 8);
    for token in tokens {
        if !is_executed(token) {
            all.push(*token);
            continue;
        }
        let source = token.of(text);
        let mark = source.iter().position(|byte| *byte == b'!').unwrap_or_default() + 1;
        let digits = source.iter().skip(mark).take(6).take_while(|it| it.is_ascii_digit()).count();
        let start = token.start + mark + digits;
        let inside = text.get(start..token.end.saturating_sub(2)).unwrap_or_default();
        let mut found = Vec::new();
        tokenize(inside, Dialect::MySql, &mut found);
        all.extend(found.into_iter().map(|it| Token {
            start: it.start + start,
            end: it.end + start,
            is_spaced: true,
            ..it
        }));
    }
    Some(all)
}

/// `None` if it touches only rows.
pub(crate) fn touches(text: &[u8], tokens: &[Token], dialect: Dialect) -> Option<Touches> {
    let sight = Sight { text, tokens, dialect };
    let mut found = None;
    let mut note = |it: Option<Touches>| {
        found = match (found, it) {
            (Some(Touches::Outside), _) | (_, Some(Touches::Outside)) => Some(Touches::Outside),
            (Some(Touches::System), _) | (_, Some(Touches::System)) => Some(Touches::System),
            (before, it) => before.or(it),
        };
    };
    for at in 0..tokens.len() {
        note(sight.called(at));
        note(sight.named(at));
    }
    note(sight.alone());
    found
}

impl Sight<'_> {
    fn bytes(&self, at: usize) -> &[u8] {
        self.tokens.get(at).map_or(b"", |it| it.of(self.text))
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|it| {
            it.kind == Kind::Word && it.of(self.text).eq_ignore_ascii_case(word.as_bytes())
        })
    }

    /// The name or word at an index, without quotes.
    fn name(&self, at: usize) -> Option<&[u8]> {
        let token = self.tokens.get(at)?;
        let bytes = token.of(self.text);
        match token.kind {
            Kind::Word => Some(bytes),
            Kind::Name => bytes.get(1..bytes.len().saturating_sub(1)),
            _ => None,
        }
    }

    /// Effect of the function named here, or of an assignment to a variable, or a file.
    fn called(&self, at: usize) -> Option<Touches> {
        let kind = self.tokens.get(at)?.kind;
        if kind == Kind::Symbol {
            return (self.bytes(at) == b":=").then_some(Touches::Session);
        }
        if kind == Kind::Word && self.dialect == Dialect::MySql && self.is(at, "INTO") {
            if self.is(at + 1, "OUTFILE") || self.is(at + 1, "DUMPFILE") {
                return Some(Touches::Outside);
            }
            return self.bytes(at + 1).starts_with(b"@").then_some(Touches::Session);
        }
        if self.bytes(at + 1) != b"(" {
            return None;
        }
        // A function name in this form is meant to be hidden.
        if kind == Kind::Fixed {
            return Some(Touches::Outside);
        }
        let name = self.name(at)?;
        if is_among(&OUTSIDE, name) {
            // It belongs to dumps of Postgres.
            let is_dump = name.eq_ignore_ascii_case(b"pg_export_snapshot");
            return Some(if is_dump { Touches::System } else { Touches::Outside });
        }
        is_among(&SESSION, name).then_some(Touches::Session)
    }

    fn named(&self, at: usize) -> Option<Touches> {
        if !BEFORE.iter().any(|word| self.is(at, word)) {
            return None;
        }
        let name = self.name(at + 1)?;
        let has_schema = self.bytes(at + 2) == b".";
        let is_system = if has_schema {
            SCHEMAS.iter().any(|it| name.eq_ignore_ascii_case(it.as_bytes()))
        } else {
            self.dialect == Dialect::Postgres && starts_with(name, b"pg_")
        };
        is_system.then_some(Touches::System)
    }

    /// Whether a query without a table asks about the server.
    fn alone(&self) -> Option<Touches> {
        if (0..self.tokens.len()).any(|at| self.is(at, "FROM")) {
            return None;
        }
        let is_query = self.is(0, "SELECT") || self.is(0, "WITH");
        let asks = |at: usize| {
            let name = self.name(at).unwrap_or_default();
            let is_call = self.bytes(at + 1) == b"(" && is_among(&SYSTEM, name);
            let is_qualified =
                name.eq_ignore_ascii_case(b"pg_catalog") && self.bytes(at + 1) == b".";
            match self.dialect {
                Dialect::MySql => name.starts_with(b"@@"),
                Dialect::Postgres => is_call || is_qualified,
            }
        };
        (is_query && (0..self.tokens.len()).any(asks)).then_some(Touches::System)
    }
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

    fn of(text: &str, dialect: Dialect) -> Option<Touches> {
        let mut tokens = Vec::new();
        tokenize(text.as_bytes(), dialect, &mut tokens);
        let tokens = executed(text.as_bytes(), &tokens).unwrap_or(tokens);
        touches(text.as_bytes(), &tokens, dialect)
    }

    #[test]
    fn statements_of_mysql_that_touch_more_than_rows_are_found() {
        use Touches::{Outside, Session, System};
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
            assert_eq!(of(text, Dialect::MySql), expected, "{text}");
        }
    }

    #[test]
    fn statements_of_postgres_that_touch_more_than_rows_are_found() {
        use Touches::{Outside, Session, System};
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
            assert_eq!(of(text, Dialect::Postgres), expected, "{text}");
        }
    }
}
