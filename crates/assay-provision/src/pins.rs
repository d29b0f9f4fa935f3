//! Checksums pinned on first use, for packages without one known in advance. Later downloads must match them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};

use crate::error::Error;
use crate::store::write_json;

pub(crate) const PINS: &str = "recorded.json";

/// SHA-256 by source, name and version.
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

    /// `None` if the package was never downloaded. A damaged file is an error: if it counted as empty, any download
    /// would be accepted.
    pub(crate) fn get(&self, coordinate: &str) -> Result<Option<String>, Error> {
        Ok(self.all()?.remove(coordinate))
    }

    /// Needs the lock of the cache.
    pub(crate) fn remember(&self, coordinate: &str, sha256: &str) -> Result<(), Error> {
        let mut all = self.all()?;
        all.insert(coordinate.to_owned(), sha256.to_owned());
        write_json(&self.path, &all)
    }

    fn all(&self) -> Result<BTreeMap<String, String>, Error> {
        let damaged = |detail: String| Error::Pins { path: self.path.clone(), detail };
        // Does not follow links: a dangling link is not the same as no file.
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(damaged("it is not a regular file".to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        }
        let all = parsed(&fs::read(&self.path)?).map_err(|error| damaged(error.to_string()))?;
        let is_sum = |sum: &String| sum.len() == 64 && sum.bytes().all(|it| it.is_ascii_hexdigit());
        match all.iter().find(|(_, sum)| !is_sum(sum)) {
            Some((name, _)) => Err(damaged(format!("the checksum of `{name}` is not a SHA-256"))),
            None => Ok(all),
        }
    }
}

/// Rejects duplicate names.
fn parsed(text: &[u8]) -> serde_json::Result<BTreeMap<String, String>> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let all = reader.deserialize_map(Once)?;
    reader.end().map(|()| all)
}

struct Once;

impl<'de> Visitor<'de> for Once {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("checksums by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = BTreeMap::new();
        while let Some((name, sum)) = map.next_entry::<String, String>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` has two checksums")));
            }
            all.insert(name, sum);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_file_has_one_checksum_per_name() {
        let home = tempfile::tempdir().unwrap();
        let pins = Pins::new(home.path().join(PINS));
        let refused = |message: &str| {
            let error = pins.get("a").unwrap_err();
            assert!(matches!(error, Error::Pins { .. }), "{error}");
            assert!(error.to_string().contains(message), "{error}");
            fs::remove_file(pins.path()).unwrap();
        };
        std::os::unix::fs::symlink(home.path().join("nowhere"), pins.path()).unwrap();
        refused("it is not a regular file");
        let made = std::process::Command::new("mkfifo").arg(pins.path()).status().unwrap();
        assert!(made.success());
        refused("it is not a regular file");
        let (one, other) = ("0".repeat(64), "1".repeat(64));
        fs::write(pins.path(), format!(r#"{{"a": "{one}", "a": "{other}"}}"#)).unwrap();
        refused("`a` has two checksums");
        fs::write(pins.path(), format!(r#"{{"a": "{one}"}} x"#)).unwrap();
        refused("trailing");
    }

    #[test]
    fn a_damaged_file_is_an_error_rather_than_empty() {
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
