//! A plain file of statements for the clients `mysql` and `psql`.

use assay_model::Dialect;
use assay_workloads::sql::dialect_of;

use crate::reader::{EntrySink, LINE_MAX, LogEntry, LogFormat, LogHints, LogReader, Skip, shown};
use crate::sql::token::{SqlToken, TokenKind, find, tokenize};
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum SplitState {
    Sql,
    /// A string or a quoted name, and whether it has backslash escapes.
    Quotes {
        quote: u8,
        has_escapes: bool,
    },
    /// A comment, and its nesting depth.
    Comment(u32),
    /// Text between two of these tags.
    Dollars(Vec<u8>),
    /// Rows of `COPY ... FROM stdin`.
    Rows,
}

#[derive(Debug)]
pub(super) struct Splitter {
    dialect: Dialect,
    delimiter: Vec<u8>,
    text: Vec<u8>,
    within: SplitState,
    /// The statement has more than blanks and comments.
    has_begun: bool,
    is_too_long: bool,
    /// Lines that ended since the statement began.
    lines_before: u64,
}

impl Splitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            delimiter: b";".to_vec(),
            text: Vec::new(),
            within: SplitState::Sql,
            has_begun: false,
            is_too_long: false,
            lines_before: 0,
        }
    }

    pub(super) fn line(&mut self, line: &[u8], found: &mut Vec<SplitStatement>) {
        if self.within == SplitState::Rows {
            if line == b"\\." {
                self.within = SplitState::Sql;
            }
            return;
        }
        let is_between = self.within == SplitState::Sql && !self.has_begun;
        if is_between
            && self.dialect == Dialect::MySql
            && let Some(mark) = delimiter(line)
        {
            self.delimiter = mark;
            return;
        }
        let mut at = 0;
        while at < line.len() && self.within != SplitState::Rows {
            at = self.step(line, at, found);
        }
        // A truncated line has lost its end. It counts as the last one of the statement.
        if line.len() >= LINE_MAX {
            self.within = SplitState::Sql;
            self.finish(found);
        }
        if self.has_begun || self.within != SplitState::Sql {
            self.push(b"\n");
            self.lines_before += 1;
        } else {
            self.clear();
        }
    }

    /// The last, undelimited statement.
    pub(super) fn end(&mut self) -> Option<SplitStatement> {
        let mut found = Vec::new();
        self.lines_before = self.lines_before.saturating_sub(1);
        self.finish(&mut found);
        found.pop()
    }

    fn step(&mut self, line: &[u8], at: usize, found: &mut Vec<SplitStatement>) -> usize {
        let rest = line.get(at..).unwrap_or_default();
        let length = match &self.within {
            SplitState::Sql => return at + self.sql(line, at, rest, found),
            SplitState::Quotes { quote, has_escapes } => {
                let (length, is_closed) = to_quote(rest, *quote, *has_escapes);
                if is_closed {
                    self.within = SplitState::Sql;
                }
                length
            }
            SplitState::Comment(depth) => {
                let (length, depth) = to_end_of_comment(rest, *depth, self.dialect);
                self.within = if depth == 0 { SplitState::Sql } else { SplitState::Comment(depth) };
                length
            }
            SplitState::Dollars(mark) => match find(rest, mark) {
                Some(found) => {
                    let length = found + mark.len();
                    self.within = SplitState::Sql;
                    length
                }
                None => rest.len(),
            },
            SplitState::Rows => rest.len(),
        };
        self.push(rest.get(..length).unwrap_or_default());
        at + length
    }

    fn sql(
        &mut self,
        line: &[u8],
        at: usize,
        rest: &[u8],
        found: &mut Vec<SplitStatement>,
    ) -> usize {
        let is_mysql = self.dialect == Dialect::MySql;
        if rest.starts_with(&self.delimiter) {
            self.finish(found);
            return self.delimiter.len();
        }
        let before = at.checked_sub(1).and_then(|at| line.get(at)).copied();
        let follows_name = before.is_some_and(is_of_name);
        let (length, within) = match rest {
            [b'\\', ..] => return self.command(rest, found),
            [b'-', b'-', after @ ..]
                if !is_mysql || after.first().is_none_or(u8::is_ascii_whitespace) =>
            {
                (rest.len(), None)
            }
            [b'#', ..] if is_mysql => (rest.len(), None),
            [b'/', b'*', third, ..] if matches!(third, b'!' | b'+' | b'M') && is_mysql => {
                self.has_begun = true;
                (2, Some(SplitState::Comment(1)))
            }
            [b'/', b'*', ..] => (2, Some(SplitState::Comment(1))),
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                self.has_begun = true;
                let follows_escape = matches!(before, Some(b'e' | b'E'))
                    && !at
                        .checked_sub(2)
                        .and_then(|at| line.get(at))
                        .copied()
                        .is_some_and(is_of_name);
                let has_escapes = *quote != b'`' && is_mysql || *quote == b'\'' && follows_escape;
                (1, Some(SplitState::Quotes { quote: *quote, has_escapes }))
            }
            [b'$', ..] if !is_mysql && !follows_name => {
                self.has_begun = true;
                match dollar_mark(rest) {
                    Some(mark) => (mark.len(), Some(SplitState::Dollars(mark.to_vec()))),
                    None => (1, None),
                }
            }
            [first, ..] => {
                self.has_begun |= !first.is_ascii_whitespace();
                let delimiter = self.delimiter.first().copied();
                let is_plain = |byte: &&u8| {
                    (byte.is_ascii_alphanumeric() || **byte == b'_') && Some(**byte) != delimiter
                };
                let plain = rest.iter().skip(1).take_while(is_plain).count();
                (if is_of_name(*first) { 1 + plain } else { 1 }, None)
            }
            [] => (1, None),
        };
        self.push(rest.get(..length).unwrap_or_default());
        if let Some(within) = within {
            self.within = within;
        }
        length
    }

    /// A client command, which begins with a backslash: it sends the statement before it, drops it, or concerns only
    /// the client. psql takes the rest of the line as its arguments.
    fn command(&mut self, rest: &[u8], found: &mut Vec<SplitStatement>) -> usize {
        let name = rest.get(1..).unwrap_or_default();
        if self.dialect == Dialect::MySql {
            match name.first() {
                Some(b'g' | b'G') => self.finish(found),
                Some(b'c') => self.clear(),
                _ if !self.has_begun => return rest.len(),
                _ => self.push(rest.get(..1).unwrap_or_default()),
            }
            return if matches!(name.first(), Some(b'g' | b'G' | b'c')) { 2 } else { 1 };
        }
        if name.starts_with(b";") {
            self.finish(found);
            return 2;
        }
        let length = name.iter().take_while(|byte| is_of_name(**byte)).count();
        let name = name.get(..length).unwrap_or_default();
        if SENDS.contains(&name) {
            self.finish(found);
        } else if matches!(name, b"r" | b"reset") {
            self.clear();
        }
        rest.len()
    }

    fn push(&mut self, part: &[u8]) {
        if self.is_too_long || self.text.len() + part.len() > TEXT_MAX {
            self.text = Vec::new();
            self.is_too_long = true;
            return;
        }
        self.text.extend_from_slice(part);
    }

    fn clear(&mut self) {
        self.text.clear();
        (self.has_begun, self.is_too_long, self.lines_before) = (false, false, 0);
    }

    fn finish(&mut self, found: &mut Vec<SplitStatement>) {
        let (is_too_long, lines_before) = (self.is_too_long, self.lines_before);
        if self.has_begun {
            let text = self.text.trim_ascii().to_vec();
            if self.dialect == Dialect::Postgres && copies(&text) {
                self.within = SplitState::Rows;
            }
            found.push(SplitStatement { text, lines_before, is_too_long });
        }
        self.clear();
    }
}

/// The delimiter of a line `DELIMITER //`.
fn delimiter(line: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = line.trim_ascii_start().split_at_checked(b"DELIMITER".len())?;
    if !word.eq_ignore_ascii_case(b"DELIMITER") || !rest.first()?.is_ascii_whitespace() {
        return None;
    }
    let mark = rest.trim_ascii();
    let mark = mark.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    let from = mark.iter().take_while(|it| is_quote(it)).count();
    let mark = mark.get(from..).unwrap_or_default();
    let end = mark.iter().rposition(|it| !is_quote(it)).map_or(0, |last| last + 1);
    mark.get(..end).filter(|mark| !mark.is_empty()).map(<[u8]>::to_vec)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// `$tag$` at the beginning of a Postgres text.
fn dollar_mark(rest: &[u8]) -> Option<&[u8]> {
    let tag = rest.iter().skip(1).take_while(|it| is_of_name(**it)).count();
    let mark = rest.get(..tag + 2)?;
    let is_number = mark.get(1).is_some_and(u8::is_ascii_digit);
    (mark.ends_with(b"$") && !is_number).then_some(mark)
}

/// The bytes up to the end of a string or a quoted name, and whether it ends here. A doubled quote is part of it.
fn to_quote(rest: &[u8], quote: u8, has_escapes: bool) -> (usize, bool) {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' if has_escapes => at += 2,
            byte if byte == quote && rest.get(at + 1) != Some(&quote) => return (at + 1, true),
            byte if byte == quote => at += 2,
            _ => at += 1,
        }
    }
    (rest.len(), false)
}

/// The bytes up to the end of a comment, and the nesting depth after them.
fn to_end_of_comment(rest: &[u8], depth: u32, dialect: Dialect) -> (usize, u32) {
    let (mut at, mut depth) = (0, depth);
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        match rest {
            [b'*', b'/', ..] => {
                (at, depth) = (at + 2, depth.saturating_sub(1));
                if depth == 0 {
                    break;
                }
            }
            [b'/', b'*', ..] if dialect == Dialect::Postgres => {
                (at, depth) = (at + 2, depth.saturating_add(1));
            }
            _ => at += 1,
        }
    }
    (at, depth)
}

fn copies(text: &[u8]) -> bool {
    let is_copy = text.get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b"COPY "));
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
    is_copy && std::iter::from_fn(|| words.next()).any(|word| word.eq_ignore_ascii_case(b"STDIN"))
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
                    /*!40101 SET NAMES utf8 */;\nSELECT 6";
        assert_eq!(
            texts(text, Dialect::MySql),
            [
                "SELECT 1",
                "SELECT ';\\'', \";\", `;`,\n2 /* ; */ # ;",
                "SELECT 4",
                "CREATE PROCEDURE p() BEGIN SELECT 5; END",
                "/*!40101 SET NAMES utf8 */",
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
                "/* a /* b; */ ; */ SELECT 2",
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
