//! Explains a failed start when the log blames an option, with the option that was probably meant.

use std::time::Duration;

use assay_model::Prefix;
use assay_terms::version_number;
use fs_err as fs;

use crate::error::Error;
use crate::nearest::nearest;
use crate::products;
use crate::site::Site;
use crate::supervise::{Ending, Job, Sandbox, unique_name};

/// How long a server may take to list its options.
const LIMIT: Duration = Duration::from_secs(20);

/// Letters in which a misspelt name may differ.
const TYPOS: usize = 2;

/// A problem with an option.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// This version does not have the option.
    Unknown(String),
    /// The server's message about the option.
    Said(String),
}

/// A better error for a server that ended during its start, if its log shows the reason; otherwise the same error.
pub(crate) fn explained(sandbox: &mut Sandbox, prefix: &Prefix, error: Error) -> Error {
    if !matches!(error, Error::Ended { .. } | Error::Initialize { .. }) {
        return error;
    }
    let log = fs::read(sandbox.run_dir().join("log")).unwrap_or_default();
    let server = format!("{} {}", prefix.product, prefix.version);
    match fault_in(&String::from_utf8_lossy(&log)) {
        None => error,
        Some(Fault::Said(said)) => Error::OptionRefused { server, said },
        Some(Fault::Unknown(option)) => {
            // Without a list of options there is no nearest name.
            let known = options_of(sandbox, prefix).unwrap_or_default();
            let nearest = nearest(&option, known);
            Error::UnknownOption { server, option, nearest }
        }
    }
}

/// An option that a server does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedOption {
    /// Its name, with `_`.
    pub name: String,
    /// The server's message; `None` if it does not know the option.
    pub said: Option<String>,
    /// The most similar name among the options that it has, if it does not know this one.
    pub nearest: Option<String>,
}

impl RefusedOption {
    /// The name that was meant, if this one is misspelt. Another version has many names that are only similar.
    #[must_use]
    pub fn meant(&self) -> Option<&str> {
        let nearest = self.nearest.as_deref()?;
        (strsim::osa_distance(nearest, &self.name) <= TYPOS).then_some(nearest)
    }
}

/// All of these options, written `--name=value`, that a server does not know or whose values it refuses. The server
/// reads its command line and ends, so this takes a fraction of a second for each refused option.
pub fn refused_options(
    site: &Site,
    prefix: &Prefix,
    options: &[String],
) -> Result<Vec<RefusedOption>, Error> {
    let (mut left, mut refused) = (options.to_vec(), Vec::new());
    if left.is_empty() {
        return Ok(refused);
    }
    let mut sandbox = Sandbox::new(site, &unique_name(), Vec::new())?;
    let mut known: Option<Option<Vec<String>>> = None;
    while let Some(fault) = first_fault(&mut sandbox, prefix, &left)? {
        let is_meant = |option: &String| match &fault {
            Fault::Unknown(unknown) => name_of(option) == unknown.replace('-', "_"),
            Fault::Said(said) => said.replace('-', "_").contains(&name_of(option)),
        };
        // Whatever is refused besides is told when the server starts.
        let Some(at) = left.iter().rposition(is_meant) else { break };
        let name = name_of(&left.remove(at));
        let found = match fault {
            Fault::Said(said) => RefusedOption { name, said: Some(said), nearest: None },
            Fault::Unknown(_) => {
                let known = known.get_or_insert_with(|| options_of(&mut sandbox, prefix));
                let nearest = nearest(&name, known.clone().unwrap_or_default());
                RefusedOption { name, said: None, nearest }
            }
        };
        refused.push(found);
    }
    if !products::of(prefix.product)?.checks_names(version_number(&prefix.version)) {
        let known = known.flatten().or_else(|| options_of(&mut sandbox, prefix));
        refused.extend(unlisted(&left, &known.unwrap_or_default()));
    }
    Ok(refused)
}

/// Options that are not in the list of those that a server knows. A server accepts any unambiguous beginning of a name.
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

/// The first complaint of a server about these options, if it has one.
fn first_fault(
    sandbox: &mut Sandbox,
    prefix: &Prefix,
    options: &[String],
) -> Result<Option<Fault>, Error> {
    // The supervisor appends to it.
    let log = sandbox.run_dir().join("checked");
    if log.exists() {
        fs::remove_file(&log)?;
    }
    let servers = products::of(prefix.product)?;
    let argv = servers.check_options(prefix, sandbox.run_dir(), options)?;
    sandbox.run(Job::new(argv, log.clone()))?;
    match sandbox.ended_within(LIMIT)? {
        None | Some(Ending::Code(0)) => Ok(None),
        Some(_) => Ok(fault_in(&String::from_utf8_lossy(&fs::read(log)?))),
    }
}

/// The name of an option such as `--sql-mode=X`, with `_`.
fn name_of(option: &str) -> String {
    let name = option.trim_start_matches('-');
    name.split('=').next().unwrap_or(name).replace('-', "_").to_ascii_lowercase()
}

/// The first complaint about an option in a log.
fn fault_in(log: &str) -> Option<Fault> {
    log.lines().find_map(|line| {
        if let Some((_, said)) = line.split_once("FATAL:") {
            return of_postgres(said.trim());
        }
        line.split_once("[ERROR]").and_then(|(_, said)| of_mysql(said.trim()))
    })
}

fn of_postgres(said: &str) -> Option<Fault> {
    if let Some(name) = said.strip_prefix("unrecognized configuration parameter ") {
        return Some(Fault::Unknown(name.trim_matches('"').to_owned()));
    }
    said.contains("parameter \"").then(|| Fault::Said(said.to_owned()))
}

/// Messages about options that a server refuses. Source: the programs' `my_getopt`.
const COMPLAINTS: [&str; 5] = [
    "ambiguous option",
    "cannot take an argument",
    "requires an argument",
    "Error while setting value",
    "Unknown suffix",
];

fn of_mysql(said: &str) -> Option<Fault> {
    for words in ["unknown variable '", "unknown option '"] {
        if let Some((_, rest)) = said.split_once(words) {
            let option = rest.split(['=', '\'']).next()?.trim_start_matches('-');
            return Some(Fault::Unknown(option.replace('-', "_")));
        }
    }
    // The number of the message, the component and the program come first.
    let begin = said.rfind("] ").map_or(0, |at| at + 2);
    let told = said.get(begin..)?;
    let told = match told.split_once(": ") {
        Some((program, told)) if program.starts_with('/') => told,
        _ => told,
    };
    let is_complaint = COMPLAINTS.iter().any(|words| told.contains(words));
    is_complaint.then(|| Fault::Said(told.trim_end_matches('.').to_owned()))
}

/// The names of all options, as the server lists them. `None` if it cannot.
fn options_of(sandbox: &mut Sandbox, prefix: &Prefix) -> Option<Vec<String>> {
    let list = sandbox.run_dir().join("options");
    let servers = products::of(prefix.product).ok()?;
    let argv = servers.list_options(prefix, sandbox.run_dir());
    sandbox.run(Job::new(argv, list.clone())).ok()?;
    sandbox.ended_within(LIMIT).ok()??;
    let list = fs::read(list).ok()?;
    let list = String::from_utf8_lossy(&list);
    let is_before = |line: &&str| servers.lists_after_dashes() && !line.starts_with("----");
    Some(list.lines().skip_while(is_before).filter_map(first_word).collect())
}

/// The first word of a line, as the name of an option.
fn first_word(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then(|| word.replace('-', "_").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_found_in_the_logs_of_all_versions() {
        let unknown = Some(Fault::Unknown("innodb_bufer".to_owned()));
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
            assert_eq!(fault_in(line), Some(Fault::Said(said.to_owned())));
        }
        for line in
            ["[Warning] unknown variable 'loose-x=1'", "[ERROR] Aborting", "FATAL:  no space"]
        {
            assert_eq!(fault_in(line), None, "{line}");
        }
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
        let of = |known: &[String]| unlisted(&options.map(str::to_owned), known);
        let names: Vec<String> = of(&known).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["query_cache_size"]);
        assert!(of(&[]).is_empty());
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
}
