//! Limits on the time and memory that reading a file takes. In a sound file every value has its own bytes. In a
//! malicious file, a few pages can be read again and again without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::Problem;
use crate::limits::VALUE_MIB;

/// Instructions of SQLite's virtual machine between two checks of the limit.
const CHECK_EVERY: u64 = 10_000;

/// Checks allowed for each KiB of the file. A slice takes a few KiB, and reading it takes a few hundred instructions.
const CHECKS_PER_KIB: u64 = 10;

/// Checks allowed in addition, for small files.
const CHECKS_MIN: u64 = 1000;

/// Checks allowed until the file is open and its schema was compared with ours. That takes fewer instructions than are
/// between two checks. It does not depend on the size of the file, because only SQLite knows it, once it has read the
/// schema.
const CHECKS_OPENING: u64 = 20;

/// The longest statement, and the longest definition of a table, bytes.
const SQL_BYTES: i32 = 1 << 16;

/// A limit on the time that SQLite may take.
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

    /// Runs `act` with a time limit in proportion to the size of the file.
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

    /// Lets SQLite take any time.
    pub(crate) fn lift(&self) {
        self.checks_left.store(u64::MAX, Ordering::Relaxed);
    }
}

/// The bytes of the file that the rows of a query have not used up.
pub(crate) struct SizeLimit {
    bytes_left: u64,
    columns: usize,
}

impl SizeLimit {
    pub(crate) fn new(connection: &Connection, columns: usize) -> Result<Self, Problem> {
        Ok(Self { bytes_left: file_bytes(connection)?, columns })
    }

    /// Takes the least space that a row needs in a file: a byte for each column, and its texts and blobs.
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
