//! Errors of a request that is not a valid study, and what to do instead.

use std::ops::Range;

use assay_model::limits::NAME_BYTES;
use assay_model::{Hint, RealtimeAccess, Refusal, shortened, thousands};

/// The reason why a request is not a valid study.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// A system name that cannot be read.
    #[error("`{}` is not a system name: {why}", shortened(name))]
    SystemName {
        /// The text as typed.
        name: String,
        /// The part of it that is wrong, bytes.
        at: Range<usize>,
        /// The mistake in it.
        why: String,
        /// A guess at the name that was meant, or advice.
        hint: Option<String>,
    },
    /// A comparison needs something to compare with.
    #[error("a comparison needs a base and at least one other system")]
    TooFewSystems,
    /// A glob that selects nothing.
    #[error("`{}` matches none of the {count} tests {}", shortened(glob), suite.words(*count))]
    NoSuchTest {
        /// The text as typed.
        glob: String,
        /// Number of the tests searched.
        count: usize,
        /// Which tests were searched.
        suite: SearchedTests,
        /// The nearest test name, or what to do instead.
        hint: Option<String>,
    },
    /// A limit of a gate for no group and no test.
    #[error("`{}` is no group, and matches none of the {count} tests {}", shortened(glob), suite.words(*count))]
    NoSuchScope {
        /// The text as typed.
        glob: String,
        /// Number of the tests searched.
        count: usize,
        /// Which tests were searched.
        suite: SearchedTests,
        /// The nearest group or test name.
        hint: Option<String>,
        /// The groups of the tests.
        groups: String,
    },
    /// A script of sysbench whose statements are all left out.
    #[error("these options leave `{0}` without statements")]
    EmptyScript(&'static str),
    /// A glob that cannot be read.
    #[error("`{}` is not a pattern for tests: {why}", shortened(glob))]
    Glob {
        /// The text as typed.
        glob: String,
        /// The mistake in it.
        why: String,
    },
    /// The URL of a server that cannot be read; its password is left out.
    #[error("`{}` is not the URL of a server: {why}", shortened(url))]
    Url {
        /// The text as typed, without its password.
        url: String,
        /// The mistake in it.
        why: String,
    },
    /// An option of a server that only assay sets, or a value of one that leads out of the server's directory.
    #[error("option `{}` cannot be set: {}", shortened(option), told(.why))]
    ReservedOption {
        /// The option, as typed.
        option: String,
        /// The reason.
        why: Refusal,
    },
    /// A config file for all systems, or an option of one, that cannot be read.
    #[error("`{}` cannot be read: {why}", shortened(text))]
    CommonOption {
        /// The text as typed.
        text: String,
        /// The mistake in it.
        why: String,
    },
    /// A number outside its range.
    #[error("`{option} {}` is out of range: {why}", shortened(value))]
    OutOfRange {
        /// The option.
        option: &'static str,
        /// The text as typed.
        value: String,
        /// The allowed range.
        why: String,
    },
    /// Real-time priority was asked for, and this user may not use it.
    #[error(
        "this user may not run threads at real-time priority, which `--priority realtime` asks for"
    )]
    Realtime(Option<RealtimeAccess>),
    /// A value that cannot be read.
    #[error(transparent)]
    Value(#[from] assay_options::Error),
    /// Options that do not work together.
    #[error("{0}")]
    Conflict(&'static str),
    /// An option that says how to measure time, for a study that only counts instructions.
    #[error(
        "`{option}` has no effect where only instructions are counted: nothing is timed, and there is one client"
    )]
    NothingTimed {
        /// The option.
        option: &'static str,
    },
    /// More of something than a study may have.
    #[error("{} {what} are too many: a study may have {}", thousands(*.count as u64), thousands(*.most as u64))]
    TooMany {
        /// The things, in the plural.
        what: &'static str,
        /// The number asked for.
        count: usize,
        /// The largest number allowed.
        most: usize,
        /// Advice on how to ask for fewer.
        fewer: &'static str,
    },
    /// The name of a system or test is too long for reports.
    #[error("the name `{}` has {} bytes: it may have {NAME_BYTES}", shortened(.0), .0.len())]
    LongName(String),
    /// The same database given twice.
    #[error("the same database is named twice: `{0}`")]
    SameDatabase(String),
    /// A server that cannot take part as it is: it runs already, or its connections share threads.
    #[error("`{}` cannot take part: {why}", shortened(name))]
    CannotTakePart {
        /// The system, without password.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// A workload that says nothing about the tables of a product.
    #[error(
        "`{}` cannot take part: workload `{workload}` does not say how to create its table `{table}` there",
        shortened(name)
    )]
    LacksTable {
        /// The system.
        name: String,
        /// The table.
        table: String,
        /// The workload.
        workload: String,
    },
    /// A dump of the other family of products.
    #[error(
        "`{}` cannot take part: the dump of workload `{workload}` is one of another family of products",
        shortened(name)
    )]
    LacksDump {
        /// The system.
        name: String,
        /// The workload.
        workload: String,
    },
    /// A workload whose statements are for one family of products.
    #[error("`{}` cannot take part: workload `{workload}` is for Postgres only", shortened(name))]
    PostgresOnly {
        /// The system.
        name: String,
        /// The workload.
        workload: String,
    },
    /// A test that has statements for the other family of products only.
    #[error("`{}` cannot take part: test `{test}` has no statement for it", shortened(name))]
    NoStatement {
        /// The system.
        name: String,
        /// The test.
        test: String,
    },
    /// The machine is too small.
    #[error(
        "not enough {what}: the plan needs {need_mb} MB, and this machine has {have_mb} MB available"
    )]
    TooLittle {
        /// Memory or disk.
        what: &'static str,
        /// The need of the plan, MB.
        need_mb: u64,
        /// The amount available, MB.
        have_mb: u64,
        /// Largest number of rows per table that would fit.
        rows_that_fit: u64,
        /// What options of the systems ask for, and how to ask for less.
        asked: Vec<String>,
    },
}

/// Advice for the value of a switch that stands alone.
const ON_OFF: &str = "an option gets this value with `=`, as in `--auto-inc=off`";

/// The reason why an address without a scheme is refused.
pub(crate) const NO_SCHEME: &str = "it does not begin with `mysql://` or `postgres://`";

impl Error {
    /// The same without advice on a number of rows.
    pub(crate) fn whatever_rows(self) -> Self {
        match self {
            Self::TooLittle { what, need_mb, have_mb, asked, .. } => {
                Self::TooLittle { what, need_mb, have_mb, rows_that_fit: 0, asked }
            }
            other => other,
        }
    }

    /// Whether the disk is too small.
    #[must_use]
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::TooLittle { what, .. } if *what == DISK)
    }
}

/// Something that a machine may have too little of.
pub(crate) const DISK: &str = "disk space";

/// See [`DISK`].
pub(crate) const MEMORY: &str = "memory";

/// Advice for too little disk space.
const MORE_DISK: &str = "`assay cache clean --unused 1h` frees everything not used for an hour, \
                         `--cache-dir DIR` can name a directory on another disk, and fewer systems need less";

/// Advice for too little memory.
const MORE_MEMORY: &str = "fewer systems need less, and so do smaller caches if options set them, \
                           such as `innodb_buffer_pool_size`";

/// The collection in which a test was searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchedTests {
    /// A published set.
    Set,
    /// The scripts of sysbench.
    Oltp,
    /// The workload in the manner of TPC-C.
    Tpcc,
    /// Those of a user's workload.
    Own,
}

impl SearchedTests {
    fn words(self, count: usize) -> String {
        match self {
            Self::Set => format!("in set {count}"),
            Self::Oltp => "of suite oltp".to_owned(),
            Self::Tpcc => "of suite tpcc".to_owned(),
            Self::Own => "of the workload".to_owned(),
        }
    }

    fn listed_by(self) -> &'static str {
        match self {
            Self::Own => "`assay tests --workload FILE` lists them",
            Self::Oltp => "`assay tests --suite oltp` lists them",
            Self::Tpcc => "`assay tests --suite tpcc` lists them",
            Self::Set => "`assay tests --set all` lists all tests",
        }
    }
}

fn told(why: &Refusal) -> String {
    match why {
        Refusal::Reserved => "assay controls the server's paths, port, user and plugins".to_owned(),
        Refusal::ShortFor(long) => {
            format!(
                "it may be short for `{long}`, and assay controls the server's paths, port, user and plugins"
            )
        }
        Refusal::LeadsAway(value) => {
            format!("`{}` lies outside the server's own directory", shortened(value))
        }
    }
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::SystemName { name, .. } if matches!(name.as_str(), "on" | "off") => {
                vec![ON_OFF.to_owned()]
            }
            Self::SystemName { hint: Some(hint), .. } => vec![hint.clone()],
            Self::SystemName { .. } => vec![
                "a system is written `product@version`, for example `mariadb@10.11`".to_owned(),
            ],
            Self::Url { why, .. } => {
                let example = "for example `mysql://user@127.0.0.1:3306/sbtest` or \
                               `mysql://user@/sbtest?socket=/run/mysqld/mysqld.sock`";
                let ours =
                    (why == NO_SCHEME).then_some("`assay server list` shows the URLs of sandboxes");
                [example].into_iter().chain(ours).map(str::to_owned).collect()
            }
            Self::SameDatabase(_) => vec![
                "an A/A test needs a server that assay starts, such as `mysql@8.0 mysql@8.0`"
                    .to_owned(),
            ],
            Self::TooFewSystems => {
                vec!["for example `mariadb@10.11 mariadb@11.8`".to_owned()]
            }
            Self::NoSuchTest { hint, suite, .. } => {
                hint.iter().cloned().chain([suite.listed_by().to_owned()]).collect()
            }
            Self::NoSuchScope { hint, suite, groups, .. } => {
                let all = format!("the groups are {groups}; {}", suite.listed_by());
                hint.iter().cloned().chain([all]).collect()
            }
            Self::ReservedOption { why: Refusal::LeadsAway(_), .. } => vec![
                "use a plain name, such as `binlog` or `slow.log`: it lies in the server's own directory"
                    .to_owned(),
            ],
            Self::ReservedOption { why: Refusal::ShortFor(_), .. } => {
                vec!["write the name in full if it means another option".to_owned()]
            }
            Self::ReservedOption { why: Refusal::Reserved, .. } => {
                vec!["leave the option out".to_owned()]
            }
            Self::LacksDump { .. } => vec![
                "leave the system out, or name a dump for each: `dump = { mysql = \"...\", postgres = \"...\" }`"
                    .to_owned(),
            ],
            Self::PostgresOnly { .. } => vec![
                "a script of pgbench, or tables that have only `postgres`, run on Postgres; for MariaDB and MySQL, \
                 write a workload file: `docs/reference/workload-files.md` shows how"
                    .to_owned(),
            ],
            Self::NoStatement { .. } => {
                vec!["leave the system out, or give the steps of the test a `postgres` text".to_owned()]
            }
            Self::Realtime(access) => {
                let grant = access.and_then(RealtimeAccess::grant).map(str::to_owned);
                let rest = "without `--priority`, assay uses real-time priority where it may";
                grant.into_iter().chain([rest.to_owned()]).collect()
            }
            Self::TooMany { fewer, .. } => vec![(*fewer).to_owned()],
            Self::TooLittle { what, rows_that_fit, asked, .. } => {
                let rows =
                    (*rows_that_fit > 0).then(|| format!("`--rows {rows_that_fit}` would fit"));
                let rest = if *what == DISK { MORE_DISK } else { MORE_MEMORY };
                asked.iter().cloned().chain(rows).chain([rest.to_owned()]).collect()
            }
            _ => Vec::new(),
        }
    }
}
