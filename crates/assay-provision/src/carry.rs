//! Copies servers from a cache for another machine.

use std::io::Write;
use std::path::Path;

use fs_err as fs;

use crate::error::Error;
use crate::provisioner::Provisioner;
use crate::store::RESOLVED;

impl Provisioner {
    /// Writes finished trees of the cache, and the answers that led to them, as a tar archive. Unpacked elsewhere, it
    /// is a cache that needs no network. Trees outside the cache are left out.
    pub fn carry<'a>(
        &self,
        trees: impl IntoIterator<Item = &'a Path>,
        to: impl Write,
    ) -> Result<(), Error> {
        let root = self.store.path("");
        let mut archive = tar::Builder::new(to);
        archive.follow_symlinks(false);
        for tree in trees {
            if let Ok(place) = tree.strip_prefix(&root)
                && !place.as_os_str().is_empty()
            {
                archive.append_dir_all(place, tree)?;
            }
        }
        let answers = self.store.path(RESOLVED);
        if answers.exists() {
            archive.append_file(RESOLVED, fs::File::open(answers)?.file_mut())?;
        }
        archive.into_inner()?.flush()?;
        Ok(())
    }
}
