//! A plain file of statements for the clients `mysql` and `psql`.

use assay_model::Dialect;
use assay_workloads::sql::dialect_of;
use assay_workloads::{SplitStop, StatementSplitter, begins_copy};

use crate::reader::{EntrySink, LINE_MAX, LogEntry, LogFormat, LogHints, LogReader, Skip, shown};
use crate::sql::token::{SqlToken, TokenKind, tokenize};
use crate::sql::words::{begins_file, begins_statement};

pub(super) const FORMAT: LogFormat = LogFormat {
    name: "sql",
    about: "plain file of statements, separated by semicolons",
    dialect: None,
    looks,
    open: |head, given| {
        let dialect = given.dialect.or_else(|| guessed(head)).unwrap_or(Dialect::MySql);
        let splitter = Splitter::new(dialect);
        Box::new(ScriptReader { splitter, dialect, database: None, has_begun: false })
    },
};

fn looks(head: &[u8], _: &LogHints) -> bool {
    // Commands of psql may come first.
    let is_command = |line: &&[u8]| line.is_empty() || line.starts_with(b"\\");
    let skipped: usize = head
        .split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| is_command(&line.trim_ascii()))
        .map(<[u8]>::len)
        .sum();
    let head = head.get(skipped..).unwrap_or_default();
    let mut tokens = Vec::new();
    tokenize(head, Dialect::MySql, &mut tokens);
    first_word(head, &tokens).is_some_and(begins_file)
}

fn guessed(head: &[u8]) -> Option<Dialect> {
    dialect_of(&String::from_utf8_lossy(head))
}

/// The first word of a statement. Executed comments are not searched.
fn first_word<'t>(text: &'t [u8], tokens: &[SqlToken]) -> Option<&'t [u8]> {
    let mut rest = tokens.iter().filter(|it| it.kind != TokenKind::Hint && it.bytes(text) != b"(");
    rest.next().map(|it| it.bytes(text))
}

#[derive(Debug)]
struct ScriptReader {
    dialect: Dialect,
    splitter: Splitter,
    database: Option<String>,
    has_begun: bool,
}

/// The clients that read such files have a single session.
const SESSION: u64 = 0;

impl LogReader for ScriptReader {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        // Nothing was set before the file.
        if !std::mem::replace(&mut self.has_begun, true) {
            out.began(SESSION);
        }
        let mut found = Vec::new();
        self.splitter.line(line, &mut found);
        found.into_iter().for_each(|statement| self.take(&statement, out));
    }

    fn end(&mut self, out: &mut dyn EntrySink) {
        if let Some(statement) = self.splitter.end() {
            self.take(&statement, out);
        }
        self.splitter = Splitter::new(self.dialect);
    }
}

impl ScriptReader {
    fn take(&mut self, statement: &SplitStatement, out: &mut dyn EntrySink) {
        let SplitStatement { text, lines_before, is_too_long } = statement;
        if *is_too_long {
            return out.skip(Skip::TooLong);
        }
        let mut tokens = Vec::new();
        tokenize(text, self.dialect, &mut tokens);
        let Some(word) = first_word(text, &tokens) else {
            // Servers execute comments such as `/*!40101 SET ... */`.
            if !tokens.is_empty() {
                self.entry(text, out);
            }
            return;
        };
        if !begins_statement(word) {
            let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            return out.unreadable_before(*lines_before, first);
        }
        if let [_, name] = tokens.as_slice()
            && word.eq_ignore_ascii_case(b"USE")
        {
            self.database = Some(shown(name.bytes(text)).trim_matches('`').to_owned());
        }
        self.entry(text, out);
    }

    fn entry(&self, text: &[u8], out: &mut dyn EntrySink) {
        let database = self.database.as_deref();
        let entry = LogEntry::new(self.dialect, text);
        out.entry(&LogEntry { session: Some(SESSION), database, ..entry });
    }
}

const TEXT_MAX: usize = 8 << 20;

/// psql commands that send the statement before them.
const SENDS: [&[u8]; 8] =
    [b"g", b"gx", b"gset", b"gexec", b"watch", b"crosstabview", b"gdesc", b"bind_named"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitStatement {
    pub(super) text: Vec<u8>,
    /// Number of lines between its first and its last line.
    pub(super) lines_before: u64,
    pub(super) is_too_long: bool,
}

#[derive(Debug)]
pub(super) struct Splitter {
    dialect: Dialect,
    statement: StatementSplitter,
    is_too_long: bool,
    /// Rows of `COPY ... FROM stdin` follow.
    has_rows: bool,
}

impl Splitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        let statement = StatementSplitter::new(dialect).stopping_at_backslashes();
        Self { dialect, statement, is_too_long: false, has_rows: false }
    }

    pub(super) fn line(&mut self, line: &[u8], found: &mut Vec<SplitStatement>) {
        if self.has_rows {
            self.has_rows = line != b"\\.";
            return;
        }
        if self.statement.is_between() && self.statement.changes_delimiter(line) {
            return;
        }
        let mut at = 0;
        while at < line.len() && !self.has_rows {
            match self.statement.read(line, &mut at) {
                SplitStop::LineEnd => {}
                SplitStop::Delimiter => self.finish(found),
                SplitStop::Backslash => at += self.command(&line[at..], found),
            }
        }
        // A truncated line has lost its end. It counts as the last one of the statement.
        if line.len() >= LINE_MAX {
            self.statement.close();
            self.finish(found);
        }
        self.statement.read(b"\n", &mut 0);
        if self.statement.sql.len() > TEXT_MAX {
            self.statement.sql = Vec::new();
            self.is_too_long = true;
        }
    }

    /// The last, undelimited statement.
    pub(super) fn end(&mut self) -> Option<SplitStatement> {
        let mut found = Vec::new();
        if self.statement.sql.ends_with(b"\n") {
            self.statement.sql.pop();
        }
        self.finish(&mut found);
        found.pop()
    }

    /// A client command, which begins with a backslash: it sends the statement before it, drops it, or concerns only
    /// the client. psql takes the rest of the line as its arguments.
    fn command(&mut self, rest: &[u8], found: &mut Vec<SplitStatement>) -> usize {
        let name = rest.get(1..).unwrap_or_default();
        if self.dialect == Dialect::MySql {
            match name.first() {
                Some(b'g' | b'G') => self.finish(found),
                Some(b'c') => self.clear(),
                _ if !self.statement.has_begun => return rest.len(),
                _ => self.statement.sql.push(b'\\'),
            }
            return if matches!(name.first(), Some(b'g' | b'G' | b'c')) { 2 } else { 1 };
        }
        if name.starts_with(b";") {
            self.finish(found);
            return 2;
        }
        let length =
            name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let name = name.get(..length).unwrap_or_default();
        if SENDS.contains(&name) {
            self.finish(found);
        } else if matches!(name, b"r" | b"reset") {
            self.clear();
        }
        rest.len()
    }

    fn clear(&mut self) {
        self.statement.take();
        self.is_too_long = false;
    }

    fn finish(&mut self, found: &mut Vec<SplitStatement>) {
        let sql = &self.statement.sql;
        let lines_before = sql.iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_too_long = std::mem::take(&mut self.is_too_long) || sql.len() > TEXT_MAX;
        if let Some(text) = self.statement.take() {
            self.has_rows = self.dialect == Dialect::Postgres && begins_copy(&text);
            found.push(SplitStatement { text, lines_before, is_too_long });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, dialect: Dialect) -> Vec<(String, u64)> {
        let mut splitter = Splitter::new(dialect);
        let mut found = Vec::new();
        for line in text.lines() {
            splitter.line(line.as_bytes(), &mut found);
        }
        found.extend(splitter.end());
        let shown = |it: SplitStatement| (String::from_utf8(it.text).unwrap(), it.lines_before);
        found.into_iter().map(shown).collect()
    }

    fn texts(text: &str, dialect: Dialect) -> Vec<String> {
        split(text, dialect).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn the_client_mysql_ends_statements_with_marks_and_commands() {
        let text = "-- a; comment\nSELECT 1\\G\nSELECT ';\\'', \";\", `;`,\n2 /* ; */ # ;\n; SELECT 3\\c SELECT 4\\g\n\
                    DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 5; END//\ndelimiter ;\n\\! ls\n\
                    /*!40101 SET NAMES utf8 */;\n/*!50003 SET @a = 1; */;SELECT 6";
        assert_eq!(
            texts(text, Dialect::MySql),
            [
                "SELECT 1",
                "SELECT ';\\'', \";\", `;`,\n2 /* ; */ # ;",
                "SELECT 4",
                "CREATE PROCEDURE p() BEGIN SELECT 5; END",
                "/*!40101 SET NAMES utf8 */",
                "/*!50003 SET @a = 1; */",
                "SELECT 6",
            ]
        );
    }

    #[test]
    fn psql_sends_statements_with_marks_and_commands() {
        let text = "\\c shop\n\\set a 1\nSELECT 1 \\gset x_\nSELECT $$;$$, E'\\';', 'a\\', $f$ $ ; $f$ \\gx\n\
                    /* a /* b; */ ; */ SELECT 2;\nCOPY t FROM stdin;\n1;\n2\n\\.\nSELECT 3 \\r\nSELECT a$b$, 4;";
        assert_eq!(
            texts(text, Dialect::Postgres),
            [
                "SELECT 1",
                "SELECT $$;$$, E'\\';', 'a\\', $f$ $ ; $f$",
                "SELECT 2",
                "COPY t FROM stdin",
                "SELECT a$b$, 4",
            ]
        );
    }

    #[test]
    fn a_statement_tells_where_it_begins() {
        let text = "\n\n-- c\nSELECT 1\n,2\n;\nSELECT 3;\nSELECT\n4";
        let lines: Vec<u64> = split(text, Dialect::MySql).iter().map(|(_, lines)| *lines).collect();
        assert_eq!(lines, [2, 0, 1]);
    }

    #[test]
    fn a_statement_that_is_too_long_ends_where_it_ends() {
        let mut splitter = Splitter::new(Dialect::MySql);
        let mut found = Vec::new();
        splitter.line(b"SELECT '", &mut found);
        let line = vec![b';'; 1 << 20];
        for _ in 0..10 {
            splitter.line(&line, &mut found);
        }
        assert_eq!(found, []);
        splitter.line(b"'; SELECT 1;", &mut found);
        let kinds: Vec<bool> = found.iter().map(|it| it.is_too_long).collect();
        assert_eq!(kinds, [true, false]);
    }
}
