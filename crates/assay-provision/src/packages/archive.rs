//! The formats packages come in: zip (jar, wheel) and compressed tar, and such an archive inside a
//! zip.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use fs_err as fs;
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::catalog::{Packaged, Part};
use crate::error::Error;
use crate::unpack::{Entry, Kind, Selection, Tree};

/// What a decompressor may take, KiB.
const MEMORY_KB: u32 = 256 * 1024;
/// More than the text of any link, bytes.
const LINK: u64 = 4096;
/// More than any archive inside a package has, bytes.
const INNER: u64 = 1 << 30;

/// Unpacks what is wanted of a package into a tree.
///
/// # Errors
/// When it is not in the form that the catalog says, or has an entry that the tree refuses.
pub(crate) fn unpack(file: &Path, packaged: Packaged<'_>, tree: &mut Tree) -> Result<(), Error> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for part in packaged.parts() {
        let Part { archive, from, to } = part;
        let selection = Selection { from, to, only: packaged.package.only.clone() };
        match archive {
            None => whole(&name, fs::File::open(file)?, &selection, tree)?,
            Some(inner) => inside(&name, fs::File::open(file)?, &inner, &selection, tree)?,
        }
    }
    Ok(())
}

/// Unpacks an archive of the kind that its name says.
pub(crate) fn whole(
    name: &str,
    archive: impl Read + Seek,
    selection: &Selection,
    tree: &mut Tree,
) -> Result<(), Error> {
    if is_zip(name) {
        return unzip(name, archive, selection, tree);
    }
    tree.unpack_part(name, decompressed(name, archive)?, selection)
}

/// Unpacks an archive that is an entry of a zip.
fn inside(
    name: &str,
    archive: impl Read + Seek,
    inner: &str,
    selection: &Selection,
    tree: &mut Tree,
) -> Result<(), Error> {
    let mut zip = ZipArchive::new(archive).map_err(|error| broken(name, error))?;
    let entry = zip.by_name(inner).map_err(|error| broken(&format!("{name}!{inner}"), error))?;
    let mut entry = entry.take(INNER);
    if !is_zip(inner) {
        return tree.unpack_part(inner, decompressed(inner, entry)?, selection);
    }
    // A zip is read from its end.
    let mut spooled = tempfile::tempfile()?;
    io::copy(&mut entry, &mut spooled).map_err(|error| broken(inner, error))?;
    spooled.seek(SeekFrom::Start(0))?;
    unzip(inner, spooled, selection, tree)
}

fn is_zip(name: &str) -> bool {
    [".zip", ".jar", ".whl"].iter().any(|end| name.ends_with(end))
}

fn decompressed<'a>(name: &str, stream: impl Read + 'a) -> Result<Box<dyn Read + 'a>, Error> {
    let ends = |ends: [&str; 2]| ends.iter().any(|end| name.ends_with(end));
    if ends([".tgz", ".tar.gz"]) {
        Ok(Box::new(flate2::read::GzDecoder::new(stream)))
    } else if ends([".txz", ".tar.xz"]) {
        Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(stream, true, MEMORY_KB)))
    } else {
        Err(Error::malformed(format!("archive `{name}`"), "of a kind that is not known"))
    }
}

fn unzip(
    name: &str,
    archive: impl Read + Seek,
    selection: &Selection,
    tree: &mut Tree,
) -> Result<(), Error> {
    let mut zip = ZipArchive::new(archive).map_err(|error| broken(name, error))?;
    for number in 0..zip.len() {
        let mut stored = zip.by_index(number).map_err(|error| broken(name, error))?;
        let entry = from_zip(&mut stored).map_err(|error| broken(name, error))?;
        tree.add(name, selection, &entry, &mut stored)?;
    }
    Ok(())
}

/// An entry of a zip, its content aside.
fn from_zip(stored: &mut ZipFile<'_, impl Read>) -> io::Result<Entry> {
    const KIND: u32 = 0o170_000;
    let mode = stored.unix_mode().unwrap_or(0);
    let path = PathBuf::from(stored.name()?.into_owned());
    let kind = match mode & KIND {
        0o120_000 => {
            let mut target = String::new();
            stored.take(LINK).read_to_string(&mut target)?;
            Kind::Symlink(target.into())
        }
        _ if stored.is_dir() => Kind::Directory,
        0 | 0o100_000 => Kind::File,
        0o040_000 => Kind::Directory,
        _ => Kind::Special,
    };
    Ok(Entry { path, kind, mode: mode & !KIND })
}

fn broken(name: &str, detail: impl ToString) -> Error {
    Error::malformed(format!("archive `{name}`"), detail)
}
