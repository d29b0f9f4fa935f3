//! Registries of packages, queried through their own clients as configured on the machine: mirrors, proxies and
//! credentials are the user's.
//!
//! A client works in a private state directory, verifies its downloads, and is asked for only one package in one
//! version. This module checks the registry's checksum of the file again.

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

/// Downloads a package to a file in `into`, checks it, and returns that file and its SHA-256. `known` is the required
/// SHA-256, if known in advance. `state` is the client's own, kept between calls; the client also holds `lock`, of the
/// cache. `progress` gets the bytes so far and in total, 0 if unknown.
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
