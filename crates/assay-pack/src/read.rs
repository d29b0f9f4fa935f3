//! Reads packs from untrusted bytes.

use crate::container::Reader;
use crate::manifest::sha256;
use crate::{Error, MANIFEST, MEMBERS, Manifest, Pack};

/// Maximum size of a manifest, bytes. Those that assay writes have a hundredth of it.
const MANIFEST_MAX: u64 = 1 << 16;

/// Maximum bytes of all members per byte of a pack. Ledgers and reports have less than a tenth of it.
const RATIO_MAX: u64 = 200;

/// Maximum bytes of all members of a small pack.
const SMALL: u64 = 4 << 20;

impl Pack {
    /// The members may differ from the manifest: see [`Pack::altered`].
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let text = reader.member(MANIFEST, MANIFEST_MAX)?;
        let manifest = Manifest::read(&text)?;
        let size = manifest.members.iter().map(|it| it.bytes).sum::<u64>();
        if size > SMALL.max(RATIO_MAX.saturating_mul(bytes.len() as u64)) {
            return Err(Error::Blown { mb: size >> 20, kb: bytes.len() as u64 >> 10 });
        }
        let mut members = Vec::new();
        for (name, listed) in MEMBERS.into_iter().zip(&manifest.members) {
            members.push((name, reader.member(name, listed.bytes)?));
        }
        reader.end()?;
        Ok(Self { manifest, digest: sha256(&text), members })
    }
}
