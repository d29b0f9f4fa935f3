//! Command words or a study file to a checked study, and the order in which its slices run.
//!
//! Pure: no clock, no file, no unseeded chance.

mod config_file;
mod effort;
mod fits;
mod habits;
mod limits;
mod nearest;
mod order;
mod outlook;
mod quantity;
mod request;
mod reserved;
mod sequence;
mod size;
mod study_file;
mod system_name;
mod tests_glob;
mod url;

pub use config_file::{ConfigFault, ConfigLine, config_lines};
pub use effort::longest_slice_s;
pub use fits::{check_audit, check_memory, largest};
pub use order::{round_order, start_order};
pub use outlook::{Needs, ROUNDS_MIN, outlook, round_s, start_s};
pub use quantity::{parse_clients, parse_count, parse_duration_s, parse_percent};
pub use request::{
    MachineFacts, Plan, PlannedSystem, Request, SetupRequest, SystemRequest, THRESHOLD, plan,
    plan_of,
};
pub use reserved::{Refusal, check_option};
pub use sequence::{Step, sequence};
pub use size::{buffer_pool_mb, loaded_mb, redo_log_mb};
pub use study_file::{StudyFileError, read_study, shell_quoted, write_study};
pub use system_name::{check_system, parse_engine, parse_system, repository_login};
pub use tests_glob::select_tests;
use url::NO_SCHEME;
pub use url::{Password, Place, ServerUrl, parse_url};

use std::ops::Range;

use assay_model::{Hint, shortened, thousands};

/// Why words do not make a study.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum Error {
    /// A system name that cannot be read.
    #[error("`{}` is not a system name: {why}", shortened(name))]
    SystemName {
        /// What was typed.
        name: String,
        /// The part of it that is wrong, bytes.
        at: Range<usize>,
        /// What is wrong with it.
        why: String,
        /// What was meant, as far as that can be guessed, or what to do instead.
        hint: Option<String>,
    },
    /// A comparison needs something to compare with.
    #[error("a comparison needs a base and at least one other system")]
    TooFewSystems,
    /// A glob that selects nothing.
    #[error("`{}` matches none of the {count} tests in set {count}", shortened(glob))]
    NoSuchTest {
        /// What was typed.
        glob: String,
        /// Size of the set searched.
        count: usize,
        /// The nearest test name, or what to do instead.
        hint: Option<String>,
    },
    /// A glob that cannot be read.
    #[error("`{}` is not a pattern for tests: {why}", shortened(glob))]
    Glob {
        /// What was typed.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
    /// The URL of a server that cannot be read; its password is left out.
    #[error("`{}` is not the URL of a server: {why}", shortened(url))]
    Url {
        /// What was typed, without password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// An option of a server that only assay sets, or a value of one that leads out of the server's directory.
    #[error("option `{}` cannot be set: {}", shortened(option), told(.why))]
    ReservedOption {
        /// The option, as typed.
        option: String,
        /// Why not.
        why: Refusal,
    },
    /// A number outside of what makes sense.
    #[error("`{option} {}` is out of range: {why}", shortened(value))]
    OutOfRange {
        /// The option.
        option: &'static str,
        /// What was typed.
        value: String,
        /// What is allowed.
        why: String,
    },
    /// More of something than a study may have.
    #[error("{} {what} are too many: a study may have {}", thousands(*.count as u64), thousands(*.most as u64))]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many were asked for.
        count: usize,
        /// How many there may be.
        most: usize,
        /// What to ask for instead.
        fewer: &'static str,
    },
    /// A duration or percentage that cannot be read.
    #[error("`{}` is not {what}", shortened(value))]
    Quantity {
        /// What was typed.
        value: String,
        /// What was expected, with an example.
        what: &'static str,
    },
    /// A quantity beyond what makes sense.
    #[error("{0}")]
    Bounds(&'static str),
    /// A number where a percentage is wanted.
    #[error("`{value}` is not a percentage: write {meant}")]
    NoPercentSign {
        /// What was typed.
        value: String,
        /// What to type.
        meant: String,
    },
    /// A database that is to be compared with itself.
    #[error("the same database is named twice: `{0}`")]
    SameDatabase(String),
    /// Something that cannot be done with a server as it is: running already, or with threads that connections share.
    #[error("`{}` cannot take part: {why}", shortened(name))]
    CannotTakePart {
        /// The system, without password.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// The machine is too small.
    #[error(
        "not enough {what}: the plan needs {need_mb} MB, this machine has {have_mb} MB to give"
    )]
    TooLittle {
        /// Memory or disk.
        what: &'static str,
        /// What the plan needs, MB.
        need_mb: u64,
        /// What there is, MB.
        have_mb: u64,
        /// Largest number of rows per table that would fit.
        rows_that_fit: u64,
    },
}

impl Error {
    /// Whether the disk is what is too small.
    #[must_use]
    pub fn is_of_disk(&self) -> bool {
        matches!(self, Self::TooLittle { what, .. } if *what == DISK)
    }
}

/// What a machine may have too little of.
const DISK: &str = "disk space";

/// See [`DISK`].
const MEMORY: &str = "memory";

/// What to do about too little of it.
const MORE_DISK: &str = "`assay cache clean --unused 1h` frees what was not used for an hour, \
                         `--cache-dir DIR` takes a directory on another disk, and fewer systems need less";

/// What to do about too little of it.
const MORE_MEMORY: &str = "fewer systems need less, and so do smaller caches where options set them, \
                           such as `innodb_buffer_pool_size`";

fn told(why: &Refusal) -> String {
    match why {
        Refusal::Reserved => "assay controls the server's paths, port, user and plugins".to_owned(),
        Refusal::ShortFor(long) => {
            format!(
                "it may be short for `{long}`, and assay controls the server's paths, port, user and plugins"
            )
        }
        Refusal::LeadsAway(value) => {
            format!("`{}` leads out of the server's own directory", shortened(value))
        }
    }
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        match self {
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
                vec!["for example `assay compare mariadb@10.11 mariadb@11.8`".to_owned()]
            }
            Self::NoSuchTest { hint, .. } => {
                let all = "`assay tests --set 47` lists all".to_owned();
                hint.iter().cloned().chain([all]).collect()
            }
            Self::ReservedOption { why: Refusal::LeadsAway(_), .. } => vec![
                "a plain name, such as `binlog` or `slow.log`, lies in the server's own directory"
                    .to_owned(),
            ],
            Self::ReservedOption { why: Refusal::ShortFor(_), .. } => {
                vec!["write the name in full if it means another option".to_owned()]
            }
            Self::ReservedOption { why: Refusal::Reserved, .. } => {
                vec!["leave the option out".to_owned()]
            }
            Self::TooMany { fewer, .. } => vec![(*fewer).to_owned()],
            Self::TooLittle { what, rows_that_fit, .. } => {
                let rows =
                    (*rows_that_fit > 0).then(|| format!("`--rows {rows_that_fit}` would fit"));
                let rest = if *what == DISK { MORE_DISK } else { MORE_MEMORY };
                rows.into_iter().chain([rest.to_owned()]).collect()
            }
            _ => Vec::new(),
        }
    }
}
