//! What the studies of a watch say of its versions. Pure.

use assay_model::{BisectMeasure, BisectVersion, Setup, StudyRecord, SystemSpec};
use assay_plan::parse_system;
use assay_study::WatchValue;
use assay_verdict::Judgement;

use crate::bisect::{Known, Terms, error, maker, value};

/// The values of a test by one measure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) test: String,
    pub(super) setup: Setup,
    pub(super) measure: BisectMeasure,
    pub(super) values: Vec<WatchValue>,
}

/// A search of the watch.
pub(super) struct Searched {
    pub(super) known: Known,
    /// Index of the line of values that it explains.
    pub(super) line: usize,
    /// The places of its ends.
    pub(super) ends: [usize; 2],
}

/// The versions that are watched, in order. The first one is the baseline.
pub(super) struct Versions {
    pub(super) all: Vec<BisectVersion>,
    specs: Vec<Option<SystemSpec>>,
}

impl Versions {
    pub(super) fn new(all: Vec<BisectVersion>) -> Self {
        let specs = all.iter().map(|it| parse_system(&it.words).ok()).collect();
        Self { all, specs }
    }

    /// The place of a version.
    pub(super) fn place(&self, version: &BisectVersion) -> Option<usize> {
        self.all.iter().position(|it| it.words == version.words)
    }

    fn place_of(&self, spec: &SystemSpec) -> Option<usize> {
        self.specs.iter().position(|it| it.as_ref() == Some(spec))
    }

    /// The places of a study's systems, if it compared versions with the baseline, and nothing else.
    pub(super) fn measured(&self, record: &StudyRecord) -> Option<Vec<usize>> {
        let places = record.systems.iter().map(|it| self.place_of(&it.spec));
        let places: Option<Vec<usize>> = places.collect();
        places.filter(|it| it.len() > 1 && it.first() == Some(&0) && record.study.bisect.is_none())
    }

    /// The newest version of each series, and the one to compare it with: the last one before it that was measured.
    /// What was measured already is left out.
    pub(super) fn new_ones(&self, measured: &[usize]) -> Vec<(Option<usize>, usize)> {
        let series = |at: usize| {
            let spec = self.specs.get(at)?.as_ref()?;
            let name = &self.all.get(at)?.name;
            // Commits are of one branch.
            let is_release = matches!(spec.origin, assay_model::Origin::Version(_));
            Some(if is_release { spec.product.series(name).to_owned() } else { String::new() })
        };
        let is_newest = |at: &usize| series(at + 1).is_none_or(|next| Some(next) != series(*at));
        let newest = (1..self.all.len()).filter(is_newest);
        let mut known = measured.to_vec();
        let mut new = Vec::new();
        for at in newest.filter(|at| !measured.contains(at)) {
            new.push((known.iter().copied().filter(|it| *it < at && *it > 0).max(), at));
            known.push(at);
        }
        new
    }
}

/// The values of all tests of a study, added to those of earlier ones.
pub(super) fn add(
    lines: &mut Vec<Line>,
    (record, judgement): (&StudyRecord, &Judgement),
    versions: &Versions,
    measures: &[BisectMeasure],
    terms: impl Fn(BisectMeasure) -> Terms,
) {
    for &measure in measures {
        for cell in judgement.cells.iter().filter(|it| it.system != 0) {
            let system = record.systems.get(cell.system).filter(|it| !it.is_twin);
            let place = system.and_then(|it| versions.place_of(&it.spec));
            let ratio = value(measure, cell).filter(|it| !it.is_bound() && it.value > 0.0);
            let (Some(version), Some(ratio)) = (place, ratio) else { continue };
            let [base, other] = [0, cell.system].map(|system| maker(record, system));
            let source = terms(measure).source(base.as_deref(), other.as_deref());
            let se = error(ratio).hypot(source);
            let value = WatchValue { version, log_ratio: ratio.value.ln(), se };
            let (test, setup) = (cell.cell.test.name(), cell.cell.setup);
            let is_it =
                |it: &&mut Line| (it.test.as_str(), it.setup, it.measure) == (test, setup, measure);
            match lines.iter_mut().find(is_it) {
                Some(line) => line.values.push(value),
                None => {
                    let baseline = WatchValue { version: 0, log_ratio: 0.0, se: 0.0 };
                    let (test, values) = (test.to_owned(), vec![baseline, value]);
                    lines.push(Line { test, setup, measure, values });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(names: &[&str]) -> Versions {
        let version = |name: &&str| BisectVersion {
            words: format!("mariadb@{name}"),
            name: (*name).to_owned(),
            title: None,
        };
        Versions::new(names.iter().map(version).collect())
    }

    #[test]
    fn the_newest_version_of_each_series_is_new_until_it_was_measured() {
        let all = versions(&["10.11.3", "10.11.9", "11.4.2", "11.4.5", "11.8.1"]);
        assert_eq!(all.new_ones(&[]), [(None, 1), (Some(1), 3), (Some(3), 4)]);
        assert_eq!(all.new_ones(&[0, 1, 3]), [(Some(3), 4)]);
        assert_eq!(all.new_ones(&[0, 1, 3, 4]), []);
        assert_eq!(versions(&["10.11.3"]).new_ones(&[]), []);
        assert_eq!(versions(&["11.4.1", "11.4.2", "11.4.3"]).new_ones(&[1]), [(Some(1), 2)]);
    }

    #[test]
    fn commits_are_of_one_branch() {
        let version = |name: &str| BisectVersion {
            words: format!("postgres@git:/pg#{name}"),
            name: name.to_owned(),
            title: None,
        };
        let all = Versions::new(["aa", "bb", "cc"].map(version).to_vec());
        assert_eq!(all.new_ones(&[]), [(None, 2)]);
        assert_eq!(all.new_ones(&[2]), []);
    }
}
