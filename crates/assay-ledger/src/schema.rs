//! Opens the file: checks its identity and schema, and makes writes durable.

use std::cmp::Ordering;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::read_limits::TimeLimit;
use crate::{Problem, shape};

/// `ASRQ`: marks the file as a ledger.
const APPLICATION_ID: i32 = 0x4153_5251;

pub(crate) const VERSION: i32 = 1;

/// Wait for another process's transaction. Transactions of assay take milliseconds, or seconds on a busy disk.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) type OpenedLedger = (Connection, TimeLimit);

pub(crate) fn open(path: &Path) -> Result<OpenedLedger, Problem> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs_err::create_dir_all(directory)?;
    }
    refuse_special_files(path)?;
    create_private(path);
    let (connection, time_limit) = prepare(Connection::open(path)?)?;
    let is_new = !is_ledger(&connection)?;
    use_log(&connection)?;
    if is_new {
        create(&connection)?;
    }
    Ok((connection, time_limit))
}

/// Creates an empty file readable only by this user, unless it exists. SQLite gives its logs the same permissions.
fn create_private(path: &Path) {
    let mut options = fs_err::OpenOptions::new();
    options.options_mut().mode(0o600);
    // An existing file keeps its permissions. SQLite will report any other error.
    drop(options.write(true).create_new(true).open(path));
}

/// Makes a commit append to the write-ahead log and wait for the disk, so that no committed slice is lost if assay is
/// killed or the machine fails.
fn use_log(connection: &Connection) -> Result<(), Problem> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let began = Instant::now();
    loop {
        // Changing the journal mode is the only statement that ignores the busy timeout: of two processes doing so at
        // once, one is refused.
        let done = connection.pragma_update(None, "journal_mode", "WAL").map_err(Problem::from);
        match done {
            Err(Problem::Locked) if began.elapsed() < BUSY_TIMEOUT => {
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            done => return done,
        }
    }
}

/// Refuses pipes, devices and directories where the file or SQLite's files next to it should be. Opening a pipe would
/// wait for a writer.
fn refuse_special_files(path: &Path) -> Result<(), Problem> {
    let is_special = |path: &Path| match fs_err::metadata(path) {
        Ok(found) => Ok(!found.is_file()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    if is_special(path)? {
        return Err(Problem::NotAFile("it".to_owned()));
    }
    // SQLite keeps these files next to the target of a link.
    let Ok(file) = fs_err::canonicalize(path) else { return Ok(()) };
    for suffix in ["-wal", "-shm", "-journal"] {
        let beside = beside(&file, suffix);
        if is_special(&beside)? {
            return Err(Problem::NotAFile(format!("`{}`", beside.display())));
        }
    }
    Ok(())
}

pub(crate) fn open_read_only(path: &Path) -> Result<OpenedLedger, Problem> {
    if !path.try_exists()? {
        return Err(Problem::Missing);
    }
    refuse_special_files(path)?;
    let connection = Connection::open_with_flags(path, READ_ONLY)?;
    match check(connection) {
        // SQLite needs files next to a ledger that may change. If they cannot be created, as on a read-only medium, and
        // there is no log of unsaved changes, the ledger cannot change.
        Err(Problem::Sqlite(error)) if is_refused(&error) && !beside(path, "-wal").exists() => {
            check(open_immutable(path)?)
        }
        checked => checked,
    }
}

const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn is_refused(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

pub(crate) fn in_memory() -> Result<OpenedLedger, Problem> {
    let (connection, time_limit) = prepare(Connection::open_in_memory()?)?;
    create(&connection)?;
    Ok((connection, time_limit))
}

pub(crate) fn bytes(connection: &mut Connection) -> Result<Vec<u8>, Problem> {
    Ok(connection.serialize("main")?.to_vec())
}

pub(crate) fn of_bytes(bytes: &[u8]) -> Result<OpenedLedger, Problem> {
    if bytes.is_empty() {
        return Err(Problem::NotALedger);
    }
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
    check(connection)
}

/// Opens a file that no process changes, without creating files next to it.
fn open_immutable(path: &Path) -> Result<Connection, Problem> {
    let mut uri = "file:".to_owned();
    for byte in std::path::absolute(path)?.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    Ok(Connection::open_with_flags(uri, READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?)
}

fn check(connection: Connection) -> Result<OpenedLedger, Problem> {
    let (connection, time_limit) = prepare(connection)?;
    if is_ledger(&connection)? { Ok((connection, time_limit)) } else { Err(Problem::NotALedger) }
}

fn prepare(mut connection: Connection) -> Result<OpenedLedger, Problem> {
    let time_limit = TimeLimit::with(&mut connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The file is untrusted, so its schema must not call functions with side effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    // Nor may its triggers and views run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok((connection, time_limit))
}

/// Whether the file is a ledger rather than empty, as of one moment. Refuses anything else.
fn is_ledger(connection: &Connection) -> Result<bool, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    let pragma = |name| snapshot.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = pragma("user_version")?;
    match pragma("application_id")? {
        APPLICATION_ID => match version.cmp(&VERSION) {
            Ordering::Less => Err(Problem::Older),
            Ordering::Equal => shape::check(&snapshot).map(|()| true),
            Ordering::Greater => Err(Problem::Newer { found: version }),
        },
        // Ledgers of schemas that were never released begin with `AS` too.
        other if other >> 16 == APPLICATION_ID >> 16 => Err(Problem::Older),
        0 if version == 0 && is_empty(&snapshot)? => Ok(false),
        _ => Err(Problem::NotALedger),
    }
}

fn is_empty(connection: &Connection) -> Result<bool, Problem> {
    let sql = "SELECT NOT EXISTS (SELECT * FROM sqlite_schema)";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Creates the schema in one transaction, so that a file never has a part of it.
fn create(connection: &Connection) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have created it meanwhile.
    if !is_empty(&transaction)? {
        return shape::check(&transaction);
    }
    shape::create(&transaction)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_name_can_be_opened_as_immutable() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("100 %?x=1#é.db");
        drop(open(&path).unwrap());
        check(open_immutable(&path).unwrap()).unwrap();
        assert_eq!(fs_err::read_dir(directory.path()).unwrap().count(), 1);
    }
}
