//! Debian's package format: an `ar` archive whose member `data.tar` holds the files. Its scripts are never run.

use std::io::{self, Read};
use std::path::Path;

use assay_decompress::decompressed;
use fs_err as fs;

use crate::error::{ProvisionError, Result};
use crate::unpack::UnpackTree;

pub(crate) fn unpack(package: &Path, tree: &mut UnpackTree) -> Result<()> {
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    unpack_from(&name, fs::File::open(package)?, tree)
}

pub(crate) fn unpack_from(name: &str, mut package: impl Read, tree: &mut UnpackTree) -> Result<()> {
    let broken = |detail: &dyn ToString| {
        ProvisionError::malformed(format!("package `{name}`"), detail.to_string())
    };
    let (end, length) = find_data(&mut package).map_err(|error| broken(&error))?;
    let stream =
        decompressed(&end, Box::new(package.take(length))).map_err(|error| broken(&error))?;
    let stream = stream.ok_or_else(|| broken(&format!("compression `{end}` is not known")))?;
    tree.unpack(name, stream)
}

const MAGIC: &[u8] = b"!<arch>\n";

/// Seeks to the content of the member `data.tar*`, and returns the end of its name and its length. All members of a
/// package have short names: the tables that `ar` has for longer ones are never read.
fn find_data(package: &mut impl Read) -> io::Result<(String, u64)> {
    let mut magic = [0; MAGIC.len()];
    package.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(io::Error::other("it is not an `ar` archive"));
    }
    loop {
        let mut header = [0; 60];
        package.read_exact(&mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("no member `data.tar`"),
            _ => error,
        })?;
        let text = std::str::from_utf8(&header).map_err(io::Error::other)?;
        let length = text.get(48..58).and_then(|field| field.trim().parse::<u64>().ok());
        let (Some(name), Some(length), true) = (text.get(..16), length, text.ends_with("`\n"))
        else {
            return Err(io::Error::other("a member has no header"));
        };
        if let Some(end) = name.trim_end().trim_end_matches('/').strip_prefix("data.tar") {
            return Ok((end.to_owned(), length));
        }
        io::copy(&mut package.by_ref().take(length + length % 2), &mut io::sink())?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::unpack::UnpackLimits;

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
        let mut tree = UnpackTree::new(root.path(), UnpackLimits::SERVER);
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
        let mut tree = UnpackTree::new(root.path(), UnpackLimits::SERVER);
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
            assert!(matches!(error, ProvisionError::Malformed { .. }), "{member}: {error}");
            assert!(error.to_string().contains(expected), "{member}: {error}");
        }
        let path = directory.path().join("y.deb");
        fs::write(&path, "<html>404</html>").unwrap();
        assert!(super::unpack(&path, &mut tree).is_err());
    }

    #[test]
    fn headers_that_lie_are_errors() {
        let root = tempfile::tempdir().unwrap();
        let member = |name: &str, length: &str| {
            format!("!<arch>\n{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, 0, 644)
        };
        // A table of long names of 10 GB, an index into a missing one, invalid lengths.
        for (name, length) in
            [("//", "9999999999"), ("/7", "4"), ("data.tar", "-1"), ("#1/9999999999", "9999999999")]
        {
            let bytes = member(name, length);
            let mut tree = UnpackTree::new(root.path(), UnpackLimits::SERVER);
            let error = unpack_from("x.deb", bytes.as_bytes(), &mut tree).unwrap_err();
            assert!(matches!(error, ProvisionError::Malformed { .. }), "{name}: {error}");
        }
    }
}
