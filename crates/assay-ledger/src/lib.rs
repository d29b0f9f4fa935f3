//! The ledger: one SQLite file that keeps what was asked and every slice that was measured.
//!
//! The schema, with the meaning and unit of every column, is in `migrations/`.

mod bounds;
mod columns;
mod error;
mod histogram;
mod limits;
mod migrations;
mod parts;
mod patience;
mod read;
mod rows;
mod runs;
mod schema;
mod settings;
mod shape;
mod tests;
mod values;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use error::{Error, Problem};

use patience::Patience;
use schema::Opened;

/// An open ledger.
///
/// One process writes at a time; any number read meanwhile.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    patience: Patience,
    path: PathBuf,
}

impl Ledger {
    /// Opens a ledger for reading and writing; makes the file and its directory when missing and
    /// brings an older schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened, is no ledger or an altered one, is locked, or comes from a newer assay.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::opened(path, schema::open(path))
    }

    /// Opens an existing ledger without the ability to change it: of an older one, a copy that is up to date.
    ///
    /// # Errors
    /// As [`Self::open`], and the file is missing, or has an older schema and more than a GiB.
    pub fn open_read_only(path: &Path) -> Result<Self, Error> {
        Self::opened(path, schema::open_read_only(path))
    }

    /// Where the ledger is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn opened(path: &Path, opened: Result<Opened, Problem>) -> Result<Self, Error> {
        let path = path.to_owned();
        match opened {
            Ok((connection, patience)) => Ok(Self { connection, patience, path }),
            Err(problem) => Err(Error { path, problem }),
        }
    }

    /// Reads, in time that the size of the file allows.
    fn reading<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Problem>) -> Result<T, Error> {
        self.named(self.patience.during(&self.connection, || read(&self.connection)))
    }

    /// Names the file in a problem.
    fn named<T>(&self, result: Result<T, Problem>) -> Result<T, Error> {
        result.map_err(|problem| Error { path: self.path.clone(), problem })
    }
}
