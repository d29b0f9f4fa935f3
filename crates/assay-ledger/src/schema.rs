//! Opens the file: checks its identity, migrates its schema, and makes writes durable.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior,
};

use crate::migrations::{KNOWN_VERSION, run_scripts};
use crate::read_limits::TimeLimit;
use crate::{Problem, shape};

/// `ASSY`: marks the file as a ledger.
const APPLICATION_ID: i32 = 0x4153_5359;

/// How long to wait for another process to end its transaction. Transactions of assay take milliseconds, or seconds if
/// the disk is busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open file, and the limit on the time that reading it may take.
pub(crate) type Opened = (Connection, TimeLimit);

/// Opens a ledger for writing. Creates or migrates it if necessary.
pub(crate) fn open(path: &Path) -> Result<Opened, Problem> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs_err::create_dir_all(directory)?;
    }
    refuse_special_files(path)?;
    create_private(path);
    let (connection, time_limit) = prepare(Connection::open(path)?)?;
    let found = found_version(&connection)?;
    use_log(&connection)?;
    if found < KNOWN_VERSION {
        time_limit.during(&connection, || migrate(&connection))?;
    }
    shape::check(&connection, KNOWN_VERSION)?;
    Ok((connection, time_limit))
}

/// Creates an empty file that only this user may read, unless the file exists. SQLite gives its logs the same
/// permissions.
fn create_private(path: &Path) {
    let mut options = fs_err::OpenOptions::new();
    options.options_mut().mode(0o600);
    // An existing file keeps its permissions. SQLite will meet and report any other error.
    drop(options.write(true).create_new(true).open(path));
}

/// Makes a commit append to the write-ahead log and wait for the disk, so that no slice is lost after its commit if
/// assay is killed or the machine fails.
fn use_log(connection: &Connection) -> Result<(), Problem> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let began = Instant::now();
    loop {
        // The change of the journal mode is the only statement that ignores the busy timeout: of two processes that
        // make it at once, one is refused.
        let done = connection.pragma_update(None, "journal_mode", "WAL").map_err(Problem::from);
        match done {
            Err(Problem::Locked) if began.elapsed() < BUSY_TIMEOUT => {
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            done => return done,
        }
    }
}

/// Refuses pipes, devices and directories in place of the file or of the files that SQLite keeps next to it. Opening a
/// pipe would wait for a writer.
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

/// Opens an existing ledger for reading.
pub(crate) fn open_read_only(path: &Path) -> Result<Opened, Problem> {
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

/// A new ledger in memory.
pub(crate) fn in_memory() -> Result<Connection, Problem> {
    let (connection, _) = prepare(Connection::open_in_memory()?)?;
    migrate(&connection)?;
    Ok(connection)
}

/// The file that a ledger in memory would be.
pub(crate) fn bytes(connection: &mut Connection) -> Result<Vec<u8>, Problem> {
    Ok(connection.serialize("main")?.to_vec())
}

/// A ledger in memory, read-only, from the bytes of a file that anyone may have made.
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Opened, Problem> {
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

fn check(connection: Connection) -> Result<Opened, Problem> {
    let (connection, time_limit) = prepare(connection)?;
    match found_version(&connection)? {
        0 => Err(Problem::NotALedger),
        KNOWN_VERSION => {
            shape::check(&connection, KNOWN_VERSION)?;
            Ok((connection, time_limit))
        }
        _ if size(&connection)? <= COPY_MAX => up_to_date_copy(&connection),
        found => Err(Problem::Schema { found, known: KNOWN_VERSION }),
    }
}

/// The size of the largest older ledger that is copied to be read, bytes. A ledger of many studies has a hundredth of
/// it.
const COPY_MAX: i64 = 1 << 30;

fn size(connection: &Connection) -> Result<i64, Problem> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok(pragma("page_count")?.saturating_mul(pragma("page_size")?))
}

/// A copy of an older ledger in memory, migrated to the present schema. Reading must not change the file.
fn up_to_date_copy(older: &Connection) -> Result<Opened, Problem> {
    let mut copy = Connection::open_in_memory()?;
    Backup::new(older, &mut copy)?.run_to_completion(i32::MAX, Duration::ZERO, None)?;
    let (copy, time_limit) = prepare(copy)?;
    time_limit.during(&copy, || migrate(&copy))?;
    shape::check(&copy, KNOWN_VERSION)?;
    Ok((copy, time_limit))
}

fn prepare(mut connection: Connection) -> Result<Opened, Problem> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The file may come from anyone, so its schema must not call functions that have side effects.
    connection.pragma_update(None, "trusted_schema", false)?;
    // Its triggers must not run either.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let time_limit = TimeLimit::with(&mut connection)?;
    Ok((connection, time_limit))
}

/// The version of the file's schema as of one moment; 0 for an empty file.
fn found_version(connection: &Connection) -> Result<u32, Problem> {
    let snapshot = connection.unchecked_transaction()?;
    version(&snapshot)
}

fn version(connection: &Connection) -> Result<u32, Problem> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let version = pragma("user_version")?;
    let is_empty = "SELECT NOT EXISTS (SELECT * FROM sqlite_schema)";
    let is_empty: bool = connection.query_row(is_empty, [], |row| row.get(0))?;
    match pragma("application_id")? {
        APPLICATION_ID => {}
        0 if version == 0 && is_empty => return Ok(0),
        _ => return Err(Problem::NotALedger),
    }
    match u32::try_from(version) {
        Ok(found @ 1..=KNOWN_VERSION) => Ok(found),
        Ok(found @ 1..) => Err(Problem::Schema { found, known: KNOWN_VERSION }),
        _ => Err(Problem::NotALedger),
    }
}

/// Runs the missing scripts in one transaction, so that a file is never left between two versions.
fn migrate(connection: &Connection) -> Result<(), Problem> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have migrated it meanwhile.
    let found = version(&transaction)?;
    shape::check(&transaction, found)?;
    if (1..3).contains(&found) {
        refuse_repeated_slices(&transaction)?;
    }
    run_scripts(&transaction, found, KNOWN_VERSION)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", KNOWN_VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// Refuses a file that contains a slice twice, since the unique index cannot be created.
fn refuse_repeated_slices(connection: &Connection) -> Result<(), Problem> {
    let sql = "SELECT min(id), max(id) FROM slice
        GROUP BY study, system, test, clients, tables, rows, block, round HAVING count(*) > 1";
    let rows = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    rows.map_or(Ok(()), |(first, second)| Err(Problem::SliceTwice { first, second }))
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
