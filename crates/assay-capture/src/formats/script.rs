//! A plain file of statements for the clients `mysql` and `psql`.

use assay_model::Dialect;
use assay_workloads::sql::dialect_of;

use super::splitter::{Splitter, Statement};
use crate::entry::{Entry, Sink, Skip};
use crate::reader::{Format, Given, Reader, shown};
use crate::sql::token::{Kind, Token, tokenize};
use crate::sql::words::{begins_file, begins_statement};

pub(super) const FORMAT: Format = Format {
    name: "sql",
    about: "plain file of statements, separated by semicolons",
    dialect: None,
    looks,
    open: |head, given| {
        let dialect = given.dialect.or_else(|| guessed(head)).unwrap_or(Dialect::MySql);
        let splitter = Splitter::new(dialect);
        Box::new(Script { splitter, dialect, database: None, has_begun: false })
    },
};

fn looks(head: &[u8], _: &Given) -> bool {
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
fn first_word<'t>(text: &'t [u8], tokens: &[Token]) -> Option<&'t [u8]> {
    let mut rest = tokens.iter().filter(|it| it.kind != Kind::Hint && it.of(text) != b"(");
    rest.next().map(|it| it.of(text))
}

#[derive(Debug)]
struct Script {
    dialect: Dialect,
    splitter: Splitter,
    database: Option<String>,
    has_begun: bool,
}

/// The clients that read such files have a single session.
const SESSION: u64 = 0;

impl Reader for Script {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
        // Nothing was set before the file.
        if !std::mem::replace(&mut self.has_begun, true) {
            out.began(SESSION);
        }
        let mut found = Vec::new();
        self.splitter.line(line, &mut found);
        found.into_iter().for_each(|statement| self.take(&statement, out));
    }

    fn end(&mut self, out: &mut dyn Sink) {
        if let Some(statement) = self.splitter.end() {
            self.take(&statement, out);
        }
        self.splitter = Splitter::new(self.dialect);
    }
}

impl Script {
    fn take(&mut self, statement: &Statement, out: &mut dyn Sink) {
        let Statement { text, lines_before, is_too_long } = statement;
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
            self.database = Some(shown(name.of(text)).trim_matches('`').to_owned());
        }
        self.entry(text, out);
    }

    fn entry(&self, text: &[u8], out: &mut dyn Sink) {
        out.entry(&Entry {
            dialect: self.dialect,
            at_us: None,
            session: Some(SESSION),
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
