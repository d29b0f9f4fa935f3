//! The map as a whole: which releases it has, and which of their cells are comparable.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::Product;

use crate::cells::MapCell;
use crate::gaps::MapGap;
use crate::rows::MapRow as _;
use crate::versions::{is_in_series, version_order};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CountMap {
    /// In order.
    cells: Vec<MapCell>,
    gaps: Vec<MapGap>,
}

impl CountMap {
    pub fn new(mut cells: Vec<MapCell>, gaps: Vec<MapGap>) -> Self {
        cells.sort_by(|one, other| one.order(other));
        Self { cells, gaps }
    }

    pub fn cells(&self) -> &[MapCell] {
        &self.cells
    }

    fn cells_of(&self, product: Product) -> impl Iterator<Item = &MapCell> {
        self.cells.iter().filter(move |cell| cell.product == product)
    }

    /// The releases of a product, in order.
    pub fn versions(&self, product: Product) -> Vec<&str> {
        let mut versions: Vec<&str> =
            self.cells_of(product).map(|cell| cell.version.as_str()).collect();
        versions.dedup();
        versions
    }

    /// The newest release that is `wanted` or belongs to it.
    pub fn newest(&self, product: Product, wanted: &str) -> Option<&str> {
        let versions = self.versions(product);
        versions.into_iter().rev().find(|version| is_in_series(version, wanted))
    }

    /// The releases next to a version: the last one in front of it, and the first one after it.
    pub fn neighbours(&self, product: Product, version: &str) -> [Option<&str>; 2] {
        let versions = self.versions(product);
        let earlier = versions.iter().rev().find(|known| version_order(known, version).is_lt());
        let later = versions.iter().find(|known| version_order(known, version).is_gt());
        [earlier.copied(), later.copied()]
    }

    /// Why a release could not be counted.
    pub fn gap(&self, product: Product, version: &str) -> Option<&MapGap> {
        let releases = self.gaps.iter().filter(|gap| gap.product == product && gap.test.is_empty());
        releases.rev().find(|gap| is_in_series(&gap.version, version))
    }

    /// Names of the tests of a product.
    pub fn tests(&self, product: Product) -> BTreeSet<&str> {
        self.cells_of(product).map(|cell| cell.test.as_str()).collect()
    }

    /// Comparable cells of a test in order of version, one for each version: the same work on the same terms, counted
    /// by the same kind of counter. If several such lines have all the versions named, the longest. Empty if none has.
    pub fn line(&self, product: Product, test: &str, through: &[&str]) -> Vec<&MapCell> {
        let mut lines: BTreeMap<[&str; 3], Vec<&MapCell>> = BTreeMap::new();
        for cell in self.cells_of(product).filter(|cell| cell.test == test) {
            lines.entry(cell.terms_of_line()).or_default().push(cell);
        }
        let sources = self.sources(product);
        let mut best: Vec<&MapCell> = Vec::new();
        for cells in lines.into_values() {
            let line = one_a_version(&cells, &sources);
            let has = |wanted: &&str| line.iter().any(|cell| cell.version == *wanted);
            if through.iter().all(has) && line.len() > best.len() {
                best = line;
            }
        }
        best
    }

    /// The sources of a product, the one with most releases first: builds of one source are alike.
    fn sources(&self, product: Product) -> Vec<&str> {
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for cell in self.cells_of(product) {
            versions.entry(&cell.source).or_default().insert(&cell.version);
        }
        let mut sources: Vec<(&str, usize)> =
            versions.into_iter().map(|(source, versions)| (source, versions.len())).collect();
        sources.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        sources.into_iter().map(|(source, _)| source).collect()
    }
}

/// The cell of each version from the first source that has it.
fn one_a_version<'a>(cells: &[&'a MapCell], sources: &[&str]) -> Vec<&'a MapCell> {
    let rank = |cell: &MapCell| sources.iter().position(|source| *source == cell.source);
    let of_version = cells.chunk_by(|one, other| one.version == other.version);
    of_version.filter_map(|cells| cells.iter().copied().min_by_key(|cell| rank(cell))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::cell;

    #[test]
    fn a_line_has_each_release_once_from_the_source_with_most() {
        let apt = |version| MapCell { source: "apt".to_owned(), ..cell(version, "scan", 41_000.0) };
        let other_work =
            |version| MapCell { digest: "d2".to_owned(), ..cell(version, "scan", 90_000.0) };
        let map = CountMap::new(
            vec![
                cell("8.0.33", "scan", 60_000.0),
                apt("8.0.33"),
                apt("8.0.36"),
                cell("8.0.11", "scan", 50_000.0),
                cell("8.0.12", "scan", 55_000.0),
                other_work("8.0.33"),
                other_work("9.7.1"),
            ],
            Vec::new(),
        );
        let line = |through: &[&str]| -> Vec<(String, String)> {
            let line = map.line(Product::MySql, "scan", through);
            line.iter().map(|cell| (cell.version.clone(), cell.source.clone())).collect()
        };
        let expected =
            [("8.0.11", "maven"), ("8.0.12", "maven"), ("8.0.33", "maven"), ("8.0.36", "apt")];
        let expected = expected.map(|(version, source)| (version.to_owned(), source.to_owned()));
        assert_eq!(line(&["8.0.11", "8.0.36"]), expected);
        assert_eq!(line(&["9.7.1"]).len(), 2);
        assert!(line(&["8.0.11", "9.7.1"]).is_empty());
        assert_eq!(map.newest(Product::MySql, "8.0"), Some("8.0.36"));
        assert_eq!(map.newest(Product::MySql, "8.4"), None);
        assert_eq!(map.neighbours(Product::MySql, "8.4.0"), [Some("8.0.36"), Some("9.7.1")]);
        assert_eq!(map.neighbours(Product::MySql, "5.7"), [None, Some("8.0.11")]);
        assert!(map.versions(Product::Postgres).is_empty());
    }
}
