//! Servers of MySQL, and the parts that MariaDB shares: command lines, system tables and maintenance.

mod explain;
mod settings;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::{Prefix, SystemSpec};
use assay_terms::{Version, variable, version_number};
use assay_wire::{ConnectOptions, Connection};
use fs_err as fs;

use crate::audit::ServerSettings;
use crate::error::Result;
use crate::products::kind::{
    ConnectionThreads, CounterQueries, DrainResult, Listen, Servers, StatementExplanation,
};
use crate::site::{ServerPaths, with_path};
use crate::supervise::{RunAs, ServerJob};

#[derive(Debug)]
pub(super) struct Family {
    /// The scripts from which a version creates its system tables; `None` if it creates them by itself.
    pub(super) scripts: fn(Version) -> Option<BootstrapScripts>,
    /// The first version that can only check its options.
    pub(super) validates_since: Option<Version>,
    /// Whether its process list has thread ids.
    pub(super) reports_threads: bool,
}

pub(super) const SERVERS: Family = Family {
    scripts: |version| (version < (5, 7, 6)).then_some(OLD),
    validates_since: Some((8, 0, 16)),
    reports_threads: false,
};

impl Servers for Family {
    fn initialize(
        &self,
        prefix: &Prefix,
        data_dir: &Path,
        run_dir: &Path,
        options: &[String],
    ) -> Result<ServerJob> {
        fs::create_dir_all(data_dir)?;
        let tmp_dir = run_dir.join("tmp");
        fs::create_dir(&tmp_dir)?;
        let mut argv = program(prefix, RunAs::Caller);
        let mut stdin = None;
        match (self.scripts)(version_number(&prefix.version)) {
            None => argv.push("--initialize-insecure".into()),
            Some(scripts) => {
                fs::create_dir(data_dir.join("mysql"))?;
                let script = run_dir.join("bootstrap.sql");
                scripts.write(&prefix.layout.share_dir, &script)?;
                stdin = Some(script);
                argv.push("--bootstrap".into());
                argv.extend(scripts.options.iter().map(OsString::from));
                argv.extend(
                    ["--max-allowed-packet=8M", "--net-buffer-length=16K"].map(OsString::from),
                );
            }
        }
        let usual = options.iter().filter(|option| !breaks_initialization(option));
        argv.extend(usual.map(OsString::from));
        argv.extend(directories(prefix, data_dir, &tmp_dir));
        Ok(ServerJob { stdin, ..ServerJob::new(argv, run_dir.join("log")) })
    }

    fn run(
        &self,
        prefix: &Prefix,
        places: &ServerPaths,
        listen: Listen,
        options: &[String],
        run_as: Option<RunAs>,
    ) -> ServerJob {
        let run_as = run_as.unwrap_or(RunAs::Caller);
        let mut argv = program(prefix, run_as);
        argv.extend(options.iter().map(OsString::from));
        argv.extend(directories(prefix, &places.data_dir, &places.tmp_dir));
        argv.push(with_path("--socket=", &self.socket_in(&places.socket_dir, listen)));
        argv.push(with_path("--pid-file=", &places.socket_dir.join("pid")));
        match listen {
            Listen::Socket => argv.push("--skip-networking".into()),
            Listen::Loopback(port) => {
                argv.push("--bind-address=127.0.0.1".into());
                argv.push(format!("--port={port}").into());
            }
        }
        ServerJob { run_as, ..ServerJob::new(argv, places.log.clone()) }
    }

    /// Valgrind 3.19 does not support all that the kernel's asynchronous input and output need, and has no room for the
    /// addresses that a server reserves for a larger buffer pool.
    fn counted_options(&self, options: &[String]) -> Vec<String> {
        const POOL: &str = "--innodb-buffer-pool-size=";
        let pool = options.iter().rev().find_map(|option| option.strip_prefix(POOL));
        let most = pool.map(|size| format!("--loose-innodb-buffer-pool-size-max={size}"));
        let aio = "--loose-innodb-use-native-aio=0".to_owned();
        most.into_iter().chain([aio]).collect()
    }

    fn socket_in(&self, socket_dir: &Path, _listen: Listen) -> PathBuf {
        socket_dir.join("s")
    }

    fn connect_options(&self, socket: PathBuf) -> ConnectOptions {
        ConnectOptions::unix(socket, "root")
    }

    /// Old versions have a `root` for every name of the machine, and some builds have anonymous accounts.
    fn protect(&self, control: &mut Connection, password: &str) -> Result<()> {
        let found = control.query("SELECT Host FROM mysql.user WHERE User = ''")?;
        for row in 0..found.rows.len() {
            let Some(host) = found.text(row, 0) else { continue };
            control.query(&format!("DROP USER ''@'{host}'"))?;
        }
        let found = control.query("SELECT Host FROM mysql.user WHERE User = 'root'")?;
        for row in 0..found.rows.len() {
            let Some(host) = found.text(row, 0) else { continue };
            let user = format!("'root'@'{host}'");
            match control.query(&format!("ALTER USER {user} IDENTIFIED BY '{password}'")) {
                // Before MySQL 5.7.6 and MariaDB 10.2.0.
                Err(error) if error.server_code() == Some(PARSE_ERROR) => {
                    control.query(&format!("SET PASSWORD FOR {user} = PASSWORD('{password}')"))?;
                }
                done => drop(done?),
            }
        }
        Ok(())
    }

    fn list_options(&self, prefix: &Prefix, directory: &Path) -> Vec<OsString> {
        let mut argv = program(prefix, RunAs::Caller);
        argv.extend(directories(prefix, directory, directory));
        argv.extend(["--verbose", "--help"].map(OsString::from));
        argv
    }

    fn lists_after_dashes(&self) -> bool {
        true
    }

    fn check_options(
        &self,
        prefix: &Prefix,
        directory: &Path,
        options: &[String],
    ) -> Result<Vec<OsString>> {
        let mut argv = program(prefix, RunAs::Caller);
        argv.extend(directories(prefix, directory, directory));
        argv.extend(options.iter().map(OsString::from));
        // Others report errors before they print help.
        let version = version_number(&prefix.version);
        let validates = self.validates_since.is_some_and(|since| version >= since);
        // Warnings name deprecated options.
        let validate = ["--log-error-verbosity=2", "--validate-config"];
        argv.extend(if validates { validate } else { ["--verbose", "--help"] }.map(OsString::from));
        Ok(argv)
    }

    /// The first releases of MySQL 8.0 print their help whatever the options are.
    fn checks_names(&self, version: Version) -> bool {
        let has = |since: Version| version >= since || version.0 < since.0;
        self.validates_since.is_none_or(has)
    }

    fn threads(&self, _pid: i32, options: &ConnectOptions) -> Result<ConnectionThreads> {
        let mut control = Connection::control(options)?;
        let handling = control.query("SELECT @@thread_handling")?.first_string();
        if handling.as_deref() != Some("one-thread-per-connection") {
            return Ok(ConnectionThreads::Shared);
        }
        if !self.reports_threads {
            return Ok(ConnectionThreads::Unreported);
        }
        let found = control.query("SELECT ID, TID FROM information_schema.PROCESSLIST")?;
        let pair =
            |row| Some((found.text(row, 0)?.parse().ok()?, found.text(row, 1)?.parse().ok()?));
        Ok(ConnectionThreads::Known((0..found.rows.len()).filter_map(pair).collect()))
    }

    fn identity(&self) -> &'static str {
        "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@server_id, DATABASE())"
    }

    fn settings(&self, control: &mut Connection) -> Result<ServerSettings> {
        settings::effective_settings(control)
    }

    fn answers(
        &self,
        control: &mut Connection,
        spec: &SystemSpec,
        log: &str,
    ) -> Result<ServerSettings> {
        settings::answers(control, spec, log)
    }

    fn maintain(
        &self,
        control: &mut Connection,
        tables: &[String],
        limit: Duration,
    ) -> Result<DrainResult> {
        // The statistics of MyRocks are stored in its files.
        compact(control)?;
        self.take_statistics(control, tables)?;
        self.drain(control, limit)
    }

    fn take_statistics(&self, control: &mut Connection, tables: &[String]) -> Result<()> {
        for table in tables {
            control.query(&format!("ANALYZE TABLE `{}`", table.replace('`', "``")))?;
        }
        Ok(())
    }

    fn drain(&self, control: &mut Connection, limit: Duration) -> Result<DrainResult> {
        let began = Instant::now();
        let mut before = Vec::new();
        let hurried = hurry(control, &mut before);
        let drained =
            hurried.and_then(|()| compact(control)).and_then(|()| wait(control, began, limit));
        let drained = drained.and_then(|drained| empty_binary_log(control).map(|()| drained));
        // In the opposite order: a maximum is lowered after the value that it bounds. All are restored, even if one
        // fails.
        let mut restored = Ok(());
        for (name, value) in before.iter().rev() {
            restored = restored.and(set(control, name, value));
        }
        let drained = drained?;
        Ok(restored.map(|()| drained)?)
    }

    fn remove_binary_logs(&self, control: &mut Connection) -> Result<()> {
        remove_binary_logs(control).map(drop)
    }

    fn explain(
        &self,
        control: &mut Connection,
        sql: &str,
    ) -> Result<StatementExplanation, assay_wire::WireError> {
        explain::explain(control, sql)
    }

    fn counters(&self, control: &mut Connection) -> Result<Option<CounterQueries>> {
        settings::counters(control).map(Some)
    }
}

/// The server's error for a statement that it does not know.
const PARSE_ERROR: u32 = 1064;

/// The start of every command line. Options for paths come last, where nothing can override them.
fn program(prefix: &Prefix, run_as: RunAs) -> Vec<OsString> {
    let layout = &prefix.layout;
    let mut argv = Vec::new();
    if let Some(loader) = &layout.loader {
        let mut library_path = OsString::new();
        for (at, directory) in layout.library_path.iter().enumerate() {
            library_path.push(if at == 0 { "" } else { ":" });
            library_path.push(directory);
        }
        argv.extend([loader.into(), "--library-path".into(), library_path]);
    }
    argv.extend([layout.server.clone().into_os_string(), "--no-defaults".into()]);
    if run_as == RunAs::Caller && rustix::process::geteuid().is_root() {
        argv.push("--user=root".into());
    }
    argv
}

fn directories(prefix: &Prefix, data_dir: &Path, tmp_dir: &Path) -> [OsString; 7] {
    let layout = &prefix.layout;
    [
        ("--basedir=", layout.basedir.as_path()),
        ("--datadir=", data_dir),
        ("--tmpdir=", tmp_dir),
        ("--lc-messages-dir=", &layout.share_dir),
        ("--character-sets-dir=", &layout.charsets_dir),
        ("--plugin-dir=", &layout.plugin_dir),
        // No statement may read or write files elsewhere. The default of some builds is a directory that does not
        // exist.
        ("--secure-file-priv=", tmp_dir),
    ]
    .map(|(option, path)| with_path(option, path))
}

/// Input of a bootstrapping server, one statement per line, since it reads each line as one statement.
pub(super) struct BootstrapScripts {
    pub(super) before: &'static str,
    /// Files of the share directory in order, each with its new and its old name. Not every version has all of them.
    /// Help texts are left out.
    pub(super) files: &'static [[&'static str; 2]],
    pub(super) after: &'static str,
    pub(super) options: &'static [&'static str],
}

/// For versions that do not create the tables by themselves.
const OLD: BootstrapScripts = BootstrapScripts {
    before: "use mysql;\n",
    files: &[
        ["mysql_system_tables.sql", "mysql_system_tables.sql"],
        ["mysql_system_tables_data.sql", "mysql_system_tables_data.sql"],
    ],
    // These users let anybody in without a password.
    after: "DELETE FROM mysql.user WHERE User='';\n",
    options: &["--default-storage-engine=myisam"],
};

/// Options of sessions and of access. A server that creates its own tables obeys them, and then cannot write, cannot
/// commit, or ends its own statements.
const NOT_FOR_INITIALIZATION: [&str; 24] = [
    "autocommit",
    "completion_type",
    "disabled_storage_engines",
    "event_scheduler",
    "general_log",
    "init_connect",
    "init_file",
    "innodb_force_primary_key",
    "innodb_read_only",
    "lock_wait_timeout",
    "max_execution_time",
    "max_join_size",
    "max_statement_time",
    "offline_mode",
    "read_only",
    "require_secure_transport",
    "slow_query_log",
    "sql_mode",
    "sql_require_primary_key",
    "super_read_only",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
];

fn breaks_initialization(option: &str) -> bool {
    let name = option.trim_start_matches("--").split('=').next().unwrap_or_default();
    let name = variable(name);
    let prefixes = ["loose_", "skip_", "disable_", "enable_"];
    let bare =
        prefixes.iter().fold(name.as_str(), |name, it| name.strip_prefix(it).unwrap_or(name));
    NOT_FOR_INITIALIZATION.binary_search(&bare).is_ok()
}

impl BootstrapScripts {
    fn write(&self, share_dir: &Path, script: &Path) -> Result<()> {
        let mut out = fs::File::create(script)?;
        out.write_all(self.before.as_bytes())?;
        for names in self.files {
            let mut paths = names.iter().map(|name| share_dir.join(name));
            if let Some(path) = paths.find(|path| path.exists()) {
                out.write_all(&fs::read(path)?)?;
                out.write_all(b"\n")?;
            }
        }
        Ok(out.write_all(self.after.as_bytes())?)
    }
}

const CHECK_EVERY: Duration = Duration::from_millis(20);

/// Longest wait for a server that still needs old files of its binary log.
const EMPTY_LOG_LIMIT: Duration = Duration::from_secs(5);

/// Number of purge rounds after which purged entries leave the history.
const TRUNCATE_FREQUENCY: &str = "innodb_purge_rseg_truncate_frequency";

/// Global variables and values that make a server write everything now, in the order in which they are set. Without the
/// higher capacity a server writes only as many pages per second as configured; without the higher frequency the
/// history keeps purged entries until more have been purged. Not every version has all variables.
const HURRY: [(&str, &str); 5] = [
    (TRUNCATE_FREQUENCY, "1"),
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
    ("innodb_max_dirty_pages_pct_lwm", "0"),
    ("innodb_max_dirty_pages_pct", "0"),
];

/// The value for MariaDB 10.1, which refuses a share of 0 with [`WRONG_VALUE`].
const HARDLY_ANY: &str = "0.001";

const WRONG_VALUE: u32 = 1231;

/// A change after all others, for versions that do not shorten the history as soon as it is purged. Their purge reports
/// the last transaction that it found, even if many without changes came after it.
const MARK: [&str; 2] =
    ["CREATE TABLE sbtest_mark (a INT) ENGINE=InnoDB", "DROP TABLE sbtest_mark"];

/// Makes MyRocks write its memtables to files of level 0 and merge those into level 1.
const COMPACT: &str = "rocksdb_force_flush_memtable_and_lzero_now";

fn has_binary_log(control: &mut Connection) -> Result<bool> {
    Ok(global_variable(control, "log_bin")?.as_deref() == Some("ON"))
}

/// Starts a new file of the binary log and removes the others. MariaDB keeps them until the engine has flushed its own
/// log.
fn empty_binary_log(control: &mut Connection) -> Result<()> {
    if has_binary_log(control)? {
        control.query("FLUSH BINARY LOGS")?;
        let began = Instant::now();
        while remove_binary_logs(control)? > 1 && began.elapsed() < EMPTY_LOG_LIMIT {
            std::thread::sleep(CHECK_EVERY);
        }
    }
    Ok(())
}

/// Removes all files of the binary log except the newest and those that the server still needs. Returns how many are
/// left.
fn remove_binary_logs(control: &mut Connection) -> Result<usize> {
    if !has_binary_log(control)? {
        return Ok(0);
    }
    let found = control.query("SHOW BINARY LOGS")?;
    let newest = found.rows.len().saturating_sub(1);
    if let Some(newest) = found.text(newest, 0).filter(|_| newest > 0) {
        control.query(&format!("PURGE BINARY LOGS TO '{}'", newest.replace('\'', "''")))?;
    }
    Ok(control.query("SHOW BINARY LOGS")?.rows.len())
}

fn hurry(control: &mut Connection, before: &mut Vec<(&'static str, String)>) -> Result<()> {
    for (name, value) in HURRY {
        if let Some(old) = global_variable(control, name)? {
            before.push((name, old));
            match set(control, name, value) {
                Err(error) if error.server_code() == Some(WRONG_VALUE) => {
                    set(control, name, HARDLY_ANY)?;
                }
                done => done?,
            }
        }
    }
    Ok(())
}

fn set(control: &mut Connection, name: &str, value: &str) -> Result<(), assay_wire::WireError> {
    control.query(&format!("SET GLOBAL {name} = {value}")).map(drop)
}

/// `None` if the version does not have it.
fn global_variable(control: &mut Connection, name: &str) -> Result<Option<String>> {
    let found = control.query(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))?;
    Ok(found.text(0, 1).map(str::to_owned))
}

/// Does nothing if MyRocks is not loaded.
fn compact(control: &mut Connection) -> Result<()> {
    if global_variable(control, COMPACT)?.is_some() {
        set(control, COMPACT, "1")?;
    }
    Ok(())
}

fn wait(control: &mut Connection, began: Instant, limit: Duration) -> Result<DrainResult> {
    let has_rocksdb = global_variable(control, COMPACT)?.is_some();
    let until = PurgeHistory::read(control)?.next_transaction;
    if global_variable(control, TRUNCATE_FREQUENCY)?.is_none() {
        MARK.iter().try_for_each(|sql| control.query(sql).map(drop))?;
    }
    loop {
        let history_length = PurgeHistory::read(control)?.left(until);
        let dirty_pages = dirty_pages(control)?;
        let is_compact = !has_rocksdb || rocksdb_is_at_rest(control)?;
        let took = began.elapsed();
        let is_complete = history_length == Some(0) && dirty_pages == 0 && is_compact;
        if is_complete || took > limit {
            return Ok(DrainResult { is_complete, history_length, dirty_pages, took });
        }
        std::thread::sleep(CHECK_EVERY);
    }
}

fn dirty_pages(control: &mut Connection) -> Result<u64> {
    let found = control.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")?;
    Ok(found.text(0, 1).and_then(|it| it.parse().ok()).unwrap_or(0))
}

/// Whether MyRocks neither writes memtables nor merges files, and has none of that pending.
fn rocksdb_is_at_rest(control: &mut Connection) -> Result<bool> {
    let found = control.query(
        "SELECT SUM(VALUE) FROM information_schema.ROCKSDB_CFSTATS \
         WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')",
    )?;
    let pending = found.text(0, 0).is_some_and(|it| it != "0");
    let found = control.query("SHOW GLOBAL STATUS LIKE 'Rocksdb_manual_compactions_running'")?;
    Ok(!pending && found.text(0, 1) == Some("0"))
}

/// Progress of InnoDB's purge, from `SHOW ENGINE INNODB STATUS`, the only place where every version reports it.
#[derive(Debug, Default, PartialEq, Eq)]
struct PurgeHistory {
    /// Transactions in the history list. Versions before 5.7 leave purged ones in it for a while.
    length: Option<u64>,
    next_transaction: Option<u64>,
    /// All transactions with lower numbers are purged.
    purged_below: Option<u64>,
}

impl PurgeHistory {
    fn read(control: &mut Connection) -> Result<Self> {
        let found = control.query("SHOW ENGINE INNODB STATUS")?;
        Ok(Self::parse(found.text(0, 2).unwrap_or_default()))
    }

    fn parse(status: &str) -> Self {
        let mut history = Self::default();
        for line in status.lines() {
            if let Some(rest) = line.strip_prefix("History list length ") {
                history.length = rest.trim().parse().ok();
            } else if let Some(rest) = line.strip_prefix("Trx id counter ") {
                history.next_transaction = number(rest);
            } else if let Some(rest) = line.strip_prefix("Purge done for trx's n:o < ") {
                history.purged_below = number(rest);
            }
        }
        history
    }

    /// Unpurged transactions before `until`.
    fn left(&self, until: Option<u64>) -> Option<u64> {
        let is_purged = until.is_some() && self.purged_below >= until;
        if is_purged { Some(0) } else { self.length }
    }
}

/// The first word of a text as a transaction number. It is hexadecimal in 5.5 and decimal later. Numbers are only
/// compared with others of the same server, so reading all of them as hexadecimal gives the same order.
fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_whitespace().next()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_initialised_gets_no_options_of_sessions() {
        assert!(NOT_FOR_INITIALIZATION.windows(2).all(|pair| pair[0] < pair[1]));
        for option in [
            "--autocommit=OFF",
            "--skip-autocommit",
            "--loose-max-execution-time=1",
            "--sql-mode=ANSI",
            "--read_only",
        ] {
            assert!(breaks_initialization(option), "{option}");
        }
        for option in ["--innodb-page-size=4k", "--lower-case-table-names=1", "--skip-log-bin"] {
            assert!(!breaks_initialization(option), "{option}");
        }
    }

    const STATUS: &str = "------------
TRANSACTIONS
------------
Trx id counter 5D6
Purge done for trx's n:o < 5D5 undo n:o < D57
History list length 101
LIST OF TRANSACTIONS FOR EACH SESSION:
";

    #[test]
    fn history_is_read_from_the_status() {
        let history = PurgeHistory::parse(STATUS);
        assert_eq!(history.left(history.next_transaction), Some(101));
        let later = "< 5D6 undo n:o < 0 state: running but idle";
        let later = PurgeHistory::parse(&STATUS.replace("< 5D5 undo n:o < D57", later));
        assert_eq!(later.left(history.next_transaction), Some(0));
    }

    #[test]
    fn status_without_a_history_gives_none() {
        assert_eq!(PurgeHistory::parse("InnoDB is off").left(None), None);
    }
}
