//! Errors of a ledger.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::{CellId, Hint};
use rusqlite::ErrorCode;

use crate::limits::VALUE_MIB;

#[derive(Debug, thiserror::Error)]
#[error("ledger `{}`: {problem}", path.display())]
pub struct Error {
    pub path: PathBuf,
    /// Part of the message, so not a `source`.
    pub problem: Problem,
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Directory(#[from] io::Error),
    #[error("there is no such file")]
    Missing,
    /// The file, or one that SQLite keeps next to it, is a directory, pipe or device. The text names it.
    #[error("{0} is not a regular file")]
    NotAFile(String),
    /// The file was removed or replaced since it was opened.
    #[error(
        "it was removed or replaced while a study was written to it; what was measured is lost"
    )]
    Gone,
    #[error("another process is writing to it")]
    Locked,
    #[error("it is not a ledger of assay")]
    NotALedger,
    #[error("it is damaged: {0}")]
    Damaged(#[source] rusqlite::Error),
    /// The file predates version 1 of the schema.
    #[error(
        "it was made by an assay before the first release: measure again into another file, or read it with that assay"
    )]
    Older,
    #[error("it was made by a newer assay (schema version {found}): upgrade assay to read it")]
    Newer { found: i32 },
    #[error("its schema was altered: {0}")]
    Altered(String),
    /// The file has endless rows or overlapping values.
    #[error("it is damaged: it contains more than its size allows")]
    Overfull,
    #[error("a value is longer than {VALUE_MIB} MiB")]
    TooLong,
    /// The file contains a slice twice: its unique index is damaged.
    #[error("rows {first} and {second} of table `slice` are the same slice")]
    SliceTwice { first: i64, second: i64 },
    #[error("it already has {0}")]
    Twice(String),
    /// The id of a study to be added is a prefix of another study's id or name.
    #[error("a study `{id}` would take the place of its study `{text}` in commands")]
    Hides { id: String, text: String },
    /// A row holds something that assay never writes.
    #[error("table `{table}`, row {row}: {what}")]
    Row { table: &'static str, row: String, what: String },
    #[error("it has no study `{0}`")]
    NoSuchStudy(String),
    #[error("`{0}` cannot name a study")]
    NoName(String),
    #[error("several of its studies begin with `{prefix}`: {}", studies.join(", "))]
    Ambiguous { prefix: String, studies: Vec<String> },
    #[error("study `{study}` has no cell {} at {}", cell.test, cell.setup)]
    NoSuchCell { study: String, cell: Box<CellId> },
    #[error("study `{study}` has no {slice}")]
    NoSuchSlice { study: String, slice: String },
    #[error("the slice has no attachment `{0}`")]
    NoSuchAttachment(String),
    /// A row to be added refers to a study, run, system or cell missing from the ledger.
    #[error("a row refers to a study, run, system or cell that is not in it")]
    Dangling,
    /// The schema cannot represent a value.
    #[error("a value cannot be stored: {0}")]
    Unstorable(String),
    #[error("{0}")]
    Sqlite(#[source] rusqlite::Error),
}

const SQLITE_CONSTRAINT_FOREIGNKEY: i32 = 787;

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

fn is_unreadable(path: &Path) -> bool {
    fs_err::File::open(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

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
            Problem::Gone => {
                "leave the ledger where it is while assay measures, and run the command again"
            }
            Problem::Locked => "wait for the other assay to end, or use another ledger file",
            Problem::NotALedger => "name the file that an earlier study was written to",
            Problem::Damaged(_) | Problem::Overfull => {
                "keep the file: `sqlite3 FILE .recover` may save the studies in it"
            }
            Problem::Altered(_) => {
                "use the file as assay wrote it, without tables, indexes and views of your own, or another ledger"
            }
            Problem::SliceTwice { second, .. } => {
                return vec![format!(
                    "no assay writes a slice twice: use the file as it was, or delete the row that \
                     does not count (`sqlite3 FILE 'DELETE FROM slice WHERE id = {second}'`)"
                )];
            }
            Problem::Ambiguous { .. } => "give more of its name: `assay studies` lists them",
            Problem::NoName(_) => {
                "a name has at most 200 ASCII letters, digits, `-`, `_` and `.`; `latest` is none"
            }
            Problem::Hides { .. } => "put it into another ledger (`--ledger FILE`)",
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
