//! Vendors' tarballs, by HTTP. Their checksums are not known in advance, but pinned on first use.

use super::kind::Registry;
use super::registry::client::RegistryClient;
use super::registry::verify::{FetchedPackage, PublishedSum};
use crate::catalog::PackageVersion;
use crate::error::{ProvisionError, Result};
use crate::http::{self, DownloadLimits, Failure};

pub(super) struct Tarball;

impl Registry for Tarball {
    fn fetch(
        &self,
        packaged: PackageVersion<'_>,
        client: &mut RegistryClient<'_>,
    ) -> Result<FetchedPackage> {
        let urls = packaged.urls();
        for url in &urls {
            let (_, name) = url.rsplit_once('/').unwrap_or(("", url));
            if !is_plain(name) {
                return Err(ProvisionError::malformed(
                    format!("address `{}`", http::shown(url)),
                    "it names no file",
                ));
            }
            match http::download(
                url,
                client.directories.state,
                name,
                DownloadLimits::SERVER,
                client.progress,
            ) {
                Ok(file) => {
                    let path = client.directories.into.join(name);
                    fs_err::rename(file, &path)?;
                    return Ok(FetchedPackage { path, published: PublishedSum::Nothing });
                }
                Err(Failure::Absent) => {}
                Err(Failure::Lasting(detail) | Failure::Passing(detail)) => {
                    return Err(ProvisionError::Download { url: http::shown(url), detail });
                }
            }
        }
        Err(ProvisionError::NotPublished {
            vendor: packaged.package.name.clone(),
            version: packaged.version.version.clone(),
            places: urls.iter().map(|url| http::shown(url)).collect(),
            known: packaged.spelled().to_vec(),
        })
    }

    fn room(&self) -> u64 {
        // A vendor's tarball may hold debug information too.
        2 << 30
    }

    fn has_vendors(&self) -> bool {
        true
    }
}

fn is_plain(name: &str) -> bool {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_validated() {
        assert!(is_plain("mysql-8.0.40-linux-glibc2.17-x86_64-minimal.tar.xz"));
        for wrong in ["", ".", "..", ".x", "a?b", "a b", "é"] {
            assert!(!is_plain(wrong), "{wrong}");
        }
    }
}
