//! Counts of read and skipped lines and statements.

use std::collections::BTreeMap;

use crate::entry::Skip;

const NAMED: usize = 3;

/// A larger step back in time is no reordering of sessions, microseconds.
const BACK_US: i64 = 2_000_000;

const SHOWN: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    pub name: String,
    pub format: &'static str,
    pub lines: u64,
    /// Its compressed content is truncated.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub file: String,
    pub line: u64,
    pub text: String,
}

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub files: Vec<FileRead>,
    /// Calls of statements, including skipped ones.
    pub statements: u64,
    pub skipped: BTreeMap<Skip, u64>,
    pub unreadable: u64,
    pub first_unreadable: Vec<Unreadable>,
    /// First and last time, microseconds since 1970.
    pub span_us: Option<(i64, i64)>,
    pub clock_changes: u64,
    last_us: Option<i64>,
}

impl Counts {
    pub(crate) fn begin(&mut self, name: &str, format: &'static str) {
        self.files.push(FileRead { name: name.to_owned(), format, lines: 0, is_cut: false });
        self.last_us = None;
    }

    pub(crate) fn cut(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.is_cut = true;
        }
    }

    pub(crate) fn line(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.lines += 1;
        }
    }

    pub(crate) fn skip(&mut self, why: Skip, calls: u64) {
        self.statements = self.statements.saturating_add(calls);
        let count = self.skipped.entry(why).or_default();
        *count = count.saturating_add(calls);
    }

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

    pub(crate) fn time(&mut self, at_us: i64) {
        self.clock_changes += u64::from(self.last_us.is_some_and(|last| at_us < last - BACK_US));
        self.last_us = Some(at_us);
        let (first, last) = self.span_us.unwrap_or((at_us, at_us));
        self.span_us = Some((first.min(at_us), last.max(at_us)));
    }
}
