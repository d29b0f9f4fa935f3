//! Words and symbols shared by formats.

use std::borrow::Cow;

use assay_model::{Artifact, Group, Origin, Setup, System, Verdict};

use crate::number::thousands;

pub(crate) const STEPS_LEGEND: &str = "each version is compared with the one before it; at most 5% of the steps named \
    are expected to be false";

pub(crate) const CROSSOVERS_LEGEND: &str = "between the measured client counts, the logarithm of rQPS is taken for a \
    straight line over the logarithm of the clients [95% interval]";

/// The name of a system keeps its case.
pub fn capital(line: &str) -> String {
    let first_word = line.split(' ').next().unwrap_or_default();
    if first_word.contains('@') || first_word.contains("://") {
        return line.to_owned();
    }
    let mut letters = line.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    first + letters.as_str()
}

/// On one line; with more characters than `most`, it is cut and gets the end.
pub(crate) fn one_line(text: &str, most: usize, end: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}{end}", &line[..at]),
        None => line,
    }
}

/// `a, b, 3 more`
pub(crate) fn shortened(names: &[impl AsRef<str>], most: usize) -> String {
    let mut shown: Vec<String> =
        names.iter().take(most).map(|name| name.as_ref().to_owned()).collect();
    if names.len() > most {
        shown.push(format!("{} more", names.len() - most));
    }
    shown.join(", ")
}

/// `a, b and c`
pub(crate) fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

pub(crate) fn sentence(line: &str) -> String {
    format!("{}.", capital(line))
}

/// Readable name of a function. One without a name gets its address in its file: `mariadbd+0x8a3f20`.
pub(crate) fn function_name<'a>(function: &'a str, module: &str) -> Cow<'a, str> {
    match function.starts_with("0x") {
        true => Cow::Owned(format!("{module}+{function}")),
        false => Cow::Borrowed(function),
    }
}

pub(crate) trait Symbol {
    /// One character, always shown with the word or a legend.
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

pub trait Separated {
    /// `4 × 1 × 100,000`: clients, tables, rows.
    fn separated(&self) -> String;
}

impl Separated for Setup {
    fn separated(&self) -> String {
        format!("{} × {} × {}", self.clients, self.tables, thousands(f64::from(self.rows)))
    }
}

/// `writes`, or `range-1: range scans without aggregation`.
pub(crate) fn title(group: &Group) -> String {
    let Group { word, title, .. } = group;
    if word == title { word.clone() } else { format!("{word}: {title}") }
}

/// Source of a build: `apt bookworm-security`.
pub fn source(system: &System) -> String {
    let artifact = &system.artifact;
    format!("{} {}", artifact.source(), artifact.channel()).trim().to_owned()
}

/// The same for people; a running server has no source.
pub(crate) fn origin(system: &System) -> String {
    match system.spec.origin {
        Origin::Url(_) => "a running server".to_owned(),
        _ => source(system),
    }
}

/// Start of the checksum of the binaries: `0123456789ab`.
pub(crate) fn binaries(artifact: &Artifact) -> &str {
    let Some(digest) = artifact.sha256() else { return "not known" };
    digest.char_indices().nth(12).map_or(digest, |(end, _)| &digest[..end])
}

/// `None` outside the years of RFC 3339.
pub fn rfc3339(milliseconds: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(milliseconds).ok().map(|moment| moment.to_string())
}

/// Start of a study, UTC; for published results, time of the import.
pub fn began(milliseconds: i64, is_reported: bool) -> String {
    let moment = minute(milliseconds).unwrap_or_default();
    if is_reported { format!("imported {moment}") } else { moment }
}

/// UTC, to the minute: `2026-11-21 07:19`; `None` outside the years of RFC 3339.
pub(crate) fn minute(milliseconds: i64) -> Option<String> {
    Some(rfc3339(milliseconds)?.get(..16)?.replace('T', " "))
}
