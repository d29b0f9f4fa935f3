//! Settings of one thread of a script, and sysbench's own options, which scripts read too.

use std::sync::Arc;

use assay_model::Distribution;
use mlua::Table;

use crate::error::{LuaError, Result};
use crate::leash::Leash;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScriptDraws {
    pub usual: Distribution,
    /// Parameter of all draws of a Pareto distribution.
    pub pareto_h: f64,
    /// Exponent of all draws of a Zipf distribution.
    pub zipfian_exp: f64,
}

impl Default for ScriptDraws {
    /// Defaults of sysbench 1.0.20.
    fn default() -> Self {
        Self { usual: Distribution::Special, pareto_h: 0.2, zipfian_exp: 0.8 }
    }
}

#[derive(Debug, Clone)]
pub struct ScriptSetting {
    pub thread: u32,
    pub threads: u32,
    /// The driver that sysbench would use: `mysql` or `pgsql`.
    pub driver: &'static str,
    pub command: String,
    pub options: Vec<(String, String)>,
    /// The database, the user and so on, as options of sysbench: name and value.
    pub connection: Vec<(String, String)>,
    pub seed: u64,
    pub draw: ScriptDraws,
    /// The script may use files outside its directory, and run programs.
    pub may_use_all: bool,
    pub leash: Arc<Leash>,
}

const PARAMETER_MAX: f64 = 100.0;

const OF_SYSBENCH: [(&str, &str); 16] = [
    ("threads", "use `--clients`"),
    ("time", "use `--budget` in a study, or `--time` of `bench`"),
    ("events", "use `--events` of `bench`"),
    ("warmup-time", "assay warms up by itself"),
    ("report-interval", "use `--report-interval` of `bench`"),
    ("rate", "use `--rate` of `bench`"),
    ("percentile", "leave it out: reports have several percentiles"),
    ("histogram", "leave it out: the ledger keeps every response time"),
    ("verbosity", "leave it out"),
    ("db-driver", "leave it out: the system decides"),
    ("db-ps-mode", "use `--db-ps-mode` before `--`"),
    ("db-debug", "leave it out"),
    ("debug", "leave it out"),
    ("validate", "leave it out"),
    ("rand-seed", "use `--seed`"),
    ("luajit-cmd", "leave it out: scripts are interpreted"),
];

/// Options of sysbench's drivers, without the driver's name. Other options with that prefix belong to scripts, such as
/// `mysql-table-engine`.
const OF_DRIVERS: [&str; 11] = [
    "host",
    "port",
    "socket",
    "user",
    "password",
    "db",
    "ssl",
    "ssl-cipher",
    "compression",
    "debug",
    "dry-run",
];

pub(crate) fn equivalent_of(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-");
    let of_driver = name.strip_prefix("mysql-").or_else(|| name.strip_prefix("pgsql-"));
    if of_driver.is_some_and(|it| OF_DRIVERS.contains(&it)) {
        return Some("leave it out: assay connects to the systems that are compared");
    }
    OF_SYSBENCH.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead)
}

/// Parses `--name=value` or `name=value`, or `--name` for one that is on. Underscores in names become dashes.
pub fn parse_options(words: &[String]) -> Result<Vec<(String, String)>> {
    let option = |word: &String| {
        let bare = word.contains('=').then_some(word.as_str());
        let option = word.strip_prefix("--").or(bare);
        let option = option.filter(|it| !it.is_empty() && !it.starts_with(['=', '-']));
        let option = option.ok_or_else(|| LuaError::NoOption(word.clone()))?;
        let (name, value) = option.split_once('=').unwrap_or((option, "on"));
        Ok((name.replace('_', "-"), value.to_owned()))
    };
    words.iter().map(option).collect()
}

/// The script's distributions from its options, with the defaults of sysbench 1.0.20. Returns the remaining options
/// too.
pub fn take_distribution(
    options: Vec<(String, String)>,
) -> Result<(ScriptDraws, Vec<(String, String)>)> {
    let ScriptDraws { pareto_h: mut h, zipfian_exp: mut s, .. } = ScriptDraws::default();
    let mut kind = "special".to_owned();
    let mut left = Vec::with_capacity(options.len());
    for (name, value) in options {
        let number = || {
            let wrong = || LuaError::Value { name: name.clone(), value: value.clone() };
            let is_one = |it: &f64| (0.0..=PARAMETER_MAX).contains(it);
            value.parse::<f64>().ok().filter(is_one).ok_or_else(wrong)
        };
        match name.as_str() {
            "rand-type" => kind = value,
            IGNORE_ERRORS => drop(codes_of(&value)?),
            "rand-pareto-h" => h = number()?,
            "rand-zipfian-exp" => s = number()?,
            _ => left.push((name, value)),
        }
    }
    if !(h > 0.0 && h < 1.0) {
        return Err(LuaError::Value { name: "rand-pareto-h".to_owned(), value: h.to_string() });
    }
    let usual = match kind.as_str() {
        "special" => Distribution::Special,
        "uniform" => Distribution::Uniform,
        "gaussian" => Distribution::Gaussian,
        "pareto" => Distribution::Pareto { h },
        "zipfian" => Distribution::Zipfian { s },
        _ => return Err(LuaError::Value { name: "rand-type".to_owned(), value: kind }),
    };
    Ok((ScriptDraws { usual, pareto_h: h, zipfian_exp: s }, left))
}

const IGNORE_ERRORS: &str = "mysql-ignore-errors";

/// Errors after which an event is retried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum IgnoredErrors {
    /// Those that sysbench ignores by default.
    #[default]
    Usual,
    /// All server errors, including lost connections.
    All,
    /// MySQL codes, or Postgres SQLSTATEs as numbers. 2006, 2011, 2013 and 2055 mean a lost connection on any server.
    These(Vec<u32>),
}

impl IgnoredErrors {
    /// `usual` are the codes that count by default.
    pub fn contain(&self, code: u32, usual: &[u32]) -> bool {
        match self {
            Self::Usual => usual.contains(&code),
            Self::All => true,
            Self::These(codes) => codes.contains(&code),
        }
    }
}

pub fn ignored_errors(options: &[(String, String)]) -> Result<IgnoredErrors> {
    let named = options.iter().rev().find(|(name, _)| name == IGNORE_ERRORS);
    named.map_or(Ok(IgnoredErrors::Usual), |(_, value)| codes_of(value))
}

fn codes_of(value: &str) -> Result<IgnoredErrors> {
    if value == "all" {
        return Ok(IgnoredErrors::All);
    }
    let wrong = |_| LuaError::Value { name: IGNORE_ERRORS.to_owned(), value: value.to_owned() };
    let codes = value.split(',').map(|code| code.trim().parse().map_err(wrong));
    codes.collect::<Result<_>>().map(IgnoredErrors::These)
}

fn word_of(kind: Distribution) -> &'static str {
    match kind {
        Distribution::Uniform => "uniform",
        Distribution::Gaussian => "gaussian",
        Distribution::Pareto { .. } => "pareto",
        Distribution::Zipfian { .. } => "zipfian",
        Distribution::Special => "special",
    }
}

/// Adds the values of sysbench's own options that scripts read in `sysbench.opt`.
pub(crate) fn add_general(options: &Table, setting: &ScriptSetting) -> mlua::Result<()> {
    let zero = ["events", "max_requests", "report_interval", "rate", "warmup_time", "rand_seed"];
    for name in zero {
        options.set(name, 0)?;
    }
    let off = ["debug", "histogram", "validate", "db_debug", "help", "version"];
    let off_of_mysql = ["mysql_ssl", "mysql_compression", "mysql_debug", "mysql_dry_run"];
    for name in off.into_iter().chain(off_of_mysql) {
        options.set(name, false)?;
    }
    let texts = [
        ("forced_shutdown", "off"),
        ("thread_stack_size", "64K"),
        ("luajit_cmd", ""),
        ("mysql_password", ""),
        ("mysql_ssl_cipher", ""),
        ("mysql_storage_engine", "innodb"),
        ("mysql_table_engine", "innodb"),
        ("pgsql_password", ""),
        ("mysql_host", "localhost"),
        ("mysql_user", "sbtest"),
        ("mysql_db", "sbtest"),
        ("mysql_socket", ""),
        ("pgsql_host", "localhost"),
        ("pgsql_user", "sbtest"),
        ("pgsql_db", "sbtest"),
    ];
    for (name, text) in texts {
        options.set(name, text)?;
    }
    options.set("myisam_max_rows", 1_000_000)?;
    options.set("mysql_ignore_errors", ["1213", "1020", "1205"])?;
    let numbers = [
        ("threads", setting.threads),
        ("num_threads", setting.threads),
        // sysbench's defaults: a script does not decide how long it runs.
        ("time", 10),
        ("max_time", 10),
        ("mysql_port", 3306),
        ("pgsql_port", 5432),
        ("rand_spec_iter", 12),
        ("rand_spec_pct", 1),
        ("rand_spec_res", 75),
    ];
    for (name, number) in numbers {
        options.set(name, number)?;
    }
    let draw = setting.draw;
    options.set("rand_type", word_of(draw.usual))?;
    options.set("rand_pareto_h", draw.pareto_h)?;
    options.set("rand_zipfian_exp", draw.zipfian_exp)?;
    options.set("percentile", 95)?;
    options.set("verbosity", 3)?;
    options.set("db_driver", setting.driver)?;
    options.set("db_ps_mode", "auto")?;
    for (name, value) in &setting.connection {
        match value.parse::<u16>() {
            Ok(port) if name.ends_with("_port") => options.set(name.as_str(), port)?,
            _ => options.set(name.as_str(), value.as_str())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_may_name_the_errors_after_which_an_event_is_started_again() {
        let named = |words: &[&str]| ignored_errors(&parsed(words).unwrap());
        assert_eq!(named(&["--tables=4"]), Ok(IgnoredErrors::Usual));
        assert_eq!(named(&["--mysql_ignore_errors=all"]), Ok(IgnoredErrors::All));
        let codes = named(&["--mysql-ignore-errors=1213,1062"]).unwrap();
        assert!(codes.contain(1062, &[1205]) && !codes.contain(1205, &[1205]));
        assert!(take_distribution(parsed(&["--mysql-ignore-errors=often"]).unwrap()).is_err());
        let left = take_distribution(parsed(&["--mysql-ignore-errors=1062", "--x=1"]).unwrap());
        assert_eq!(left.unwrap().1, [("x".to_owned(), "1".to_owned())]);
    }

    fn parsed(words: &[&str]) -> Result<Vec<(String, String)>> {
        parse_options(&words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_names_and_values() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = parsed(&["--tables=4", "--table_size=10", "--auto-inc"]).unwrap();
        assert_eq!(
            options,
            [pair("tables", "4"), pair("table-size", "10"), pair("auto-inc", "on")]
        );
        assert_eq!(parsed(&["tables=4"]).unwrap(), [pair("tables", "4")]);
        for word in ["tables", "--", "--=4", "=4", "-t", "-t=4", "---t=4"] {
            assert!(parsed(&[word]).is_err(), "{word}");
        }
        assert_eq!(equivalent_of("mysql_host").map(|it| &it[..9]), Some("leave it "));
        assert_eq!(equivalent_of("threads"), Some("use `--clients`"));
        assert_eq!(equivalent_of("tables"), None);
        assert_eq!(equivalent_of("mysql-table-engine"), None);
    }

    #[test]
    fn a_script_draws_as_its_options_say() {
        let taken = |words: &[&str]| take_distribution(parsed(words).unwrap());
        assert_eq!(taken(&[]).unwrap().0, ScriptDraws::default());
        let (draw, left) =
            taken(&["--rand-type=zipfian", "--rand-zipfian-exp=1", "--x=1"]).unwrap();
        assert_eq!((draw.usual, left.len()), (Distribution::Zipfian { s: 1.0 }, 1));
        assert_eq!((draw.pareto_h, draw.zipfian_exp), (0.2, 1.0));
        for words in [["--rand-type=no", "--x"], ["--rand-type=pareto", "--rand-pareto-h=1"]] {
            assert!(taken(&words).is_err());
        }
    }
}
