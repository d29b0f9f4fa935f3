//! Options that a server refuses or calls deprecated, with the probable intended option and its replacement.

use std::time::Duration;

use assay_model::{Dialect, Prefix, Product};
use assay_terms::version_number;
use fs_err as fs;

use crate::audit::nearest;
use crate::error::{Result, ServersError};
use crate::products;
use crate::site::Site;
use crate::supervise::{Ending, Sandbox, ServerJob, unique_name};

const LIMIT: Duration = Duration::from_secs(20);

/// Letters in which a misspelt name may differ.
const TYPOS: usize = 2;

#[derive(Debug, PartialEq, Eq)]
enum OptionFault {
    Unknown(String),
    Said(String),
}

impl OptionFault {
    /// Matches an option such as `--sql-mode=X`. Some messages have only its value.
    fn is_of(&self, option: &str) -> bool {
        match self {
            Self::Unknown(unknown) => name_of(option) == unknown.replace('-', "_"),
            Self::Said(said) => {
                let value = option.split_once('=').map(|(_, value)| format!("'{value}'"));
                said.replace('-', "_").contains(&name_of(option))
                    || value.is_some_and(|value| value.len() > 2 && said.contains(&value))
            }
        }
    }
}

/// A better error for a server that ended during its start, if its log shows the reason; otherwise the same error.
pub(crate) fn explained(
    sandbox: &mut Sandbox,
    prefix: &Prefix,
    error: ServersError,
) -> ServersError {
    if !matches!(error, ServersError::Ended { .. } | ServersError::Initialize { .. }) {
        return error;
    }
    let log = fs::read(sandbox.run_dir().join("log")).unwrap_or_default();
    let server = format!("{} {}", prefix.product, prefix.version);
    match fault_in(&String::from_utf8_lossy(&log)) {
        None => error,
        Some(OptionFault::Said(said)) => ServersError::OptionRefused { server, said },
        Some(OptionFault::Unknown(option)) => {
            // Without a list of options there is no nearest name.
            let known = options_of(sandbox, prefix).unwrap_or_default();
            let nearest = nearest(&option, known);
            ServersError::UnknownOption { server, option, nearest }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedOption {
    /// With `_`.
    pub name: String,
    /// `None` if the server does not know the option.
    pub said: Option<String>,
    pub nearest: Option<String>,
}

impl RefusedOption {
    /// The intended name, if this one is misspelt. Another version has many names that are only similar.
    pub fn meant(&self) -> Option<&str> {
        let nearest = self.nearest.as_deref()?;
        (strsim::osa_distance(nearest, &self.name) <= TYPOS).then_some(nearest)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeprecatedOption {
    pub name: String,
    pub said: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedOptions {
    pub refused: Vec<RefusedOption>,
    pub deprecated: Vec<DeprecatedOption>,
}

/// Options, written `--name=value`, that a server does not know or whose values it refuses.
pub fn refused_options(
    site: &Site,
    prefix: &Prefix,
    options: &[String],
) -> Result<Vec<RefusedOption>> {
    Ok(checked_options(site, prefix, options)?.refused)
}

/// Checks options, written `--name=value`. The server reads its command line and ends, so this takes a fraction of a
/// second for each refused option.
pub fn checked_options(site: &Site, prefix: &Prefix, options: &[String]) -> Result<CheckedOptions> {
    let mut left = options.to_vec();
    let mut checked = CheckedOptions::default();
    if left.is_empty() {
        return Ok(checked);
    }
    let mut sandbox = Sandbox::new(site, &unique_name(), Vec::new())?;
    let mut known: Option<Option<Vec<String>>> = None;
    loop {
        let fault = match complaint(&mut sandbox, prefix, &left)? {
            Complaint::None { log } => {
                checked.deprecated = deprecated_in(&log, &left);
                break;
            }
            Complaint::Of(fault) => fault,
            // The message names no option.
            Complaint::Other { said } => {
                let Some(option) = culprit(&mut sandbox, prefix, &left)? else { break };
                left.retain(|it| *it != option);
                let name = name_of(&option);
                checked.refused.push(RefusedOption { name, said: Some(said), nearest: None });
                continue;
            }
        };
        // Anything else that is refused is reported when the server starts.
        let Some(at) = left.iter().rposition(|option| fault.is_of(option)) else { break };
        let name = name_of(&left.remove(at));
        checked.refused.push(match fault {
            OptionFault::Said(said) => RefusedOption { name, said: Some(said), nearest: None },
            OptionFault::Unknown(_) => {
                let known = known.get_or_insert_with(|| options_of(&mut sandbox, prefix));
                let nearest = nearest(&name, known.clone().unwrap_or_default());
                RefusedOption { name, said: None, nearest }
            }
        });
    }
    if !products::servers_of(prefix.product)?.checks_names(version_number(&prefix.version)) {
        let known = known.flatten().or_else(|| options_of(&mut sandbox, prefix));
        checked.refused.extend(unlisted(&left, &known.unwrap_or_default()));
    }
    Ok(checked)
}

/// An option that alone makes the server end with an error, unless it does so without any.
fn culprit(sandbox: &mut Sandbox, prefix: &Prefix, options: &[String]) -> Result<Option<String>> {
    if !matches!(complaint(sandbox, prefix, &[])?, Complaint::None { .. }) {
        return Ok(None);
    }
    for option in options {
        let alone = complaint(sandbox, prefix, std::slice::from_ref(option))?;
        if !matches!(alone, Complaint::None { .. }) {
            return Ok(Some(option.clone()));
        }
    }
    Ok(None)
}

/// Options that a log calls deprecated, each with the first such message.
fn deprecated_in(log: &str, options: &[String]) -> Vec<DeprecatedOption> {
    const WARNS: [&str; 2] = ["deprecated", "is currently an alias"];
    let mut found: Vec<DeprecatedOption> = Vec::new();
    let lines = log.lines().filter_map(|line| line.split_once("[Warning]"));
    for (_, said) in lines.filter(|(_, said)| WARNS.iter().any(|words| said.contains(words))) {
        let said = said.rsplit_once("] ").map_or(said, |(_, said)| said).trim();
        let words = said.replace('-', "_").to_ascii_lowercase();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut words = words.split(|c| !is_part(c)).map(|word| word.trim_start_matches('_'));
        // The replacement comes later.
        let name =
            words.find_map(|word| options.iter().map(|it| name_of(it)).find(|it| it == word));
        let Some(name) = name.filter(|name| !found.iter().any(|it| it.name == *name)) else {
            continue;
        };
        found.push(DeprecatedOption { name, said: said.to_owned() });
    }
    found
}

/// Options that are not in the server's list. A server accepts any unambiguous prefix of a name.
fn unlisted(options: &[String], known: &[String]) -> Vec<RefusedOption> {
    let is_known = |name: &str| {
        let switches = ["skip_", "disable_", "enable_"];
        let plain = switches.iter().find_map(|it| name.strip_prefix(it)).unwrap_or(name);
        known.iter().any(|it| it.starts_with(name) || it.starts_with(plain))
    };
    let names = options.iter().map(|option| name_of(option));
    let unknown = names.filter(|name| !name.starts_with("loose_") && !is_known(name));
    let refused = |name: String| {
        let nearest = nearest(&name, known.to_vec());
        RefusedOption { name, said: None, nearest }
    };
    // Without a list, nothing is known.
    if known.is_empty() { Vec::new() } else { unknown.map(refused).collect() }
}

/// The first complaint of a server that reads its options and ends.
enum Complaint {
    /// No error; it may warn in its log.
    None {
        log: String,
    },
    Of(OptionFault),
    Other {
        said: String,
    },
}

fn complaint(sandbox: &mut Sandbox, prefix: &Prefix, options: &[String]) -> Result<Complaint> {
    // The supervisor appends to it.
    let log = sandbox.run_dir().join("checked");
    if log.exists() {
        fs::remove_file(&log)?;
    }
    let servers = products::servers_of(prefix.product)?;
    let argv = servers.check_options(prefix, sandbox.run_dir(), options)?;
    sandbox.run(ServerJob::new(argv, log.clone()))?;
    let ending = sandbox.ended_within(LIMIT)?;
    let log = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    // The help of MariaDB has no error code for the refused value of an engine, without which the server does not
    // start.
    let has_failed = !matches!(ending, None | Some(Ending::Code(0)));
    let errors = || log.lines().filter_map(|line| Some(line.split_once("[ERROR]")?.1));
    let said = |line: &str| line.rsplit_once("] ").map_or(line, |(_, said)| said).trim().to_owned();
    Ok(match (fault_in(&log), errors().next()) {
        (Some(fault), _) => Complaint::Of(fault),
        (None, Some(line)) if has_failed => Complaint::Other { said: said(line) },
        // It was killed, or prints nothing about options.
        _ => Complaint::None { log },
    })
}

fn name_of(option: &str) -> String {
    let name = option.trim_start_matches('-');
    name.split('=').next().unwrap_or(name).replace('-', "_").to_ascii_lowercase()
}

fn fault_in(log: &str) -> Option<OptionFault> {
    log.lines().find_map(|line| {
        if let Some((_, said)) = line.split_once("FATAL:") {
            return of_postgres(said.trim());
        }
        line.split_once("[ERROR]").and_then(|(_, said)| of_mysql(said.trim()))
    })
}

fn of_postgres(said: &str) -> Option<OptionFault> {
    if let Some(name) = said.strip_prefix("unrecognized configuration parameter ") {
        return Some(OptionFault::Unknown(name.trim_matches('"').to_owned()));
    }
    said.contains("parameter \"").then(|| OptionFault::Said(said.to_owned()))
}

/// Messages about refused options. Source: the programs' `my_getopt` and their start.
const COMPLAINTS: [&str; 8] = [
    "ambiguous option",
    "cannot take an argument",
    "requires an argument",
    "Error while setting value",
    "Unknown suffix",
    "rejected as command line option",
    "Unknown character set",
    "is set to an invalid value",
];

fn of_mysql(said: &str) -> Option<OptionFault> {
    for words in ["unknown variable '", "unknown option '"] {
        if let Some((_, rest)) = said.split_once(words) {
            let option = rest.split(['=', '\'']).next()?.trim_start_matches('-');
            return Some(OptionFault::Unknown(option.replace('-', "_")));
        }
    }
    // The number of the message, the component and the program come first.
    let begin = said.rfind("] ").map_or(0, |at| at + 2);
    let message = said.get(begin..)?;
    let message = match message.split_once(": ") {
        Some((program, message)) if program.starts_with('/') => message,
        _ => message,
    };
    let is_complaint = COMPLAINTS.iter().any(|words| message.contains(words));
    is_complaint.then(|| OptionFault::Said(message.trim_end_matches('.').to_owned()))
}

fn options_of(sandbox: &mut Sandbox, prefix: &Prefix) -> Option<Vec<String>> {
    let list = sandbox.run_dir().join("options");
    let servers = products::servers_of(prefix.product).ok()?;
    let argv = servers.list_options(prefix, sandbox.run_dir());
    sandbox.run(ServerJob::new(argv, list.clone())).ok()?;
    sandbox.ended_within(LIMIT).ok()??;
    let list = fs::read(list).ok()?;
    let list = String::from_utf8_lossy(&list);
    let is_before = |line: &&str| servers.lists_after_dashes() && !line.starts_with("----");
    Some(list.lines().skip_while(is_before).filter_map(first_word).collect())
}

fn first_word(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then(|| word.replace('-', "_").to_ascii_lowercase())
}

/// Removed options and their current equivalents. Sources: the manuals' lists of removed options.
const REPLACED: &[(&str, &str)] = &[
    ("expire_logs_days", "binlog_expire_logs_seconds"),
    ("innodb_log_file_size", "innodb_redo_log_capacity"),
    ("innodb_log_files_in_group", "innodb_redo_log_capacity"),
    ("innodb_undo_logs", "innodb_rollback_segments"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_warnings", "log_error_verbosity"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("storage_engine", "default_storage_engine"),
    ("thread_concurrency", "innodb_thread_concurrency"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("checkpoint_segments", "max_wal_size"),
    ("force_parallel_mode", "debug_parallel_query"),
    ("replacement_sort_tuples", "work_mem"),
    ("vacuum_defer_cleanup_age", "hot_standby_feedback"),
    ("wal_keep_segments", "wal_keep_size"),
];

/// Options of features that no longer exist, or are always on.
const GONE: &[(&str, &str)] = &[
    (
        "default_authentication_plugin",
        "`authentication_policy` is in its place, and does not take `mysql_native_password`: users need another \
         plugin, such as `caching_sha2_password`",
    ),
    ("query_cache_", "there is no query cache any more"),
    ("have_query_cache", "there is no query cache any more"),
    ("innodb_file_format", "every table has the newest format"),
    ("innodb_large_prefix", "long prefixes are always allowed"),
    ("innodb_support_xa", "it is always on"),
    (
        "mysql_native_password",
        "there is no such plugin any more; users need another one, such as `caching_sha2_password`",
    ),
    ("secure_auth", "it is always on"),
    ("sync_frm", "there are no such files any more"),
    ("old_passwords", "there are no such passwords any more"),
];

impl RefusedOption {
    /// Advice for the line of a config file that sets the option.
    pub fn remedy(&self, product: Product) -> String {
        let name = self.name.as_str();
        if self.said.is_some() {
            return "give it a value that this version takes".to_owned();
        }
        if let Some((_, why)) = GONE.iter().find(|(gone, _)| name.starts_with(gone)) {
            return format!("remove the line: {why}");
        }
        if let Some((_, new)) = REPLACED.iter().find(|(old, _)| *old == name) {
            return format!("remove the line; `{new}` is in its place");
        }
        match (self.meant(), product.dialect()) {
            (Some(meant), _) => format!("write `{meant}`"),
            (None, Dialect::MySql) => {
                format!(
                    "remove the line, or write `loose_{name}`, which versions without the option ignore"
                )
            }
            (None, Dialect::Postgres) => "remove the line".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_found_in_the_logs_of_all_versions() {
        let unknown = Some(OptionFault::Unknown("innodb_bufer".to_owned()));
        for line in [
            "2026-01-01  1:00:00 0 [ERROR] /p/mariadbd: unknown variable 'innodb-bufer=1'",
            "260101  1:00:00 [ERROR] /p/mysqld: unknown option '--innodb-bufer'",
            "2026-01-01T01:00:00.000000Z 0 [ERROR] [MY-000067] [Server] unknown variable 'innodb-bufer=1'.",
            "2026-01-01 01:00:00.000 UTC [1] FATAL:  unrecognized configuration parameter \"innodb_bufer\"",
        ] {
            assert_eq!(
                fault_in(&format!("[Note] starting\n{line}\n[ERROR] Aborting")),
                unknown,
                "{line}"
            );
        }
    }

    #[test]
    fn a_refused_value_is_reported_with_the_servers_message() {
        for (line, said) in [
            (
                "2026-01-01T01:00:00Z 0 [ERROR] [MY-000077] [Server] /p/mysqld: Error while setting value 'x' to 'y'.",
                "Error while setting value 'x' to 'y'",
            ),
            (
                "2026-01-01  1:00:00 0 [ERROR] /p/mariadbd: ambiguous option '--log-b' (log-bin, log-basename)",
                "ambiguous option '--log-b' (log-bin, log-basename)",
            ),
            (
                "[1] FATAL:  parameter \"work_mem\" requires a numeric value",
                "parameter \"work_mem\" requires a numeric value",
            ),
        ] {
            assert_eq!(fault_in(line), Some(OptionFault::Said(said.to_owned())));
        }
        for line in
            ["[Warning] unknown variable 'loose-x=1'", "[ERROR] Aborting", "FATAL:  no space"]
        {
            assert_eq!(fault_in(line), None, "{line}");
        }
    }

    #[test]
    fn a_message_may_have_only_the_value_of_an_option() {
        let blamed = |said: &str| {
            let fault = OptionFault::Said(said.to_owned());
            ["--sql-mode=X", "--character-set-server=utf8", "--log-bin=1"].map(|it| fault.is_of(it))
        };
        assert_eq!(blamed("Error while setting value 'X' to 'sql_mode'"), [true, false, false]);
        assert_eq!(
            blamed("Character set 'utf8' rejected as command line option"),
            [false, true, false]
        );
        assert_eq!(blamed("Option --log-bin is set to an invalid value"), [false, false, true]);
    }

    #[test]
    fn deprecated_options_are_found_in_the_log() {
        let log = "x [Warning] [MY-011070] [Server] 'binlog_format' is deprecated and will be removed.\n\
            x [Warning] [MY-011068] [Server] The syntax 'expire-logs-days' is deprecated. Please use \
            binlog_expire_logs_seconds instead.\n\
            x 0 [Warning] --old is deprecated. Please use --old-mode instead.\n\
            x [Warning] [MY-013242] [Server] --character-set-server: 'utf8' is currently an alias for UTF8MB3\n\
            x [Warning] [MY-010097] [Server] Insecure configuration for --secure-file-priv: deprecated\n\
            x [Note] 'sync_binlog' is deprecated\n";
        let options = [
            "--binlog_format=ROW",
            "--binlog_expire_logs_seconds=1",
            "--expire_logs_days=3",
            "--old-mode=",
            "--old=1",
            "--character_set_server=utf8",
            "--sync_binlog=1",
        ];
        let found = deprecated_in(log, &options.map(str::to_owned));
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["binlog_format", "expire_logs_days", "old", "character_set_server"]);
        assert_eq!(found[0].said, "'binlog_format' is deprecated and will be removed.");
    }

    #[test]
    fn a_name_that_is_in_no_list_is_unknown() {
        let known = ["innodb_buffer_pool_size", "log_bin", "skip_name_resolve"].map(str::to_owned);
        let options = [
            "--innodb-buffer-pool-size=1",
            "--innodb-buffer=1",
            "--skip-log-bin",
            "--skip_name_resolve=1",
            "--loose-x=1",
            "--query-cache-size=1",
        ];
        let unknown_options = |known: &[String]| unlisted(&options.map(str::to_owned), known);
        let names: Vec<String> = unknown_options(&known).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["query_cache_size"]);
        assert!(unknown_options(&[]).is_empty());
    }

    #[test]
    fn the_nearest_option_is_suggested() {
        let known = || ["innodb_buffer_pool_size", "sort_buffer_size"].map(str::to_owned).to_vec();
        let found = nearest("innodb_bufer_pool_size", known());
        assert_eq!(found.as_deref(), Some("innodb_buffer_pool_size"));
        assert_eq!(nearest("xyz", known()), None);
        let meant = |name: &str, nearest: &str| {
            let option = RefusedOption {
                name: name.to_owned(),
                said: None,
                nearest: Some(nearest.to_owned()),
            };
            option.meant().is_some()
        };
        assert!(meant("innodb_bufer_pool_size", "innodb_buffer_pool_size"));
        // Another version had it.
        assert!(!meant("query_cache_size", "query_prealloc_size"));
        assert!(!meant("innodb_file_format", "innodb_fill_factor"));
    }

    #[test]
    fn every_refused_option_has_a_remedy() {
        let remedy = |name: &str, said: Option<&str>, nearest: Option<&str>| {
            let [said, nearest] = [said, nearest].map(|it| it.map(str::to_owned));
            RefusedOption { name: name.to_owned(), said, nearest }.remedy(Product::MySql)
        };
        assert_eq!(
            remedy("query_cache_size", None, Some("query_alloc_block_size")),
            "remove the line: there is no query cache any more"
        );
        assert!(remedy("expire_logs_days", None, None).contains("`binlog_expire_logs_seconds`"));
        assert_eq!(remedy("sql_mod", None, Some("sql_mode")), "write `sql_mode`");
        assert!(remedy("xyz", None, None).contains("`loose_xyz`"));
        assert!(remedy("sql_mode", Some("wrong value"), None).starts_with("give it a value"));
    }
}
