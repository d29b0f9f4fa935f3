//! Vendors' own tarballs, by HTTP. They come with no checksum of anybody's: what is had first counts.

use super::{Client, Fetched, Published};
use crate::catalog::Packaged;
use crate::error::Error;
use crate::http::{self, Failure, Limits};

pub(super) fn fetch(packaged: Packaged<'_>, client: &mut Client<'_>) -> Result<Fetched, Error> {
    let urls = packaged.urls();
    for url in &urls {
        let (_, name) = url.rsplit_once('/').unwrap_or(("", url));
        if !is_plain(name) {
            return Err(Error::malformed(format!("address `{url}`"), "it names no file"));
        }
        match http::download(url, client.directories.state, name, Limits::SERVER, client.progress) {
            Ok(file) => {
                let path = client.directories.into.join(name);
                fs_err::rename(file, &path)?;
                return Ok(Fetched { path, published: Published::Nothing });
            }
            Err(Failure::Absent) => {}
            Err(Failure::Other(detail)) => {
                return Err(Error::Download { url: shown(url), detail });
            }
        }
    }
    Err(Error::NotPublished {
        vendor: packaged.package.name.clone(),
        version: packaged.version.version.clone(),
        places: urls.iter().map(|url| shown(url)).collect(),
        known: packaged.spelled().to_vec(),
    })
}

/// An address without the name and password in it.
fn shown(url: &str) -> String {
    let host_on = url.split_once("://").and_then(|(scheme, rest)| {
        let host = rest.split('/').next()?;
        let (login, _) = host.rsplit_once('@')?;
        Some(format!("{scheme}://{}", rest.get(login.len() + 1..)?))
    });
    host_on.unwrap_or_else(|| url.to_owned())
}

/// Whether a text is the name of a file and of nothing else.
fn is_plain(name: &str) -> bool {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(shown("https://u:p@x.example/a@b"), "https://x.example/a@b");
        assert_eq!(shown("https://u:p@q@x.example"), "https://x.example");
        assert_eq!(shown("https://x.example/a@b"), "https://x.example/a@b");
        assert_eq!(shown("x"), "x");
    }

    #[test]
    fn names_of_files_are_nothing_else() {
        assert!(is_plain("mysql-8.0.40-linux-glibc2.17-x86_64-minimal.tar.xz"));
        for wrong in ["", ".", "..", ".x", "a?b", "a b", "é"] {
            assert!(!is_plain(wrong), "{wrong}");
        }
    }
}
