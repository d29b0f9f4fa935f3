//! Reads packs from untrusted bytes, and writes them. The same members give the same bytes.

use crate::container::{PackReader, written};
use crate::manifest::sha256;
use crate::{MANIFEST, MEMBERS, Manifest, PackError, PackMember, SIZE_MAX};

/// Maximum size of a manifest, bytes. Those that assay writes have a hundredth of it.
const MANIFEST_MAX: u64 = 1 << 16;

/// Maximum bytes of all members per byte of a pack. Ledgers and reports have less than a tenth of it.
const RATIO_MAX: u64 = 200;

/// Maximum bytes of all members of a small pack.
const SMALL: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    pub manifest: Manifest,
    /// SHA-256 of the manifest's text, lower-case hex: the digest of the pack.
    pub digest: String,
    /// Names and contents, in the order of [`MEMBERS`].
    members: Vec<(&'static str, Vec<u8>)>,
}

impl Pack {
    /// `contents` has the order of [`MEMBERS`].
    pub fn new(
        study: &str,
        assay: &str,
        contents: [Vec<u8>; MEMBERS.len()],
    ) -> Result<Self, PackError> {
        let members: Vec<_> = MEMBERS.into_iter().zip(contents).collect();
        if members.iter().map(|(_, content)| content.len() as u64).sum::<u64>() > SIZE_MAX {
            return Err(PackError::TooLarge);
        }
        let listed = members.iter().map(|(name, content)| PackMember::new(name, content)).collect();
        let manifest = Manifest::new(study, assay, listed);
        let digest = sha256(manifest.text().as_bytes());
        Ok(Self { manifest, digest, members })
    }

    pub fn bytes(&self) -> Vec<u8> {
        let manifest = self.manifest.text();
        let rest = self.members.iter().map(|(name, content)| (*name, content.as_slice()));
        let all: Vec<_> = std::iter::once((MANIFEST, manifest.as_bytes())).chain(rest).collect();
        written(&all)
    }

    /// The members may differ from the manifest: see [`Pack::altered`].
    pub fn read(bytes: &[u8]) -> Result<Self, PackError> {
        let mut reader = PackReader::new(bytes);
        let text = reader.member(MANIFEST, MANIFEST_MAX)?;
        let manifest = Manifest::read(&text)?;
        let size = manifest.members.iter().map(|it| it.bytes).sum::<u64>();
        if size > SMALL.max(RATIO_MAX.saturating_mul(bytes.len() as u64)) {
            return Err(PackError::Blown { mb: size >> 20, kb: bytes.len() as u64 >> 10 });
        }
        let mut members = Vec::new();
        for (name, listed) in MEMBERS.into_iter().zip(&manifest.members) {
            members.push((name, reader.member(name, listed.bytes)?));
        }
        reader.end()?;
        Ok(Self { manifest, digest: sha256(&text), members })
    }

    /// Empty if the pack has no such member.
    pub fn member(&self, name: &str) -> &[u8] {
        let member = self.members.iter().find(|(it, _)| *it == name);
        member.map_or(&[], |(_, content)| content)
    }

    /// Members whose content differs from the manifest.
    pub fn altered(&self) -> Vec<&'static str> {
        let listed = self.members.iter().zip(&self.manifest.members);
        listed
            .filter(|((name, it), listed)| PackMember::new(name, it) != **listed)
            .map(|((name, _), _)| *name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_pack;

    fn small() -> Vec<u8> {
        let contents = MEMBERS.map(|name| format!("content of {name}").into_bytes());
        Pack::new("study", "0.1.0", contents).unwrap().bytes()
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
        assert_eq!(pack.bytes(), bytes);
    }

    /// Other programs read it too, from its end and from its beginning.
    #[test]
    fn a_pack_is_a_zip_file() {
        let bytes = small();
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
        let names: Vec<String> = (0..zip.len())
            .map(|at| zip.by_index(at).unwrap().name().unwrap().into_owned())
            .collect();
        assert_eq!(names[0], MANIFEST);
        assert_eq!(names[1..], MEMBERS);
        let mut text = String::new();
        let mut member = zip.by_name("report.md").unwrap();
        assert_eq!(member.unix_mode(), Some(0o100_644));
        std::io::Read::read_to_string(&mut member, &mut text).unwrap();
        assert_eq!(text, "content of report.md");
    }

    /// Flips every bit. Only changes of the compressed members are accepted.
    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let bytes = small();
        let pack = Pack::read(&bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                // The same content can be compressed in several ways.
                if let Ok(read) = Pack::read(&changed) {
                    assert!(
                        read == pack || read.digest != pack.digest || !read.altered().is_empty(),
                        "byte {at}"
                    );
                }
            }
        }
    }

    #[test]
    fn strange_archives_are_refused() {
        let manifest = Pack::read(&small()).unwrap().manifest.text();
        let rest: Vec<(&str, &[u8])> =
            MEMBERS.iter().map(|name| (*name, b"x".as_slice())).collect();
        let with = |manifest: &str, rest: &[(&str, &[u8])]| {
            let first = [(MANIFEST, manifest.as_bytes())];
            let bytes = written(&[&first[..], rest].concat());
            Pack::read(&bytes).unwrap_err().to_string()
        };
        let message = with(&manifest, &rest[1..]);
        assert!(message.contains("`report.json` is in the place of `ledger.db`"), "{message}");
        let message = with(&manifest, &rest[..5]);
        assert!(message.contains("member `report.txt` is missing"), "{message}");
        let more = [&rest[..], &[("../../etc/passwd", b"x".as_slice())]].concat();
        let message = with(&manifest, &more);
        assert!(message.contains("more than 7 members"), "{message}");
        let long = manifest.replace("\"bytes\": 20", "\"bytes\": 9999999999");
        assert_ne!(long, manifest);
        assert!(with(&long, &rest).contains("larger than"), "{}", with(&long, &rest));
        let blown = manifest.replace("\"bytes\": 20", "\"bytes\": 99999999");
        assert!(with(&blown, &rest).contains("compressed so well"), "{}", with(&blown, &rest));
        assert!(
            with(&manifest.replace("\"version\": 1", "\"version\": 2"), &rest).contains("newer")
        );
        assert!(with(&manifest.replace(": ", ":"), &rest).contains("manifest"));
        assert!(with("", &rest).contains("manifest"));
        assert!(Pack::read(b"").is_err() && Pack::read(b"SQLite format 3\0").is_err());
        // A member that is longer than listed is not unpacked.
        let bomb = vec![0; 10 << 20];
        let mut long = rest.clone();
        long[0].1 = &bomb;
        assert!(with(&manifest, &long).contains("longer than"));
    }

    #[test]
    fn bytes_that_no_digest_covers_are_refused() {
        let bytes = small();
        let refused = |bytes: &[u8]| Pack::read(bytes).unwrap_err().to_string();
        let directory = bytes.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
        let put = |at: usize, more: &[u8]| [&bytes[..at], more, &bytes[at..]].concat();
        for (at, place) in [(bytes.len(), "after"), (0, "before"), (directory, "between")] {
            let message = refused(&put(at, b"more"));
            assert!(message.contains("not a pack"), "{place}: {message}");
        }
        // A comment at the end, with its length.
        let mut comment = put(bytes.len(), b"more");
        comment[bytes.len() - 2] = 4;
        assert!(refused(&comment).contains("no digest covers"), "{}", refused(&comment));
        // An extra field of a member, which a reader skips.
        let name = 30 + MANIFEST.len();
        let mut extra = put(name, b"\xfe\xca\0\0");
        extra[28] = 4;
        assert!(refused(&extra).contains("no digest covers"), "{}", refused(&extra));
        // Bytes after the end of the compressed content.
        let packed = u32::from_le_bytes(bytes[18..22].try_into().unwrap());
        let mut after = put(name + packed as usize, b"more");
        after[18..22].copy_from_slice(&(packed + 4).to_le_bytes());
        assert!(refused(&after).contains("do not end with it"), "{}", refused(&after));
        // Time, version, flags, attributes.
        for at in [4, 6, 10, 12, directory + 4, directory + 8, directory + 32, directory + 38] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(refused(&changed).contains("no digest covers"), "{at}: {}", refused(&changed));
        }
    }
}
