//! Debian's package format: an `ar` archive whose member `data.tar` holds the files. Scripts in it
//! are never run.

use std::io::Read;
use std::path::Path;

use fs_err as fs;

use crate::error::Error;
use crate::unpack::Tree;

/// Unpacks the files of a package into a tree.
///
/// # Errors
/// When the package is not well formed, or has an entry that the tree refuses.
pub(crate) fn unpack(package: &Path, tree: &mut Tree) -> Result<(), Error> {
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    unpack_from(&name, fs::File::open(package)?, tree)
}

/// The same of a package from anywhere; `name` is its name in errors.
pub(crate) fn unpack_from(name: &str, package: impl Read, tree: &mut Tree) -> Result<(), Error> {
    let broken =
        |detail: &dyn ToString| Error::malformed(format!("package `{name}`"), detail.to_string());
    let mut archive = ar::Archive::new(package);
    while let Some(member) = archive.next_entry() {
        let member = member.map_err(|error| broken(&error))?;
        let identifier = String::from_utf8_lossy(member.header().identifier()).into_owned();
        if let Some(compression) = identifier.strip_prefix("data.tar") {
            let stream: Box<dyn Read + '_> = match compression {
                "" => Box::new(member),
                ".gz" => Box::new(flate2::read::GzDecoder::new(member)),
                ".xz" => Box::new(lzma_rust2::XzReader::new_mem_limit(member, true, MEMORY_KB)),
                ".zst" => Box::new(
                    ruzstd::decoding::StreamingDecoder::new_with_max_window_size(member, WINDOW)
                        .map_err(|error| broken(&error))?,
                ),
                other => return Err(broken(&format!("compression `{other}` is not known"))),
            };
            return tree.unpack(name, stream);
        }
    }
    Err(broken(&"no member `data.tar`"))
}

/// What a decompressor may take, KiB: packages are made with dictionaries of up to 64 MiB.
const MEMORY_KB: u32 = 256 * 1024;

/// The same for zstd, bytes.
const WINDOW: u64 = 128 << 20;

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::unpack::Limits;

    fn data() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o644);
        builder.append_data(&mut header, "./usr/file", b"hi".as_slice()).unwrap();
        builder.into_inner().unwrap()
    }

    fn package(directory: &TempDir, member: &str, content: &[u8]) -> PathBuf {
        let path = directory.path().join("x.deb");
        let mut builder = ar::Builder::new(fs::File::create(&path).unwrap());
        for (name, content) in [("debian-binary", b"2.0\n".as_slice()), (member, content)] {
            let header = ar::Header::new(name.into(), content.len() as u64);
            builder.append(&header, content).unwrap();
        }
        path
    }

    #[track_caller]
    fn unpacks(member: &str, content: &[u8]) {
        let directory = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(root.path(), Limits::SERVER);
        super::unpack(&package(&directory, member, content), &mut tree).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("usr/file")).unwrap(), "hi");
    }

    #[test]
    fn every_compression_debian_uses_is_read() {
        unpacks("data.tar", &data());
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&data()).unwrap();
        unpacks("data.tar.gz", &gzip.finish().unwrap());
        let options = lzma_rust2::XzOptions::default();
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        xz.write_all(&data()).unwrap();
        unpacks("data.tar.xz", &xz.finish().unwrap());
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        unpacks("data.tar.zst", &ruzstd::encoding::compress_to_vec(data().as_slice(), level));
    }

    #[test]
    fn what_is_no_package_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(root.path(), Limits::SERVER);
        let directory = tempfile::tempdir().unwrap();
        let cases: [(&str, &[u8], &str); 5] = [
            ("control.tar.xz", b"", "no member `data.tar`"),
            ("data.tar.lz9", b"", "compression `.lz9` is not known"),
            ("data.tar.xz", b"not xz at all", ""),
            ("data.tar.gz", b"not gzip at all", ""),
            ("data.tar.zst", b"not zstd at all", ""),
        ];
        for (member, content, expected) in cases {
            let error =
                super::unpack(&package(&directory, member, content), &mut tree).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{member}: {error}");
            assert!(error.to_string().contains(expected), "{member}: {error}");
        }
        let path = directory.path().join("y.deb");
        fs::write(&path, "<html>404</html>").unwrap();
        assert!(super::unpack(&path, &mut tree).is_err());
    }
}
