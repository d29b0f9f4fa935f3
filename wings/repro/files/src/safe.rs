//! Rejects SQL that a plain client would take for its commands, some of which run programs.

use assay_model::Dialect;
use assay_workloads::sql::{backslash, first_word, marks, statements, unterminated};

use crate::finding::{ReproRefusal, line};

/// Commands of the MySQL and MariaDB clients, recognised where a statement could begin.
const COMMANDS: [&str; 18] = [
    "charset",
    "clear",
    "connect",
    "delimiter",
    "edit",
    "ego",
    "exit",
    "go",
    "nopager",
    "notee",
    "nowarning",
    "pager",
    "print",
    "prompt",
    "quit",
    "source",
    "system",
    "tee",
];

/// Refuses a text that is not exactly one statement, or that the client would take for a command.
pub(crate) fn check(dialect: Dialect, sql: &str) -> Result<(), ReproRefusal> {
    if dialect != Dialect::Postgres
        && let Some(inner) = executed_comments(sql).find(|inner| is_unsafe_in_comment(inner))
    {
        return Err(refused(inner, "a comment that is executed has a semicolon or a backslash"));
    }
    let first = first_word(sql, dialect).split_whitespace().next().unwrap_or_default();
    let is_command = |command: &&str| first.eq_ignore_ascii_case(command);
    let why = if backslash(sql, dialect).is_some() {
        "it has a backslash outside of strings"
    } else if unterminated(sql, dialect).is_some() {
        "a string, a quoted name or a comment has no end"
    } else if statements(sql, dialect).len() != 1 {
        "it is not one statement"
    } else if dialect != Dialect::Postgres && COMMANDS.iter().any(is_command) {
        "it begins as a command of the client"
    } else if dialect != Dialect::Postgres && has_delimiter(sql) {
        "`delimiter` with a blank is a command of the client wherever it is"
    } else {
        return Ok(());
    };
    Err(refused(sql, why))
}

/// The same for pgbench, which also replaces `:name` in scripts, even within strings.
pub(crate) fn check_script(sql: &str) -> Result<(), ReproRefusal> {
    check(Dialect::Postgres, sql)?;
    let is_name = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let why = if sql.contains('\\') {
        "it has a backslash"
    } else if sql.replace("::", "").split(':').skip(1).any(is_name) {
        "it has a colon before a name"
    } else {
        return Ok(());
    };
    Err(refused(sql, why))
}

fn refused(sql: &str, why: &str) -> ReproRefusal {
    let shown: String = sql.chars().take(60).collect();
    ReproRefusal::new(
        format!("the plain client would not send `{}` as it is: {why}", line(&shown)),
        "change the statement, and measure again",
    )
}

/// Contents of the comments that MySQL and MariaDB execute, `/*! ... */`.
fn executed_comments(sql: &str) -> impl Iterator<Item = &str> {
    let inner = |begin: &'static str| {
        sql.split(begin)
            .skip(1)
            .map(|rest| rest.split_once("*/").map_or(rest, |(inside, _)| inside))
    };
    inner("/*!").chain(inner("/*M!"))
}

/// Whether the plain client would find the end of a statement or a command in the comment.
fn is_unsafe_in_comment(inner: &str) -> bool {
    let semicolon = |rest: &str| rest.starts_with(';').then_some(1);
    !marks(inner, Dialect::MySql, semicolon).is_empty()
        || has_delimiter(inner)
        || backslash(inner, Dialect::MySql).is_some()
        || unterminated(inner, Dialect::MySql).is_some()
}

/// Whether MySQL and MariaDB clients would find their command `delimiter`. They look for it at every character outside
/// strings and comments, even within a word.
fn has_delimiter(sql: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let word = |rest: &str| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_command = word.to_ascii_lowercase().ends_with("delimiter")
            && after.starts_with(char::is_whitespace);
        is_command.then_some(end)
    };
    !marks(sql, Dialect::MySql, word).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_pgbench_have_one_statement_and_no_command() {
        for (sql, is_fine) in [
            ("SELECT c FROM sbtest WHERE id=?", true),
            ("SELECT a::int FROM sbtest", true),
            ("SELECT 1\n\\shell touch x", false),
            ("SELECT 'a\n\\shell touch x'", false),
            ("SELECT 1;\n\\setshell v id", false),
            ("SELECT ':v1'", false),
            ("SELECT '12:30'", false),
            ("SELECT 1 -- a\n", true),
        ] {
            assert_eq!(check_script(sql).is_ok(), is_fine, "{sql}");
        }
    }

    #[test]
    fn commands_of_clients_are_refused() {
        for (dialect, sql, is_fine) in [
            (Dialect::Postgres, "SELECT 1 \\! id", false),
            (Dialect::Postgres, "SELECT '\\! id'", true),
            (Dialect::Postgres, "SELECT 1; SELECT 2", false),
            (Dialect::Postgres, "SELECT 'a", false),
            (Dialect::MySql, "system id", false),
            (Dialect::MySql, "SOURCE /etc/passwd", false),
            (Dialect::MySql, "SELECT 'a\\'b'", true),
            (Dialect::MySql, "SELECT 1 \\! id", false),
            (Dialect::MySql, "UPDATE t SET system = 1", true),
            (Dialect::MySql, "/*!40101 SET NAMES utf8mb4 */", true),
            (Dialect::MySql, "/*M!100100 SET @a = 'b;\\\\' */", true),
            (Dialect::MySql, "/*!40101 SELECT 1 \\! id */", false),
            (Dialect::MySql, "SELECT 1 /*M! ; \nsystem id\n */", false),
            (Dialect::MySql, "SELECT 1 AS a delimiter //\nsystem id", false),
            (Dialect::MySql, "SELECT 1 AS xDELIMITER\t//", false),
            (Dialect::MySql, "SELECT 1 /*!99999 delimiter // */", false),
            (Dialect::MySql, "SELECT 'a delimiter //', delimiter FROM delimiters", false),
            (Dialect::MySql, "SELECT 'a delimiter //', `delimiter`, delimiter_of FROM t", true),
            (Dialect::MySql, "/*!50003 CREATE TRIGGER t BEGIN SET a = 1; END */", false),
        ] {
            assert_eq!(check(dialect, sql).is_ok(), is_fine, "{sql}");
        }
    }
}
