//! An old release chosen for its series.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A release of years ago that was chosen for a series although a newer one is available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldRelease {
    pub version: String,
    /// Month of its release, such as `2018-07`.
    pub released: String,
    /// Newest available version of the series, or the newest with a known checksum if that is no older.
    pub newest: String,
    pub newest_released: Option<String>,
    pub place: String,
    pub has_checksum: bool,
    /// System name that selects it: `mysql@8.0.33`.
    pub ask_for: String,
    /// Whether the old one was chosen because its source has all compared versions of the product.
    pub for_equal_builds: bool,
}

impl fmt::Display for OldRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, released, newest, place, ask_for, .. } = self;
        write!(f, "is {version}, released {released}")?;
        if self.for_equal_builds {
            f.write_str(", because its source has all of the compared versions")?;
        }
        write!(f, "; {place} has {newest}")?;
        let month = self.newest_released.iter().map(|month| format!("released {month}"));
        let checksum = (!self.has_checksum).then(|| "without a known checksum".to_owned());
        let notes: Vec<String> = month.chain(checksum).collect();
        if !notes.is_empty() {
            write!(f, " ({})", notes.join(", "))?;
        }
        write!(f, ": ask for `{ask_for}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_named_with_its_date_and_how_to_get_it() {
        let old = OldRelease {
            version: "8.0.12".to_owned(),
            released: "2018-07".to_owned(),
            newest: "8.0.33".to_owned(),
            newest_released: Some("2023-04".to_owned()),
            place: "com.jcabi".to_owned(),
            has_checksum: true,
            ask_for: "mysql@8.0.33".to_owned(),
            for_equal_builds: true,
        };
        assert_eq!(
            old.to_string(),
            "is 8.0.12, released 2018-07, because its source has all of the compared versions; com.jcabi has 8.0.33 \
             (released 2023-04): ask for `mysql@8.0.33`"
        );
        let alone = OldRelease {
            newest_released: None,
            has_checksum: false,
            for_equal_builds: false,
            ..old
        };
        let expected = "is 8.0.12, released 2018-07; com.jcabi has 8.0.33 (without a known checksum): ask for \
                        `mysql@8.0.33`";
        assert_eq!(alone.to_string(), expected);
    }
}
