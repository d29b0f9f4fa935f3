//! Measured artifacts: binaries on this machine, a running server, or a product with published results.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Prefix, Product};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "a study has a few of them, and most are prefixes")]
pub enum Artifact {
    Prefix(Prefix),
    /// A server that was already running; assay only connects to it.
    Running(RunningServer),
    /// A server measured by others; only its results are known.
    Reported(ReportedServer),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// URL without the password.
    pub url: String,
    pub product: Product,
    /// As the server reports it, such as `10.11.19`.
    pub version: String,
    /// `None` if the server's process is not visible.
    pub program: Option<PathBuf>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedServer {
    /// Author and place of the report, such as a URL.
    pub reported_in: String,
    pub product: Option<Product>,
    pub version: String,
    pub notes: Vec<String>,
}

impl Artifact {
    pub fn product(&self) -> Option<Product> {
        match self {
            Self::Prefix(prefix) => Some(prefix.product),
            Self::Running(server) => Some(server.product),
            Self::Reported(server) => server.product,
        }
    }

    pub fn version(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.version,
            Self::Running(server) => &server.version,
            Self::Reported(server) => &server.version,
        }
    }

    /// Version of the package, or the upstream version without a package.
    pub fn package_version(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.package_version,
            Self::Running(_) | Self::Reported(_) => self.version(),
        }
    }

    pub fn source(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.source,
            Self::Running(_) => "running",
            Self::Reported(_) => "reported",
        }
    }

    /// Place within the source: a suite, a URL.
    pub fn channel(&self) -> &str {
        match self {
            Self::Prefix(prefix) => &prefix.build.channel,
            Self::Running(server) => &server.url,
            Self::Reported(server) => &server.reported_in,
        }
    }

    /// Whether it comes from a released channel, as far as assay can know.
    pub fn is_released(&self) -> bool {
        match self {
            Self::Prefix(prefix) => prefix.build.released,
            Self::Running(_) | Self::Reported(_) => true,
        }
    }

    pub fn notes(&self) -> &[String] {
        match self {
            Self::Prefix(prefix) => &prefix.build.notes,
            Self::Running(server) => &server.notes,
            Self::Reported(server) => &server.notes,
        }
    }

    /// Identity of the binaries in lower-case hex; `None` if unknown.
    pub fn sha256(&self) -> Option<&str> {
        self.prefix().map(|prefix| prefix.sha256.as_str()).filter(|digest| !digest.is_empty())
    }

    pub fn program(&self) -> Option<&Path> {
        match self {
            Self::Prefix(prefix) => Some(&prefix.layout.server),
            Self::Running(server) => server.program.as_deref(),
            Self::Reported(_) => None,
        }
    }

    pub fn prefix(&self) -> Option<&Prefix> {
        match self {
            Self::Prefix(prefix) => Some(prefix),
            Self::Running(_) | Self::Reported(_) => None,
        }
    }
}
