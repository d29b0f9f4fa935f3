//! What was read and what was not.

use std::collections::BTreeMap;

use crate::entry::Skip;

/// Lines that are named of those that cannot be read.
const NAMED: usize = 3;

/// A step back of the time that is no reordering of sessions, microseconds.
const BACK_US: i64 = 2_000_000;

/// Longest part of a line that is shown.
const SHOWN: usize = 80;

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Its name, as errors have it.
    pub name: String,
    /// The word of its format.
    pub format: &'static str,
    /// Its lines.
    pub lines: u64,
    /// Whether its compressed content has no end.
    pub is_cut: bool,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// Its beginning.
    pub text: String,
}

/// What was read of all files.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The files, in the order in which they were read.
    pub files: Vec<FileRead>,
    /// Calls of statements that were read, those that were skipped included.
    pub statements: u64,
    /// What was skipped, and how often.
    pub skipped: BTreeMap<Skip, u64>,
    /// Lines that cannot be read.
    pub unreadable: u64,
    /// The first of them.
    pub first_unreadable: Vec<Unreadable>,
    /// The first and the last time, microseconds since 1970.
    pub span_us: Option<(i64, i64)>,
    /// How often the time went back.
    pub clock_changes: u64,
    last_us: Option<i64>,
}

impl Counts {
    /// Begins with a file.
    pub(crate) fn begin(&mut self, name: &str, format: &'static str) {
        self.files.push(FileRead { name: name.to_owned(), format, lines: 0, is_cut: false });
        self.last_us = None;
    }

    /// Takes note that the current file has no end.
    pub(crate) fn cut(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.is_cut = true;
        }
    }

    /// Counts a line of the current file.
    pub(crate) fn line(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.lines += 1;
        }
    }

    /// Counts what is skipped.
    pub(crate) fn skip(&mut self, why: Skip, calls: u64) {
        self.statements = self.statements.saturating_add(calls);
        let count = self.skipped.entry(why).or_default();
        *count = count.saturating_add(calls);
    }

    /// Counts a line that cannot be read, which is so many lines before the current one.
    pub(crate) fn unreadable(&mut self, lines_before: u64, line: &[u8]) {
        self.unreadable += 1;
        if self.first_unreadable.len() < NAMED
            && let Some(file) = self.files.last()
        {
            let text: String = String::from_utf8_lossy(line).chars().take(SHOWN).collect();
            let found = Unreadable {
                file: file.name.clone(),
                line: file.lines.saturating_sub(lines_before).max(1),
                text,
            };
            self.first_unreadable.push(found);
        }
    }

    /// Takes note of the time of a statement.
    pub(crate) fn time(&mut self, at_us: i64) {
        self.clock_changes += u64::from(self.last_us.is_some_and(|last| at_us < last - BACK_US));
        self.last_us = Some(at_us);
        let (first, last) = self.span_us.unwrap_or((at_us, at_us));
        self.span_us = Some((first.min(at_us), last.max(at_us)));
    }
}
