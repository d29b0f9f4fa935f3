//! Vendors' tarballs, by HTTP. Their checksums are not known in advance, but pinned on first use.

use super::kind::{Kind, Registry, Source};
use super::registry::client::Client;
use super::registry::verify::{Fetched, Published};
use crate::catalog::Packaged;
use crate::error::Error;
use crate::http::{self, Failure, Limits};

#[derive(Debug)]
pub(super) struct Tarball;

impl Source for Tarball {
    fn word(&self) -> &'static str {
        "tarball"
    }

    fn other_words(&self) -> &'static [&'static str] {
        &["tar", "tgz", "tarballs"]
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Registry(self)
    }
}

impl Registry for Tarball {
    fn fetch(&self, packaged: Packaged<'_>, client: &mut Client<'_>) -> Result<Fetched, Error> {
        fetch(packaged, client)
    }

    fn room(&self) -> u64 {
        // A vendor's tarball may hold debug information too.
        2 << 30
    }

    fn has_vendors(&self) -> bool {
        true
    }
}

fn fetch(packaged: Packaged<'_>, client: &mut Client<'_>) -> Result<Fetched, Error> {
    let urls = packaged.urls();
    for url in &urls {
        let (_, name) = url.rsplit_once('/').unwrap_or(("", url));
        if !is_plain(name) {
            return Err(Error::malformed(
                format!("address `{}`", http::shown(url)),
                "it names no file",
            ));
        }
        match http::download(url, client.directories.state, name, Limits::SERVER, client.progress) {
            Ok(file) => {
                let path = client.directories.into.join(name);
                fs_err::rename(file, &path)?;
                return Ok(Fetched { path, published: Published::Nothing });
            }
            Err(Failure::Absent) => {}
            Err(Failure::Other(detail)) => {
                return Err(Error::Download { url: http::shown(url), detail });
            }
        }
    }
    Err(Error::NotPublished {
        vendor: packaged.package.name.clone(),
        version: packaged.version.version.clone(),
        places: urls.iter().map(|url| http::shown(url)).collect(),
        known: packaged.spelled().to_vec(),
    })
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
