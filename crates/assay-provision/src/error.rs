//! Errors that prevent getting a server, with remedies where known.

use std::io;
use std::path::{Path, PathBuf};

use assay_model::{Engine, Product};

/// What a machine has instead of the archive of a release.
#[derive(Debug, Clone, Copy)]
pub struct Absence {
    /// The words after "this machine has".
    pub has: &'static str,
    /// How to get the archive, before other remedies; empty if the machine cannot have it.
    pub add: &'static str,
}

/// Why a server could not be provided.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host's processor architecture differs from that of the packages.
    #[error("server packages are for x86-64, but this machine is `{0}`")]
    Architecture(&'static str),
    /// A kind of system that no source provides.
    #[error("no source provides `{0}`")]
    Unsupported(String),
    /// The client of a distribution is not installed.
    #[error("`{program}` is not installed")]
    DistributionMissing {
        /// The program.
        program: &'static str,
        /// What to do without it.
        hint: &'static str,
    },
    /// The machine's configuration names no archive of a distribution.
    #[error("no archive of {what}, `{}`", place.display())]
    NoArchive {
        /// The distribution, and whose configuration has none.
        what: &'static str,
        /// The configuration.
        place: PathBuf,
        /// What to do about it.
        hint: &'static str,
    },
    /// Releases of distributions have a version, but their archives are not this machine's.
    #[error("{}, since this machine has {}", .releases.join(", "), .absence.has)]
    OtherSystem {
        /// The system, such as `mariadb@11.8`.
        system: String,
        /// The releases, such as `Debian trixie`.
        releases: Vec<String>,
        /// What the machine has instead of them.
        absence: Absence,
    },
    /// Servers that are not this distribution's cannot start on this machine.
    #[error("this machine has no loader for these binaries: servers from packages start by `{0}`")]
    NoLoader(&'static str),
    /// The machine lacks libraries that a server needs.
    #[error("this machine lacks libraries that `{server}` needs: {}", .missing.join(", "))]
    HostLibraries {
        /// The server's program.
        server: String,
        /// Names of the libraries, some with the version that is needed.
        missing: Vec<String>,
    },
    /// No source has that version.
    #[error(
        "{}{}{}",
        lacking(*.product, .wanted, *.engine, .from.as_deref(), .unread),
        list("; versions with known checksums are", .available), why(.unread)
    )]
    NoVersion {
        /// The family.
        product: Product,
        /// The version or series asked for.
        wanted: String,
        /// Its storage engine, if not the usual one.
        engine: Option<Engine>,
        /// The source that was asked for, if any.
        from: Option<String>,
        /// Available versions with that engine.
        available: Vec<String>,
        /// Errors of sources that could not be searched.
        unread: Vec<Error>,
    },
    /// A word that is not a source.
    #[error("`{word}` is not a source{}", list("; the sources are", .known))]
    NoSource {
        /// The word as typed.
        word: String,
        /// The known words.
        known: Vec<String>,
    },
    /// Offline, and the cache has no prefix that fits.
    #[error(
        "{product} `{wanted}`{} is not in the cache{}",
        from_source(.from), list("; the cache has", .cached)
    )]
    NotCached {
        /// The family.
        product: Product,
        /// The version or series asked for.
        wanted: String,
        /// The source that was asked for, if any.
        from: Option<String>,
        /// Versions in the cache.
        cached: Vec<String>,
    },
    /// No distribution of this machine has valgrind, and the machine has none of its own.
    #[error("this machine has no valgrind{}", without(.unread))]
    NoValgrind {
        /// Why each distribution could not provide it.
        unread: Vec<Error>,
    },
    /// Offline, neither the cache nor the machine has valgrind.
    #[error("valgrind is not in the cache, and this machine has none of its own")]
    ValgrindNotCached,
    /// An index is past its validity (`Valid-Until`).
    #[error("package index of `{release}` has expired: {detail}")]
    ExpiredIndex {
        /// The release whose index it is.
        release: String,
        /// The package client's words.
        detail: String,
    },
    /// An index is not signed, or not with a key that this machine trusts.
    #[error("package index of `{release}` cannot be verified: {detail}")]
    UnverifiedIndex {
        /// The release whose index it is.
        release: String,
        /// The package client's words.
        detail: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The archive could not be reached.
    #[error("package archive for `{release}` cannot be reached: {detail}")]
    Network {
        /// The release wanted from it.
        release: String,
        /// The package client's words.
        detail: String,
    },
    /// The archive does not have a file that its index names.
    #[error("package archive for `{release}` lacks a file that its index names: {detail}")]
    Gone {
        /// The release whose index it is.
        release: String,
        /// The package client's words.
        detail: String,
    },
    /// A downloaded file does not match the signed index.
    #[error(
        "a file from the package archive for `{release}` does not match its signed index: {detail}"
    )]
    Altered {
        /// The release whose index it is.
        release: String,
        /// The package client's words.
        detail: String,
    },
    /// A package client is not installed.
    #[error("`{program}` is not installed")]
    ClientMissing {
        /// The program.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// A package client failed in another way.
    #[error("`{program}` failed for `{release}`: {detail}")]
    Client {
        /// The program.
        program: &'static str,
        /// The release or package worked on.
        release: String,
        /// The package client's words.
        detail: String,
    },
    /// An index or archive is malformed.
    #[error("malformed {what}: {detail}")]
    Malformed {
        /// The index or archive.
        what: String,
        /// Description of the fault.
        detail: String,
    },
    /// A package that another one needs is nowhere in the release.
    #[error("package `{0}` is not in `{1}`")]
    MissingPackage(String, String),
    /// A downloaded archive is not the one that the signed index describes.
    #[error(
        "checksum of `{package}` does not match the signed index: no archive with SHA-256 {wanted}"
    )]
    Checksum {
        /// Package name and version.
        package: String,
        /// SHA-256 in the index.
        wanted: String,
    },
    /// A downloaded package does not match its registry, the catalog or its pin.
    #[error("checksum of `{name}` does not match{}: expected {wanted}, found {found}", first(.pinned))]
    PackageChecksum {
        /// Source, name and version.
        name: String,
        /// Kind and value of the checksum it should have.
        wanted: String,
        /// The checksum it has.
        found: String,
        /// The file with the pinned checksum, if that is the one that does not match.
        pinned: Option<PathBuf>,
    },
    /// The pinned checksums cannot be read.
    #[error("the file of pinned checksums, `{}`, is damaged: {detail}", path.display())]
    Pins {
        /// The file that keeps them.
        path: PathBuf,
        /// Description of the fault.
        detail: String,
    },
    /// A file could not be downloaded.
    #[error("`{url}` cannot be downloaded: {detail}")]
    Download {
        /// Its address.
        url: String,
        /// Cause of the failure.
        detail: String,
    },
    /// A vendor has no tarball of that version.
    #[error(
        "`{vendor}` has no tarball of {version}: nothing is at {}{}",
        quoted(.places), list("; known versions are", .known)
    )]
    NotPublished {
        /// The vendor.
        vendor: String,
        /// Version of the server.
        version: String,
        /// The addresses tried.
        places: Vec<String>,
        /// The vendor's versions in the catalog, some as ranges.
        known: Vec<String>,
    },
    /// A directory has no server in it, or not the one asked for.
    #[error("`{}` {detail}", path.display())]
    NotAServer {
        /// The directory.
        path: PathBuf,
        /// Description of the fault.
        detail: String,
    },
    /// An archive entry that would reach outside its prefix, or that no server needs.
    #[error("refused to unpack `{entry}` of `{archive}`: {why}")]
    UnsafeEntry {
        /// The archive.
        archive: String,
        /// The entry's path as stored.
        entry: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// An unpacked tree lacks a part every server has.
    #[error("the unpacked tree has no {0}")]
    Incomplete(String),
    /// Other users can change a part of the cache.
    #[error(
        "other users of this machine can change `{}`, and assay executes what is in `{}`",
        part.display(),
        path.display()
    )]
    OfOthers {
        /// What would be executed, or what would execute it.
        path: PathBuf,
        /// The part that they can change.
        part: PathBuf,
    },
    /// Not enough disk space for the download and the unpacked tree.
    #[error("not enough disk space under `{}`: {needed_mb} MB needed, {free_mb} MB free", path.display())]
    DiskFull {
        /// The cache directory.
        path: PathBuf,
        /// Download plus unpacked tree, MB.
        needed_mb: u64,
        /// Space available to this user, MB.
        free_mb: u64,
    },
    /// The catalog that came with this program is wrong.
    #[error("catalog of servers: {0}")]
    Catalog(String),
    /// A git repository could not be read, or lacks what was asked for.
    #[error("repository `{place}`: {detail}")]
    Git {
        /// Path or address of the repository.
        place: String,
        /// git's words.
        detail: String,
    },
    /// A submodule of a source tree is missing.
    #[error("repository `{place}` lacks commit {commit} of its submodule `{path}`")]
    SubmoduleMissing {
        /// Path or address of the repository.
        place: String,
        /// Path of the submodule in the tree.
        path: String,
        /// The commit that is needed.
        commit: String,
    },
    /// A program that builds need is not installed.
    #[error("`{0}` is not installed")]
    ToolMissing(String),
    /// A source tree could not be built.
    #[error("{step} `{place}` failed ({status}); the log is `{}`{}", log.display(), indented(.lines))]
    Build {
        /// The source tree that was built.
        place: String,
        /// The step that failed, such as `compiling`.
        step: &'static str,
        /// Exit status of its program.
        status: String,
        /// The lines of the log that explain the failure.
        lines: Vec<String>,
        /// The log file.
        log: PathBuf,
    },
    /// A user's catalog file is wrong.
    #[error("catalog `{}`: {detail}", path.display())]
    OwnCatalog {
        /// The file.
        path: PathBuf,
        /// Description of the fault, with its position.
        detail: String,
    },
    /// A file of the cache could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// An index or archive in a form it should not have.
    pub(crate) fn malformed(what: impl Into<String>, detail: impl ToString) -> Self {
        Self::Malformed { what: what.into(), detail: detail.to_string() }
    }
}

impl Error {
    /// Whether a source cannot be used now, through no fault of what it holds: another may do.
    #[must_use]
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

    /// Whether the machine has no archive of a distribution, so that only the other sources remain.
    pub(crate) fn is_lack(&self) -> bool {
        matches!(self, Self::DistributionMissing { .. } | Self::NoArchive { .. })
    }

    /// Bytes that the disk lacks, if that is known to be the reason.
    #[must_use]
    pub fn missing_room(&self) -> Option<u64> {
        match self {
            Self::DiskFull { needed_mb, free_mb, .. } => {
                Some((needed_mb.saturating_sub(*free_mb) + 1) << 20)
            }
            _ => None,
        }
    }

    /// The same error, with the file `pins` if the expected checksum is a pinned one.
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

/// Whether a version is missing, or only its source is out of reach.
fn lacking(
    product: Product,
    wanted: &str,
    engine: Option<Engine>,
    from: Option<&str>,
    unread: &[Error],
) -> String {
    let engine =
        engine.map_or_else(String::new, |engine| format!(" with engine `{}`", engine.word()));
    let what = format!("{product} `{wanted}`{engine}");
    let is_cut_off =
        unread.iter().any(|it| matches!(it, Error::Network { .. } | Error::Download { .. }));
    let is_elsewhere = unread.iter().any(|it| matches!(it, Error::OtherSystem { .. }));
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

fn why(errors: &[Error]) -> String {
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    list("; not searched:", &errors)
}

fn without(errors: &[Error]) -> String {
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
        let of = |word: &str| {
            let known = vec!["apt".to_owned(), "maven".to_owned()];
            Error::NoSource { word: word.to_owned(), known }.hints().concat()
        };
        assert_eq!(of("mvn"), "did you mean `maven`");
        assert!(of("pypi").contains("package name"));
    }

    #[test]
    fn a_source_out_of_reach_is_not_said_to_lack_a_version() {
        let of = |from: Option<&str>| Error::NoVersion {
            product: Product::MySql,
            wanted: "5.7".to_owned(),
            engine: None,
            from: from.map(str::to_owned),
            available: vec!["8.0.33".to_owned()],
            unread: vec![Error::Download {
                url: "https://h/x".to_owned(),
                detail: "no".to_owned(),
            }],
        };
        let told = of(Some("mysql.com")).to_string();
        assert!(
            told.starts_with("source `mysql.com` of mysql `5.7` cannot be reached; "),
            "{told}"
        );
        let told = of(None).to_string();
        assert!(told.starts_with("no source of mysql `5.7` can be reached; "), "{told}");
        assert!(of(None).is_of_reach());
    }

    #[test]
    fn a_mistyped_version_is_not_blamed_on_an_index_that_was_not_read() {
        let error = Error::NoVersion {
            product: Product::MariaDb,
            wanted: "11.88".to_owned(),
            engine: None,
            from: None,
            available: vec!["10.11.19".to_owned(), "11.8.9".to_owned()],
            unread: vec![Error::ExpiredIndex {
                release: "sid".to_owned(),
                detail: "old".to_owned(),
            }],
        };
        assert_eq!(error.hints()[0], "did you mean `mariadb@11.8`");
        assert_eq!(error.hints().len(), 2, "{:?}", error.hints());
    }

    #[test]
    fn the_error_names_an_engine_that_no_source_has() {
        let error = Error::NoVersion {
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
