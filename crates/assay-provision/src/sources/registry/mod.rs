//! Registries of packages. Each is queried through its own client, as configured on the machine, so
//! that mirrors, proxies and credentials are the user's.
//!
//! A client works in a private state directory, verifies its downloads by its own means, and is
//! asked for only one package in one version. This module checks the registry's checksum of the file
//! again.

mod archive;
pub(crate) mod client;
pub(crate) mod verify;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use fs_err as fs;

pub(crate) use archive::{stem, unpack};
pub(crate) use client::Directories;

use super::kind::Registry;
use crate::catalog::Packaged;
use crate::error::Error;
use client::Client;
use verify::verified;

/// Downloads a package to a file in `into`, checks it, and returns that file and its SHA-256.
///
/// `known` is the SHA-256 that it must have, if that is known beforehand. `state` is the client's
/// own, kept between calls; `lock`, of the cache, is held by the client too. `progress` gets the
/// bytes so far and those in all, 0 where the client does not say.
pub(crate) fn fetch(
    registry: &dyn Registry,
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
    let fetched = registry.fetch(packaged, &mut client)?;
    let sha256 = verified(&name, &fetched, known)?;
    Ok((fetched.path, sha256))
}
