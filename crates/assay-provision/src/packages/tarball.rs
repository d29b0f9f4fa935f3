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
                return Err(Error::Download { url: url.clone(), detail });
            }
        }
    }
    Err(Error::NotPublished {
        name: client.name.to_owned(),
        places: urls,
        known: packaged.spelled().to_vec(),
    })
}

/// Whether a text is the name of a file and of nothing else.
fn is_plain(name: &str) -> bool {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_harmless)
}
