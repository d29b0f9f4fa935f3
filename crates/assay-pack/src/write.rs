//! Writes packs. The same members give the same bytes.

use crate::container::written;
use crate::manifest::sha256;
use crate::{Error, Listed, MANIFEST, MEMBERS, Manifest, Pack, SIZE_MAX};

impl Pack {
    /// `contents` has the order of [`MEMBERS`].
    pub fn new(
        study: &str,
        assay: &str,
        contents: [Vec<u8>; MEMBERS.len()],
    ) -> Result<Self, Error> {
        let members: Vec<_> = MEMBERS.into_iter().zip(contents).collect();
        if members.iter().map(|(_, content)| content.len() as u64).sum::<u64>() > SIZE_MAX {
            return Err(Error::TooLarge);
        }
        let listed = members.iter().map(|(name, content)| Listed::of(name, content)).collect();
        let manifest = Manifest::new(study, assay, listed);
        let digest = sha256(manifest.text().as_bytes());
        Ok(Self { manifest, digest, members })
    }

    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let manifest = self.manifest.text();
        let rest = self.members.iter().map(|(name, content)| (*name, content.as_slice()));
        let all: Vec<_> = std::iter::once((MANIFEST, manifest.as_bytes())).chain(rest).collect();
        written(&all)
    }
}
