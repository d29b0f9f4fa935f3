//! Gaps of the map: what could not be counted, and why.

use std::cmp::Ordering;

use assay_model::Product;
use serde::{Deserialize, Serialize};

use crate::rows::{MapRow, check_given, check_texts};
use crate::versions::version_order;

/// A release, or a test of it, that could not be counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapGap {
    pub product: Product,
    pub version: String,
    /// Source of the server; empty if unknown.
    pub source: String,
    /// Empty if no test of the release could be counted.
    pub test: String,
    /// Digest of the test's work; empty without a test.
    pub digest: String,
    pub reason: String,
}

impl MapRow for MapGap {
    fn check(&self) -> Result<(), String> {
        let Self { version, source, test, digest, reason, .. } = self;
        check_texts([version, source, test, digest, reason])?;
        check_given([("version", version), ("reason", reason)])
    }

    fn order(&self, other: &Self) -> Ordering {
        let order = self.product.cmp(&other.product);
        order
            .then_with(|| version_order(&self.version, &other.version))
            .then_with(|| [&self.test, &self.digest].cmp(&[&other.test, &other.digest]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{merged, read_rows, rows_text};

    #[test]
    fn a_gap_has_its_last_reason() {
        let gap = |version: &str, reason: &str| MapGap {
            product: Product::MySql,
            version: version.to_owned(),
            source: "maven".to_owned(),
            test: String::new(),
            digest: String::new(),
            reason: reason.to_owned(),
        };
        let old = vec![gap("8.0.12", "ends under valgrind"), gap("5.5.62", "does not start")];
        let all = merged(old, vec![gap("8.0.12", "ends")]);
        let text = rows_text(&all);
        assert_eq!(
            text,
            "product,version,source,test,digest,reason\nmysql,5.5.62,maven,,,does not start\n\
             mysql,8.0.12,maven,,,ends\n"
        );
        assert_eq!(read_rows::<MapGap>("gaps.csv", &text).unwrap(), all);
    }
}
