//! The format of rpm packages: a lead, a header of signatures, a header, and a compressed `cpio` archive of the files.
//! Scripts in the header are never run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use assay_decompress::decompressed;
use fs_err as fs;

use crate::entry::{ArchiveEntryKind, Entry};
use crate::error::Error;
use crate::unpack::{Selection, Tree};

const LEAD: u64 = 96;
const LEAD_MAGIC: [u8; 4] = [0xed, 0xab, 0xee, 0xdb];
const HEADER_MAGIC: [u8; 4] = [0x8e, 0xad, 0xe8, 0x01];

/// Maximum number of entries in a header: the limit of rpm itself.
const TAGS: u64 = 0xffff;

/// Longest header, bytes: ten times that of the largest package.
const HEADER: u64 = 64 << 20;

const COMPRESSOR: u32 = 1125;

/// Tags of the name, version, release and architecture, and of the epoch, which is a number.
const IDENTITY: [u32; 4] = [1000, 1001, 1002, 1022];
const EPOCH: u32 = 1003;

/// Longest name in the archive with its terminating zero, bytes.
const NAME: u64 = 4097;

/// Longest archive, bytes: the limit of a tree plus what is left out.
const PAYLOAD: u64 = 16 << 30;

/// Maximum number of names that wait for the content of their file.
const WAITING: usize = 10_000;

/// Directories that packages share and that no server opens.
const UNWANTED: [&str; 2] = ["usr/lib/.build-id", "usr/share/licenses"];

pub(super) fn unpack(package: &Path, tree: &mut Tree) -> Result<(), Error> {
    let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
    unpack_from(&name, io::BufReader::new(fs::File::open(package)?), tree)
}

pub(crate) fn unpack_from(
    name: &str,
    mut package: impl Read,
    tree: &mut Tree,
) -> Result<(), Error> {
    let broken = |error: io::Error| Error::malformed(format!("package `{name}`"), error);
    let end = compression(&mut package).map_err(broken)?;
    let stream = decompressed(end, Box::new(package)).map_err(broken)?;
    let unknown = || broken(io::Error::other("its compression is not known"));
    files(name, &mut *stream.ok_or_else(unknown)?, tree)
}

/// The name and the version recorded in a package, in the format of an index.
pub(super) fn identity(package: &Path) -> io::Result<(String, String)> {
    let header = main_header(&mut io::BufReader::new(fs::File::open(package)?))?;
    let texts = IDENTITY.map(|tag| header.text(tag).map(String::from_utf8_lossy));
    let [Some(name), Some(version), Some(release), Some(_)] = texts else {
        return Err(io::Error::other("it has no name or no version"));
    };
    let epoch = header.number(EPOCH).filter(|it| *it > 0);
    let epoch = epoch.map_or_else(String::new, |it| format!("{it}:"));
    Ok((name.into_owned(), format!("{epoch}{version}-{release}")))
}

fn main_header(package: &mut impl Read) -> io::Result<Header> {
    let lead = exactly(package, LEAD)?;
    if !lead.starts_with(&LEAD_MAGIC) {
        return Err(io::Error::other("it is not an rpm package"));
    }
    let signatures = header(package)?;
    exactly(package, signatures.length.next_multiple_of(8) - signatures.length)?;
    header(package)
}

/// Reads everything before the payload, and returns the file extension of its compression.
fn compression(package: &mut impl Read) -> io::Result<&'static str> {
    let header = main_header(package)?;
    Ok(match header.text(COMPRESSOR).unwrap_or(b"gzip") {
        b"gzip" => ".gz",
        b"xz" => ".xz",
        b"zstd" => ".zst",
        b"none" => "",
        _ => return Err(io::Error::other("its compression is not known")),
    })
}

struct Header {
    entries: Vec<u8>,
    values: Vec<u8>,
    length: u64,
}

impl Header {
    /// A text ends with a zero.
    fn text(&self, tag: u32) -> Option<&[u8]> {
        self.value(tag)?.split(|byte| *byte == 0).next()
    }

    fn number(&self, tag: u32) -> Option<u32> {
        big_endian(self.value(tag)?, 0)
    }

    fn value(&self, tag: u32) -> Option<&[u8]> {
        let mut entries = self.entries.chunks_exact(16);
        let entry = entries.find(|entry| big_endian(entry, 0) == Some(tag))?;
        self.values.get(usize::try_from(big_endian(entry, 8)?).ok()?..)
    }
}

fn big_endian(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes))
}

fn header(package: &mut impl Read) -> io::Result<Header> {
    let start = exactly(package, 16)?;
    let number = |at: usize| {
        let bytes = start.get(at..at + 4).and_then(|it| <[u8; 4]>::try_from(it).ok());
        bytes.map_or(0, |it| u64::from(u32::from_be_bytes(it)))
    };
    let (tags, length) = (number(8), number(12));
    if !start.starts_with(&HEADER_MAGIC) || tags > TAGS || length > HEADER {
        return Err(io::Error::other("its header is not one"));
    }
    let entries = exactly(package, tags * 16)?;
    Ok(Header { entries, values: exactly(package, length)?, length })
}

/// Allocates no memory before the bytes have arrived.
fn exactly(stream: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.by_ref().take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

struct Head {
    inode: u32,
    mode: u32,
    links: u32,
    size: u64,
    path: PathBuf,
}

/// Unpacks a `cpio` archive of the kind `newc`.
fn files(package: &str, stream: &mut dyn Read, tree: &mut Tree) -> Result<(), Error> {
    let broken = |error: io::Error| Error::malformed(format!("package `{package}`"), error);
    let all = Selection::default();
    // Names of a file before the last one, which has the content.
    let mut waiting: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
    let mut number = 0;
    let mut stream = stream.take(PAYLOAD);
    while let Some(head) = head(&mut stream).map_err(broken)? {
        let Head { inode, mode, links, size, path } = head;
        let mut content = (&mut stream).take(size);
        let kind = match mode & 0o170_000 {
            0o040_000 => ArchiveEntryKind::Directory,
            0o100_000 => ArchiveEntryKind::File,
            0o120_000 => {
                let target = exactly(&mut content, size.min(NAME)).map_err(broken)?;
                ArchiveEntryKind::Symlink(OsString::from_vec(target).into())
            }
            _ => ArchiveEntryKind::Special,
        };
        let is_wanted = !UNWANTED.iter().any(|unwanted| path.starts_with(unwanted));
        let is_linked = links > 1 && matches!(kind, ArchiveEntryKind::File);
        if is_wanted && is_linked && size == 0 {
            number += 1;
            if number > WAITING {
                return Err(broken(io::Error::other("too many links")));
            }
            waiting.entry(inode).or_default().push(path);
        } else if is_wanted {
            // Helpers of plugins have the set-user-id bit in packages. No file of the tree has it.
            let entry = Entry { path, kind, mode: mode & 0o777 };
            tree.add(package, &all, &entry, &mut content)?;
            for path in is_linked.then(|| waiting.remove(&inode)).into_iter().flatten().flatten() {
                let kind = ArchiveEntryKind::HardLink(entry.path.clone());
                let link = Entry { path, kind, mode: entry.mode };
                tree.add(package, &all, &link, &mut io::empty())?;
            }
        }
        io::copy(&mut content, &mut io::sink()).map_err(broken)?;
        exactly(&mut stream, size.next_multiple_of(4) - size).map_err(broken)?;
    }
    for path in waiting.into_values().flatten() {
        let entry = Entry { path, kind: ArchiveEntryKind::File, mode: 0o644 };
        tree.add(package, &all, &entry, &mut io::empty())?;
    }
    Ok(())
}

/// `None` at the archive's end.
fn head(stream: &mut dyn Read) -> io::Result<Option<Head>> {
    let mut stream = stream;
    let bytes = exactly(&mut stream, 110)?;
    let text = std::str::from_utf8(&bytes).map_err(io::Error::other)?;
    if !text.starts_with("070701") && !text.starts_with("070702") {
        return Err(io::Error::other("its archive is not of a known kind"));
    }
    let field = |number: usize| {
        let at = 6 + 8 * number;
        let digits = text.get(at..at + 8).unwrap_or_default();
        u32::from_str_radix(digits, 16).map_err(io::Error::other)
    };
    let length = u64::from(field(11)?);
    if !(1..=NAME).contains(&length) {
        return Err(io::Error::other("a name is empty or too long"));
    }
    let mut name = exactly(&mut stream, length)?;
    exactly(&mut stream, (110 + length).next_multiple_of(4) - (110 + length))?;
    if name.pop() != Some(0) || name.contains(&0) {
        return Err(io::Error::other("a name does not end"));
    }
    if name == b"TRAILER!!!" {
        return Ok(None);
    }
    let path = PathBuf::from(OsString::from_vec(name));
    // Packages name files from `.`, some from the root.
    let path = path.strip_prefix("./").or_else(|_| path.strip_prefix("/")).unwrap_or(&path);
    let (path, size) = (path.to_owned(), u64::from(field(6)?));
    Ok(Some(Head { inode: field(0)?, mode: field(1)?, links: field(4)?, size, path }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::Limits;

    fn file(name: &str, mode: u32, inode: u32, links: u32, content: &[u8]) -> Vec<u8> {
        let fields = [inode, mode, 0, 0, links, 0, content.len() as u32, 0, 0, 0, 0];
        let length = name.len() as u32 + 1;
        let numbers = fields.into_iter().chain([length, 0]).map(|it| format!("{it:08x}"));
        let mut bytes =
            ("070701".to_owned() + &numbers.collect::<String>() + name + "\0").into_bytes();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn trailer() -> Vec<u8> {
        file("TRAILER!!!", 0, 0, 1, b"")
    }

    fn header(tags: &[(u32, &str)]) -> Vec<u8> {
        let (mut entries, mut values) = (Vec::new(), Vec::new());
        for (tag, text) in tags {
            for number in [*tag, 6, values.len() as u32, 1] {
                entries.extend(number.to_be_bytes());
            }
            values.extend(text.bytes().chain([0]));
        }
        let counts = [0, tags.len() as u32, values.len() as u32].map(u32::to_be_bytes).concat();
        [HEADER_MAGIC.to_vec(), counts, entries, values].concat()
    }

    fn package(compressor: &str, payload: &[u8]) -> Vec<u8> {
        let mut bytes = LEAD_MAGIC.to_vec();
        bytes.resize(96, 0);
        bytes.extend(header(&[(1000, "abc")]));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(header(&[(1000, "name"), (COMPRESSOR, compressor)]));
        bytes.extend_from_slice(payload);
        bytes
    }

    fn unpack(bytes: &[u8]) -> Result<tempfile::TempDir, Error> {
        let root = tempfile::tempdir().unwrap();
        unpack_from("x.rpm", bytes, &mut Tree::new(root.path(), Limits::SERVER))?;
        Ok(root)
    }

    #[test]
    fn files_links_and_programs_are_unpacked() {
        let payload = [
            file("./usr/libexec", 0o040_755, 1, 2, b""),
            file("./usr/libexec/mariadbd", 0o100_755, 2, 1, b"#!"),
            file("./usr/lib64/helper", 0o104_755, 3, 1, b"x"),
            file("./usr/bin/mysqld", 0o120_777, 4, 1, b"/usr/libexec/mariadbd"),
            file("./usr/share/one", 0o100_644, 5, 2, b""),
            file("./usr/share/two", 0o100_644, 5, 2, b"content"),
            file("./usr/lib/.build-id/ab", 0o120_777, 6, 1, b"../../../x"),
            trailer(),
        ]
        .concat();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(payload.as_slice(), level);
        for (compressor, bytes) in [("none", payload.as_slice()), ("zstd", &zstd)] {
            let root = unpack(&package(compressor, bytes)).unwrap();
            let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
            assert_eq!(read("usr/bin/mysqld"), "#!");
            assert_eq!(
                (read("usr/share/one"), read("usr/share/two")),
                ("content".into(), "content".into())
            );
            let mode = fs::metadata(root.path().join("usr/lib64/helper")).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o7777, 0o555);
            assert!(!root.path().join("usr/lib").exists());
        }
    }

    #[test]
    fn entries_that_lead_out_are_refused() {
        for (name, mode, content) in [
            ("../evil", 0o100_644, ""),
            ("./usr/../../evil", 0o100_644, ""),
            ("./link", 0o120_777, "../../evil"),
            ("./device", 0o020_644, ""),
        ] {
            let payload = [file(name, mode, 1, 1, content.as_bytes()), trailer()].concat();
            let error = unpack(&package("none", &payload)).unwrap_err();
            assert!(matches!(error, Error::UnsafeEntry { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn what_is_no_package_is_an_error() {
        let payload = [file("./a", 0o100_644, 1, 1, b"abc"), trailer()].concat();
        let whole = package("none", &payload);
        for length in 0..whole.len() {
            let error = unpack(&whole[..length]).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{length}: {error}");
        }
        let mut lies = package("none", b"");
        let at = 96 + 8;
        lies[at..at + 8].fill(0xff);
        for wrong in [lies, package("lzma7", &payload), package("none", &b"070707".repeat(30))] {
            assert!(matches!(unpack(&wrong).unwrap_err(), Error::Malformed { .. }));
        }
    }
}
