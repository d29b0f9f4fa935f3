//! Checksums of files, and the check of a download against its registry's checksum and the known one.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use sha2::{Digest, Sha256};

use crate::error::{ProvisionError, Result};

#[derive(Debug)]
pub(crate) struct FetchedPackage {
    pub(crate) path: PathBuf,
    pub(crate) published: PublishedSum,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PublishedSum {
    Sha1(String),
    Sha256(String),
    /// In base64, as npm writes it.
    Sha512(String),
    Nothing,
}

pub(crate) fn verified(
    name: &str,
    fetched: &FetchedPackage,
    known: Option<&str>,
) -> Result<String> {
    let path = &fetched.path;
    let sha256 = sha256_of_file(path)?;
    let (kind, wanted, found) = match &fetched.published {
        PublishedSum::Sha1(wanted) => ("SHA-1", wanted, hex::encode(digest::<sha1::Sha1>(path)?)),
        PublishedSum::Sha256(wanted) => ("SHA-256", wanted, sha256.clone()),
        PublishedSum::Sha512(wanted) => {
            ("SHA-512", wanted, BASE64_STANDARD.encode(digest::<sha2::Sha512>(path)?))
        }
        PublishedSum::Nothing => ("SHA-256", &sha256, sha256.clone()),
    };
    let checks = [(kind, wanted.as_str(), &found), ("SHA-256", known.unwrap_or(&sha256), &sha256)];
    for (kind, wanted, found) in checks {
        if !wanted.eq_ignore_ascii_case(found) {
            let (name, wanted) = (name.to_owned(), format!("{kind} {wanted}"));
            let found = found.clone();
            return Err(ProvisionError::PackageChecksum { name, wanted, found, pinned: None });
        }
    }
    Ok(sha256)
}

pub(crate) fn sha256_of_file(path: &Path) -> io::Result<String> {
    Ok(hex::encode(digest::<Sha256>(path)?))
}

fn digest<D: Digest>(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut digest) = (fs::File::open(path)?, D::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digest.finalize().to_vec()),
            read => digest.update(&buffer[..read]),
        }
    }
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
            verified("maven x 1", &FetchedPackage { path: path.clone(), published }, known)
        };
        for published in [
            PublishedSum::Sha1(ABC_SHA1.to_owned()),
            PublishedSum::Sha256(ABC_SHA256.to_owned()),
            PublishedSum::Sha512(ABC_SHA512.to_owned()),
        ] {
            assert_eq!(check(published, Some(ABC_SHA256)).unwrap(), ABC_SHA256);
        }
        let error = check(PublishedSum::Sha1("0".repeat(40)), None).unwrap_err();
        let expected = format!(
            "checksum of `maven x 1` does not match: expected SHA-1 {}, found {ABC_SHA1}",
            "0".repeat(40)
        );
        assert_eq!(error.to_string(), expected);
        check(PublishedSum::Sha1(ABC_SHA1.to_owned()), Some(&"0".repeat(64))).unwrap_err();
        check(PublishedSum::Sha512(String::new()), None).unwrap_err();
    }
}
