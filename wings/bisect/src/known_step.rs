//! Where counts that are known without measuring change most: a search compares the versions there first. They only
//! change the order of its comparisons, so a wrong count costs two of them.

use assay_command::known::{known_instructions, known_sentence};
use assay_model::{COUNT_THRESHOLD, NamedVersion, Product};

use super::range::SearchRange;
use super::search::{ComparedRange, VersionSearch};

/// A version beside the largest known change that has not been tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct VersionBesideStep {
    pub(super) version: usize,
    /// The version with which the change came.
    pub(super) at: usize,
    /// Instructions after the change, divided by those ahead of it.
    pub(super) ratio: f64,
}

/// `None` if no change is known, both its sides were tried, or the ends were not compared yet, which may show that
/// there is nothing to search for.
pub(super) fn beside_step(search: &VersionSearch) -> Option<VersionBesideStep> {
    let range = search.range();
    let (product, names) = releases(search).filter(|_| !range.compared.is_empty())?;
    let levels = known_instructions(product, &names, search.test());
    let ([after, at], ratio) = largest_step(&levels)?;
    let version = [at, after].into_iter().find(|version| is_open(range, *version))?;
    Some(VersionBesideStep { version, at, ratio })
}

/// A sentence on the change between the ends of the range; `None` if nothing is known of it.
pub(super) fn known_of_ends(search: &VersionSearch) -> Option<String> {
    let (product, names) = releases(search)?;
    known_sentence(product, [*names.first()?, *names.last()?], search.test())
}

/// The versions of the range, if they are releases.
fn releases(search: &VersionSearch) -> Option<(Product, Vec<&str>)> {
    let versions = &search.range().versions;
    let product = SearchRange::read(&search.words, None).ok()?.product;
    // Engines and options may change other things than releases do.
    let is_plain = |version: &NamedVersion| version.words == format!("{product}@{}", version.name);
    let names = versions.iter().map(|version| version.name.as_str()).collect();
    versions.iter().all(is_plain).then_some((product, names))
}

fn is_open(range: &ComparedRange, version: usize) -> bool {
    !range.has_run(version) && range.why_unusable(version).is_none()
}

/// The versions ahead of the largest change and after it, with its ratio.
fn largest_step(levels: &[Option<f64>]) -> Option<([usize; 2], f64)> {
    let known = levels.iter().enumerate().filter_map(|(version, level)| Some((version, (*level)?)));
    let known: Vec<(usize, f64)> = known.collect();
    let steps = known.windows(2).map(|pair| {
        let [(after, low), (at, high)] = [pair[0], pair[1]];
        ([after, at], high / low)
    });
    let largest =
        steps.max_by(|(_, one), (_, other)| one.ln().abs().total_cmp(&other.ln().abs()))?;
    (largest.1.ln().abs() > COUNT_THRESHOLD).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_change_is_between_versions_that_are_known() {
        let levels = [Some(100.0), Some(101.0), None, Some(130.0), Some(125.0)];
        let (versions, ratio) = largest_step(&levels).unwrap();
        assert_eq!(versions, [1, 3]);
        assert!((ratio - 130.0 / 101.0).abs() < 1e-12);
        assert_eq!(largest_step(&[Some(100.0), None, Some(100.2)]), None);
        assert_eq!(largest_step(&[None, Some(100.0)]), None);
    }
}
