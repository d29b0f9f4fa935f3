//! Errors of requests that are no valid study, with hints.

use std::borrow::Cow;
use std::ops::Range;

use assay_model::limits::NAME_BYTES;
use assay_model::{Hint, RealtimeAccess, Refusal, shortened, thousands};

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    #[error("`{}` is not a system name: {why}", shortened(name))]
    SystemName {
        name: String,
        /// Byte range of the wrong part.
        at: Range<usize>,
        why: String,
        hint: Option<String>,
    },
    #[error("a comparison needs a base and at least one other system")]
    TooFewSystems,
    #[error(
        "`{}` {}matches none of the {count} tests {}",
        shortened(glob),
        if groups.is_some() { "is no group, and " } else { "" },
        suite.words(*count)
    )]
    NoSuchTest {
        glob: String,
        count: usize,
        suite: SearchedTests,
        hint: Option<String>,
        /// Groups that the word may name instead.
        groups: Option<String>,
    },
    #[error("these options leave `{0}` without statements")]
    EmptyScript(&'static str),
    #[error("`{}` is not a pattern for tests: {why}", shortened(glob))]
    Glob { glob: String, why: String },
    /// An address that cannot be read. It is not shown, because a password may be anywhere in it.
    #[error("an address cannot be read: {why}")]
    Url { why: String },
    /// A server option that only assay sets, or with a value outside the server's directory.
    #[error("option `{}` cannot be set: {}", shortened(option), message(.why))]
    ReservedOption { option: String, why: Refusal },
    #[error("`{}` cannot be read: {why}", shortened(text))]
    CommonOption { text: String, why: String },
    #[error("`{option} {}` is out of range: {why}", shortened(value))]
    OutOfRange { option: &'static str, value: String, why: String },
    #[error(
        "this user may not run threads at real-time priority, which `--priority realtime` asks for"
    )]
    Realtime(Option<RealtimeAccess>),
    #[error(transparent)]
    Value(#[from] assay_options::OptionError),
    #[error("{0}")]
    Conflict(&'static str),
    /// An option for timing in a study that only counts instructions.
    #[error(
        "`{option}` has no effect where only instructions are counted: nothing is timed, and there is one client"
    )]
    NothingTimed { option: &'static str },
    #[error("{} {what} are too many: a study may have {}", thousands(*.count as u64), thousands(*.most as u64))]
    TooMany {
        what: &'static str,
        count: usize,
        most: usize,
        /// Advice on how to request fewer.
        fewer: &'static str,
    },
    #[error("the name `{}` has {} bytes: it may have {NAME_BYTES}", shortened(.0), .0.len())]
    LongName(String),
    #[error("the same database is named twice: `{0}`")]
    SameDatabase(String),
    #[error("`{}` cannot take part: {why}", shortened(name))]
    CannotTakePart { name: String, why: Cow<'static, str>, hint: Option<&'static str> },
    #[error(
        "not enough {what}: the plan needs {need_mb} MB, and this machine has {have_mb} MB available"
    )]
    TooLittle {
        what: &'static str,
        need_mb: u64,
        have_mb: u64,
        rows_that_fit: u64,
        asked: Vec<String>,
    },
}

pub type PlanResult<T> = Result<T, PlanError>;

const ON_OFF: &str = "an option gets this value with `=`, as in `--auto-inc=off`";

pub(crate) const NO_SCHEME: &str = "it does not begin with `mysql://` or `postgres://`";

impl PlanError {
    pub(crate) fn out_of_range(
        option: &'static str,
        value: impl ToString,
        why: impl Into<String>,
    ) -> Self {
        Self::OutOfRange { option, value: value.to_string(), why: why.into() }
    }

    pub(crate) fn cannot_take_part(name: &str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::CannotTakePart { name: name.to_owned(), why: why.into(), hint: None }
    }

    /// Without the number of rows that would fit, if no option decides it.
    pub(crate) fn whatever_rows(mut self) -> Self {
        if let Self::TooLittle { rows_that_fit, .. } = &mut self {
            *rows_that_fit = 0;
        }
        self
    }

    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::TooLittle { what, .. } if *what == DISK)
    }
}

pub(crate) const DISK: &str = "disk space";

pub(crate) const MEMORY: &str = "memory";

const MORE_DISK: &str = "`assay cache clean --unused 1h` frees everything not used for an hour, \
                         `--cache-dir DIR` can name a directory on another disk, and fewer systems need less";

const MORE_MEMORY: &str = "fewer systems need less, and so do smaller caches if options set them, \
                           such as `innodb_buffer_pool_size`";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchedTests {
    Set,
    Oltp,
    Tpcc,
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

fn message(why: &Refusal) -> String {
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
        Refusal::OfBuild => "it is a flag of a build, not an option of a server".to_owned(),
    }
}

impl Hint for PlanError {
    fn hints(&self) -> Vec<String> {
        match self {
            Self::SystemName { name, .. } if matches!(name.as_str(), "on" | "off") => {
                vec![ON_OFF.to_owned()]
            }
            Self::SystemName { hint: Some(hint), .. } => vec![hint.clone()],
            Self::SystemName { .. } => vec![
                "a system is written `product@version`, for example `mariadb@10.11`".to_owned(),
            ],
            Self::Url { why } => {
                let example = "for example `mysql://user@127.0.0.1:3306/sbtest` or \
                               `postgres://user@/sbtest?socket=/run/postgresql/.s.PGSQL.5432`";
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
            Self::NoSuchTest { hint, suite, groups, .. } => {
                let groups = groups.as_ref().map(|groups| format!("the groups are {groups}; "));
                let all = groups.unwrap_or_default() + suite.listed_by();
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
            Self::ReservedOption { why: Refusal::OfBuild, .. } => vec![
                "write it in the name of a system that is built from source: \
                 `mysql@git:PATH#REF+build.cxx=clang`"
                    .to_owned(),
            ],
            Self::CannotTakePart { hint, .. } => hint.map(str::to_owned).into_iter().collect(),
            Self::Realtime(access) => {
                let grant = access.and_then(RealtimeAccess::grant).map(str::to_owned);
                let rest = "without `--priority`, assay uses real-time priority where it may";
                grant.into_iter().chain([rest.to_owned()]).collect()
            }
            Self::TooMany { fewer, .. } => vec![(*fewer).to_owned()],
            Self::TooLittle { what, rows_that_fit, asked, .. } => {
                let rows = (*rows_that_fit > 0).then(|| {
                    format!(
                        "`--rows {rows_that_fit}` would fit; in a study file, it is `rows` in every `[[setup]]`"
                    )
                });
                let rest = if *what == DISK { MORE_DISK } else { MORE_MEMORY };
                asked.iter().cloned().chain(rows).chain([rest.to_owned()]).collect()
            }
            _ => Vec::new(),
        }
    }
}
