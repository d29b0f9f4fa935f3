//! Reads packs from bytes that anyone may have made.

use std::io::{Cursor, Read as _};

use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use crate::manifest::sha256;
use crate::{Error, MANIFEST, MEMBERS, Manifest, Pack};

/// Size of a manifest at most, bytes. Those that assay writes have a hundredth of it.
const MANIFEST_MAX: u64 = 1 << 16;

type Zip<'a> = ZipArchive<Cursor<&'a [u8]>>;

impl Pack {
    /// The pack with these bytes. Its members may differ from the manifest: [`Pack::altered`] names them.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut zip = ZipArchive::new(Cursor::new(bytes))?;
        check_layout(bytes, &mut zip)?;
        let text = unpack(&mut zip, 0, MANIFEST, MANIFEST_MAX)?;
        let manifest = Manifest::read(&text)?;
        let mut members = Vec::new();
        for (at, (name, listed)) in MEMBERS.into_iter().zip(&manifest.members).enumerate() {
            members.push((name, unpack(&mut zip, at + 1, name, listed.bytes)?));
        }
        Ok(Self { manifest, digest: sha256(&text), members })
    }
}

/// Size of the record at the end of a zip file that has no comment.
const END_BYTES: usize = 22;

/// Checks that the file is nothing but its members, one after the other, and their directory. Otherwise, other programs
/// could find other members in it.
fn check_layout(bytes: &[u8], zip: &mut Zip<'_>) -> Result<(), Error> {
    let ambiguous = Err(Error::Ambiguous("it has more in it than its members"));
    let end = bytes.len().checked_sub(END_BYTES).and_then(|at| bytes.get(at..));
    let Some([b'P', b'K', 5, 6, _, _, _, _, _, _, low, high, ..]) = end else { return ambiguous };
    let count = usize::from(u16::from_le_bytes([*low, *high]));
    if count != MEMBERS.len() + 1 {
        return Err(Error::Count(count));
    }
    // Of members with one name, the archive keeps only the last.
    if zip.len() != count || zip.offset() != 0 || !zip.comment().is_empty() {
        return ambiguous;
    }
    let mut next = 0;
    for at in 0..count {
        let file = zip.by_index_raw(at)?;
        let starts = file.data_start().unwrap_or(u64::MAX);
        if file.header_start() != next || file.encrypted() || !file.is_file() {
            return ambiguous;
        }
        if !is_told_twice(bytes, &file) {
            return Err(Error::Ambiguous(
                "a member is not as the directory of the zip file has it",
            ));
        }
        next = starts.saturating_add(file.compressed_size());
    }
    if next == zip.central_directory_start() { Ok(()) } else { ambiguous }
}

/// Whether what stands before a member says the same of it as the directory at the end of the zip file, which programs
/// that read from the beginning do not see.
fn is_told_twice(bytes: &[u8], file: &ZipFile<'_, Cursor<&[u8]>>) -> bool {
    let start = usize::try_from(file.header_start()).unwrap_or(usize::MAX);
    let Some(header) = bytes.get(start..).and_then(|it| it.first_chunk::<LOCAL_BYTES>()) else {
        return false;
    };
    let [b'P', b'K', 3, 4, _, _, flags, _, m0, m1, _, _, _, _, rest @ ..] = *header else {
        return false;
    };
    let [c0, c1, c2, c3, p0, p1, p2, p3, s0, s1, s2, s3, n0, n1, _, _] = rest;
    let method = match file.compression() {
        CompressionMethod::Stored => 0,
        CompressionMethod::Deflated => 8,
        _ => return false,
    };
    let name = bytes.get(start + LOCAL_BYTES..).unwrap_or_default();
    let name = name.get(..usize::from(u16::from_le_bytes([n0, n1])));
    // Sizes that stand after the member may be any.
    flags & HAS_DESCRIPTOR == 0
        && u16::from_le_bytes([m0, m1]) == method
        && u32::from_le_bytes([c0, c1, c2, c3]) == file.crc32()
        && u64::from(u32::from_le_bytes([p0, p1, p2, p3])) == file.compressed_size()
        && u64::from(u32::from_le_bytes([s0, s1, s2, s3])) == file.size()
        && name == Some(file.name_raw())
}

/// Size of what stands before a member, without its name.
const LOCAL_BYTES: usize = 30;

/// The flag of a member whose sizes stand after it.
const HAS_DESCRIPTOR: u8 = 1 << 3;

/// Unpacks a member of at most this many bytes.
fn unpack(zip: &mut Zip<'_>, at: usize, name: &'static str, most: u64) -> Result<Vec<u8>, Error> {
    let file = zip.by_index(at)?;
    if file.name_raw() != name.as_bytes() {
        let found = String::from_utf8_lossy(file.name_raw()).into_owned();
        return Err(Error::Member { expected: name, found });
    }
    let mut content = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| Error::Unreadable(name, error))?;
    if content.len() as u64 > most { Err(Error::Longer(name)) } else { Ok(content) }
}
