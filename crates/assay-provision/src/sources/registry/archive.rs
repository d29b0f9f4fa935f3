//! Package formats: zip (jar, wheel), compressed tar, and such an archive inside a zip.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use assay_decompress::decompressed;
use fs_err as fs;
use zip::read::{Config, ZipFile, ZipReadOptions};
use zip::unstable::read::ZipIterable;

use super::super::kind::Registry;
use crate::catalog::{ArchivePart, PackageVersion};
use crate::entry::{ArchiveEntry, ArchiveEntryKind};
use crate::error::{ProvisionError, Result};
use crate::unpack::{EntrySelection, UnpackTree};

/// Maximum length of a link's target, bytes.
const LINK: u64 = 4096;
/// Maximum length of an archive inside a package, bytes.
const INNER: u64 = 1 << 30;

/// An archive that is read from its end. One type for all, so that the zip reader is compiled once.
trait Seekable: Read + Seek {}

impl<T: Read + Seek> Seekable for T {}

pub(crate) fn unpack(
    registry: &dyn Registry,
    file: &Path,
    packaged: PackageVersion<'_>,
    tree: &mut UnpackTree,
) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for part in packaged.parts() {
        let ArchivePart { archive, mut from, to } = part;
        if packaged.package.is_vendors() {
            from = PathBuf::from(stem(&name)).join(from);
        }
        let selection = EntrySelection { from, to, only: packaged.package.only.clone() };
        match archive {
            None => whole(&name, fs::File::open(file)?, &selection, tree)?,
            Some(inner) => inside(&name, fs::File::open(file)?, &inner, &selection, tree)?,
        }
    }
    registry.complete(&name, tree)
}

pub(crate) fn stem(name: &str) -> &str {
    [".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name)
}

pub(crate) fn whole(
    name: &str,
    mut archive: impl Read + Seek,
    selection: &EntrySelection,
    tree: &mut UnpackTree,
) -> Result<()> {
    if is_zip(name) {
        return unzip(name, &mut archive, selection, tree);
    }
    tree.unpack_part(name, &mut *tarred(name, archive)?, selection)
}

fn inside(
    name: &str,
    mut archive: impl Read + Seek,
    inner: &str,
    selection: &EntrySelection,
    tree: &mut UnpackTree,
) -> Result<()> {
    let mut zip = opened(name, &mut archive)?;
    let files = zip.files().map_err(|error| broken(name, error))?;
    let missing = || broken(&format!("{name}!{inner}"), "it is missing");
    let found = loop {
        let found = files.next().ok_or_else(missing)?.map_err(|error| broken(name, error))?;
        if found.name().is_ok_and(|it| it == inner) {
            break found;
        }
    };
    let entry = found.with_reader(files.reader_mut(), ZipReadOptions::default());
    let mut entry = entry.map_err(|error| broken(inner, error))?.take(INNER);
    if !is_zip(inner) {
        return tree.unpack_part(inner, &mut *tarred(inner, entry)?, selection);
    }
    // A zip is read from its end.
    let mut spooled = tempfile::tempfile()?;
    io::copy(&mut entry, &mut spooled).map_err(|error| broken(inner, error))?;
    spooled.seek(SeekFrom::Start(0))?;
    unzip(inner, &mut spooled, selection, tree)
}

fn is_zip(name: &str) -> bool {
    [".zip", ".jar", ".whl"].iter().any(|end| name.ends_with(end))
}

fn tarred<'a>(name: &str, stream: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let ends = [
        (".tgz", ".gz"),
        (".tar.gz", ".gz"),
        (".txz", ".xz"),
        (".tar.xz", ".xz"),
        (".tar.zst", ".zst"),
    ];
    let end = ends.iter().find(|(end, _)| name.ends_with(end)).map_or(".unknown", |(_, end)| end);
    let opened = decompressed(end, Box::new(stream)).map_err(|error| broken(name, error))?;
    opened.ok_or_else(|| broken(name, "its format is unknown"))
}

fn unzip(
    name: &str,
    archive: &mut dyn Seekable,
    selection: &EntrySelection,
    tree: &mut UnpackTree,
) -> Result<()> {
    let mut zip = opened(name, archive)?;
    let files = zip.files().map_err(|error| broken(name, error))?;
    while let Some(found) = files.next() {
        let found = found.map_err(|error| broken(name, error))?;
        let stored = found.with_reader(files.reader_mut(), ZipReadOptions::default());
        let mut stored = stored.map_err(|error| broken(name, error))?;
        let entry = from_zip(&mut stored).map_err(|error| broken(name, error))?;
        tree.add(name, selection, &entry, &mut stored)?;
    }
    Ok(())
}

/// Reads the directory of a zip entry by entry: the whole of it may be larger than memory.
fn opened<'a>(
    name: &str,
    archive: &'a mut dyn Seekable,
) -> Result<ZipIterable<&'a mut dyn Seekable>> {
    ZipIterable::try_new(archive, Config::default()).map_err(|error| broken(name, error))
}

fn from_zip(stored: &mut ZipFile<'_, impl Read>) -> io::Result<ArchiveEntry> {
    const KIND: u32 = 0o170_000;
    let mode = stored.unix_mode().unwrap_or(0);
    let path = PathBuf::from(stored.name()?.into_owned());
    let kind = match mode & KIND {
        0o120_000 => {
            let mut target = String::new();
            stored.take(LINK).read_to_string(&mut target)?;
            ArchiveEntryKind::Symlink(target.into())
        }
        _ if stored.is_dir() => ArchiveEntryKind::Directory,
        0 | 0o100_000 => ArchiveEntryKind::File,
        0o040_000 => ArchiveEntryKind::Directory,
        _ => ArchiveEntryKind::Special,
    };
    Ok(ArchiveEntry { path, kind, mode: mode & !KIND })
}

fn broken(name: &str, detail: impl ToString) -> ProvisionError {
    ProvisionError::malformed(format!("archive `{name}`"), detail)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};
    use std::os::unix::fs::PermissionsExt as _;

    use proptest::prelude::*;
    use tempfile::TempDir;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::unpack::UnpackLimits;

    const SMALL: UnpackLimits = UnpackLimits { bytes: 1000, entries: 10 };

    /// A zip of (name, Unix mode with its kind, content); nothing is checked or normalised.
    fn zip(entries: &[(&str, u32, &str)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, mode, content) in entries {
            // The writer sanitises hostile names, so they are inserted afterwards.
            let name = if is_hostile(name) { "?".repeat(name.len()) } else { (*name).to_owned() };
            let options = SimpleFileOptions::default().unix_permissions(mode & 0o7777);
            match mode & 0o170_000 {
                0o120_000 => writer.add_symlink(name, *content, options).unwrap(),
                _ => {
                    writer.start_file(name, options).unwrap();
                    writer.write_all(content.as_bytes()).unwrap();
                }
            }
        }
        let mut bytes = writer.finish().unwrap().into_inner();
        for (name, ..) in entries.iter().filter(|(name, ..)| is_hostile(name)) {
            let dummy = "?".repeat(name.len());
            while let Some(at) = bytes.windows(name.len()).position(|it| it == dummy.as_bytes()) {
                bytes.get_mut(at..at + name.len()).unwrap().copy_from_slice(name.as_bytes());
            }
        }
        // The writer makes all files regular ones: their kinds go into the central directory.
        let mut at = 0;
        for (_, mode, _) in entries {
            let here = bytes.windows(4).skip(at).position(|it| it == b"PK\x01\x02").unwrap() + at;
            let attributes = bytes.get_mut(here + 40..here + 42).unwrap();
            if mode & 0o170_000 != 0 {
                attributes.copy_from_slice(&u16::try_from(*mode).unwrap().to_le_bytes());
                // Made on Unix.
                *bytes.get_mut(here + 5).unwrap() = 3;
            }
            at = here + 1;
        }
        bytes
    }

    fn is_hostile(name: &str) -> bool {
        name.starts_with('/') || name.contains("..")
    }

    fn tar(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            let place = &mut header.as_old_mut().name;
            place.get_mut(..name.len()).unwrap().copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::default();
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        xz.write_all(bytes).unwrap();
        xz.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn unpacked(name: &str, bytes: &[u8]) -> Result<TempDir> {
        let root = tempfile::tempdir().unwrap();
        let mut tree = UnpackTree::new(root.path(), SMALL);
        whole(name, Cursor::new(bytes), &EntrySelection::default(), &mut tree)?;
        Ok(root)
    }

    #[track_caller]
    fn refused(name: &str, bytes: &[u8], rule: &str) {
        let error = unpacked(name, bytes).err().unwrap_or_else(|| panic!("allowed, not: {rule}"));
        assert!(
            matches!(&error, ProvisionError::UnsafeEntry { why, .. } if why.contains(rule)),
            "{error} instead of: {rule}"
        );
    }

    #[test]
    fn every_format_comes_out_alike() {
        let zipped = zip(&[("bin/run", 0o100_755, "x"), ("share/data", 0, "data")]);
        let tarred = tar(&[("bin/run", "x"), ("share/data", "data")]);
        for (name, bytes) in [
            ("a.jar", zipped.clone()),
            ("a.whl", zipped.clone()),
            ("a.zip", zipped),
            ("a.tgz", gzip(&tarred)),
            ("a.tar.xz", xz(&tarred)),
            ("a.tar.zst", zstd(&tarred)),
        ] {
            let root = unpacked(name, &bytes).unwrap();
            let mode = |path: &str| {
                fs::metadata(root.path().join(path)).unwrap().permissions().mode() & 0o7777
            };
            assert_eq!((mode("bin/run"), mode("share/data")), (0o555, 0o444), "{name}");
            assert_eq!(fs::read_to_string(root.path().join("share/data")).unwrap(), "data");
        }
    }

    #[test]
    fn archives_inside_a_package_are_unpacked_where_they_are_wanted() {
        let tarred = gzip(&tar(&[("bin/run", "x")]));
        let zipped = zip(&[("share/data", 0, "data")]);
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in [("a.tar.gz", &tarred), ("b/b.jar", &zipped)] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        let package = writer.finish().unwrap().into_inner();
        let root = tempfile::tempdir().unwrap();
        let mut tree = UnpackTree::new(root.path(), SMALL);
        let mut part = |inner: &str, selection: &EntrySelection| {
            inside("p.jar", Cursor::new(&package), inner, selection, &mut tree)
        };
        part("a.tar.gz", &EntrySelection::default()).unwrap();
        let to = EntrySelection { from: "share".into(), to: "moved".into(), only: Vec::new() };
        part("b/b.jar", &to).unwrap();
        assert!(root.path().join("bin/run").is_file());
        assert!(root.path().join("moved/data").is_file());
        let error = part("c.tar.gz", &EntrySelection::default()).unwrap_err();
        assert!(error.to_string().starts_with("malformed archive `p.jar!c.tar.gz`"), "{error}");
    }

    #[test]
    fn zips_follow_the_same_rules_as_all_archives() {
        let refused = |entries: &[(&str, u32, &str)], rule| refused("a.zip", &zip(entries), rule);
        refused(&[("/etc/passwd", 0o100_644, "x")], "leads out");
        refused(&[("usr/../../evil", 0o100_644, "x")], "leads out");
        refused(&[("a", 0o120_777, "../evil")], "links out");
        refused(&[("usr/a", 0o120_777, "../../evil")], "links out");
        refused(&[("a", 0o120_777, "b"), ("a/evil", 0o100_644, "x")], "through a link");
        for kind in [0o020_644, 0o060_644, 0o010_644] {
            refused(&[("dev", kind, "")], "special file");
        }
        refused(&[(&"n".repeat(256), 0o100_644, "x")], "name is too long");
        let names: Vec<_> = (0..11).map(|number| number.to_string()).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 0, "")).collect();
        refused(&many, "too many entries");
        // The reader has already dropped this permission.
        let root = unpacked("a.zip", &zip(&[("su", 0o104_755, "x")])).unwrap();
        let mode = fs::metadata(root.path().join("su")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o555);
        let root = unpacked("a.zip", &zip(&[("l/a", 0o120_777, "/x"), ("x", 0, "y")])).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("l/a")).unwrap(), "y");
    }

    struct CountingReader<'a>(Cursor<&'a [u8]>, &'a std::cell::Cell<usize>);

    impl Read for CountingReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            self.1.set(self.1.get() + read);
            Ok(read)
        }
    }

    impl Seek for CountingReader<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_directory_of_a_zip_is_not_read_further_than_entries_are_taken() {
        let names: Vec<_> = (0..20_000).map(|number| number.to_string()).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 0, "")).collect();
        let (bytes, read) = (zip(&many), std::cell::Cell::new(0));
        let root = tempfile::tempdir().unwrap();
        let archive = CountingReader(Cursor::new(&bytes), &read);
        let mut tree = UnpackTree::new(root.path(), SMALL);
        let error = whole("a.zip", archive, &EntrySelection::default(), &mut tree).unwrap_err();
        assert!(error.to_string().contains("too many entries"), "{error}");
        assert!(read.get() < bytes.len() / 4, "{} of {} bytes", read.get(), bytes.len());
    }

    #[test]
    fn bombs_stop_at_the_limit_in_every_format() {
        let bomb = "0".repeat(1 << 20);
        refused("a.zip", &zip(&[("bomb", 0o100_644, &bomb)]), "too many bytes");
        let tarred = tar(&[("bomb", &bomb)]);
        for (name, bytes) in [("a.tgz", gzip(&tarred)), ("a.txz", xz(&tarred))] {
            assert!(bytes.len() < 1 << 16);
            // Fails by the rule, or at the end of what is read of the stream.
            unpacked(name, &bytes).unwrap_err();
        }
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        for name in ["a.zip", "a.jar", "a.whl", "a.tgz", "a.tar.gz", "a.txz", "a.tar.xz", "a.rar"] {
            let error = unpacked(name, b"<html>404</html>").unwrap_err();
            assert!(matches!(error, ProvisionError::Malformed { .. }), "{name}: {error}");
        }
        let whole = zip(&[("bin/run", 0o100_755, "x")]);
        for length in [10, 40, whole.len() - 1] {
            unpacked("a.zip", whole.get(..length).unwrap()).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn damaged_zips_never_panic(at in 0_usize..200, byte in 0_u8.., length in 0_usize..250) {
            let mut bytes = zip(&[("bin/run", 0o100_755, "x"), ("l", 0o120_777, "bin/run")]);
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(length / 50));
            let _ = unpacked("a.zip", &bytes);
        }
    }
}
