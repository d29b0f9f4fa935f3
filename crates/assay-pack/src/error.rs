//! Errors of a pack.

use assay_model::{Hint, printable};

use crate::{MEMBERS, SIZE_MAX};

/// Why bytes are no pack.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They end too early.
    #[error("it is not a pack of assay: it is cut off")]
    Cut,
    /// Something else is in the place of a member.
    #[error("it is not a pack of assay: member `{0}` is missing")]
    Missing(&'static str),
    /// There are more members than a pack has.
    #[error("it is not a pack of assay: it has more than {} members", MEMBERS.len() + 1)]
    More,
    /// There are bytes that the digest does not cover.
    #[error("it is not a pack of assay: {0}, and no digest covers that")]
    Uncovered(&'static str),
    /// A member is missing or in the wrong place.
    #[error("it is not a pack of assay: `{}` is in the place of `{expected}`", printable(found))]
    Member {
        /// The member that should be there.
        expected: &'static str,
        /// The name that is there.
        found: String,
    },
    /// The manifest is not one that assay writes.
    #[error("its manifest is not one that assay writes: {0}")]
    Manifest(String),
    /// It has a later version of the format.
    #[error("it was made by a newer assay (format version {0}): upgrade assay to read it")]
    Newer(u64),
    /// The members are too large together.
    #[error("its members are larger than {} MiB", SIZE_MAX >> 20)]
    TooLarge,
    /// A member has more bytes than the manifest lists.
    #[error("member `{0}` is longer than the manifest says")]
    Longer(&'static str),
    /// A member cannot be unpacked.
    #[error(
        "member `{0}` cannot be unpacked: its compressed bytes are damaged, or do not end with it"
    )]
    Unreadable(&'static str),
    /// The members are much larger than the file.
    #[error(
        "its members have {mb} MiB, and the file {kb} KiB: no pack of assay is compressed so well"
    )]
    Blown {
        /// Size of all members together, MiB.
        mb: u64,
        /// Size of the file, KiB.
        kb: u64,
    },
}

impl Hint for Error {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Newer(_) => return Vec::new(),
            Self::TooLarge => "copy the ledger itself, and publish its SHA-256",
            _ => "get the file again: it was damaged or altered, or `assay pack` did not write it",
        };
        vec![hint.to_owned()]
    }
}
