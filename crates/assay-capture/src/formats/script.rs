//! A plain file of statements, as the clients `mysql` and `psql` take it.

use assay_model::Dialect;

use crate::entry::{Entry, Sink, Skip};
use crate::lines::LINE_MAX;
use crate::reader::{Format, Given, Reader, lines, shown};
use crate::sql::token::{Kind, find, tokenize};

pub(super) const FORMAT: Format = Format {
    name: "sql",
    about: "plain file of statements, separated by semicolons",
    dialect: None,
    looks,
    open: |head, given| {
        let dialect = given.dialect.unwrap_or_else(|| guessed(head));
        Box::new(Script {
            dialect,
            delimiter: b";".to_vec(),
            text: Vec::new(),
            is_long: false,
            database: None,
        })
    },
};

/// Longest statement that is put together, bytes.
const TEXT_MAX: usize = 8 << 20;

/// Words with which a statement of a script begins.
const WORDS: [&str; 21] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "WITH",
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SET",
    "USE",
    "CALL",
    "SHOW",
    "VALUES",
    "TABLE",
    "EXPLAIN",
    "CREATE",
    "DELIMITER",
    "MERGE",
    "ANALYZE",
];

fn looks(head: &[u8], _: &Given) -> bool {
    let mut tokens = Vec::new();
    tokenize(head, Dialect::MySql, &mut tokens);
    let first = tokens.iter().find(|it| it.kind != Kind::Hint && it.of(head) != b"(");
    let word = first.map(|it| it.of(head).to_ascii_uppercase()).unwrap_or_default();
    WORDS.iter().any(|it| it.as_bytes() == word)
}

/// The dialect of a file, by what only one of them has.
fn guessed(head: &[u8]) -> Dialect {
    let has = |part: &[u8]| find(head, part).is_some();
    let is_mysql = has(b"`") || lines(head).any(|line| delimiter(line).is_some());
    let is_postgres =
        [b"::".as_slice(), b"$1", b"$$", b" ILIKE ", b" ilike "].iter().any(|it| has(it));
    if is_postgres && !is_mysql { Dialect::Postgres } else { Dialect::MySql }
}

#[derive(Debug)]
struct Script {
    dialect: Dialect,
    delimiter: Vec<u8>,
    text: Vec<u8>,
    /// Whether the statement is too long to be put together: its end is looked for.
    is_long: bool,
    database: Option<String>,
}

impl Reader for Script {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
        if self.text.trim_ascii().is_empty() {
            if let Some(mark) = delimiter(line) {
                self.delimiter = mark;
                self.text.clear();
                return;
            }
            // Commands of psql.
            if line.starts_with(b"\\") {
                return;
            }
        }
        if self.is_long || self.text.len() + line.len() > TEXT_MAX {
            if !self.is_long {
                self.text = Vec::new();
                out.skip(Skip::TooLong);
            }
            // A line that is cut has lost its end. It is taken for the last one of the statement.
            self.is_long =
                !line.trim_ascii_end().ends_with(&self.delimiter) && line.len() < LINE_MAX;
            return;
        }
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        // A mark in a string ends nothing: only lines that have one need a look.
        if find(line, &self.delimiter).is_some() {
            self.split(out);
        }
    }

    fn end(&mut self, out: &mut dyn Sink) {
        self.split(out);
        let rest = std::mem::take(&mut self.text);
        if !rest.trim_ascii().is_empty() {
            self.emit(&rest, out);
        }
    }
}

impl Script {
    /// Hands the complete statements of the text on.
    fn split(&mut self, out: &mut dyn Sink) {
        let text = std::mem::take(&mut self.text);
        let mut tokens = Vec::new();
        let is_open = tokenize(&text, self.dialect, &mut tokens);
        let (mut start, mut at) = (0, 0);
        let open_from = tokens.last().filter(|_| is_open).map_or(text.len(), |it| it.start);
        while let Some(token) = tokens.get(at) {
            let is_plain = matches!(token.kind, Kind::Symbol | Kind::Word | Kind::Mark);
            let begins = token.start < open_from
                && is_plain
                && token.start >= start
                && text.get(token.start..).is_some_and(|rest| rest.starts_with(&self.delimiter));
            // A mark such as `$$` may end a word, as in `END$$`.
            let inside = (token.kind == Kind::Word && self.delimiter != b";")
                .then(|| find(token.of(&text), &self.delimiter))
                .flatten();
            if let Some(end) =
                if begins { Some(token.start) } else { inside.map(|it| token.start + it) }
            {
                let statement = text.get(start..end).unwrap_or_default().to_vec();
                self.emit(&statement, out);
                start = end + self.delimiter.len();
            }
            at += 1;
        }
        self.text = text.get(start..).unwrap_or_default().to_vec();
    }

    fn emit(&mut self, statement: &[u8], out: &mut dyn Sink) {
        let text = statement.trim_ascii();
        if let Some(name) = used(text, self.dialect) {
            self.database = Some(name);
        }
        if !text.is_empty() {
            out.entry(&Entry {
                dialect: self.dialect,
                at_us: None,
                session: Some(0),
                database: self.database.as_deref(),
                text,
                parameters: &[],
                is_prepared: false,
                calls: 1,
                time_us: None,
                is_cut: false,
            });
        }
    }
}

/// The database of `USE name`, which may follow comments.
fn used(text: &[u8], dialect: Dialect) -> Option<String> {
    let first = text.first()?;
    if !matches!(first, b'u' | b'U' | b'-' | b'#' | b'/') {
        return None;
    }
    let mut tokens = Vec::new();
    tokenize(text, dialect, &mut tokens);
    let [word, name] = tokens.as_slice() else { return None };
    let is_use = word.of(text).eq_ignore_ascii_case(b"USE");
    is_use.then(|| shown(name.of(text)).trim_matches('`').to_owned())
}

/// The mark of a line `DELIMITER //`.
fn delimiter(line: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_whitespace();
    let is_command = words.next()?.eq_ignore_ascii_case("delimiter");
    let mark = words.next().filter(|_| is_command)?;
    Some(mark.trim_matches(['\'', '"']).as_bytes().to_vec()).filter(|it| !it.is_empty())
}
