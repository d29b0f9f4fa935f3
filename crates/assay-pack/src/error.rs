//! Errors of a pack.

use assay_model::{Hint, printable};

use crate::{MEMBERS, SIZE_MAX};

/// Why bytes are no pack.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They are no zip file, or a damaged one.
    #[error("it is not a pack of assay: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// The zip file has parts that belong to no member, or headers that contradict each other.
    #[error("it is not a pack of assay: {0}")]
    Ambiguous(&'static str),
    /// It has another number of members than a pack.
    #[error("it is not a pack of assay: it has {} members instead of {}", .0, MEMBERS.len() + 1)]
    Count(usize),
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
    #[error("member `{0}` cannot be unpacked: {1}")]
    Unreadable(&'static str, std::io::Error),
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
