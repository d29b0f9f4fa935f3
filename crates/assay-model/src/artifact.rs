//! The thing that was measured: binaries on this machine, a server that was running already, or a product that
//! somebody else measured and reported.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Prefix, Product};

/// The thing that was measured as a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "a study has a few of them, and most are prefixes")]
pub enum Artifact {
    /// Binaries on this machine, identified by their checksum: assay starts them.
    Prefix(Prefix),
    /// A server that was running already: assay only connects to it.
    Running(RunningServer),
    /// A server that somebody else measured: only the results are known.
    Reported(ReportedServer),
}

/// A server that somebody else started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// How to reach it, without the password.
    pub url: String,
    /// The family, as the server says.
    pub product: Product,
    /// Version, as the server says, such as `10.11.19`.
    pub version: String,
    /// The file of its program; `None` if its process cannot be seen.
    pub program: Option<PathBuf>,
    /// How its part in a comparison differs from that of servers that assay starts.
    pub notes: Vec<String>,
}

/// A server known from published results only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedServer {
    /// The author and place of the report, such as a URL.
    pub reported_in: String,
    /// The family; `None` if the report does not tell it.
    pub product: Option<Product>,
    /// Upstream version as reported.
    pub version: String,
    /// Things the reader of a report must know.
    pub notes: Vec<String>,
}

impl Artifact {
    /// The family; `None` if a report does not tell it.
    #[must_use]
    pub fn product(&self) -> Option<Product> {
        match self {
            Self::Prefix(prefix) => Some(prefix.product),
            Self::Running(server) => Some(server.product),
            Self::Reported(server) => server.product,
        }
    }

    /// Upstream version, such as `10.11.19`.
    #[must_use]
    pub fn version(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.version,
            Self::Running(server) => &server.version,
            Self::Reported(server) => &server.version,
        }
    }

    /// The version of the package, or the upstream version if there is no package.
    #[must_use]
    pub fn package_version(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.package_version,
            Self::Running(_) | Self::Reported(_) => self.version(),
        }
    }

    /// The kind of source, such as `apt`, `running` or `reported`.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.source,
            Self::Running(_) => "running",
            Self::Reported(_) => "reported",
        }
    }

    /// The place in the source: a suite, a URL.
    #[must_use]
    pub fn channel(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.channel,
            Self::Running(server) => &server.url,
            Self::Reported(server) => &server.reported_in,
        }
    }

    /// Whether it comes from a released channel, as far as assay can know.
    #[must_use]
    pub fn is_released(&self) -> bool {
        match self {
            Self::Prefix(prefix) => prefix.build.released,
            Self::Running(_) | Self::Reported(_) => true,
        }
    }

    /// Things the reader of a report must know.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Prefix(prefix) => &prefix.build.notes,
            Self::Running(server) => &server.notes,
            Self::Reported(server) => &server.notes,
        }
    }

    /// The identity of the binaries, lower-case hex; `None` if they are not known.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        self.prefix().map(|prefix| prefix.sha256.as_str()).filter(|digest| !digest.is_empty())
    }

    /// The file of the server's program; `None` if it is not known.
    #[must_use]
    pub fn program(&self) -> Option<&Path> {
        match self {
            Self::Prefix(prefix) => Some(&prefix.layout.server),
            Self::Running(server) => server.program.as_deref(),
            Self::Reported(_) => None,
        }
    }

    /// The binaries, where assay has them.
    #[must_use]
    pub fn prefix(&self) -> Option<&Prefix> {
        match self {
            Self::Prefix(prefix) => Some(prefix),
            Self::Running(_) | Self::Reported(_) => None,
        }
    }
}
