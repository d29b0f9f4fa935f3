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
    within: SplitContext,
    /// The position is in a comment that MySQL and MariaDB execute.
    is_executed: bool,
    mark: Vec<u8>,
    sql: Vec<u8>,
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
            within: SplitContext::Sql,
            is_executed: false,
            mark: b";".to_vec(),
            sql: Vec::new(),
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
                && self.begins == 0
                && self.within == SplitContext::Sql
                && let Some(part) = self.command()
            {
                match part {
                    Some(part) => return Ok(Some(part)),
                    None => continue,
                }
            }
            if self.reads_to_mark() {
                let (line, sql) = (self.begins, std::mem::take(&mut self.sql));
                self.begins = 0;
                if line == 0 {
                    continue;
                }
                let sql = sql.trim_ascii().to_vec();
                if self.dialect == Dialect::Postgres && copies(&sql) {
                    // Rows begin on the next line.
                    self.at = self.line.len();
                    self.has_rows = true;
                    return Ok(Some(DumpPart::Copy { line, sql }));
                }
                return Ok(Some(DumpPart::Statement { line, sql }));
            }
            if self.sql.len() > PART_BYTES {
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
        if self.within != SplitContext::Sql || self.is_executed {
            return Err(DumpError::NoEnd(self.begins.max(1)));
        }
        let (line, sql) = (std::mem::take(&mut self.begins), std::mem::take(&mut self.sql));
        let sql = sql.trim_ascii().to_vec();
        Ok((line > 0 && !sql.is_empty()).then_some(DumpPart::Statement { line, sql }))
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
        if self.dialect == Dialect::Postgres {
            let text =
                text.starts_with(b"\\").then(|| String::from_utf8_lossy(text).into_owned())?;
            self.at = self.line.len();
            return Some(Some(DumpPart::Command { line: self.number, text }));
        }
        let (word, mark) = text.split_at_checked(b"DELIMITER".len())?;
        let mark = mark.strip_prefix(b" ").or(mark.strip_prefix(b"\t"))?.trim_ascii();
        if !word.eq_ignore_ascii_case(b"DELIMITER") || mark.is_empty() {
            return None;
        }
        self.mark = mark.to_vec();
        self.at = self.line.len();
        Some(None)
    }

    /// Continues in the line; true if a statement ends.
    fn reads_to_mark(&mut self) -> bool {
        while let Some(rest) = self.line.get(self.at..).filter(|rest| !rest.is_empty()) {
            let length = match &self.within {
                SplitContext::Sql => match self.sql_part(rest) {
                    SplitStep::Ends(length) => {
                        self.at += length;
                        return true;
                    }
                    SplitStep::Skips(length, within) => {
                        self.at += length;
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
                    if self.begins == 0 {
                        self.at += length;
                        continue;
                    }
                    length
                }
                SplitContext::Dollars(mark) => match find(rest, mark) {
                    Some(at) => {
                        let length = at + mark.len();
                        self.within = SplitContext::Sql;
                        length
                    }
                    None => rest.len(),
                },
            };
            let taken = self.line.get(self.at..self.at + length).unwrap_or_default();
            if self.begins == 0
                && !(self.within == SplitContext::Sql && taken.trim_ascii().is_empty())
            {
                self.begins = self.number;
            }
            if self.begins != 0 {
                self.sql.extend_from_slice(taken);
            }
            self.at += length;
        }
        false
    }

    fn sql_part(&self, rest: &[u8]) -> SplitStep {
        let is_mysql = self.dialect == Dialect::MySql;
        if !self.is_executed && rest.starts_with(&self.mark) {
            return SplitStep::Ends(self.mark.len());
        }
        let enters = |length, within| SplitStep::Takes(length, Some(within), self.is_executed);
        match rest {
            [b'*', b'/', ..] if self.is_executed => SplitStep::Takes(2, None, false),
            [b'/', b'*', b'!', ..] if is_mysql => SplitStep::Takes(3, None, true),
            [b'/', b'*', b'M', b'!', ..] if is_mysql => SplitStep::Takes(4, None, true),
            [b'/', b'*', ..] if self.begins == 0 => SplitStep::Skips(2, SplitContext::Comment(1)),
            [b'/', b'*', ..] => enters(2, SplitContext::Comment(1)),
            [b'-', b'-', after @ ..]
                if !is_mysql || after.first().is_none_or(u8::is_ascii_whitespace) =>
            {
                self.line_comment(rest)
            }
            [b'#', ..] if is_mysql => self.line_comment(rest),
            [quote @ (b'\'' | b'"'), ..] => {
                let has_escapes = is_mysql || *quote == b'\'' && self.follows_escape();
                enters(1, SplitContext::Quotes { quote: *quote, has_escapes })
            }
            [b'`', ..] if is_mysql => {
                enters(1, SplitContext::Quotes { quote: b'`', has_escapes: false })
            }
            [b'$', ..] if !is_mysql && !self.follows_name() => match dollar_mark(rest) {
                Some(mark) => enters(mark.len(), SplitContext::Dollars(mark.to_vec())),
                None => SplitStep::Takes(1, None, self.is_executed),
            },
            _ => {
                // Nothing has a meaning up to the next of these.
                let is_plain =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b',' | b'_');
                let first = self.mark.first().copied();
                let plain = rest.iter().skip(1);
                let plain = plain.take_while(|it| is_plain(it) && Some(**it) != first).count();
                SplitStep::Takes(1 + plain, None, self.is_executed)
            }
        }
    }

    /// A comment up to the end of the line. It belongs to a statement that has begun.
    fn line_comment(&self, rest: &[u8]) -> SplitStep {
        match self.begins {
            0 => SplitStep::Skips(rest.len(), SplitContext::Sql),
            _ => SplitStep::Takes(rest.len(), None, self.is_executed),
        }
    }

    /// Whether the position follows the `E` of a Postgres string with backslash escapes.
    fn follows_escape(&self) -> bool {
        let before = self.line.get(..self.at).unwrap_or_default();
        match before {
            [.., before, b'e' | b'E'] => !is_of_name(*before),
            [b'e' | b'E'] => true,
            _ => false,
        }
    }

    fn follows_name(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.line.get(at));
        before.is_some_and(|byte| is_of_name(*byte))
    }
}

enum SplitStep {
    /// The statement ends with a delimiter of this length.
    Ends(usize),
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

fn copies(sql: &[u8]) -> bool {
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
