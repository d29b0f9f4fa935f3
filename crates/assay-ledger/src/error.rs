//! What can be wrong with a ledger.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::{CellId, Hint};
use rusqlite::ErrorCode;

use crate::limits::VALUE_MIB;

/// Something is wrong with the ledger at `path`.
#[derive(Debug, thiserror::Error)]
#[error("ledger `{}`: {problem}", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// What is wrong; part of the message, so it is no `source`.
    pub problem: Problem,
}

/// What is wrong with a ledger.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Its directory cannot be made.
    #[error("{0}")]
    Directory(#[from] io::Error),
    /// There is no such file.
    #[error("there is no such file")]
    Missing,
    /// It, or what SQLite keeps beside it, is a directory, a pipe or a device: which it is.
    #[error("{0} is not a regular file")]
    NotAFile(String),
    /// Another process has been writing for longer than was waited for.
    #[error("another process is writing to it")]
    Locked,
    /// The file is no SQLite file, or one that belongs to another program.
    #[error("it is not a ledger of assay")]
    NotALedger,
    /// SQLite finds the file inconsistent.
    #[error("it is damaged: {0}")]
    Damaged(#[source] rusqlite::Error),
    /// The schema is not the one this assay reads.
    #[error("it has schema version {found}, and this assay knows {known}")]
    Schema {
        /// Version in the file.
        found: u32,
        /// Newest version known.
        known: u32,
    },
    /// Its tables are not those that its version has.
    #[error("its schema was altered: {0}")]
    Altered(String),
    /// It has rows without end, or values that lie on top of each other.
    #[error("it is damaged: it contains more than its size allows")]
    Overfull,
    /// A value is longer than any that assay writes.
    #[error("a value is longer than {VALUE_MIB} MiB")]
    TooLong,
    /// A slice is in it twice, from before the schema ruled that out.
    #[error("rows {first} and {second} of table `slice` are the same slice")]
    SliceTwice {
        /// The first of the rows.
        first: i64,
        /// The last.
        second: i64,
    },
    /// A row that may be there once only.
    #[error("it has {0} already")]
    Twice(String),
    /// A row holds what no assay writes.
    #[error("table `{table}`, row {row}: {what}")]
    Row {
        /// The table.
        table: &'static str,
        /// The row's number or id.
        row: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no such study.
    #[error("it has no study `{0}`")]
    NoSuchStudy(String),
    /// Several studies begin so.
    #[error("several of its studies begin with `{prefix}`: {}", studies.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// The first of the studies.
        studies: Vec<String>,
    },
    /// The plan of the study has no such cell.
    #[error("study `{study}` has no cell {} at {}", cell.test, cell.setup)]
    NoSuchCell {
        /// The study.
        study: String,
        /// The cell.
        cell: Box<CellId>,
    },
    /// The study has no such slice.
    #[error("study `{study}` has no {slice}")]
    NoSuchSlice {
        /// The study.
        study: String,
        /// The slice, in words.
        slice: String,
    },
    /// The slice has no attachment of that name.
    #[error("the slice has no attachment `{0}`")]
    NoSuchAttachment(String),
    /// A row refers to a study, run, system or cell that has not been written before it.
    #[error("a row refers to a study, run, system or cell that is not in it")]
    Dangling,
    /// A value has no place in the schema.
    #[error("a value cannot be stored: {0}")]
    Unstorable(String),
    /// Anything else that SQLite reports.
    #[error("{0}")]
    Sqlite(#[source] rusqlite::Error),
}

/// Extended code of a violated foreign key.
const SQLITE_CONSTRAINT_FOREIGNKEY: i32 = 787;

/// Extended codes of a row that is there already.
const SQLITE_CONSTRAINT_PRIMARYKEY: i32 = 1555;
const SQLITE_CONSTRAINT_UNIQUE: i32 = 2067;

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, message) = &error else {
            return Self::Sqlite(error);
        };
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked,
            ErrorCode::NotADatabase => Self::NotALedger,
            ErrorCode::DatabaseCorrupt => Self::Damaged(error),
            ErrorCode::ConstraintViolation
                if failure.extended_code == SQLITE_CONSTRAINT_FOREIGNKEY =>
            {
                Self::Dangling
            }
            ErrorCode::ConstraintViolation
                if [SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE]
                    .contains(&failure.extended_code) =>
            {
                Self::Twice(format!("such a row ({})", message.as_deref().unwrap_or_default()))
            }
            ErrorCode::OperationInterrupted => Self::Overfull,
            ErrorCode::TooBig => Self::TooLong,
            _ => Self::Sqlite(error),
        }
    }
}

const ANOTHER_PLACE: &str =
    "`--ledger FILE` or `ASSAY_LEDGER` can name a ledger in a writable place";

const UNREADABLE: &str = "read it as its owner, or let the owner make it readable (`chmod u+rw FILE`); \
                          `--ledger FILE` or `ASSAY_LEDGER` names another one";

/// Whether the file is there and may not be read.
fn is_unreadable(path: &Path) -> bool {
    fs_err::File::open(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Whether the file or its directory cannot be opened as asked.
fn is_place_refused(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied))
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        let hint = match &self.problem {
            Problem::Directory(_) => ANOTHER_PLACE,
            Problem::Missing => {
                "`assay compare` and `assay run` create it; `--ledger FILE` or `ASSAY_LEDGER` names another one"
            }
            Problem::NotAFile(_) => "`--ledger FILE` or `ASSAY_LEDGER` names another one",
            Problem::Locked => "wait for the other assay to end, or use another ledger file",
            Problem::NotALedger => "name the file that an earlier study was written to",
            Problem::Damaged(_) | Problem::Overfull => {
                "keep the file: `sqlite3 FILE .recover` may save the studies in it"
            }
            Problem::Schema { found, known } if found > known => {
                "read it with the assay that wrote it, or a newer one"
            }
            Problem::Schema { .. } => {
                "the next `assay compare`, `run` or `resume` with this ledger migrates it"
            }
            Problem::Altered(_) => "use the file as assay wrote it, or another ledger",
            Problem::SliceTwice { second, .. } => {
                return vec![format!(
                    "no assay writes a slice twice: use the file as it was, or delete the row that \
                     does not count (`sqlite3 FILE 'DELETE FROM slice WHERE id = {second}'`)"
                )];
            }
            Problem::Ambiguous { .. } => "give more of its name: `assay studies` lists them",
            Problem::NoSuchStudy(_) => "`assay studies` lists the studies that it has",
            Problem::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                "free some space on its disk; what was written before is safe"
            }
            Problem::Sqlite(error) if is_place_refused(error) && is_unreadable(&self.path) => {
                UNREADABLE
            }
            Problem::Sqlite(error) if is_place_refused(error) => ANOTHER_PLACE,
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
