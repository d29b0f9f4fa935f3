//! Versions as numbers.

use serde::Deserialize;

/// Major, minor, patch.
pub type Version = (u32, u32, u32);

/// Parses `10.11.19` to numbers that compare in order. A part that is not a number counts as 0.
#[must_use]
pub fn version_number(version: &str) -> Version {
    // A vendor's build number may follow: `8.0.36-28`.
    let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let mut parts = version.split('.').map(|part| digits(part).unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// Includes the first version, excludes the second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Range {
    pub(crate) from: Option<String>,
    pub(crate) until: Option<String>,
}

impl Range {
    pub(crate) fn has(&self, version: Version) -> bool {
        let at_least = |from: &String| version_number(from) <= version;
        let below = |until: &String| version < version_number(until);
        self.from.as_ref().is_none_or(at_least) && self.until.as_ref().is_none_or(below)
    }
}
