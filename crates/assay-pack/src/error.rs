//! Errors of packs.

use assay_model::{Hint, printable};

use crate::{MEMBERS, SIZE_MAX};

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("it is not a pack of assay: it is cut off")]
    Cut,
    #[error("it is not a pack of assay: member `{0}` is missing")]
    Missing(&'static str),
    #[error("it is not a pack of assay: it has more than {} members", MEMBERS.len() + 1)]
    More,
    /// There are bytes that the digest does not cover.
    #[error("it is not a pack of assay: {0}, and no digest covers that")]
    Uncovered(&'static str),
    #[error("it is not a pack of assay: `{}` is in the place of `{expected}`", printable(found))]
    Member { expected: &'static str, found: String },
    /// The manifest is not in the form that assay writes.
    #[error("its manifest is not one that assay writes: {0}")]
    Manifest(String),
    #[error("it was made by a newer assay (format version {0}): upgrade assay to read it")]
    Newer(u64),
    #[error("its members are larger than {} MiB", SIZE_MAX >> 20)]
    TooLarge,
    #[error("member `{0}` is longer than the manifest says")]
    Longer(&'static str),
    #[error(
        "member `{0}` cannot be unpacked: its compressed bytes are damaged, or do not end with it"
    )]
    Unreadable(&'static str),
    /// The members are much larger than the file.
    #[error(
        "its members have {mb} MiB, and the file {kb} KiB: no pack of assay is compressed so well"
    )]
    Blown {
        /// Total size of the members, MiB.
        mb: u64,
        /// Size of the file, KiB.
        kb: u64,
    },
}

impl Hint for PackError {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Newer(_) => return Vec::new(),
            Self::TooLarge => "copy the ledger itself, and publish its SHA-256",
            _ => "get the file again: it was damaged or altered, or `assay pack` did not write it",
        };
        vec![hint.to_owned()]
    }
}
