//! State of a search, derived from its studies alone. Pure.

use std::ops::ControlFlow;

use assay_model::{
    BisectMeasure, BisectPart, BisectVersion, Estimate, Origin, StudyRecord, Unusable, Verdict,
};
use assay_study::{
    Bisect, BisectAction, BisectAnswer, BisectNoise, BisectOutcome, BisectPlan, WatchNoise,
};
use assay_verdict::CellJudgement;

use super::unusable::is_of_machine;

/// Seconds of a comparison by time.
pub(super) const COMPARISON_S: f64 = 60.0;

/// Seconds of a build or download: only the ratio to the time of a comparison counts.
const BUILD_S: f64 = 600.0;
const DOWNLOAD_S: f64 = 30.0;

const Z_95: f64 = 1.96;

#[derive(Debug, Clone)]
pub(super) struct Range {
    pub(super) versions: Vec<BisectVersion>,
    pub(super) unusable: Vec<Unusable>,
    pub(super) compared: Vec<Compared>,
}

#[derive(Debug, Clone)]
pub(super) struct Compared {
    pub(super) study: String,
    pub(super) base: usize,
    pub(super) version: usize,
    pub(super) ratio: Estimate,
    /// Makers of the builds of base and version; `None` if unknown.
    pub(super) makers: [Option<String>; 2],
    /// Number of versions known to be unusable before.
    unusable: usize,
}

/// Standard error of a logarithm that is only a bound, because a system did not answer in time. It is certainly far
/// slower, so the error is assumed to be small.
const OF_BOUND: f64 = 0.05;

impl Compared {
    /// Logarithm of the ratio, and its standard error.
    pub(super) fn believed(&self) -> (f64, f64) {
        let se = if self.ratio.is_bound() { OF_BOUND } else { error(self.ratio) };
        (self.ratio.value.ln(), se)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) measure: BisectMeasure,
    pub(super) is_of_commits: bool,
    pub(super) comparisons_max: u32,
}

/// Standard deviations of the log ratio between comparisons that should be equal, beyond their own errors, on a quiet
/// machine; between builds of one compiler and of several, by time and by count. Counts of successive releases differ a
/// little, which a search for a large change may take for noise, but not one for a small change.
const INSTANCE: f64 = 0.004;
const BUILD: f64 = 0.003;
const BUILDS_OF_SEVERAL: f64 = 0.008;
const BUILD_COUNTED: f64 = 0.0005;
const BUILDS_COUNTED_OF_SEVERAL: f64 = 0.003;

/// Noise by count is at most this share of the largest difference.
const COUNTED_SHARE: f64 = 0.1;

/// The same for builds from different sources, whose compilers, options and libraries differ.
const SOURCE: f64 = 0.06;
const SOURCE_COUNTED: f64 = 0.02;

impl Terms {
    /// Whether one comparison decides about a version.
    pub(super) fn is_exact(self) -> bool {
        self.measure == BisectMeasure::Instructions
    }

    /// Deviation between builds of equal speed.
    fn build(self) -> f64 {
        match (self.is_exact(), self.is_of_commits) {
            (true, true) => BUILD_COUNTED,
            (true, false) => BUILDS_COUNTED_OF_SEVERAL,
            (false, true) => BUILD,
            (false, false) => BUILDS_OF_SEVERAL,
        }
    }

    /// Deviation between builds of these makers because of different sources.
    fn source(self, one: Option<&str>, other: Option<&str>) -> f64 {
        match (one, other) {
            (Some(one), Some(other)) if one != other && self.is_exact() => SOURCE_COUNTED,
            (Some(one), Some(other)) if one != other => SOURCE,
            _ => 0.0,
        }
    }
}

/// Prior noise of watched versions. `threshold` is the least change of practical interest.
pub fn noise_of_watch(measure: BisectMeasure, is_of_commits: bool, threshold: f64) -> WatchNoise {
    let terms = Terms { measure, is_of_commits, comparisons_max: 0 };
    let is_exact = terms.is_exact();
    WatchNoise {
        between: if is_exact { 0.0 } else { INSTANCE },
        build: if is_exact { BUILD_COUNTED } else { terms.build() },
        source: if is_exact { SOURCE_COUNTED } else { SOURCE },
        least: threshold / 2.0,
        is_exact,
    }
}

impl Range {
    pub(super) fn new(versions: Vec<BisectVersion>) -> Self {
        Self { versions, unusable: Vec::new(), compared: Vec::new() }
    }

    /// A range within this one, which keeps the comparisons of its versions.
    pub(super) fn narrowed(&self, versions: Vec<BisectVersion>) -> Self {
        let words = |version: usize| self.versions.get(version).map(|it| &it.words);
        let place = |wanted: &BisectVersion, at: usize| words(at) == Some(&wanted.words);
        let first = versions.first();
        let known = self.compared.iter().filter_map(|it| {
            let version = versions.iter().position(|version| place(version, it.version))?;
            let is_same_base = first.is_some_and(|base| place(base, it.base));
            is_same_base.then(|| Compared { base: 0, version, unusable: 0, ..it.clone() })
        });
        let compared = known.collect();
        Self { compared, ..Self::new(versions) }
    }

    /// Adds a study of the search. Returns why it has no result, if the machine is at fault: the comparison is then to
    /// be repeated.
    pub(super) fn add(&mut self, part: &BisectPart, record: &StudyRecord) -> Option<String> {
        for it in &part.unusable {
            self.skip(it.version, it.why.clone());
        }
        let unusable = self.unusable.len();
        let base = self.base();
        match outcome(part.measure, record) {
            Ok(ratio) => self.compared.push(Compared {
                study: record.study.id.clone(),
                base,
                version: part.version,
                ratio,
                makers: [0, 1].map(|system| maker(record, system)),
                unusable,
            }),
            Err((_, why)) if is_of_machine(&why) => return Some(why),
            Err((0, why)) => self.skip(base, why),
            Err((_, why)) => self.skip(part.version, why),
        }
        None
    }

    pub(super) fn skip(&mut self, version: usize, why: String) {
        if self.unusable.iter().all(|it| it.version != version) {
            self.unusable.push(Unusable { version, why });
        }
    }

    pub(super) fn why_unusable(&self, version: usize) -> Option<&str> {
        self.unusable.iter().find(|it| it.version == version).map(|it| it.why.as_str())
    }

    /// The first version that can be used.
    pub(super) fn base(&self) -> usize {
        (0..self.versions.len()).find(|at| self.why_unusable(*at).is_none()).unwrap_or(0)
    }

    /// The maker of a version's build; `None` if it has not run or was not released.
    pub(super) fn maker(&self, version: usize) -> Option<&str> {
        self.compared.iter().find_map(|it| {
            let [base, other] = &it.makers;
            let of_base = base.as_deref().filter(|_| it.base == version);
            of_base.or_else(|| other.as_deref().filter(|_| it.version == version))
        })
    }

    /// Standard deviation of the log ratio of two versions because their builds come from different sources.
    pub(super) fn source(&self, terms: Terms, one: usize, other: usize) -> f64 {
        terms.source(self.maker(one), self.maker(other))
    }

    pub(super) fn has_run(&self, version: usize) -> bool {
        self.compared.iter().any(|it| it.base == version || it.version == version)
    }

    pub(super) fn next(&self, terms: Terms) -> ControlFlow<BisectAnswer, BisectAction> {
        let next = self.after_at_most(terms, terms.comparisons_max);
        match next {
            // An exact measure would give the same result again, and no other version tells more.
            ControlFlow::Continue(action)
                if terms.is_exact()
                    && self
                        .compared
                        .iter()
                        .any(|it| (it.base, it.version) == (action.base, action.candidate)) =>
            {
                match self.so_far(terms) {
                    Some(answer) => ControlFlow::Break(answer),
                    None => ControlFlow::Continue(action),
                }
            }
            next => next,
        }
    }

    pub(super) fn so_far(&self, terms: Terms) -> Option<BisectAnswer> {
        let used = u32::try_from(self.compared.len()).unwrap_or(u32::MAX);
        match self.after_at_most(terms, used) {
            ControlFlow::Break(answer) => Some(answer),
            ControlFlow::Continue(_) => None,
        }
    }

    /// Noise between comparisons that should be equal. A machine on which one comparison is uncertain differs as much
    /// from one to the next.
    fn noise(&self, terms: Terms) -> BisectNoise {
        let build = terms.build();
        if terms.is_exact() {
            let sizes = self.compared.iter().map(|it| it.ratio.value.ln().abs());
            let most = COUNTED_SHARE * sizes.fold(0.0, f64::max);
            return BisectNoise { instance: 0.0, build: build.min(most.max(BUILD_COUNTED)) };
        }
        let mut errors: Vec<f64> = self.compared.iter().map(|it| error(it.ratio)).collect();
        errors.retain(|error| error.is_finite());
        errors.sort_by(f64::total_cmp);
        let usual = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
        BisectNoise { instance: usual.max(INSTANCE), build }
    }

    fn after_at_most(&self, terms: Terms, most: u32) -> ControlFlow<BisectAnswer, BisectAction> {
        let get_s = if terms.is_of_commits { BUILD_S } else { DOWNLOAD_S };
        let versions = 0..self.versions.len();
        let mut bisect = Bisect::new(BisectPlan {
            build_s: vec![get_s; self.versions.len()],
            comparison_s: COMPARISON_S,
            noise: self.noise(terms),
            source: versions.map(|at| self.source(terms, self.base(), at)).collect(),
            comparisons_max: most,
        });
        let mut skipped = self.unusable.iter().zip(1..).peekable();
        for it in &self.compared {
            while let Some((unusable, _)) = skipped.next_if(|(_, number)| *number <= it.unusable) {
                bisect.came(BisectOutcome::Unusable { candidate: unusable.version });
            }
            let (log_ratio, se) = it.believed();
            bisect.came(BisectOutcome::Compared { candidate: it.version, log_ratio, se });
        }
        for (unusable, _) in skipped {
            bisect.came(BisectOutcome::Unusable { candidate: unusable.version });
        }
        bisect.next()
    }
}

pub fn error(ratio: Estimate) -> f64 {
    (ratio.high.ln() - ratio.low.ln()) / (2.0 * Z_95)
}

pub fn ratio((log, se): (f64, f64)) -> Estimate {
    let [value, low, high] = [log, log - Z_95 * se, log + Z_95 * se].map(f64::exp);
    Estimate { value, low, high }
}

/// Maker of the build of a system: of a release, the builder; of a commit, the compiler and the changes needed to build
/// with it.
pub fn maker(record: &StudyRecord, system: usize) -> Option<String> {
    let system = record.systems.get(system)?;
    let prefix = system.artifact.prefix()?;
    match system.spec.origin {
        Origin::Version(_) => Some(assay_provision::maker(&prefix.build).to_owned()),
        Origin::Git(_) => Some(assay_provision::compiled(&prefix.build)),
        _ => None,
    }
}

pub fn value(measure: BisectMeasure, cell: &CellJudgement) -> Option<Estimate> {
    match measure {
        BisectMeasure::Qps => cell.rqps,
        BisectMeasure::Cpu => cell.cpu_ratio,
        BisectMeasure::Instructions => cell.count.as_ref()?.ratio,
    }
}

/// The value of the version divided by that of the base, or the system that could not be measured, and why.
fn outcome(measure: BisectMeasure, record: &StudyRecord) -> Result<Estimate, (usize, String)> {
    let judgement = assay_verdict::judge(record);
    let cell = judgement.cells.iter().find(|cell| cell.system == 1);
    if let Some(ratio) = cell.and_then(|cell| value(measure, cell)) {
        return Ok(ratio);
    }
    // If both systems failed, it is the base.
    let failed = judgement.cells.iter().filter(|cell| cell.verdict == Verdict::Failed);
    let mut failed = failed.filter_map(|cell| Some((cell.system, cell.failure.clone()?)));
    Err(failed.next().unwrap_or_else(|| (1, "the test could not be measured".to_owned())))
}

#[cfg(test)]
mod tests {
    use assay_study::BisectEnd;

    use super::*;

    const TERMS: Terms =
        Terms { measure: BisectMeasure::Instructions, is_of_commits: false, comparisons_max: 20 };

    /// `None` in `values` is a version that cannot be used.
    fn searched(values: &[Option<f64>], terms: Terms) -> (Range, BisectAnswer) {
        let version = |at: usize| BisectVersion {
            words: format!("mariadb@11.4.{at}"),
            name: format!("11.4.{at}"),
            title: None,
        };
        let mut range = Range::new((0..values.len()).map(version).collect());
        for study in 0..100 {
            let action = match range.next(terms) {
                ControlFlow::Break(answer) => return (range, answer),
                ControlFlow::Continue(action) => action,
            };
            // A range read back from the ledger continues in the same way.
            match (values[action.base], values[action.candidate]) {
                (None, _) => range.skip(action.base, "broken".to_owned()),
                (_, None) => range.skip(action.candidate, "broken".to_owned()),
                (Some(base), Some(value)) => {
                    let value = value / base;
                    range.compared.push(Compared {
                        study: study.to_string(),
                        base: action.base,
                        version: action.candidate,
                        ratio: Estimate { value, low: value * 0.9995, high: value * 1.0005 },
                        makers: [None, None],
                        unusable: range.unusable.len(),
                    });
                }
            }
        }
        panic!("no end")
    }

    #[test]
    fn a_step_between_a_few_releases_is_found_by_count() {
        let values = [1.0, 1.005, 0.9, 0.902].map(Some);
        let (range, answer) = searched(&values, TERMS);
        let places: Vec<_> = answer.steps.iter().map(|it| (it.after, it.at)).collect();
        assert_eq!(places, [(1, 2)], "{answer:?}");
        assert!(range.compared.len() <= 3);
    }

    /// Counts of two releases, of which the second is the only possible place.
    #[test]
    fn a_small_change_by_count_is_found_at_its_only_place() {
        let end_of = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            let (range, answer) = searched(&values, TERMS);
            let places: Vec<_> = answer.steps.iter().map(|it| (it.after, it.at)).collect();
            (answer.end, places, range.compared.len())
        };
        for value in [1.013, 1.0053, 1.0026, 0.9974] {
            assert_eq!(end_of(&[1.0, value]), (BisectEnd::Found, vec![(0, 1)], 1), "{value}");
        }
        for value in [1.0, 1.0002, 0.9995, 1.001] {
            assert_eq!(end_of(&[1.0, value]), (BisectEnd::NoStep, vec![], 1), "{value}");
            let many = [1.0, value, 1.0, value, value];
            assert_eq!(end_of(&many), (BisectEnd::NoStep, vec![], 1), "{value}");
        }
        // Small differences between releases do not hide a large change.
        let drifting = [1.0, 1.002, 0.999, 1.001, 1.1, 1.101, 1.099, 1.102];
        assert_eq!(end_of(&drifting).1, [(3, 4)]);
    }

    #[test]
    fn what_a_build_from_another_source_differs_by_is_no_step() {
        let of = |values: [f64; 4], makers: [&str; 4]| {
            let (mut range, _) = searched(&values.map(Some), TERMS);
            range.compared = (1..4)
                .map(|at| (at, values[at]))
                .map(|(version, value)| Compared {
                    study: version.to_string(),
                    base: 0,
                    version,
                    ratio: Estimate { value, low: value * 0.9995, high: value * 1.0005 },
                    makers: [makers[0], makers[version]].map(|it| Some(it.to_owned())),
                    unusable: 0,
                })
                .collect();
            let answer = range.so_far(TERMS).unwrap();
            answer.steps.iter().map(|it| it.at).collect::<Vec<_>>()
        };
        let mixed = ["apt", "maven", "apt", "apt"];
        assert_eq!(of([1.0, 1.03, 0.9, 0.9], mixed), [2]);
        assert_eq!(of([1.0, 1.03, 1.0, 1.0], mixed), [0; 0]);
        assert_eq!(of([1.0, 1.03, 1.0, 1.0], ["apt"; 4]), [1, 2]);
    }

    #[test]
    fn broken_versions_are_passed_over_even_at_the_ends() {
        let values = [None, Some(1.0), Some(1.0), None, Some(0.9), Some(0.9), None];
        let (range, answer) = searched(&values, TERMS);
        let places: Vec<_> = answer.steps.iter().map(|it| (it.after, it.at)).collect();
        assert_eq!(places, [(2, 4)], "{answer:?}");
        assert_eq!(range.base(), 1);
        assert_eq!(range.why_unusable(0), Some("broken"));
    }

    #[test]
    fn a_narrower_range_keeps_what_is_known_of_its_versions() {
        let (range, _) = searched(&[1.0, 1.0, 0.9, 0.9].map(Some), TERMS);
        let first = range.versions[0].clone();
        let new = BisectVersion { words: "mariadb@11.4.0.5".to_owned(), ..first.clone() };
        let narrower = range.narrowed(vec![first, new.clone(), range.versions[3].clone()]);
        let known: Vec<usize> = narrower.compared.iter().map(|it| it.version).collect();
        assert_eq!(known, [2]);
        assert!(range.narrowed(vec![new, range.versions[3].clone()]).compared.is_empty());
    }

    #[test]
    fn a_noisy_machine_is_not_believed_at_once() {
        let timed = Terms { measure: BisectMeasure::Qps, ..TERMS };
        let of = |se: f64| {
            let mut range = Range::new(searched(&[Some(1.0); 3], TERMS).0.versions);
            let (low, high) = ((-Z_95 * se).exp(), (Z_95 * se).exp());
            let ratio = Estimate { value: 1.0, low, high };
            let study = String::new();
            let makers = [None, None];
            range.compared.push(Compared {
                study,
                base: 0,
                version: 2,
                ratio,
                makers,
                unusable: 0,
            });
            range.noise(timed).instance
        };
        assert!((of(0.05) - 0.05).abs() < 1e-9 && of(0.001) == INSTANCE);
    }

    #[test]
    fn equal_ends_end_the_search_at_once() {
        let (range, answer) = searched(&[Some(1.0); 9], TERMS);
        assert_eq!((answer.steps.len(), range.compared.len()), (0, 1), "{answer:?}");
        let (_, none) = searched(&[None, Some(1.0), None], TERMS);
        assert!(none.steps.is_empty());
    }

    #[test]
    fn changes_everywhere_end_an_exact_search_when_all_are_known() {
        let values = [1.0, 1.1, 1.21, 1.3, 1.45].map(Some);
        let (range, _) = searched(&values, TERMS);
        assert!(range.compared.len() <= 4);
    }
}
