//! The ledger: one SQLite file with the plan of every study and every measured slice.
//!
//! `schema.sql` documents the schema, with meaning and unit of every column.

mod bounds;
mod collect;
mod conclusions;
mod copy;
mod counters;
mod definitions;
mod documents;
mod error;
mod histogram;
mod limits;
mod manage;
mod parts;
mod read;
mod read_limits;
mod record;
mod rows;
mod runs;
mod schema;
mod settings;
mod shape;
mod study_rows;
mod values;
#[cfg(test)]
mod work_tests;
mod write;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use collect::{OmittedShard, ShardCollection, ShardStudy};
pub use error::{Error, Problem};
pub use study_rows::{PUBLISHED_PREFIX, StudyRows, TextPlace};

use read_limits::TimeLimit;
use schema::OpenedLedger;

/// An open ledger. One process can write while any number read.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    time_limit: TimeLimit,
    path: PathBuf,
    file: Option<(u64, u64)>,
    is_of_bytes: bool,
}

impl Ledger {
    /// Opens a ledger for reading and writing. Creates the file and its directory if missing.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let ledger = Self::opened(path, schema::open(path))?;
        Ok(Self { file: identity(path), ..ledger })
    }

    pub fn open_read_only(path: &Path) -> Result<Self, Error> {
        Self::opened(path, schema::open_read_only(path))
    }

    /// Opens the bytes of a ledger file, such as a pack's, read-only and in memory. Errors name it `path`.
    pub fn of_bytes(bytes: &[u8], path: &Path) -> Result<Self, Error> {
        Ok(Self { is_of_bytes: true, ..Self::opened(path, schema::of_bytes(bytes))? })
    }

    /// Whether it was opened from bytes, such as a pack's.
    pub fn is_of_bytes(&self) -> bool {
        self.is_of_bytes
    }

    pub fn in_memory() -> Result<Self, Error> {
        Self::opened(Path::new("in memory"), schema::in_memory())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn opened(path: &Path, opened: Result<OpenedLedger, Problem>) -> Result<Self, Error> {
        let path = path.to_owned();
        match opened {
            Ok((connection, time_limit)) => {
                time_limit.lift();
                Ok(Self { connection, time_limit, path, file: None, is_of_bytes: false })
            }
            Err(problem) => Err(Error { path, problem }),
        }
    }

    fn reading<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, Error> {
        self.named(self.time_limit.during(&self.connection, || read(&self.connection)))
    }

    /// Detects removal of the file after a write. SQLite does not notice and writes on to an unlinked file.
    fn written<T>(&self, result: Result<T, Problem>) -> Result<T, Error> {
        let is_gone = self.file.is_some() && identity(&self.path) != self.file;
        self.named(if is_gone { Err(Problem::Gone) } else { result })
    }

    fn named<T>(&self, result: Result<T, Problem>) -> Result<T, Error> {
        result.map_err(|problem| Error { path: self.path.clone(), problem })
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs_err::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
