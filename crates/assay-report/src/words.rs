//! Words and symbols that formats share.

use std::borrow::Cow;

use assay_model::{Artifact, Group, Origin, Setup, System, Verdict};
use assay_verdict::GateVerdict;

use crate::number::thousands;

/// The error rate of the steps that reports name.
pub(crate) const STEPS_LEGEND: &str = "each version is compared with the one before it; at most 5% of the steps named \
    are expected to be false";

/// The assumption behind crossovers.
pub(crate) const CROSSOVERS_LEGEND: &str = "between the measured client counts, the logarithm of rQPS is taken for a \
    straight line over the logarithm of the clients [95% interval]";

/// A line with a capital letter.
pub(crate) fn capital(line: &str) -> String {
    let mut letters = line.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    first + letters.as_str()
}

/// A line with a capital letter and a full stop.
pub(crate) fn sentence(line: &str) -> String {
    format!("{}.", capital(line))
}

/// A function as readers see it. One without a name is named by its place in the file that holds it:
/// `mariadbd+0x8a3f20`.
pub(crate) fn function_name<'a>(function: &'a str, module: &str) -> Cow<'a, str> {
    match function.starts_with("0x") {
        true => Cow::Owned(format!("{module}+{function}")),
        false => Cow::Borrowed(function),
    }
}

/// The symbol of a verdict.
pub(crate) trait Symbol {
    /// One character, which never stands without the word or a legend.
    fn symbol(&self) -> &'static str;
}

impl Symbol for Verdict {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Faster => "▲",
            Self::Slower => "▼",
            Self::Same => "=",
            Self::Uneven => "≠",
            Self::Undecided => "?",
            Self::Failed => "✗",
        }
    }
}

impl Symbol for GateVerdict {
    fn symbol(&self) -> &'static str {
        match self {
            Self::Passed => "=",
            Self::Exceeded => "▼",
            Self::Undecided => "?",
            Self::Failed => "✗",
        }
    }
}

/// A setup with separated thousands.
pub(crate) trait Separated {
    /// `4 × 1 × 100,000`: clients, tables, rows.
    fn separated(&self) -> String;
}

impl Separated for Setup {
    fn separated(&self) -> String {
        format!("{} × {} × {}", self.clients, self.tables, thousands(f64::from(self.rows)))
    }
}

/// The title of a group: `writes`, or `range-1: range scans without aggregation`.
pub(crate) fn title(group: &Group) -> String {
    let Group { word, title, .. } = group;
    if word == title { word.clone() } else { format!("{word}: {title}") }
}

/// The source of a build: `apt bookworm-security`.
pub(crate) fn source(system: &System) -> String {
    let artifact = &system.artifact;
    format!("{} {}", artifact.source(), artifact.channel()).trim().to_owned()
}

/// The same for people. A running server comes from nowhere else.
pub(crate) fn origin(system: &System) -> String {
    match system.spec.origin {
        Origin::Url(_) => "a running server".to_owned(),
        _ => source(system),
    }
}

/// The beginning of the checksum of the binaries: `0123456789ab`.
pub(crate) fn binaries(artifact: &Artifact) -> &str {
    let Some(digest) = artifact.sha256() else { return "not known" };
    digest.char_indices().nth(12).map_or(digest, |(end, _)| &digest[..end])
}

/// A moment as RFC 3339; none outside the years that RFC 3339 has.
pub(crate) fn rfc3339(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(|moment| moment.to_string())
}

/// When a study began, in UTC; of published results, when they were imported.
pub(crate) fn began(milliseconds: i64, is_reported: bool) -> String {
    let moment = minute(milliseconds).unwrap_or_default();
    if is_reported { format!("imported {moment}") } else { moment }
}

/// A moment to the minute, in UTC: `2026-11-21 07:19`; none outside the years that RFC 3339 has.
pub(crate) fn minute(milliseconds: i64) -> Option<String> {
    Some(rfc3339(milliseconds)?.get(..16)?.replace('T', " "))
}
