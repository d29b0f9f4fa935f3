//! The container of a pack: one file that holds a study, its reports and their digests. Pure: bytes in, bytes out.
//!
//! A pack is a zip file. Its first member is the manifest, whose SHA-256 is the digest of the pack.

mod container;
mod error;
mod manifest;
mod pack;

#[doc(hidden)]
pub use container::written as container;
pub use error::PackError;
pub use manifest::{FORMAT_VERSION, Manifest, PackMember};
pub use pack::Pack;

pub const LEDGER: &str = "ledger.db";

pub const MANIFEST: &str = "manifest.json";

/// In order, without the manifest.
pub const MEMBERS: [&str; 6] =
    [LEDGER, "report.json", "report.csv", "report.html", "report.md", "report.txt"];

/// Total size of all members, bytes. A study of twelve systems and a hundred tests takes less than half of it.
pub const SIZE_MAX: u64 = 1 << 28;

pub fn is_pack(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}
