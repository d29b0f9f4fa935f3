//! Streaming splitter of a dump into statements. Only one statement is in memory at a time.

use std::io::{self, BufRead, Read as _};

use assay_model::Dialect;

/// Maximum bytes of a statement, and of a line of copied rows.
const PART_BYTES: usize = 256 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpPart {
    Statement {
        /// Line where it begins, from 1.
        line: u64,
        /// Need not be UTF-8.
        sql: Vec<u8>,
    },
    /// `COPY … FROM stdin`, whose rows follow: [`DumpParts::next_rows`].
    Copy { line: u64, sql: Vec<u8> },
    /// A client command, such as `\connect shop`.
    Command { line: u64, text: String },
}

#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("line {0}: a statement or a row has more than 256 MiB")]
    TooLong(u64),
    #[error("line {0}: what begins here has no end; the file may be cut off")]
    NoEnd(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SplitContext {
    Sql,
    /// A string or a quoted name, and whether it has backslash escapes.
    Quotes {
        quote: u8,
        has_escapes: bool,
    },
    Comment(u32),
    /// Postgres text between two of these tags.
    Dollars(Vec<u8>),
}

#[derive(Debug)]
pub struct DumpParts<R> {
    source: R,
    dialect: Dialect,
    number: u64,
    line: Vec<u8>,
    at: usize,
    splitter: StatementSplitter,
    /// Line where the statement begins; 0 if none of it was read.
    begins: u64,
    has_rows: bool,
}

impl<R: BufRead> DumpParts<R> {
    pub fn new(source: R, dialect: Dialect) -> Self {
        Self {
            source,
            dialect,
            number: 0,
            line: Vec::new(),
            at: 0,
            splitter: StatementSplitter::new(dialect),
            begins: 0,
            has_rows: false,
        }
    }

    pub fn source(&self) -> &R {
        &self.source
    }

    pub fn next_part(&mut self) -> Result<Option<DumpPart>, DumpError> {
        loop {
            if self.at >= self.line.len() && !self.next_line()? {
                return self.rest();
            }
            if self.at == 0
                && self.splitter.is_between()
                && let Some(part) = self.command()
            {
                match part {
                    Some(part) => return Ok(Some(part)),
                    None => continue,
                }
            }
            let stop = self.splitter.read(&self.line, &mut self.at);
            if self.begins == 0 && self.splitter.has_begun {
                self.begins = self.number;
            }
            if stop == SplitStop::Delimiter {
                let line = std::mem::take(&mut self.begins);
                let Some(sql) = self.splitter.take() else { continue };
                if self.dialect == Dialect::Postgres && begins_copy(&sql) {
                    // Rows begin on the next line.
                    self.at = self.line.len();
                    self.has_rows = true;
                    return Ok(Some(DumpPart::Copy { line, sql }));
                }
                return Ok(Some(DumpPart::Statement { line, sql }));
            }
            if self.splitter.sql.len() > PART_BYTES {
                return Err(DumpError::TooLong(self.begins));
            }
        }
    }

    /// Appends some rows of the current copy; false if no more follow.
    pub fn next_rows(&mut self, out: &mut Vec<u8>) -> Result<bool, DumpError> {
        const ENOUGH: usize = 64 << 10;
        let before = out.len();
        while self.has_rows && out.len() - before < ENOUGH {
            if !self.next_line()? {
                return Err(DumpError::NoEnd(self.number));
            }
            self.at = self.line.len();
            if self.line.trim_ascii_end() == b"\\." {
                self.has_rows = false;
            } else {
                out.extend_from_slice(&self.line);
            }
        }
        Ok(out.len() > before)
    }

    fn rest(&mut self) -> Result<Option<DumpPart>, DumpError> {
        if self.splitter.is_open() {
            return Err(DumpError::NoEnd(self.begins.max(1)));
        }
        let line = std::mem::take(&mut self.begins);
        Ok(self.splitter.take().map(|sql| DumpPart::Statement { line, sql }))
    }

    fn next_line(&mut self) -> Result<bool, DumpError> {
        self.line.clear();
        self.at = 0;
        let mut limited = (&mut self.source).take(PART_BYTES as u64 + 1);
        let length = limited.read_until(b'\n', &mut self.line)?;
        self.number += u64::from(length > 0);
        if length > PART_BYTES {
            return Err(DumpError::TooLong(self.number));
        }
        Ok(length > 0)
    }

    /// A client command on a line where a statement could begin; an inner `None` is one that was executed here.
    fn command(&mut self) -> Option<Option<DumpPart>> {
        let text = self.line.trim_ascii();
        let is_command = self.dialect == Dialect::Postgres && text.starts_with(b"\\");
        let part = is_command.then(|| DumpPart::Command {
            line: self.number,
            text: String::from_utf8_lossy(text).into_owned(),
        });
        if !is_command && !self.splitter.changes_delimiter(text) {
            return None;
        }
        self.at = self.line.len();
        Some(part)
    }
}

/// Splits SQL into statements, line by line, as the clients `mysql` and `psql` do. A comment alone is no statement, and
/// those in front of a statement do not belong to it.
#[derive(Debug)]
pub struct StatementSplitter {
    dialect: Dialect,
    within: SplitContext,
    /// The position is in a comment that MySQL and MariaDB execute.
    is_executed: bool,
    delimiter: Vec<u8>,
    stops_at_backslash: bool,
    /// The statement as far as it was read, with the blanks behind it.
    pub sql: Vec<u8>,
    pub has_begun: bool,
}

/// The reason why reading has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitStop {
    /// The end of the line.
    LineEnd,
    /// A delimiter, which was read.
    Delimiter,
    /// A backslash outside of strings, which was not read.
    Backslash,
}

impl StatementSplitter {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            within: SplitContext::Sql,
            is_executed: false,
            delimiter: b";".to_vec(),
            stops_at_backslash: false,
            sql: Vec::new(),
            has_begun: false,
        }
    }

    /// For scripts, which may have client commands within statements and behind them.
    pub fn stopping_at_backslashes(self) -> Self {
        Self { stops_at_backslash: true, ..self }
    }

    /// Whether a client command may come, such as `DELIMITER`.
    pub fn is_between(&self) -> bool {
        self.within == SplitContext::Sql && !self.has_begun
    }

    /// Whether a string, a quoted name or a comment has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.within != SplitContext::Sql || self.is_executed
    }

    /// Ends strings, quoted names and comments, because the end of their line is lost.
    pub fn close(&mut self) {
        (self.within, self.is_executed) = (SplitContext::Sql, false);
    }

    /// The statement that was read; `None` without one.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let sql = std::mem::take(&mut self.sql);
        std::mem::take(&mut self.has_begun).then(|| sql.trim_ascii().to_vec())
    }

    /// Executes a line such as `DELIMITER //`, whose delimiter may be in quotes. Returns whether it is one.
    pub fn changes_delimiter(&mut self, line: &[u8]) -> bool {
        let mark = delimiter(line).filter(|_| self.dialect == Dialect::MySql);
        if let Some(mark) = mark {
            self.delimiter = mark.to_vec();
        }
        mark.is_some()
    }

    /// Goes on in a line from an offset, which it moves.
    pub fn read(&mut self, line: &[u8], at: &mut usize) -> SplitStop {
        while let Some(rest) = line.get(*at..).filter(|rest| !rest.is_empty()) {
            let length = match &self.within {
                SplitContext::Sql => match self.sql_part(line, *at, rest) {
                    SplitStep::Ends(length) => {
                        *at += length;
                        return SplitStop::Delimiter;
                    }
                    SplitStep::Stops => return SplitStop::Backslash,
                    SplitStep::Skips(length, within) => {
                        *at += length;
                        self.within = within;
                        continue;
                    }
                    SplitStep::Takes(length, within, is_executed) => {
                        self.is_executed = is_executed;
                        if let Some(within) = within {
                            self.within = within;
                        }
                        length
                    }
                },
                SplitContext::Quotes { quote, has_escapes } => {
                    let (length, has_end) = to_quote(rest, *quote, *has_escapes);
                    if has_end {
                        self.within = SplitContext::Sql;
                    }
                    length
                }
                SplitContext::Comment(depth) => {
                    let (length, depth) = to_end_of_comment(rest, *depth, self.dialect);
                    self.within =
                        if depth == 0 { SplitContext::Sql } else { SplitContext::Comment(depth) };
                    // A comment alone is no statement.
                    if !self.has_begun {
                        *at += length;
                        continue;
                    }
                    length
                }
                SplitContext::Dollars(mark) => match find(rest, mark) {
                    Some(place) => {
                        let length = place + mark.len();
                        self.within = SplitContext::Sql;
                        length
                    }
                    None => rest.len(),
                },
            };
            let taken = rest.get(..length).unwrap_or_default();
            self.has_begun |= self.within != SplitContext::Sql || !taken.trim_ascii().is_empty();
            if self.has_begun {
                self.sql.extend_from_slice(taken);
            }
            *at += length;
        }
        SplitStop::LineEnd
    }

    fn sql_part(&self, line: &[u8], at: usize, rest: &[u8]) -> SplitStep {
        let is_mysql = self.dialect == Dialect::MySql;
        if !self.is_executed && rest.starts_with(&self.delimiter) {
            return SplitStep::Ends(self.delimiter.len());
        }
        let enters = |length, within| SplitStep::Takes(length, Some(within), self.is_executed);
        let before = line.get(..at).unwrap_or_default();
        let follows_name = before.last().is_some_and(|byte| is_of_name(*byte));
        match rest {
            [b'\\', ..] if self.stops_at_backslash && !self.is_executed => SplitStep::Stops,
            [b'*', b'/', ..] if self.is_executed => SplitStep::Takes(2, None, false),
            [b'/', b'*', b'!', ..] if is_mysql => SplitStep::Takes(3, None, true),
            [b'/', b'*', b'M', b'!', ..] if is_mysql => SplitStep::Takes(4, None, true),
            [b'/', b'*', ..] if !self.has_begun => SplitStep::Skips(2, SplitContext::Comment(1)),
            [b'/', b'*', ..] => enters(2, SplitContext::Comment(1)),
            [b'-', b'-', after @ ..]
                if !is_mysql || after.first().is_none_or(u8::is_ascii_whitespace) =>
            {
                self.line_comment(rest)
            }
            [b'#', ..] if is_mysql => self.line_comment(rest),
            [quote @ (b'\'' | b'"'), ..] => {
                let has_escapes = is_mysql || *quote == b'\'' && follows_escape(before);
                enters(1, SplitContext::Quotes { quote: *quote, has_escapes })
            }
            [b'`', ..] if is_mysql => {
                enters(1, SplitContext::Quotes { quote: b'`', has_escapes: false })
            }
            [b'$', ..] if !is_mysql && !follows_name => match dollar_mark(rest) {
                Some(mark) => enters(mark.len(), SplitContext::Dollars(mark.to_vec())),
                None => SplitStep::Takes(1, None, self.is_executed),
            },
            _ => {
                // Nothing has a meaning up to the next of these.
                let is_plain =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b',' | b'_');
                let first = self.delimiter.first().copied();
                let plain = rest.iter().skip(1);
                let plain =
                    plain.take_while(|byte| is_plain(byte) && Some(**byte) != first).count();
                SplitStep::Takes(1 + plain, None, self.is_executed)
            }
        }
    }

    /// A comment up to the end of the line. It belongs to a statement that has begun.
    fn line_comment(&self, rest: &[u8]) -> SplitStep {
        if self.has_begun {
            SplitStep::Takes(rest.len(), None, self.is_executed)
        } else {
            SplitStep::Skips(rest.len(), SplitContext::Sql)
        }
    }
}

/// Whether a text ends with the `E` of a Postgres string with backslash escapes.
fn follows_escape(before: &[u8]) -> bool {
    match before {
        [.., before, b'e' | b'E'] => !is_of_name(*before),
        [b'e' | b'E'] => true,
        _ => false,
    }
}

/// The delimiter of a line `DELIMITER //`.
fn delimiter(line: &[u8]) -> Option<&[u8]> {
    let (word, rest) = line.trim_ascii_start().split_at_checked(b"DELIMITER".len())?;
    if !word.eq_ignore_ascii_case(b"DELIMITER") || !rest.first()?.is_ascii_whitespace() {
        return None;
    }
    let mark = rest.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    let is_quote = |byte: &u8| matches!(byte, b'\'' | b'"');
    let first = mark.iter().position(|byte| !is_quote(byte))?;
    let last = mark.iter().rposition(|byte| !is_quote(byte))?;
    mark.get(first..=last)
}

enum SplitStep {
    /// The statement ends with a delimiter of this length.
    Ends(usize),
    /// A backslash.
    Stops,
    /// Skip this many bytes; the context after them.
    Skips(usize, SplitContext),
    /// Take this many bytes into the statement; the context after them, if it changes, and whether that is executed.
    Takes(usize, Option<SplitContext>, bool),
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// `$tag$` at the beginning of a Postgres text.
fn dollar_mark(rest: &[u8]) -> Option<&[u8]> {
    let tag = rest.iter().skip(1).take_while(|it| is_of_name(**it)).count();
    let starts_with_digit = rest.get(1).is_some_and(u8::is_ascii_digit);
    let mark = rest.get(..tag + 2)?;
    (mark.ends_with(b"$") && !starts_with_digit).then_some(mark)
}

/// The bytes up to the end of a string or quoted name, and whether it ends here.
pub(super) fn to_quote(rest: &[u8], quote: u8, has_escapes: bool) -> (usize, bool) {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        if *byte == b'\\' && has_escapes {
            at += 2;
        } else if *byte == quote {
            if rest.get(at + 1) != Some(&quote) {
                return (at + 1, true);
            }
            at += 2;
        } else {
            at += 1;
        }
    }
    (rest.len(), false)
}

/// The bytes up to the end of a comment, and the nesting depth after them.
pub(super) fn to_end_of_comment(rest: &[u8], depth: u32, dialect: Dialect) -> (usize, u32) {
    let (mut at, mut depth) = (0, depth);
    while let Some(rest) = rest.get(at..).filter(|rest| !rest.is_empty()) {
        match rest {
            [b'*', b'/', ..] => {
                (at, depth) = (at + 2, depth.saturating_sub(1));
                if depth == 0 {
                    break;
                }
            }
            [b'/', b'*', ..] if dialect == Dialect::Postgres => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    (at, depth)
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len().max(1)).position(|window| window == part)
}

/// Whether rows follow this Postgres statement.
pub fn begins_copy(sql: &[u8]) -> bool {
    let is_copy = sql.get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b"COPY "));
    let words = String::from_utf8_lossy(sql.get(..sql.len().min(1 << 20)).unwrap_or_default());
    let words: Vec<String> = words.split_whitespace().map(str::to_ascii_uppercase).collect();
    is_copy && words.windows(2).any(|pair| pair == ["FROM", "STDIN"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, dialect: Dialect) -> Vec<String> {
        let mut parts = DumpParts::new(text.as_bytes(), dialect);
        let mut found = Vec::new();
        while let Some(part) = parts.next_part().unwrap() {
            let text = |sql: Vec<u8>| String::from_utf8(sql).unwrap();
            match part {
                DumpPart::Statement { line, sql } => found.push(format!("{line}: {}", text(sql))),
                DumpPart::Command { line, text } => found.push(format!("{line}! {text}")),
                DumpPart::Copy { line, sql } => {
                    let mut rows = Vec::new();
                    while parts.next_rows(&mut rows).unwrap() {}
                    found.push(format!("{line}: {} <- {:?}", text(sql), text(rows)));
                }
            }
        }
        found
    }

    #[test]
    fn a_dump_of_mysql_has_its_statements() {
        let dump = "-- MySQL dump\n\n/*!40101 SET NAMES utf8mb4 */;\n/* a; comment */\n\
            CREATE TABLE `t;` (\n  `a` text -- of; it\n);\nINSERT INTO `t;` VALUES (1,'don\\'t; \\\\'),(2,'x''; y');\n\
            DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = ';;'; \
            SET @b = 1; END */;;\nDELIMITER ;\nSELECT 1 /*!50001 ; */; SELECT 2; \n# end\n";
        assert_eq!(
            parts(dump, Dialect::MySql),
            [
                "3: /*!40101 SET NAMES utf8mb4 */",
                "5: CREATE TABLE `t;` (\n  `a` text -- of; it\n)",
                "8: INSERT INTO `t;` VALUES (1,'don\\'t; \\\\'),(2,'x''; y')",
                "10: /*!50003 CREATE*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = ';;'; SET @b \
                 = 1; END */",
                "12: SELECT 1 /*!50001 ; */",
                "12: SELECT 2",
            ]
        );
    }

    #[test]
    fn a_dump_of_postgres_has_statements_rows_and_commands() {
        let dump = "--\n-- PostgreSQL database dump\n--\n\n\\restrict abc\n\nSET x = 0;\n\
            CREATE FUNCTION f() RETURNS int AS $_$ SELECT 1; -- ';\n $_$ LANGUAGE sql;\n\
            COPY public.t (a, b) FROM stdin;\n1\tit's; x\n2\t\\N\n\\.\n\n/* a /* b */ ; */\n\
            INSERT INTO t VALUES (E'a\\';', 'b\\');\n\\unrestrict abc\nSELECT a$b$ FROM c;\nSELECT 3";
        assert_eq!(
            parts(dump, Dialect::Postgres),
            [
                "5! \\restrict abc",
                "7: SET x = 0",
                "8: CREATE FUNCTION f() RETURNS int AS $_$ SELECT 1; -- ';\n $_$ LANGUAGE sql",
                "10: COPY public.t (a, b) FROM stdin <- \"1\\tit's; x\\n2\\t\\\\N\\n\"",
                "16: INSERT INTO t VALUES (E'a\\';', 'b\\')",
                "17! \\unrestrict abc",
                "18: SELECT a$b$ FROM c",
                "19: SELECT 3",
            ]
        );
    }

    #[test]
    fn what_is_cut_off_is_told_with_its_line() {
        for (text, dialect, line) in [
            ("SELECT 1;\nINSERT INTO t VALUES ('a", Dialect::MySql, 2),
            ("/*!50001 SELECT 1;\n", Dialect::MySql, 1),
            ("\nSELECT $$ a;\n", Dialect::Postgres, 2),
        ] {
            let mut parts = DumpParts::new(text.as_bytes(), dialect);
            let error = loop {
                match parts.next_part() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{text}"),
                    Err(error) => break error,
                }
            };
            assert!(error.to_string().starts_with(&format!("line {line}: what begins")), "{error}");
        }
        let mut parts = DumpParts::new(&b"COPY t FROM stdin;\n1\n"[..], Dialect::Postgres);
        assert!(matches!(parts.next_part(), Ok(Some(DumpPart::Copy { line: 1, .. }))));
        assert!(matches!(parts.next_rows(&mut Vec::new()), Err(DumpError::NoEnd(_))));
    }

    #[test]
    fn bytes_that_are_no_text_pass() {
        let dump = b"INSERT INTO t VALUES (_binary '\xff\\0\xfe;\\'');\nSELECT 1;\n";
        let mut parts = DumpParts::new(&dump[..], Dialect::MySql);
        let Ok(Some(DumpPart::Statement { sql, .. })) = parts.next_part() else { panic!("none") };
        assert_eq!(sql, dump[..40]);
        assert!(matches!(parts.next_part(), Ok(Some(DumpPart::Statement { line: 2, .. }))));
    }
}
