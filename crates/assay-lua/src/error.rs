//! Why a script cannot be used.

use assay_model::Hint;

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a script cannot be read or run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file of the script cannot be used.
    #[error("`{path}` cannot be used: {why}")]
    File {
        /// Where it is.
        path: String,
        /// The reason.
        why: String,
    },
    /// The script cannot be read, or failed. The message has the file and the line.
    #[error("{0}")]
    Failed(String),
    /// The options of the script were asked for, and these are they.
    #[error("the options of the script, with their defaults:\n{0}")]
    Help(String),
    /// The script has no such option.
    #[error("the script has no option `--{name}`; it has {}", listed(.known))]
    UnknownOption {
        /// The name.
        name: String,
        /// The names that it has.
        known: Vec<String>,
    },
    /// An option that assay sets itself.
    #[error("`--{name}` is no option of the script, but one of sysbench")]
    OptionOfSysbench {
        /// The name.
        name: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// An option has a value that it cannot have.
    #[error("`{value}` is no value of the script's option `--{name}`")]
    Value {
        /// The name of the option.
        name: String,
        /// The value.
        value: String,
    },
    /// A word that is no option.
    #[error("`{0}` is no option of a script")]
    NoOption(String),
    /// The script does not have a function or command.
    #[error("the script has no `{0}`")]
    Lacks(String),
    /// A call went on for so many seconds without sending a statement.
    #[error(
        "the script has run for {seconds} s without sending a statement{}", at(.place)
    )]
    Endless {
        /// The limit.
        seconds: u64,
        /// File and line.
        place: Option<String>,
    },
    /// A call was ended from outside, because nobody waited for it any longer.
    #[error("the script was ended{}", at(.place))]
    Ended {
        /// File and line.
        place: Option<String>,
    },
    /// The script did not return from a function of Lua itself, which nobody can end.
    #[error("the script did not return from a function that cannot be ended{}", last_at(.place))]
    Stuck {
        /// File and line where it was seen last.
        place: Option<String>,
    },
    /// The script took more memory than it may.
    #[error("the script needs more than {mb} MB of memory{}", last_at(.place))]
    Memory {
        /// The limit.
        mb: usize,
        /// File and line.
        place: Option<String>,
    },
}

impl Error {
    /// Whether the message has the file and the line.
    #[must_use]
    pub fn has_place(&self) -> bool {
        match self {
            Self::Failed(message) => place_in(message).is_some(),
            Self::Endless { place, .. }
            | Self::Ended { place }
            | Self::Stuck { place }
            | Self::Memory { place, .. } => place.is_some(),
            _ => false,
        }
    }
}

/// The file and the line with which a message of Lua begins: those of `script.lua:2: no`.
pub(crate) fn place_in(message: &str) -> Option<&str> {
    let (place, _) = message.split_once(": ")?;
    let (_, line) = place.rsplit_once(':')?;
    line.parse::<u32>().is_ok().then_some(place)
}

fn at(place: &Option<String>) -> String {
    place.as_ref().map_or_else(String::new, |place| format!(", at {place}"))
}

fn last_at(place: &Option<String>) -> String {
    place.as_ref().map_or_else(String::new, |place| format!(", last seen at {place}"))
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        some => some.iter().map(|it| format!("`--{it}`")).collect::<Vec<_>>().join(", "),
    }
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoOption(_) => "write options as `--name=value` after `--`",
            Self::OptionOfSysbench { instead, .. } => instead,
            Self::Lacks(name) if name == "event" => {
                "`assay compare --workload` needs a script that sysbench could `run`, which has a function `event`"
            }
            Self::Failed(why) | Self::File { why, .. } if why.contains(NEEDS_FILES) => {
                "add `--allow-script-io` if you trust the script as you trust a program"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

/// Words of the refusal of files and programs.
pub(crate) const NEEDS_FILES: &str = "outside of the script's directory";
