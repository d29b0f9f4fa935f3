//! Entries of archives of any format, and the entries of a tar stream that describe the next one: long names and PAX
//! records.
//!
//! These are read into memory, so their length is limited: a few compressed megabytes can hold a name of many
//! gigabytes.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use tar::{EntryType, PaxExtensions};

#[derive(Debug)]
pub(crate) struct ArchiveEntry {
    pub(crate) path: PathBuf,
    pub(crate) kind: ArchiveEntryKind,
    /// Unix permissions; 0 if the archive has none.
    pub(crate) mode: u32,
}

/// Links have their targets as stored.
#[derive(Debug)]
pub(crate) enum ArchiveEntryKind {
    File,
    Directory,
    Symlink(PathBuf),
    HardLink(PathBuf),
    /// Devices, pipes and everything else.
    Special,
}

/// Longest name or link target with its terminating zero, bytes.
const NAME: u64 = 4097;

/// Longest list of PAX records (path, link target, times, attributes), bytes.
const RECORDS: u64 = 64 << 10;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    records: Option<Vec<u8>>,
}

impl Extensions {
    /// Reads a raw entry's properties of the next one. Returns false for an ordinary entry.
    pub(crate) fn take(&mut self, stored: &mut tar::Entry<'_, impl Read>) -> io::Result<bool> {
        let (place, limit) = match stored.header().entry_type() {
            EntryType::GNULongName => (&mut self.path, NAME),
            EntryType::GNULongLink => (&mut self.link, NAME),
            EntryType::XHeader => (&mut self.records, RECORDS),
            // Applies to the whole archive, such as the commit it was made from.
            EntryType::XGlobalHeader => return Ok(true),
            _ => return Ok(false),
        };
        if stored.header().entry_size()? > limit {
            return Err(io::Error::other(format!("a name or attribute longer than {limit} bytes")));
        }
        let mut content = Vec::new();
        stored.read_to_end(&mut content)?;
        match place.replace(content) {
            None => Ok(true),
            Some(_) => Err(io::Error::other("two names or lists of attributes for one entry")),
        }
    }

    pub(crate) fn entry(self, stored: &tar::Entry<'_, impl Read>) -> io::Result<ArchiveEntry> {
        let header = stored.header();
        let records = PaxRecords::read(self.records.as_deref().unwrap_or_default())?;
        if records.length.is_some_and(|length| header.entry_size().ok() != Some(length)) {
            return Err(io::Error::other("an entry with two lengths"));
        }
        let path = self.path.map(|name| until_zero(&name));
        let path = path.or(records.path).unwrap_or_else(|| stored.path_bytes().into_owned());
        let in_header = || stored.link_name_bytes().unwrap_or_default().into_owned();
        let link = self.link.map(|name| until_zero(&name)).or(records.link);
        let link = || as_path(&link.unwrap_or_else(in_header));
        let kind = match header.entry_type() {
            EntryType::Regular => ArchiveEntryKind::File,
            EntryType::Directory => ArchiveEntryKind::Directory,
            EntryType::Symlink => ArchiveEntryKind::Symlink(link()),
            EntryType::Link => ArchiveEntryKind::HardLink(link()),
            _ => ArchiveEntryKind::Special,
        };
        Ok(ArchiveEntry { path: as_path(&path), kind, mode: header.mode()? })
    }

    pub(crate) fn none_is_left(&self) -> io::Result<()> {
        if *self == Self::default() {
            return Ok(());
        }
        Err(io::Error::other("it ends before an announced entry"))
    }
}

#[derive(Default)]
struct PaxRecords {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    length: Option<u64>,
}

impl PaxRecords {
    fn read(text: &[u8]) -> io::Result<Self> {
        let mut records = Self::default();
        for record in PaxExtensions::new(text) {
            let record = record?;
            let value = || record.value_bytes().to_owned();
            match record.key_bytes() {
                b"path" => records.path = Some(value()),
                b"linkpath" => records.link = Some(value()),
                b"size" => {
                    let length = record.value().ok().and_then(|value| value.parse().ok());
                    records.length = Some(length.ok_or_else(|| io::Error::other("no length"))?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(io::Error::other("a sparse file, which is not supported"));
                }
                _ => {}
            }
        }
        Ok(records)
    }
}

fn until_zero(name: &[u8]) -> Vec<u8> {
    name.split(|&byte| byte == 0).next().unwrap_or_default().to_owned()
}

fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;

    use tar::Header;

    use super::*;
    use crate::unpack::{UnpackLimits, UnpackTree};

    fn header(kind: EntryType, name: &str, length: u64) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(length);
        header.set_path(name).unwrap();
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    fn with_content(kind: EntryType, content: &[u8]) -> Vec<u8> {
        let mut bytes = header(kind, "extension", content.len() as u64);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn record(key: &str, value: &str) -> Vec<u8> {
        let rest = format!(" {key}={value}\n");
        let length = (1..).find(|it| it - it.to_string().len() == rest.len()).unwrap();
        format!("{length}{rest}").into_bytes()
    }

    struct CountingReader<'a, R>(R, &'a Cell<u64>);

    impl<R: Read> Read for CountingReader<'_, R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            self.1.set(self.1.get() + read as u64);
            Ok(read)
        }
    }

    fn unpack(stream: impl Read) -> Result<tempfile::TempDir, crate::ProvisionError> {
        let root = tempfile::tempdir().unwrap();
        UnpackTree::new(root.path(), UnpackLimits::SERVER).unpack("hand-made", stream)?;
        Ok(root)
    }

    #[test]
    fn a_name_or_record_of_gigabytes_is_refused_before_it_is_read() {
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
            let head = header(kind, "extension", 1 << 29);
            let read = Cell::new(0);
            let stream = head.as_slice().chain(io::repeat(b'a').take(1 << 29));
            let error = unpack(CountingReader(stream, &read)).unwrap_err();
            assert!(error.to_string().contains("longer than"), "{error}");
            assert!(read.get() < 1 << 20, "{} bytes were read", read.get());
        }
    }

    #[test]
    fn a_sparse_file_of_endless_parts_is_refused_before_it_is_read() {
        let mut sparse = Header::new_gnu();
        sparse.set_entry_type(EntryType::GNUSparse);
        sparse.set_path("x").unwrap();
        sparse.set_mode(0o644);
        sparse.as_gnu_mut().unwrap().set_is_extended(true);
        sparse.set_size(0);
        sparse.set_cksum();
        let mut part = [0_u8; 512];
        part[504] = 1;
        let read = Cell::new(0);
        let endless = std::iter::repeat_n(part, 1 << 16).flatten().collect::<Vec<_>>();
        let stream = sparse.as_bytes().chain(endless.as_slice());
        let error = unpack(CountingReader(stream, &read)).unwrap_err();
        assert!(error.to_string().contains("special file"), "{error}");
        assert!(read.get() < 1 << 16, "{} bytes were read", read.get());
    }

    #[test]
    fn long_names_and_targets_are_those_of_the_next_entry() {
        let long = format!("{}/name", "directory".repeat(20));
        let file = header(EntryType::Regular, "short", 0);
        let gnu =
            [with_content(EntryType::GNULongName, format!("{long}\0").as_bytes()), file.clone()];
        assert!(unpack(gnu.concat().as_slice()).unwrap().path().join(&long).is_file());
        let records = [record("mtime", "1.5"), record("path", &long), record("size", "0")].concat();
        let pax = [
            with_content(EntryType::XHeader, &records),
            file.clone(),
            header(EntryType::Regular, "second", 0),
        ];
        let root = unpack(pax.concat().as_slice()).unwrap();
        assert!(root.path().join(&long).is_file() && root.path().join("second").is_file());
        for link in [
            with_content(EntryType::GNULongLink, format!("{long}\0").as_bytes()),
            with_content(EntryType::XHeader, &record("linkpath", &long)),
        ] {
            let link = [link, header(EntryType::Symlink, "link", 0)].concat();
            let root = unpack(link.as_slice()).unwrap();
            assert_eq!(std::fs::read_link(root.path().join("link")).unwrap(), Path::new(&long));
        }
    }

    #[test]
    fn extensions_that_contradict_or_end_the_archive_are_refused() {
        let name = with_content(EntryType::GNULongName, b"name\0");
        let file = header(EntryType::Regular, "short", 0);
        let with =
            |records: &[u8]| [with_content(EntryType::XHeader, records), file.clone()].concat();
        for (stream, why) in [
            ([name.clone(), name.clone(), file.clone()].concat(), "two names"),
            (name, "ends before"),
            (with(&record("size", "7")), "two lengths"),
            (with(&record("size", "x")), "no length"),
            (with(&record("GNU.sparse.major", "1")), "sparse"),
            (with(b"no records"), ""),
        ] {
            let error = unpack(stream.as_slice()).unwrap_err();
            assert!(error.to_string().contains(why), "{error} instead of: {why}");
        }
        let out = with(&record("path", "../evil"));
        assert!(unpack(out.as_slice()).unwrap_err().to_string().contains("leads out"));
    }
}
