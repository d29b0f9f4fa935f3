//! Cells of the map: the instructions of a test on a release.

use std::cmp::Ordering;

use assay_model::Product;
use serde::{Deserialize, Serialize, Serializer};

use crate::rows::{MapRow, check_count, check_given, check_texts, tenths};
use crate::versions::version_order;

/// The count of a test on a release, by one build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapCell {
    pub product: Product,
    pub version: String,
    /// Source of the server, such as `maven`.
    pub source: String,
    /// Beginning of the digest of the server's packages.
    pub program: String,
    pub test: String,
    /// Digest of the test's work.
    pub digest: String,
    /// Name of the terms on which the server was started.
    pub terms: String,
    /// User-space instructions per operation of the thread that serves the client.
    #[serde(serialize_with = "tenths")]
    pub instructions: f64,
    /// Half of the width of their 95% interval.
    #[serde(serialize_with = "tenths")]
    pub half_width: f64,
    /// Instructions per operation of the server's other threads; `None` if not counted.
    #[serde(serialize_with = "tenths_if_known")]
    pub background: Option<f64>,
    /// How many instances of the server were counted.
    pub times: u32,
    /// What counted: `valgrind` and its version, or `processor`.
    pub counter: String,
    /// The instruction sets that servers saw, by which they choose code.
    pub shown: String,
}

fn tenths_if_known<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => tenths(value, serializer),
        None => serializer.serialize_none(),
    }
}

impl MapCell {
    /// Name of the cell among those of its product.
    pub fn key(&self) -> String {
        let Self { version, source, program, test, digest, terms, counter, .. } = self;
        [version, source, program, test, digest, terms, counter].map(String::as_str).join(",")
    }

    /// The release as users name it.
    pub fn system(&self) -> String {
        format!("{}@{}", self.product, self.version)
    }

    /// What equal cells of a test have in common: its work, the terms, and the kind of counter.
    pub(crate) fn terms_of_line(&self) -> [&str; 3] {
        let kind = self.counter.split(' ').next().unwrap_or_default();
        [&self.digest, &self.terms, kind]
    }
}

impl MapRow for MapCell {
    fn check(&self) -> Result<(), String> {
        let Self { version, source, program, test, digest, terms, counter, shown, .. } = self;
        check_texts([version, source, program, test, digest, terms, counter, shown])?;
        check_given([
            ("version", version),
            ("source", source),
            ("test", test),
            ("digest", digest),
            ("counter", counter),
        ])?;
        check_count("instructions", self.instructions)?;
        // Files have one decimal, and a ratio to 0 is no number.
        if self.instructions < 0.1 {
            return Err(format!("`instructions` is {}, which is below 0.1", self.instructions));
        }
        check_count("half_width", self.half_width)?;
        check_count("background", self.background.unwrap_or_default())
    }

    fn order(&self, other: &Self) -> Ordering {
        fn rest(cell: &MapCell) -> [&str; 6] {
            let MapCell { source, test, digest, terms, counter, program, .. } = cell;
            [source, test, digest, terms, counter, program]
        }
        let order = self.product.cmp(&other.product);
        order
            .then_with(|| version_order(&self.version, &other.version))
            .then_with(|| rest(self).cmp(&rest(other)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rows::{merged, read_rows, rows_text};

    pub(crate) fn cell(version: &str, test: &str, instructions: f64) -> MapCell {
        MapCell {
            product: Product::MySql,
            version: version.to_owned(),
            source: "maven".to_owned(),
            program: "0123456789abcdef".to_owned(),
            test: test.to_owned(),
            digest: "d1".to_owned(),
            terms: "lean".to_owned(),
            instructions,
            half_width: instructions / 10_000.0,
            background: Some(12.5),
            times: 2,
            counter: "valgrind 3.19.0".to_owned(),
            shown: "sse4_2 avx2".to_owned(),
        }
    }

    #[test]
    fn a_file_is_sorted_and_read_back() {
        let unknown = MapCell { background: None, ..cell("8.0.11", "scan", 50_000.0) };
        let all = vec![cell("8.0.33", "scan", 60_000.0), unknown, cell("8.0.9", "scan", 40_000.0)];
        let sorted = merged(all, vec![cell("8.0.33", "scan", 61_000.0)]);
        let versions: Vec<&str> = sorted.iter().map(|cell| cell.version.as_str()).collect();
        assert_eq!(versions, ["8.0.9", "8.0.11", "8.0.33"]);
        assert!((sorted[2].instructions - 61_000.0).abs() < 0.01, "the newer one stays");
        let text = rows_text(&sorted);
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "mysql,8.0.9,maven,0123456789abcdef,scan,d1,lean,40000.0,4.0,12.5,2,valgrind 3.19.0,sse4_2 avx2"
        );
        assert_eq!(read_rows::<MapCell>("mysql.csv", &text).unwrap(), sorted);
        assert_eq!(merged(sorted.clone(), sorted.clone()), sorted);
    }

    #[test]
    fn what_is_no_cell_is_refused() {
        let text = rows_text(&[cell("8.0.9", "scan", 40_000.0)]);
        for (from, to, why) in [
            ("mysql,", "oracle,", "unknown variant `oracle`"),
            ("40000.0", "0", "`instructions` is 0"),
            ("40000.0", "0.04", "`instructions` is 0.04, which is below 0.1"),
            (",2,", ",many,", "line: 2"),
            (",d1,", ",,", "`digest` is empty"),
        ] {
            let fault = read_rows::<MapCell>("mysql.csv", &text.replacen(from, to, 1)).unwrap_err();
            assert!(fault.to_string().contains(why), "{fault}");
        }
    }
}
