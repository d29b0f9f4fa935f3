//! Registries of packages, queried through their own clients as configured on the machine: mirrors, proxies and
//! credentials are the user's.
//!
//! A client works in a private state directory, which is kept between calls, verifies its downloads, and is asked for
//! only one package in one version. The registry's checksum of the file is checked again.

mod archive;
pub(crate) mod client;
pub(crate) mod verify;

pub(crate) use archive::{stem, unpack};
