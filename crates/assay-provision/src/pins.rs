//! Checksums of packages that come with none anybody vouches for: those of the files that were had first,
//! to which later ones are held.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::error::Error;
use crate::store::write_json;

/// In the cache.
pub(crate) const PINS: &str = "recorded.json";

/// The file that keeps them: SHA-256 by source, name and version.
#[derive(Debug)]
pub(crate) struct Pins {
    path: PathBuf,
}

impl Pins {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The checksum that a package must have; none: it was never had.
    ///
    /// # Errors
    /// When the file is damaged: it must not be taken for an empty one, by which anything would be accepted.
    pub(crate) fn get(&self, coordinate: &str) -> Result<Option<String>, Error> {
        Ok(self.all()?.remove(coordinate))
    }

    /// Holds later downloads to this checksum. Needs the lock of the cache.
    pub(crate) fn remember(&self, coordinate: &str, sha256: &str) -> Result<(), Error> {
        let mut all = self.all()?;
        all.insert(coordinate.to_owned(), sha256.to_owned());
        write_json(&self.path, &all)
    }

    fn all(&self) -> Result<BTreeMap<String, String>, Error> {
        let damaged = |detail: String| Error::Pins { path: self.path.clone(), detail };
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        };
        let all: BTreeMap<String, String> =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let is_sum = |sum: &String| sum.len() == 64 && sum.bytes().all(|it| it.is_ascii_hexdigit());
        match all.iter().find(|(_, sum)| !is_sum(sum)) {
            Some((name, _)) => Err(damaged(format!("the checksum of `{name}` is no SHA-256"))),
            None => Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_an_error_and_not_an_empty_one() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::new(home.path().join(PINS));
        assert_eq!(pins.get("a").unwrap(), None);
        pins.remember("a", &"0".repeat(64)).unwrap();
        pins.remember("b", &"1".repeat(64)).unwrap();
        assert_eq!(pins.get("a").unwrap(), Some("0".repeat(64)));
        for damaged in ["", "{\"a\": \"00", "[]", "{\"a\": \"\"}"] {
            fs::write(pins.path(), damaged).unwrap();
            assert!(matches!(pins.get("b").unwrap_err(), Error::Pins { .. }), "{damaged}");
            pins.remember("b", "2").unwrap_err();
            assert_eq!(fs::read_to_string(pins.path()).unwrap(), damaged, "it is left as it is");
        }
    }
}
