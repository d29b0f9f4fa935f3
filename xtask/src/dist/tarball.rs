//! The tarball.

use std::io::Write as _;

use anyhow::Result;
use flate2::{Compression, GzBuilder};

use super::{Contents, DistFile};

pub(super) fn write(contents: &Contents) -> Result<(String, Vec<u8>)> {
    let name = format!("assay-{}-{}-linux", contents.version, contents.arch.name);
    Ok((format!("{name}.tar.gz"), packed(&contents.items, &format!("{name}/"), contents.time)?))
}

/// A compressed tar archive of files below a prefix, with their parent directories.
pub(super) fn packed(items: &[DistFile], prefix: &str, time: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut last = String::new();
    for item in items {
        let path = format!("{prefix}{}", item.path);
        for (end, _) in path.match_indices('/') {
            let directory = path.get(..=end).unwrap_or_default();
            if directory != "./" && !last.starts_with(directory) {
                let mut header = header(0o755, 0, time);
                header.set_entry_type(tar::EntryType::Directory);
                archive.append_data(&mut header, directory, std::io::empty())?;
            }
        }
        let mut header = header(item.mode, item.bytes.len() as u64, time);
        archive.append_data(&mut header, &path, item.bytes.as_slice())?;
        last = path;
    }
    compressed(&archive.into_inner()?)
}

fn header(mode: u32, size: u64, time: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Compresses like `gzip -9n`.
pub(super) fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut to = GzBuilder::new().write(Vec::new(), Compression::best());
    to.write_all(bytes)?;
    Ok(to.finish()?)
}
