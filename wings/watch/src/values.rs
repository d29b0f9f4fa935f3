//! Values of a watch's versions, from its studies. Pure.

use assay_model::{
    BisectMeasure, BisectVersion, CellId, Origin, Setup, StudyRecord, System, SystemSpec,
};
use assay_plan::parse_system;
use assay_study::WatchValue;
use assay_verdict::Judgement;

use assay_bisect::{error, maker, value};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) test: String,
    pub(super) setup: Setup,
    pub(super) measure: BisectMeasure,
    pub(super) values: Vec<WatchValue>,
}

/// In order. The first one is the baseline.
pub(super) struct Versions {
    pub(super) all: Vec<BisectVersion>,
    specs: Vec<Option<SystemSpec>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) version: usize,
    /// The last measured version of the same or an earlier series.
    pub(super) before: Option<usize>,
}

impl Versions {
    pub(super) fn new(all: Vec<BisectVersion>) -> Self {
        let specs = all.iter().map(|it| parse_system(&it.words).ok()).collect();
        Self { all, specs }
    }

    pub(super) fn place(&self, version: &BisectVersion) -> Option<usize> {
        self.all.iter().position(|it| it.words == version.words)
    }

    /// Index of a system's version; `None` if it is no longer among them, such as a commit of a branch that was
    /// rebased.
    pub(super) fn place_of(&self, system: &System) -> Option<usize> {
        self.specs.iter().position(|it| it.as_ref() == Some(&system.spec))
    }

    /// The newest version of each series. Commits are of one branch.
    pub(super) fn newest(&self) -> Vec<usize> {
        let series = |at: usize| {
            let spec = self.specs.get(at)?.as_ref()?;
            let name = &self.all.get(at)?.name;
            let is_release = matches!(spec.origin, Origin::Version(_));
            Some(if is_release { spec.product.series(name) } else { "" })
        };
        let is_last = |at: &usize| series(at + 1).is_none_or(|next| Some(next) != series(*at));
        (1..self.all.len()).filter(is_last).collect()
    }
}

pub(super) fn add(
    lines: &mut Vec<Line>,
    (record, judgement): (&StudyRecord, &Judgement),
    versions: &Versions,
    cells: &[CellId],
    sources: &mut Vec<String>,
) {
    let mut source = |system: usize| {
        let name = maker(record, system).unwrap_or_default();
        sources.iter().position(|it| *it == name).unwrap_or_else(|| {
            sources.push(name);
            sources.len() - 1
        })
    };
    for measure in [BisectMeasure::Instructions, BisectMeasure::Qps] {
        for judged in judgement.cells.iter().filter(|it| it.system != 0) {
            let system = record.systems.get(judged.system).filter(|it| !it.is_twin);
            let version = system.and_then(|it| versions.place_of(it));
            let ratio = value(measure, judged).filter(|it| !it.is_bound() && it.value > 0.0);
            let (Some(version), Some(ratio)) = (version, ratio) else { continue };
            let (test, setup) = (judged.cell.test.name(), judged.cell.setup);
            if !cells.iter().any(|it| it.test.name() == test && it.setup == setup) {
                continue;
            }
            let value = WatchValue {
                version,
                log_ratio: ratio.value.ln(),
                se: error(ratio),
                source: source(judged.system),
            };
            let is_it =
                |it: &&mut Line| (it.test.as_str(), it.setup, it.measure) == (test, setup, measure);
            match lines.iter_mut().find(is_it) {
                Some(line) => line.values.push(value),
                None => {
                    let baseline =
                        WatchValue { version: 0, log_ratio: 0.0, se: 0.0, source: source(0) };
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

    fn versions(words: &[&str]) -> Versions {
        let version = |words: &&str| BisectVersion {
            words: (*words).to_owned(),
            name: words.split(['@', '#']).next_back().unwrap().to_owned(),
            title: None,
        };
        Versions::new(words.iter().map(version).collect())
    }

    #[test]
    fn the_newest_versions_are_the_last_ones_of_their_series() {
        let all = ["10.11.3", "10.11.9", "11.4.2", "11.4.5", "11.8.1"];
        let all = all.map(|version| format!("mariadb@{version}"));
        assert_eq!(versions(&all.each_ref().map(String::as_str)).newest(), [1, 3, 4]);
        assert_eq!(versions(&["mariadb@10.11.3"]).newest(), [0; 0]);
        let commits = ["aa", "bb", "cc"].map(|id| format!("postgres@git:/pg#{id}"));
        assert_eq!(versions(&commits.each_ref().map(String::as_str)).newest(), [2]);
    }
}
