//! The zip file of a pack, byte by byte. Only the compressed members may differ between two packs with the same list;
//! every other byte follows from them, so no byte escapes the digest.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc, Decompress, FlushDecompress, Status};

use crate::PackError;

/// Version 2.0 of the format: deflated members.
const VERSION: u16 = 20;

/// The same version, on Unix.
const MADE_BY: u16 = 3 << 8 | VERSION;

const DEFLATED: u16 = 8;

/// 1 January 1980, the first date that a zip file can have.
const DATE: u16 = 1 << 5 | 1;

/// A regular file that everyone may read and its owner may write.
const ATTRIBUTES: u32 = 0o100_644 << 16;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// Length of a member's local header without its name, bytes.
const LOCAL_BYTES: usize = 30;

pub(crate) struct ZipMember<'a> {
    name: &'a str,
    crc: u32,
    /// Compressed size.
    packed: u32,
    size: u32,
    /// Offset.
    start: u32,
}

impl ZipMember<'_> {
    /// The common part of both headers of a member.
    fn common(&self) -> Vec<u8> {
        let Self { name, crc, packed, size, .. } = self;
        let (flags, time) = (0_u16, 0_u16);
        let words = [VERSION, flags, DEFLATED, time, DATE];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for number in [crc, packed, size] {
            bytes.extend(number.to_le_bytes());
        }
        let (length, extra) = (name.len() as u16, 0_u16);
        bytes.extend(length.to_le_bytes());
        bytes.extend(extra.to_le_bytes());
        bytes
    }

    fn local_header(&self) -> Vec<u8> {
        [&LOCAL.to_le_bytes(), self.common().as_slice(), self.name.as_bytes()].concat()
    }

    fn central_header(&self) -> Vec<u8> {
        let (comment, disk, internal) = (0_u16, 0_u16, 0_u16);
        let mut bytes = CENTRAL.to_le_bytes().to_vec();
        bytes.extend(MADE_BY.to_le_bytes());
        bytes.extend(self.common());
        for word in [comment, disk, internal] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(ATTRIBUTES.to_le_bytes());
        bytes.extend(self.start.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes
    }
}

/// The central directory, after the members.
fn directory(members: &[ZipMember<'_>], start: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = members.iter().flat_map(ZipMember::central_header).collect();
    let size = bytes.len() as u32;
    let (disk, count, comment) = (0_u16, members.len() as u16, 0_u16);
    bytes.extend(END.to_le_bytes());
    for word in [disk, disk, count, count] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(size.to_le_bytes());
    bytes.extend((start as u32).to_le_bytes());
    bytes.extend(comment.to_le_bytes());
    bytes
}

pub fn written(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut listed = Vec::new();
    for (name, content) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(content).and_then(|()| encoder.finish());
        let packed = packed.expect("writing to a vector cannot fail");
        let mut crc = Crc::new();
        crc.update(content);
        let member = ZipMember {
            name,
            crc: crc.sum(),
            packed: packed.len() as u32,
            size: content.len() as u32,
            start: bytes.len() as u32,
        };
        bytes.extend(member.local_header());
        bytes.extend(packed);
        listed.push(member);
    }
    let start = bytes.len();
    bytes.extend(directory(&listed, start));
    bytes
}

pub(crate) struct PackReader<'a> {
    bytes: &'a [u8],
    at: usize,
    read: Vec<ZipMember<'a>>,
}

impl<'a> PackReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, read: Vec::new() }
    }

    /// The content of the next member, which must have this name and at most `most` bytes.
    pub(crate) fn member(&mut self, name: &'static str, most: u64) -> Result<Vec<u8>, PackError> {
        let header = self.bytes.get(self.at..self.at + LOCAL_BYTES).ok_or(PackError::Cut)?;
        let number = |at: usize| {
            let bytes = header.get(at..at + 4).and_then(|it| it.try_into().ok());
            bytes.map_or(0, u32::from_le_bytes)
        };
        if number(0) != LOCAL {
            return Err(PackError::Missing(name));
        }
        let (crc, packed, size) = (number(14), number(18), number(22));
        let start = self.at as u32;
        let member = ZipMember { name, crc, packed, size, start };
        let expected = member.local_header();
        let begin = self.at + expected.len();
        if self.bytes.get(self.at..begin) != Some(&expected) {
            let length = usize::from(u16::from_le_bytes([header[26], header[27]]));
            let found = self.bytes.get(self.at + LOCAL_BYTES..).unwrap_or_default();
            let found = String::from_utf8_lossy(found.get(..length).unwrap_or_default());
            if found != name {
                return Err(PackError::Member { expected: name, found: found.into_owned() });
            }
            let what = "the header of a member is not as `assay pack` writes it";
            return Err(PackError::Uncovered(what));
        }
        if u64::from(size) > most {
            return Err(PackError::Longer(name));
        }
        let end = begin.saturating_add(packed as usize);
        let content = inflated(self.bytes.get(begin..end).ok_or(PackError::Cut)?, size as usize);
        let content = content.ok_or(PackError::Unreadable(name))?;
        let mut sum = Crc::new();
        sum.update(&content);
        if sum.sum() != crc {
            return Err(PackError::Unreadable(name));
        }
        self.at = end;
        self.read.push(member);
        Ok(content)
    }

    pub(crate) fn end(self) -> Result<(), PackError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest == directory(&self.read, self.at) {
            return Ok(());
        }
        if rest.starts_with(&LOCAL.to_le_bytes()) {
            return Err(PackError::More);
        }
        Err(PackError::Uncovered("what follows its members is not as `assay pack` writes it"))
    }
}

/// The content of a member of exactly this size. Its compressed bytes must end with it.
fn inflated(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    // One byte more reveals a content that is too long.
    let mut content = vec![0; size + 1];
    let mut inflate = Decompress::new(false);
    let mut done = || {
        let (read, made) = (inflate.total_in() as usize, inflate.total_out() as usize);
        let (input, output) = (packed.get(read..)?, content.get_mut(made..)?);
        let status = inflate.decompress(input, output, FlushDecompress::Finish).ok()?;
        let has_moved = inflate.total_in() as usize > read || inflate.total_out() as usize > made;
        Some((status, has_moved))
    };
    loop {
        match done()? {
            (Status::StreamEnd, _) => break,
            (_, true) => {}
            (_, false) => return None,
        }
    }
    let is_whole = inflate.total_in() == packed.len() as u64 && inflate.total_out() == size as u64;
    content.truncate(size);
    is_whole.then_some(content)
}
