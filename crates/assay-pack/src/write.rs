//! Writes packs. The same members make the same bytes.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::manifest::sha256;
use crate::{Error, Listed, MANIFEST, MEMBERS, Manifest, Pack, SIZE_MAX};

/// Permissions of unpacked members.
const MODE: u32 = 0o644;

impl Pack {
    /// A pack of a study, written by this version of assay, with the contents of [`MEMBERS`].
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

    /// The file.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let manifest = self.manifest.text();
        let first = (MANIFEST, manifest.as_bytes());
        let rest = self.members.iter().map(|(name, content)| (*name, content.as_slice()));
        for (name, content) in std::iter::once(first).chain(rest) {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .last_modified_time(DateTime::default())
                .unix_permissions(MODE);
            zip.start_file(name, options)?;
            zip.write_all(content).map_err(zip::result::ZipError::from)?;
        }
        Ok(zip.finish()?.into_inner())
    }
}
