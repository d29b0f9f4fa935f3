//! Guesses the dialect of statements from features that only one dialect has.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use assay_model::Dialect;

use super::pieces;

const HEADING_LINES: usize = 60;

const HEADINGS: [(&str, Dialect); 14] = [
    ("PostgreSQL database dump", Dialect::Postgres),
    ("\\connect ", Dialect::Postgres),
    ("\\restrict ", Dialect::Postgres),
    ("pg_catalog.set_config", Dialect::Postgres),
    ("SET client_encoding", Dialect::Postgres),
    ("-- MySQL dump", Dialect::MySql),
    ("-- MariaDB dump", Dialect::MySql),
    ("MySQL pump utility", Dialect::MySql),
    ("MySQL Workbench", Dialect::MySql),
    ("phpMyAdmin SQL Dump", Dialect::MySql),
    ("/*!40101 SET", Dialect::MySql),
    ("/*!50503 SET", Dialect::MySql),
    ("/*!40014 SET", Dialect::MySql),
    ("/*M!", Dialect::MySql),
];

const POSTGRES: [&str; 36] = [
    "ARRAY",
    "ARRAY_AGG",
    "BIGSERIAL",
    "BYTEA",
    "CIDR",
    "CONFLICT",
    "CURRVAL",
    "DATE_TRUNC",
    "EXTENSION",
    "GENERATE_SERIES",
    "HSTORE",
    "IDENTITY",
    "ILIKE",
    "JSONB",
    "JSONB_AGG",
    "JSONB_BUILD_OBJECT",
    "NEXTVAL",
    "NOTNULL",
    "OWNER",
    "PERFORM",
    "PG_CATALOG",
    "PLPGSQL",
    "REGCLASS",
    "SEARCH_PATH",
    "SETVAL",
    "SMALLSERIAL",
    "STDIN",
    "STDOUT",
    "STRING_AGG",
    "TIMESTAMPTZ",
    "TIMETZ",
    "TO_TSQUERY",
    "TO_TSVECTOR",
    "TSVECTOR",
    "UNLOGGED",
    "UNNEST",
];

const MYSQL: [&str; 44] = [
    "AUTO_INCREMENT",
    "CURDATE",
    "DATETIME",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "DELIMITER",
    "DIV",
    "DUPLICATE",
    "ENGINE",
    "FIND_IN_SET",
    "FOREIGN_KEY_CHECKS",
    "FROM_UNIXTIME",
    "FULLTEXT",
    "GROUP_CONCAT",
    "IFNULL",
    "IGNORE",
    "INNODB",
    "JSON_EXTRACT",
    "LAST_INSERT_ID",
    "LONGBLOB",
    "LONGTEXT",
    "MEDIUMBLOB",
    "MEDIUMINT",
    "MEDIUMTEXT",
    "MYISAM",
    "REGEXP",
    "RLIKE",
    "SQL_CALC_FOUND_ROWS",
    "SQL_LOG_BIN",
    "SQL_MODE",
    "SQL_NO_CACHE",
    "STRAIGHT_JOIN",
    "STR_TO_DATE",
    "TINYBLOB",
    "TINYINT",
    "TINYTEXT",
    "UNIQUE_CHECKS",
    "UNIX_TIMESTAMP",
    "UNSIGNED",
    "UTC_TIMESTAMP",
    "UTF8MB4",
    "XOR",
    "ZEROFILL",
];

/// Words followed by a table name, which Postgres puts in double quotes.
const BEFORE_NAMES: [&str; 8] =
    ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "EXISTS", "ONLY", "REFERENCES"];

/// Uses the heading, or the dialect with more distinctive features. `None` if undecided.
pub fn dialect_of(text: &str) -> Option<Dialect> {
    dialect_of_heading(text).or_else(|| {
        let signs = DialectSigns::in_text(text);
        match signs.mysql.len().cmp(&signs.postgres.len()) {
            Ordering::Greater => Some(Dialect::MySql),
            Ordering::Less => Some(Dialect::Postgres),
            Ordering::Equal => None,
        }
    })
}

pub(crate) fn dialect_of_heading(text: &str) -> Option<Dialect> {
    let mut lines = text.lines().take(HEADING_LINES);
    let named = lines.find_map(|line| HEADINGS.iter().find(|(words, _)| line.contains(words)));
    named.map(|(_, dialect)| *dialect)
}

/// Features of only one dialect, without duplicates.
#[derive(Default)]
struct DialectSigns<'t> {
    mysql: BTreeSet<&'t str>,
    postgres: BTreeSet<&'t str>,
}

impl<'t> DialectSigns<'t> {
    fn in_text(text: &'t str) -> Self {
        let mut signs = Self::default();
        for line in text.lines() {
            signs.line(line);
        }
        let mut before = "";
        for piece in pieces(text, Dialect::Postgres) {
            signs.piece(
                piece.text,
                before,
                text.get(piece.at + piece.text.len()..).unwrap_or_default(),
            );
            if !piece.text.trim().is_empty() {
                before = piece.text;
            }
        }
        signs
    }

    fn line(&mut self, line: &'t str) {
        let mut chars = line.chars();
        match (chars.next(), chars.next()) {
            (Some('\\'), Some(command)) if command.is_ascii_lowercase() => {
                self.postgres.insert("\\");
            }
            (Some('#'), _) => drop(self.mysql.insert("#")),
            _ => {}
        }
        if line.trim_end().ends_with("\\G") {
            self.mysql.insert("\\G");
        }
    }

    fn piece(&mut self, piece: &'t str, before: &str, rest: &str) {
        let is = |words: &[&str], word: &str| words.iter().any(|it| it.eq_ignore_ascii_case(word));
        match piece.chars().next() {
            Some('`') => drop(self.mysql.insert("`")),
            Some('@') if rest.starts_with(|c: char| c == '@' || c.is_ascii_alphabetic()) => {
                self.mysql.insert("@");
            }
            Some('/') if piece.starts_with("/*!") => drop(self.mysql.insert("/*!")),
            Some(':') if piece == "::" => drop(self.postgres.insert("::")),
            Some('~') if before != "(" => drop(self.postgres.insert("~")),
            Some('$') if piece.len() > 1 || rest.starts_with(|c: char| c.is_ascii_digit()) => {
                self.postgres.insert("$");
            }
            Some('e' | 'E') if piece.ends_with('\'') => drop(self.postgres.insert("E''")),
            // MySQL and MariaDB have strings in such quotes, but no names.
            Some('"') if is(&BEFORE_NAMES, before) || before == "." || rest.starts_with('.') => {
                self.postgres.insert("\"");
            }
            Some(first) if first.is_alphabetic() || first == '_' => {
                if is(&MYSQL, piece) {
                    self.mysql.insert(piece);
                } else if is(&POSTGRES, piece)
                    || piece.get(..3).is_some_and(|it| it.eq_ignore_ascii_case("pg_"))
                    || piece.eq_ignore_ascii_case("public") && rest.starts_with('.')
                {
                    self.postgres.insert(piece);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_tell_their_dialect() {
        let (mysql, postgres) = (Some(Dialect::MySql), Some(Dialect::Postgres));
        for (text, expected) in [
            ("-- MySQL dump 10.13\nSELECT 1::int", mysql),
            ("-- Dump created by MySQL pump utility, version: 5.7.29\n", mysql),
            ("SELECT `a` FROM t", mysql),
            ("SELECT a FROM t WHERE b = \"x\"", None),
            ("SELECT a FROM t WHERE b = 'x::y $1 `'", None),
            ("SELECT a FROM t\\G\n", mysql),
            ("# all\nSELECT a FROM t LIMIT 1;", mysql),
            ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2", mysql),
            ("--\n-- PostgreSQL database dump\n--\n", postgres),
            ("SELECT a::int FROM t", postgres),
            ("SELECT a FROM t WHERE b = $1", postgres),
            ("SELECT \"a\" FROM \"t\"", postgres),
            ("SELECT \"t\".\"a\" FROM t", postgres),
            ("\\c music\nCREATE TABLE t (a INT);", postgres),
            ("CREATE TABLE t (a INT GENERATED BY DEFAULT AS IDENTITY);", postgres),
            ("CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql;", postgres),
            ("COPY t FROM stdin;\n1\n\\.\n", postgres),
            ("CREATE TABLE t (a INT PRIMARY KEY);", None),
            ("", None),
        ] {
            assert_eq!(dialect_of(text), expected, "{text}");
        }
    }
}
