//! Table names qualified with a MySQL or MariaDB database, as written by mysqlpump and MySQL Workbench.

use assay_model::Dialect;

use super::split::{to_end_of_comment, to_quote};

struct QualifiedName<'s> {
    start: usize,
    end: usize,
    /// Without quotes.
    text: &'s [u8],
    /// Where the next name begins, if joined by a period.
    next: Option<usize>,
    /// Joined by a period or an `@` to what precedes it.
    is_joined: bool,
}

/// Removes this database before table names; `None` if no name has it.
pub fn without_database(sql: &[u8], database: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut names = NameScanner { sql, at: 0, is_joined: false };
    while let Some(name) = names.next() {
        let is_first = !name.is_joined && !database.is_empty();
        let Some(next) = name.next.filter(|_| is_first) else { continue };
        if is_named(name.text, database) {
            out.extend_from_slice(sql.get(copied..name.start).unwrap_or_default());
            copied = next;
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(sql.get(copied..).unwrap_or_default());
    Some(out)
}

/// The database before the name of the table that a statement creates, fills, changes or drops.
pub fn table_database(sql: &[u8]) -> Option<String> {
    const BEFORE: &str =
        "CREATE TEMPORARY TABLE IF NOT EXISTS INSERT REPLACE IGNORE INTO ALTER DROP DELETE FROM";
    let mut names = NameScanner { sql, at: 0, is_joined: false };
    let mut words = 0;
    loop {
        let name = names.next()?;
        let is_quoted = name.end - name.start > name.text.len();
        if !is_quoted && BEFORE.split(' ').any(|word| is_word(name.text, word)) {
            words += 1;
            continue;
        }
        // The version of `/*!40000`.
        if words == 0 && name.text.iter().all(u8::is_ascii_digit) {
            continue;
        }
        let is_table = words >= 2 && name.next.is_some();
        return is_table
            .then(|| String::from_utf8(name.text.to_vec()).ok())
            .flatten()
            .map(|name| name.replace("``", "`"));
    }
}

fn is_word(text: &[u8], word: &str) -> bool {
    text.eq_ignore_ascii_case(word.as_bytes())
}

/// Compares with a name whose quotes are doubled.
fn is_named(text: &[u8], name: &str) -> bool {
    text == name.as_bytes() || text.contains(&b'`') && text == name.replace('`', "``").as_bytes()
}

struct NameScanner<'s> {
    sql: &'s [u8],
    at: usize,
    is_joined: bool,
}

impl<'s> NameScanner<'s> {
    fn next(&mut self) -> Option<QualifiedName<'s>> {
        loop {
            let rest = self.sql.get(self.at..)?;
            let (length, joins) = match rest {
                [] => return None,
                [quote @ (b'\'' | b'"'), inside @ ..] => {
                    (1 + to_quote(inside, *quote, true).0, false)
                }
                // Comments that servers execute are part of the statement.
                [b'/', b'*', b'!', ..] => (3, false),
                [b'/', b'*', b'M', b'!', ..] => (4, false),
                [b'/', b'*', inside @ ..] => {
                    (2 + to_end_of_comment(inside, 1, Dialect::MySql).0, self.is_joined)
                }
                [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => {
                    let line = rest.iter().position(|byte| *byte == b'\n');
                    (line.unwrap_or(rest.len()), self.is_joined)
                }
                [b'`', inside @ ..] => {
                    let (length, is_closed) = to_quote(inside, b'`', false);
                    let end = 1 + length;
                    let text = rest.get(1..end - usize::from(is_closed))?;
                    return Some(self.name(end, text));
                }
                [byte, ..] if is_of_name(*byte) => {
                    let end = rest.iter().take_while(|byte| is_of_name(**byte)).count();
                    return Some(self.name(end, rest.get(..end)?));
                }
                [byte, ..] => {
                    let is_blank = byte.is_ascii_whitespace();
                    (1, matches!(byte, b'.' | b'@') || is_blank && self.is_joined)
                }
            };
            (self.at, self.is_joined) = (self.at + length, joins);
        }
    }

    fn name(&mut self, length: usize, text: &'s [u8]) -> QualifiedName<'s> {
        let (start, end) = (self.at, self.at + length);
        let is_joined = std::mem::take(&mut self.is_joined);
        self.at = end;
        let blanks = |from: usize| {
            let rest = self.sql.get(from..).unwrap_or_default();
            from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
        };
        let period = blanks(end);
        let next = (self.sql.get(period) == Some(&b'.')).then(|| blanks(period + 1));
        let is_name =
            |at: &usize| self.sql.get(*at).is_some_and(|it| is_of_name(*it) || *it == b'`');
        // The fraction of a number is no name.
        let is_number = text.iter().all(u8::is_ascii_digit) && length == text.len();
        QualifiedName {
            start,
            end,
            text,
            next: next.filter(is_name).filter(|_| !is_number),
            is_joined,
        }
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_taken_off_names_of_tables() {
        for (sql, expected) in [
            ("CREATE TABLE `a`.`t` (`a` int)", Some("CREATE TABLE `t` (`a` int)")),
            (
                "INSERT INTO a.t VALUES ('a.t', \"a.t\\\".\", 1.5)",
                Some("INSERT INTO t VALUES ('a.t', \"a.t\\\".\", 1.5)"),
            ),
            ("SELECT `a` . `t`.`a`, x.a.b FROM a.t", Some("SELECT `t`.`a`, x.a.b FROM t")),
            (
                "/*!50001 CREATE VIEW `a`.`v` AS SELECT 1 */",
                Some("/*!50001 CREATE VIEW `v` AS SELECT 1 */"),
            ),
            ("CREATE DEFINER=`u`@`a`.x VIEW b.v AS SELECT 1", None),
            ("SELECT a.* FROM b.t a -- a.t\n", None),
            ("SELECT `a", None),
            ("", None),
        ] {
            let found = without_database(sql.as_bytes(), "a");
            let found = found.map(|it| String::from_utf8(it).unwrap());
            assert_eq!(found.as_deref(), expected, "{sql}");
        }
        let found = without_database(b"SELECT 1 FROM `a``b`.t", "a`b").unwrap();
        assert_eq!(found, b"SELECT 1 FROM t");
    }

    #[test]
    fn the_database_of_a_table_is_found() {
        for (sql, expected) in [
            ("CREATE TABLE IF NOT EXISTS `a b`.`t` (x int)", Some("a b")),
            ("insert into a.t values (1)", Some("a")),
            ("/*!40000 CREATE TABLE a.t (x int) */", Some("a")),
            ("DROP TABLE IF EXISTS `a`.`t`", Some("a")),
            ("DELETE FROM t WHERE a.b = 1", None),
            ("CREATE TABLE t (a int)", None),
            ("CREATE VIEW a.v AS SELECT 1", None),
            ("SET a.b = 1", None),
        ] {
            assert_eq!(table_database(sql.as_bytes()).as_deref(), expected, "{sql}");
        }
    }
}
