//! Limits on time and memory for reading a file. In a sound file every value has its own bytes; in a malicious one, a
//! few pages can be read endlessly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::Problem;
use crate::limits::VALUE_MIB;

/// Instructions of SQLite's virtual machine between two checks of the limit.
const CHECK_EVERY: u64 = 10_000;

/// Checks allowed per KiB of the file. A slice takes a few KiB, and reading it a few hundred instructions.
const CHECKS_PER_KIB: u64 = 10;

const CHECKS_MIN: u64 = 1000;

/// Checks allowed for opening the file and comparing its schema, which takes fewer instructions than one check
/// interval. Independent of the file size, which SQLite knows only after reading the schema.
const CHECKS_OPENING: u64 = 20;

const SQL_BYTES: i32 = 1 << 16;

#[derive(Debug)]
pub(crate) struct TimeLimit {
    checks_left: Arc<AtomicU64>,
}

impl TimeLimit {
    /// Limits the length of values and statements, and the time until [`Self::lift`].
    pub(crate) fn with(connection: &mut Connection) -> Result<Self, Problem> {
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_MIB << 20)?;
        connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES)?;
        let checks_left = Arc::new(AtomicU64::new(CHECKS_OPENING));
        let left = Arc::clone(&checks_left);
        let is_over = move || left.fetch_sub(1, Ordering::Relaxed) == 0;
        connection.progress_handler(CHECK_EVERY as i32, Some(is_over))?;
        Ok(Self { checks_left })
    }

    /// Runs `act` with a time limit proportional to the file size.
    pub(crate) fn during<T>(
        &self,
        connection: &Connection,
        act: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let checks = CHECKS_MIN + file_bytes(connection)? / 1024 * CHECKS_PER_KIB;
        self.checks_left.store(checks, Ordering::Relaxed);
        let result = act();
        self.lift();
        result
    }

    pub(crate) fn lift(&self) {
        self.checks_left.store(u64::MAX, Ordering::Relaxed);
    }
}

/// Bytes of the file not yet used up by the rows of a query.
pub(crate) struct SizeLimit {
    bytes_left: u64,
    columns: usize,
}

impl SizeLimit {
    pub(crate) fn new(connection: &Connection, columns: usize) -> Result<Self, Problem> {
        Ok(Self { bytes_left: file_bytes(connection)?, columns })
    }

    /// Takes the least space a row needs in a file: a byte per column, and its texts and blobs.
    pub(crate) fn take(&mut self, row: &Row<'_>) -> Result<(), Problem> {
        for column in 0..self.columns {
            let bytes = match row.get_ref(column)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => 1 + bytes.len() as u64,
                _ => 1,
            };
            self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(Problem::Overfull)?;
        }
        Ok(())
    }
}

fn file_bytes(connection: &Connection) -> Result<u64, Problem> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    Ok(u64::from(pragma("page_count")?) * u64::from(pragma("page_size")?))
}
