//! Errors of provisioning, with remedies where known.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::{Engine, Product};

/// A machine without the archive of a release.
#[derive(Debug, Clone, Copy)]
pub struct Absence {
    /// Completes "this machine has".
    pub has: &'static str,
    /// How to get the archive, before other remedies; empty if the machine cannot have it.
    pub add: &'static str,
}

pub(crate) type Result<T, E = ProvisionError> = std::result::Result<T, E>;

pub(crate) const ALTERED: &str =
    "a proxy or mirror changed the archive; try again or change the mirror";

#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error("no source provides `{0}`")]
    Unsupported(String),
    #[error("`{program}` is not installed")]
    DistributionMissing { program: &'static str, hint: &'static str },
    #[error("no archive of {what}, `{}`", place.display())]
    NoArchive {
        /// The distribution, and whose configuration has none.
        what: &'static str,
        place: PathBuf,
        hint: &'static str,
    },
    #[error("{}, since this machine has {}", .releases.join(", "), .absence.has)]
    OtherSystem { system: String, releases: Vec<String>, absence: Absence },
    /// Servers of other distributions cannot start on this machine.
    #[error("this machine has no loader for these binaries: servers from packages start by `{0}`")]
    NoLoader(&'static str),
    #[error("this machine lacks libraries that `{server}` needs: {}", .missing.join(", "))]
    HostLibraries { server: String, missing: Vec<String> },
    #[error(
        "{}{}{}",
        lacking(*.product, .wanted, *.engine, .from.as_deref(), .unread),
        list("; versions with known checksums are", .available), why(.unread)
    )]
    NoVersion {
        product: Product,
        wanted: String,
        /// `None` if it is the usual one.
        engine: Option<Engine>,
        from: Option<String>,
        available: Vec<String>,
        unread: Vec<ProvisionError>,
    },
    #[error("`{word}` is not a source{}", list("; the sources are", .known))]
    NoSource { word: String, known: Vec<String> },
    #[error(
        "{product} `{wanted}`{} is not in the cache{}",
        from_source(.from), list("; the cache has", .cached)
    )]
    NotCached { product: Product, wanted: String, from: Option<String>, cached: Vec<String> },
    #[error("this machine has no valgrind{}", without(.unread))]
    NoValgrind { unread: Vec<ProvisionError> },
    /// An index past its `Valid-Until`.
    #[error("package index of `{release}` has expired: {detail}")]
    ExpiredIndex { release: String, detail: String },
    /// An index without a signature by a key that this machine trusts.
    #[error("package index of `{release}` cannot be verified: {detail}")]
    UnverifiedIndex { release: String, detail: String, hint: &'static str },
    #[error("package archive for `{release}` cannot be reached: {detail}")]
    Network { release: String, detail: String },
    #[error("package archive for `{release}` lacks a file that its index names: {detail}")]
    Gone { release: String, detail: String },
    #[error("`{program}` is not installed")]
    ClientMissing { program: &'static str, package: &'static str },
    #[error("`{program}` failed for `{release}`: {detail}")]
    Client { program: &'static str, release: String, detail: String },
    #[error("malformed {what}: {detail}")]
    Malformed { what: String, detail: String },
    #[error("package `{0}` is not in `{1}`")]
    MissingPackage(String, String),
    #[error("checksum of `{name}` does not match{}: expected {wanted}, found {found}", first(.pinned))]
    PackageChecksum {
        /// Source, name and version.
        name: String,
        /// Kind and value.
        wanted: String,
        found: String,
        /// File with the pinned checksum, if that is the one that does not match.
        pinned: Option<PathBuf>,
    },
    #[error("the file of pinned checksums, `{}`, is damaged: {detail}", path.display())]
    Pins { path: PathBuf, detail: String },
    #[error("`{url}` cannot be downloaded: {detail}")]
    Download { url: String, detail: String },
    #[error(
        "`{vendor}` has no tarball of {version}: nothing is at {}{}",
        quoted(.places), list("; known versions are", .known)
    )]
    NotPublished {
        vendor: String,
        version: String,
        places: Vec<String>,
        /// The vendor's versions in the catalog, some as ranges.
        known: Vec<String>,
    },
    #[error("`{}` {detail}", path.display())]
    NotAServer { path: PathBuf, detail: String },
    /// An archive entry that would reach outside its prefix, or that no server needs.
    #[error("refused to unpack `{entry}` of `{archive}`: {why}")]
    UnsafeEntry { archive: String, entry: String, why: &'static str },
    #[error("the unpacked tree has no {0}")]
    Incomplete(String),
    #[error("not enough disk space under `{}`: {needed_mb} MB needed, {free_mb} MB free", path.display())]
    DiskFull {
        path: PathBuf,
        /// Download plus unpacked tree, MB.
        needed_mb: u64,
        /// Space available to this user, MB.
        free_mb: u64,
    },
    #[error("catalog of servers: {0}")]
    Catalog(String),
    #[error("repository `{place}`: {detail}")]
    Git { place: String, detail: String },
    #[error("repository `{place}` lacks commit {commit} of its submodule `{path}`")]
    SubmoduleMissing { place: String, path: String, commit: String },
    #[error("`{0}` is not installed")]
    ToolMissing(String),
    #[error("{step} `{place}` failed ({status}); the log is `{}`{}", log.display(), indented(.lines))]
    Build {
        place: String,
        step: &'static str,
        status: String,
        lines: Box<[String]>,
        log: Box<Path>,
        /// What the catalog says of these errors.
        advice: Vec<String>,
    },
    /// An error that is only printed. Its hint may be empty.
    #[error("{message}")]
    Plain { message: String, hint: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ProvisionError {
    pub(crate) fn malformed(what: impl Into<String>, detail: impl ToString) -> Self {
        Self::Malformed { what: what.into(), detail: detail.to_string() }
    }

    pub(crate) fn plain(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Plain { message: message.into(), hint: hint.into() }
    }

    /// Returns whether a source is temporarily unusable, through no fault of its content: another may work.
    pub fn is_of_reach(&self) -> bool {
        matches!(
            self,
            Self::Network { .. }
                | Self::Download { .. }
                | Self::ClientMissing { .. }
                | Self::DistributionMissing { .. }
                | Self::NotPublished { .. }
                | Self::Gone { .. }
                | Self::ExpiredIndex { .. }
                | Self::NoVersion { .. }
        )
    }

    /// Missing disk space in bytes, if that is known to be the reason.
    pub fn missing_room(&self) -> Option<u64> {
        match self {
            Self::DiskFull { needed_mb, free_mb, .. } => {
                Some((needed_mb.saturating_sub(*free_mb) + 1) << 20)
            }
            _ => None,
        }
    }

    /// Adds the file `pins` to the error if the expected checksum is a pinned one.
    pub(crate) fn of_pin(self, pinned: Option<&str>, pins: &Path) -> Self {
        match self {
            Self::PackageChecksum { name, wanted, found, .. }
                if pinned.is_some_and(|sha256| wanted.ends_with(sha256)) =>
            {
                Self::PackageChecksum { name, wanted, found, pinned: Some(pins.to_owned()) }
            }
            other => other,
        }
    }
}

fn list(intro: &str, items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("{intro} {}", items.join(", ")) }
}

fn lacking(
    product: Product,
    wanted: &str,
    engine: Option<Engine>,
    from: Option<&str>,
    unread: &[ProvisionError],
) -> String {
    let engine =
        engine.map_or_else(String::new, |engine| format!(" with engine `{}`", engine.word()));
    let what = format!("{product} `{wanted}`{engine}");
    let is_cut_off = unread
        .iter()
        .any(|it| matches!(it, ProvisionError::Network { .. } | ProvisionError::Download { .. }));
    let is_elsewhere = unread.iter().any(|it| matches!(it, ProvisionError::OtherSystem { .. }));
    match (from, is_cut_off) {
        (Some(word), true) => format!("source `{word}` of {what} cannot be reached"),
        (Some(word), false) if is_elsewhere => {
            format!("source `{word}` of {what} cannot be used on this machine")
        }
        (Some(word), false) => format!("source `{word}` does not have {what}"),
        (None, true) => format!("no source of {what} can be reached"),
        (None, false) if is_elsewhere => format!("no source that this machine can use has {what}"),
        (None, false) => format!("no source has {what}"),
    }
}

fn from_source(from: &Option<String>) -> String {
    from.as_ref().map_or_else(String::new, |word| format!(" from `{word}`"))
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n    {line}")).collect()
}

fn first(pinned: &Option<PathBuf>) -> &'static str {
    if pinned.is_some() { " that of the first download" } else { "" }
}

fn quoted(items: &[String]) -> String {
    let items: Vec<_> = items.iter().map(|item| format!("`{item}`")).collect();
    items.join(", ")
}

fn why(errors: &[ProvisionError]) -> String {
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    list("; not searched:", &errors)
}

fn without(errors: &[ProvisionError]) -> String {
    if errors.is_empty() {
        return ", and no archive of packages that assay can use".to_owned();
    }
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    format!(", and none can be fetched: {}", errors.join("; "))
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;

    #[test]
    fn other_names_of_sources_are_understood() {
        let hints = |word: &str| {
            let known = vec!["apt".to_owned(), "maven".to_owned()];
            ProvisionError::NoSource { word: word.to_owned(), known }.hints().concat()
        };
        assert_eq!(hints("mvn"), "did you mean `maven`");
        assert!(hints("pypi").contains("package name"));
    }

    #[test]
    fn a_source_out_of_reach_is_not_said_to_lack_a_version() {
        let no_version = |from: Option<&str>| ProvisionError::NoVersion {
            product: Product::MySql,
            wanted: "5.7".to_owned(),
            engine: None,
            from: from.map(str::to_owned),
            available: vec!["8.0.33".to_owned()],
            unread: vec![ProvisionError::Download {
                url: "https://h/x".to_owned(),
                detail: "no".to_owned(),
            }],
        };
        let message = no_version(Some("mysql.com")).to_string();
        assert!(
            message.starts_with("source `mysql.com` of mysql `5.7` cannot be reached; "),
            "{message}"
        );
        let message = no_version(None).to_string();
        assert!(message.starts_with("no source of mysql `5.7` can be reached; "), "{message}");
        assert!(no_version(None).is_of_reach());
    }

    #[test]
    fn a_mistyped_version_is_not_blamed_on_an_index_that_was_not_read() {
        let error = ProvisionError::NoVersion {
            product: Product::MariaDb,
            wanted: "11.88".to_owned(),
            engine: None,
            from: None,
            available: vec!["10.11.19".to_owned(), "11.8.9".to_owned()],
            unread: vec![ProvisionError::ExpiredIndex {
                release: "sid".to_owned(),
                detail: "old".to_owned(),
            }],
        };
        assert_eq!(error.hints()[0], "did you mean `mariadb@11.8`");
        assert_eq!(error.hints().len(), 2, "{:?}", error.hints());
    }

    #[test]
    fn the_error_names_an_engine_that_no_source_has() {
        let error = ProvisionError::NoVersion {
            product: Product::MySql,
            wanted: "8.0".to_owned(),
            engine: Some(Engine::RocksDb),
            from: None,
            available: Vec::new(),
            unread: Vec::new(),
        };
        assert_eq!(error.to_string(), "no source has mysql `8.0` with engine `rocksdb`");
        assert!(error.hints()[0].contains("Percona"), "{:?}", error.hints());
    }
}
