//! Errors of scripts.

use assay_model::Hint;

pub type Result<T, E = LuaError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LuaError {
    #[error("`{path}` cannot be used: {why}")]
    File { path: String, why: String },
    /// The script cannot be read, or failed. The message has the file and the line.
    #[error("{0}")]
    Failed(String),
    #[error("the options of the script, with their defaults:\n{0}")]
    Help(String),
    #[error("the script has no option `--{name}`; it has {}", listed(.known))]
    UnknownOption { name: String, known: Vec<String> },
    /// An option that assay sets itself.
    #[error("`--{name}` is no option of the script, but one of sysbench")]
    OptionOfSysbench { name: String, instead: &'static str },
    #[error("`{value}` is no value of the script's option `--{name}`")]
    Value { name: String, value: String },
    #[error("`{0}` is no option of a script")]
    NoOption(String),
    #[error("the script has no `{0}`")]
    Lacks(String),
    #[error(
        "the script has run for {seconds} s without sending a statement{}", at(.place)
    )]
    Endless { seconds: u64, place: Option<String> },
    /// A call was ended from outside, because its result was not needed any longer.
    #[error("the script was ended{}", at(.place))]
    Ended { place: Option<String> },
    /// The script did not return from a built-in Lua function, which cannot be interrupted.
    #[error("the script did not return from a function that cannot be ended{}", last_at(.place))]
    Stuck { place: Option<String> },
    #[error("the script needs more than {mb} MB of memory{}", last_at(.place))]
    Memory { mb: usize, place: Option<String> },
}

impl LuaError {
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

/// The place at the beginning of a Lua message, such as `script.lua:2: no`.
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

impl Hint for LuaError {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoOption(_) => "write options as `--name=value` after `--`",
            Self::OptionOfSysbench { instead, .. } => instead,
            Self::Lacks(name) if name == "event" => {
                "`assay compare --workload` needs a script that sysbench could `run`, which has a function `event`"
            }
            Self::Failed(why) | Self::File { why, .. } if why.contains(NEEDS_FILES) => {
                "if you trust it like a program, add `--allow-script-io` (in a study, `--key allow-script-io=true`)"
            }
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

pub(crate) const NEEDS_FILES: &str = "outside of the script's directory";
