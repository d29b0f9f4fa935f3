//! Registries of packages. Each is queried through its own client, as configured on the machine, so
//! that mirrors, proxies and credentials are the user's.
//!
//! A client works in a private state directory, verifies its downloads by its own means, and is
//! asked for only one package in one version. This module checks the registry's checksum of the file
//! again.

mod archive;
mod client;
mod maven;
mod npm;
mod pip;
mod tarball;

use std::fs::Permissions;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use sha2::Digest as _;

pub(crate) use archive::{stem, unpack};

use crate::catalog::{Packaged, Source};
use crate::error::Error;
use client::Client;

/// A downloaded package and the checksum its registry publishes for it.
#[derive(Debug)]
struct Fetched {
    path: PathBuf,
    published: Published,
}

#[derive(Debug, PartialEq, Eq)]
enum Published {
    Sha1(String),
    Sha256(String),
    /// In base64, as npm writes it.
    Sha512(String),
    /// No checksum.
    Nothing,
}

/// Downloads a package to a file in `into`, checks it, and returns that file and its SHA-256.
///
/// `known` is the SHA-256 that it must have, if that is known beforehand. `state` is the client's
/// own, kept between calls; `lock`, of the cache, is held by the client too. `progress` gets the
/// bytes so far and those in all, 0 where the client does not say.
///
/// # Errors
/// When the client is not installed or fails, the registry does not have the package or publishes
/// no checksum, or the file does not match its checksum or the known one.
pub(crate) fn fetch(
    packaged: Packaged<'_>,
    known: Option<&str>,
    directories: Directories<'_>,
    lock: &fs::File,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(PathBuf, String), Error> {
    let name = packaged.coordinate();
    fs::create_dir_all(directories.state)?;
    // Clients store the mirrors that they used there, with logins.
    fs::set_permissions(directories.state, Permissions::from_mode(0o700))?;
    let mut client = Client { name: &name, directories, lock, progress };
    let fetched = match packaged.package.source {
        Source::Maven => maven::fetch(packaged, &mut client)?,
        Source::Npm => npm::fetch(packaged, &mut client)?,
        Source::Pip => pip::fetch(packaged, &mut client)?,
        Source::Tarball => tarball::fetch(packaged, &mut client)?,
    };
    let sha256 = verified(&name, &fetched, known)?;
    Ok((fetched.path, sha256))
}

/// The working place of a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Directories<'a> {
    /// Its private state.
    pub(crate) state: &'a Path,
    /// Destination of the package, on the same file system.
    pub(crate) into: &'a Path,
}

/// The SHA-256 of a file, once the file was verified.
fn verified(name: &str, fetched: &Fetched, known: Option<&str>) -> Result<String, Error> {
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

/// The start of a file that a client wrote, which may be of any length.
fn read_some(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(MOST).read_to_end(&mut start)?;
    Ok(start)
}

/// More than a checksum or a report on one package takes, bytes.
const MOST: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const ABC_SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const ABC_SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const ABC_SHA512: &str = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9\
                              RU1EI2Q86A4qmslPpUyknw==";

    #[test]
    fn a_file_is_held_to_what_its_registry_says_and_to_what_is_known() {
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
