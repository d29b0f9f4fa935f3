//! Check of a downloaded package against its registry's checksum and the known one.

use std::io::Read as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use sha2::Digest as _;

use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) path: PathBuf,
    pub(crate) published: Published,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Published {
    Sha1(String),
    Sha256(String),
    /// In base64, as npm writes it.
    Sha512(String),
    Nothing,
}

pub(crate) fn verified(
    name: &str,
    fetched: &Fetched,
    known: Option<&str>,
) -> Result<String, Error> {
    let mut file = fs::File::open(&fetched.path)?;
    let (mut sha1, mut sha256, mut sha512) =
        (sha1::Sha1::new(), sha2::Sha256::new(), sha2::Sha512::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(block) = buffer.get(..read).filter(|block| !block.is_empty()) else { break };
        match fetched.published {
            Published::Sha1(_) => sha1.update(block),
            Published::Sha512(_) => sha512.update(block),
            Published::Sha256(_) | Published::Nothing => {}
        }
        sha256.update(block);
    }
    let sha256 = hex::encode(sha256.finalize());
    let (kind, wanted, found) = match &fetched.published {
        Published::Sha1(wanted) => ("SHA-1", wanted, hex::encode(sha1.finalize())),
        Published::Sha256(wanted) => ("SHA-256", wanted, sha256.clone()),
        Published::Sha512(wanted) => ("SHA-512", wanted, BASE64_STANDARD.encode(sha512.finalize())),
        Published::Nothing => ("SHA-256", &sha256, sha256.clone()),
    };
    let checks = [(kind, wanted.as_str(), &found), ("SHA-256", known.unwrap_or(&sha256), &sha256)];
    for (kind, wanted, found) in checks {
        if !wanted.eq_ignore_ascii_case(found) {
            let (name, wanted) = (name.to_owned(), format!("{kind} {wanted}"));
            let found = found.clone();
            return Err(Error::PackageChecksum { name, wanted, found, pinned: None });
        }
    }
    Ok(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC_SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const ABC_SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const ABC_SHA512: &str = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9\
                              RU1EI2Q86A4qmslPpUyknw==";

    #[test]
    fn a_file_must_match_its_registry_and_known_checksums() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abc");
        fs::write(&path, "abc").unwrap();
        let check = |published, known: Option<&str>| {
            verified("maven x 1", &Fetched { path: path.clone(), published }, known)
        };
        for published in [
            Published::Sha1(ABC_SHA1.to_owned()),
            Published::Sha256(ABC_SHA256.to_owned()),
            Published::Sha512(ABC_SHA512.to_owned()),
        ] {
            assert_eq!(check(published, Some(ABC_SHA256)).unwrap(), ABC_SHA256);
        }
        let error = check(Published::Sha1("0".repeat(40)), None).unwrap_err();
        let expected = format!(
            "checksum of `maven x 1` does not match: expected SHA-1 {}, found {ABC_SHA1}",
            "0".repeat(40)
        );
        assert_eq!(error.to_string(), expected);
        check(Published::Sha1(ABC_SHA1.to_owned()), Some(&"0".repeat(64))).unwrap_err();
        check(Published::Sha512(String::new()), None).unwrap_err();
    }
}
