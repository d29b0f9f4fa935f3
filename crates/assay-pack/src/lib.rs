//! The container of a pack: one file that holds a study, its reports and their digests. Pure: bytes in, bytes out.
//!
//! A pack is a zip file. Its first member is the manifest, whose SHA-256 is the digest of the pack.

mod error;
mod manifest;
mod read;
mod write;

// Only its features matter: they select the compressor of `zip`.
use flate2 as _;

pub use error::Error;
pub use manifest::{FORMAT_VERSION, Listed, Manifest};

/// The member that holds the ledger.
pub const LEDGER: &str = "ledger.db";

/// The member that lists the others.
pub const MANIFEST: &str = "manifest.json";

/// The members of a pack in their order, without the manifest.
pub const MEMBERS: [&str; 6] =
    [LEDGER, "report.json", "report.csv", "report.html", "report.md", "report.txt"];

/// Size of all members together, bytes. A study of twelve systems and a hundred tests takes less than half of it.
pub const SIZE_MAX: u64 = 1 << 28;

/// A pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// The list of its members.
    pub manifest: Manifest,
    /// SHA-256 of the manifest's text, lower-case hex: the digest of the pack.
    pub digest: String,
    /// The members in the order of [`MEMBERS`]: names and contents.
    members: Vec<(&'static str, Vec<u8>)>,
}

impl Pack {
    /// The content of a member; empty if the pack has no such member.
    #[must_use]
    pub fn member(&self, name: &str) -> &[u8] {
        let member = self.members.iter().find(|(it, _)| *it == name);
        member.map_or(&[], |(_, content)| content)
    }

    /// The names of members whose content is not as the manifest lists it.
    #[must_use]
    pub fn altered(&self) -> Vec<&'static str> {
        let listed = self.members.iter().zip(&self.manifest.members);
        listed
            .filter(|((name, it), listed)| Listed::of(name, it) != **listed)
            .map(|((name, _), _)| *name)
            .collect()
    }
}

/// Whether bytes begin as a zip file does.
#[must_use]
pub fn is_pack(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn small() -> Vec<u8> {
        let contents = MEMBERS.map(|name| format!("content of {name}").into_bytes());
        Pack::new("study", "0.1.0", contents).unwrap().bytes().unwrap()
    }

    /// A zip file with these members.
    fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in members {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn a_pack_is_read_as_it_was_written() {
        let bytes = small();
        assert!(is_pack(&bytes));
        assert_eq!(bytes, small(), "the same members make the same bytes");
        let pack = Pack::read(&bytes).unwrap();
        assert_eq!(pack.manifest.study, "study");
        assert_eq!(pack.member("report.csv"), b"content of report.csv");
        assert_eq!(pack.altered(), Vec::<&str>::new());
        assert_eq!(pack.digest.len(), 64);
        assert_eq!(pack.bytes().unwrap(), bytes);
    }

    /// Flips every byte. A change is refused or found, or leaves every member as it was, as in a time stamp of the zip.
    #[test]
    fn no_changed_byte_changes_a_member_unnoticed() {
        let bytes = small();
        let pack = Pack::read(&bytes).unwrap();
        let mut noticed = 0;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            match Pack::read(&changed) {
                Ok(read) if read == pack => {}
                Ok(read) => {
                    assert!(read.digest != pack.digest || !read.altered().is_empty(), "byte {at}");
                    noticed += 1;
                }
                Err(_) => noticed += 1,
            }
        }
        assert!(noticed > bytes.len() / 2, "{noticed} of {}", bytes.len());
    }

    #[test]
    fn strange_archives_are_refused() {
        let manifest = Pack::read(&small()).unwrap().manifest.text();
        let rest: Vec<(&str, &[u8])> =
            MEMBERS.iter().map(|name| (*name, b"x".as_slice())).collect();
        let with = |manifest: &str, rest: &[(&str, &[u8])]| {
            let first = [(MANIFEST, manifest.as_bytes())];
            Pack::read(&zipped(&[&first[..], rest].concat())).unwrap_err().to_string()
        };
        let told = with(&manifest, &rest[1..]);
        assert!(told.contains("members"), "{told}");
        let more = [&rest[..], &[("../../etc/passwd", b"x".as_slice())]].concat();
        assert!(with(&manifest, &more).contains("members"));
        let mut swapped = rest.clone();
        swapped.swap(0, 1);
        assert!(
            with(&manifest, &swapped).contains("`report.json`"),
            "{}",
            with(&manifest, &swapped)
        );
        let long = manifest.replace("\"bytes\": 20", "\"bytes\": 9999999999");
        assert_ne!(long, manifest);
        assert!(with(&long, &rest).contains("larger than"), "{}", with(&long, &rest));
        assert!(
            with(&manifest.replace("\"version\": 1", "\"version\": 2"), &rest).contains("newer")
        );
        assert!(with(&manifest.replace(": ", ":"), &rest).contains("manifest"));
        assert!(with("", &rest).contains("manifest"));
        assert!(Pack::read(b"").is_err() && Pack::read(b"SQLite format 3\0").is_err());
        // A member that is longer than listed is not unpacked to its end.
        let bomb = vec![0; 10 << 20];
        let mut long = rest.clone();
        long[0].1 = &bomb;
        assert!(with(&manifest, &long).contains("longer than"));
    }

    /// Readers of zip files disagree about two members of one name, and about bytes between members.
    #[test]
    fn ambiguous_archives_are_refused() {
        let bytes = small();
        let after = [bytes.as_slice(), b"more"].concat();
        assert!(Pack::read(&after).is_err());
        let before = [b"more", bytes.as_slice()].concat();
        assert!(Pack::read(&before).is_err());
        let names = |from: &str, to: &str| {
            let (from, to) = (from.as_bytes(), to.as_bytes());
            let mut renamed = bytes.clone();
            for at in 0..renamed.len() - from.len() {
                if renamed[at..].starts_with(from) {
                    renamed[at..at + to.len()].copy_from_slice(to);
                }
            }
            renamed
        };
        assert!(Pack::read(&names("report.csv", "report.txt")).is_err());
        assert!(Pack::read(&names("report.txt", "../../.txt")).is_err());
        // A program that reads from the beginning would find another name, method, size or checksum.
        let local = |member: usize, at: usize, value: u8| {
            let starts = bytes.windows(4).enumerate().filter(|(_, it)| *it == b"PK\x03\x04");
            let (start, _) = starts.take(member + 1).last().unwrap();
            let mut changed = bytes.clone();
            assert_ne!(changed[start + at], value);
            changed[start + at] = value;
            Pack::read(&changed).map(|_| ()).map_err(|error| error.to_string())
        };
        for member in 0..=MEMBERS.len() {
            for (at, value) in [(6, 8), (8, 99), (14, 7), (18, 250), (22, 250), (30, b'x'), (33, 0)]
            {
                let told = local(member, at, value).unwrap_err();
                assert!(told.contains("not as the directory"), "{member} {at}: {told}");
            }
        }
    }
}
