//! The manifest: the content and the author of a pack.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{MEMBERS, PackError, SIZE_MAX};

/// Increase it when an older assay could not read the container or the manifest.
pub const FORMAT_VERSION: u32 = 1;

const FORMAT: &str = "assay-pack";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The word `assay-pack`.
    format: String,
    /// [`FORMAT_VERSION`] of the assay that wrote it.
    version: u32,
    /// Version of the assay that wrote it, which judged the study and rendered the reports.
    pub assay: String,
    pub study: String,
    /// In the order of [`MEMBERS`].
    pub members: Vec<PackMember>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackMember {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

impl PackMember {
    pub fn new(name: &str, content: &[u8]) -> Self {
        Self { name: name.to_owned(), bytes: content.len() as u64, sha256: sha256(content) }
    }
}

impl Manifest {
    pub(crate) fn new(study: &str, assay: &str, members: Vec<PackMember>) -> Self {
        let (study, assay) = (study.to_owned(), assay.to_owned());
        Self { format: FORMAT.to_owned(), version: FORMAT_VERSION, assay, study, members }
    }

    /// Canonical text: indented JSON with a final line feed.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("only failing writers and odd maps fail") + "\n"
    }

    /// Parses an untrusted text.
    pub(crate) fn read(text: &[u8]) -> Result<Self, PackError> {
        let wrong = |what: &str| PackError::Manifest(what.to_owned());
        let unreadable = |error: serde_json::Error| PackError::Manifest(error.to_string());
        let any: serde_json::Value = serde_json::from_slice(text).map_err(unreadable)?;
        if any.get("format").and_then(|it| it.as_str()) != Some(FORMAT) {
            return Err(wrong("it is of another format"));
        }
        let version = any.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if version > u64::from(FORMAT_VERSION) {
            return Err(PackError::Newer(version));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(unreadable)?;
        if manifest.text().as_bytes() != text {
            return Err(wrong("its text is not in canonical form"));
        }
        if manifest.version != FORMAT_VERSION {
            return Err(wrong("it is of an unknown version"));
        }
        if !manifest.members.iter().map(|it| it.name.as_str()).eq(MEMBERS) {
            return Err(wrong("it lists other members"));
        }
        let size = manifest.members.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes));
        if size > SIZE_MAX {
            return Err(PackError::TooLarge);
        }
        Ok(manifest)
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
