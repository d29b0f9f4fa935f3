//! An option that renders a part of the intent, and the versions that support it.

use assay_model::Engine;

use crate::intent::Intent;

/// An option of some versions.
pub(crate) struct Setting {
    /// Its name, with `loose-` in front if not every build of a version has it.
    pub(crate) option: &'static str,
    /// Its value for an intent.
    pub(crate) value: fn(&Intent) -> String,
    /// The only storage engine that it applies to; `None` for all.
    pub(crate) engine: Option<Engine>,
    pub(crate) missing: &'static [Missing],
}

/// Versions without an option, from the first up to but not including the second, and what they do instead: `None`
/// where another option of the table has the same effect on them.
pub(crate) type Missing = (Version, Version, Option<Instead>);

/// The behaviour of a version that lacks an option: a verb and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// The same that the option asks of other versions.
    AsAsked(&'static str),
    /// Something else.
    Otherwise(&'static str),
}

/// Major, minor, patch.
pub(crate) type Version = (u32, u32, u32);

pub(crate) const FIRST: Version = (0, 0, 0);
pub(crate) const NEVER: Version = (u32::MAX, 0, 0);

/// Whether a version supports an option.
pub(crate) enum OptionSupport {
    /// It does.
    Supported,
    /// Another option of the table has the same effect on this version.
    CoveredElsewhere,
    /// It does not, and does this instead.
    Missing(Instead),
}

/// `10.11.19` as numbers that compare in order. A part that is not a number counts as 0.
pub(crate) fn version_number(version: &str) -> Version {
    // A vendor's build number may follow: `8.0.36-28`.
    let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let mut parts = version.split('.').map(|part| digits(part).unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

impl Setting {
    /// Whether a version supports the option.
    pub(crate) fn support(&self, version: Version) -> OptionSupport {
        let mut ranges = self.missing.iter();
        match ranges.find(|(from, until, _)| (*from..*until).contains(&version)) {
            None => OptionSupport::Supported,
            Some((.., None)) => OptionSupport::CoveredElsewhere,
            Some((.., Some(instead))) => OptionSupport::Missing(*instead),
        }
    }

    pub(crate) const fn of(option: &'static str, value: fn(&Intent) -> String) -> Self {
        Self { option, value, engine: None, missing: &[] }
    }

    pub(crate) const fn only(self, engine: Engine) -> Self {
        Self { engine: Some(engine), ..self }
    }

    pub(crate) const fn missing(self, missing: &'static [Missing]) -> Self {
        Self { missing, ..self }
    }
}
