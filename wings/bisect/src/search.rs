//! State of a search, derived from its studies alone. Pure.

use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use assay_model::{
    Estimate, FollowedRange, NamedVersion, Origin, SearchMeasure, SearchPart, StudyRecord,
    UnusableVersion, Verdict,
};
use assay_plan::{FileError, Request, SystemRequest, without_places};
use assay_verdict::{CellJudgement, JudgedFigure};

use super::decisions::comparison::SD_MIN;
use super::decisions::{
    BisectAction, BisectAnswer, BisectEnd, BisectNoise, BisectOutcome, BisectPlan, BisectSearch,
    BisectStep,
};
use super::range::{SearchRange, within_step};

/// Seconds of a comparison by time.
pub(super) const COMPARISON_S: f64 = 60.0;

/// Seconds of a build or download: only the ratio to the time of a comparison counts.
const BUILD_S: f64 = 600.0;
const DOWNLOAD_S: f64 = 30.0;

const Z_95: f64 = 1.96;

#[derive(Debug, Clone)]
pub(super) struct ComparedRange {
    pub(super) versions: Vec<NamedVersion>,
    pub(super) unusable: Vec<UnusableVersion>,
    pub(super) compared: Vec<VersionComparison>,
}

#[derive(Debug, Clone)]
pub(super) struct VersionComparison {
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

impl VersionComparison {
    /// Logarithm of the ratio, and its standard error.
    pub(super) fn believed(&self) -> (f64, f64) {
        let se = if self.ratio.is_bound() { OF_BOUND } else { error(self.ratio) };
        (self.ratio.value.ln(), se)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SearchTerms {
    pub(super) measure: SearchMeasure,
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

impl SearchTerms {
    /// Whether one comparison decides about a version.
    pub(super) fn is_exact(self) -> bool {
        self.measure == SearchMeasure::Instructions
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

/// Prior standard deviations of the log ratios of versions: of one version between studies beyond its errors, of builds
/// of equal speed, and of such builds from different sources.
pub fn prior_noise(measure: SearchMeasure, is_of_commits: bool) -> [f64; 3] {
    let terms = SearchTerms { measure, is_of_commits, comparisons_max: 0 };
    if terms.is_exact() {
        [0.0, BUILD_COUNTED, SOURCE_COUNTED]
    } else {
        [INSTANCE, terms.build(), SOURCE]
    }
}

impl ComparedRange {
    pub(super) fn new(versions: Vec<NamedVersion>) -> Self {
        Self { versions, unusable: Vec::new(), compared: Vec::new() }
    }

    /// A range within this one, which keeps the comparisons of its versions.
    pub(super) fn narrowed(&self, versions: Vec<NamedVersion>) -> Self {
        let words = |version: usize| self.versions.get(version).map(|it| &it.words);
        let place = |wanted: &NamedVersion, at: usize| words(at) == Some(&wanted.words);
        let known = self.compared.iter().filter_map(|known| {
            let version = versions.iter().position(|version| place(version, known.version))?;
            let is_same_base = place(versions.first()?, known.base);
            is_same_base.then(|| VersionComparison {
                base: 0,
                version,
                unusable: 0,
                ..known.clone()
            })
        });
        Self { compared: known.collect(), ..Self::new(versions) }
    }

    /// Adds a study of the search. Returns why it has no result, if the machine is at fault: the comparison is then to
    /// be repeated.
    pub(super) fn add(&mut self, part: &SearchPart, record: &StudyRecord) -> Option<String> {
        for it in &part.unusable {
            self.skip(it.version, it.why.clone());
        }
        let unusable = self.unusable.len();
        let base = self.base();
        match outcome(part.measure, record) {
            Ok(ratio) => self.compared.push(VersionComparison {
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
            self.unusable.push(UnusableVersion { version, why });
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
    pub(super) fn source(&self, terms: SearchTerms, one: usize, other: usize) -> f64 {
        terms.source(self.maker(one), self.maker(other))
    }

    pub(super) fn has_run(&self, version: usize) -> bool {
        self.compared.iter().any(|it| it.base == version || it.version == version)
    }

    pub(super) fn next(&self, terms: SearchTerms) -> ControlFlow<BisectAnswer, BisectAction> {
        let next = self.after_at_most(terms, terms.comparisons_max);
        let is_same = |known: &VersionComparison, action: &BisectAction| {
            (known.base, known.version) == (action.base, action.candidate)
        };
        // An exact measure would give the same result again, and no other version adds information.
        if terms.is_exact()
            && let ControlFlow::Continue(action) = &next
            && self.compared.iter().any(|known| is_same(known, action))
            && let Some(answer) = self.so_far(terms)
        {
            return ControlFlow::Break(answer);
        }
        next
    }

    /// The answer without further comparisons.
    pub(super) fn so_far(&self, terms: SearchTerms) -> Option<BisectAnswer> {
        self.after_at_most(terms, self.compared.len() as u32).break_value()
    }

    /// Noise between comparisons that should be equal. A machine on which one comparison is uncertain differs as much
    /// from one to the next.
    fn noise(&self, terms: SearchTerms) -> BisectNoise {
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

    fn after_at_most(
        &self,
        terms: SearchTerms,
        most: u32,
    ) -> ControlFlow<BisectAnswer, BisectAction> {
        let get_s = if terms.is_of_commits { BUILD_S } else { DOWNLOAD_S };
        let versions = 0..self.versions.len();
        let mut bisect = BisectSearch::new(BisectPlan {
            build_s: vec![get_s; self.versions.len()],
            comparison_s: COMPARISON_S,
            noise: self.noise(terms),
            source: versions.map(|at| self.source(terms, self.base(), at)).collect(),
            comparisons_max: most,
        });
        let mut skipped = self.unusable.iter().zip(1..).peekable();
        for it in &self.compared {
            while let Some((unusable, _)) = skipped.next_if(|(_, number)| *number <= it.unusable) {
                bisect.receive(BisectOutcome::Unusable { candidate: unusable.version });
            }
            let (log_ratio, se) = it.believed();
            bisect.receive(BisectOutcome::Compared { candidate: it.version, log_ratio, se });
        }
        for (unusable, _) in skipped {
            bisect.receive(BisectOutcome::Unusable { candidate: unusable.version });
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

/// Precision-weighted mean of a candidate's log ratios and its standard error, which grows if they differ by more than
/// their own errors explain. `None` without any.
pub fn pooled(comparisons: &[(f64, f64)]) -> Option<(f64, f64)> {
    let weight = |se: f64| 1.0 / (se * se).max(SD_MIN * SD_MIN);
    let usable = || comparisons.iter().filter(|(value, se)| value.is_finite() && se.is_finite());
    let weights: f64 = usable().map(|(_, se)| weight(*se)).sum();
    let mean = usable().map(|(value, se)| weight(*se) * value).sum::<f64>() / weights;
    let squares: f64 = usable().map(|(value, se)| weight(*se) * (value - mean).powi(2)).sum();
    let freedom = (usable().count() as f64 - 1.0).max(1.0);
    let se = ((squares / freedom).max(1.0) / weights).sqrt();
    mean.is_finite().then_some((mean, se))
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

pub fn value(measure: SearchMeasure, cell: &CellJudgement) -> Option<Estimate> {
    match measure {
        SearchMeasure::Qps => cell.ratio_by(JudgedFigure::Time),
        SearchMeasure::Cpu => cell.ratio_by(JudgedFigure::Cpu),
        SearchMeasure::Instructions => cell.count.as_ref()?.ratio,
    }
}

/// The value of the version divided by that of the base, or the system that could not be measured, and why.
fn outcome(measure: SearchMeasure, record: &StudyRecord) -> Result<Estimate, (usize, String)> {
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

pub(super) struct VersionSearch {
    pub(super) id: String,
    /// The range, as the user named it.
    pub(super) words: String,
    pub(super) request: Request,
    pub(super) terms: SearchTerms,
    /// Names of all releases between the ends; empty for commits.
    pub(super) releases: Vec<String>,
    pub(super) ranges: Vec<ComparedRange>,
    pub(super) spent_s: f64,
    pub(super) followed: Option<FollowedRange>,
    pub(super) unfinished: Option<String>,
}

impl VersionSearch {
    pub(super) fn begun(part: &SearchPart, record: &StudyRecord) -> Result<Self, FileError> {
        let request = assay_plan::request_of(&record.study)?;
        let is_git = |words: &str| words.contains("@git:");
        Ok(Self {
            id: part.id.clone(),
            words: part.range.clone(),
            request: Request { systems: Vec::new(), ..request },
            terms: SearchTerms {
                measure: part.measure,
                is_of_commits: part.versions.first().is_some_and(|it| is_git(&it.words)),
                comparisons_max: part.comparisons_max,
            },
            releases: part.releases.clone(),
            ranges: Vec::new(),
            spent_s: 0.0,
            followed: record.study.followed.clone(),
            unfinished: None,
        })
    }

    /// Adds a study, in the order of their starts. Returns why it has no result, if its comparison is to be repeated.
    pub(super) fn add(&mut self, part: &SearchPart, record: &StudyRecord) -> Option<String> {
        if self.ranges.len() <= part.level as usize {
            let versions = part.versions.clone();
            self.ranges.push(match self.ranges.last() {
                Some(wider) => wider.narrowed(versions),
                None => ComparedRange::new(versions),
            });
        }
        self.spent_s = part.spent_s + record.elapsed_s();
        if !record.finished {
            self.unfinished = Some(record.study.id.clone());
            return None;
        }
        self.ranges.get_mut(part.level as usize)?.add(part, record)
    }

    /// Whether later ranges have no other versions than the first one and releases within it.
    pub(super) fn has_known_versions(&self) -> bool {
        let [first, later @ ..] = self.ranges.as_slice() else { return false };
        let within = SearchRange::read(&self.words, None).ok();
        let release = |name: &String| Some(within.as_ref()?.release(name).words);
        let known: BTreeSet<String> = (first.versions.iter().map(|version| version.words.clone()))
            .chain(self.releases.iter().filter_map(release))
            .collect();
        let mut later = later.iter().flat_map(|range| &range.versions);
        later.all(|version| known.contains(&version.words))
    }

    pub(super) fn test(&self) -> &str {
        self.request.tests.first().map_or("", String::as_str)
    }

    /// Terms of the current range: earlier comparisons count towards the maximum.
    pub(super) fn terms(&self) -> SearchTerms {
        let earlier = self.comparisons().saturating_sub(self.range().compared.len());
        let comparisons_max = self.terms.comparisons_max.saturating_sub(earlier as u32);
        SearchTerms { comparisons_max, ..self.terms }
    }

    pub(super) fn range(&self) -> &ComparedRange {
        self.ranges.last().expect("a search has a range from its first study on")
    }

    pub(super) fn range_mut(&mut self) -> &mut ComparedRange {
        self.ranges.last_mut().expect("a search has a range from its first study on")
    }

    pub(super) fn has_ended(&self) -> bool {
        self.unfinished.is_none()
            && self.range().next(self.terms()).is_break()
            && self.narrower().is_none()
    }

    /// Releases within the step found between two series; `None` if there are none or no such step.
    pub(super) fn narrower(&self) -> Option<Vec<NamedVersion>> {
        let [range] = self.ranges.as_slice() else { return None };
        let step = largest(&range.next(self.terms).break_value()?)?;
        let step = [step.after, step.at].map(|at| range.versions[at].name.as_str());
        let words = SearchRange::read(&self.words, None).ok()?;
        let within = within_step(words.product, &self.releases, step)?;
        let is_known = |name: &String| range.versions.iter().any(|known| known.name == *name);
        let has_new = !within.iter().all(is_known);
        has_new.then(|| within.iter().map(|name| words.release(name)).collect())
    }

    /// Maximum number of comparisons, as text: an exact measure compares no version twice, and about halves the range
    /// each time.
    pub(super) fn at_most(&self) -> String {
        let most = self.terms.comparisons_max as usize;
        if !self.terms.is_exact() {
            return format!("at most {most}");
        }
        let range = self.range();
        let base = range.base();
        let left = (0..range.versions.len()).filter(|at| {
            let is_compared = range.compared.iter().any(|it| it.version == *at);
            *at != base && range.why_unusable(*at).is_none() && !is_compared
        });
        let most = most.min(self.comparisons() + left.count());
        let halves = 1.4 * (range.versions.len() as f64).log2();
        match halves.ceil() as usize {
            usual if (self.comparisons() + 1..most).contains(&usual) && self.ranges.len() == 1 => {
                format!("about {usual}")
            }
            _ => format!("at most {most}"),
        }
    }

    pub(super) fn comparisons(&self) -> usize {
        let all = self.ranges.iter().flat_map(|range| &range.compared);
        all.map(|it| it.study.as_str()).collect::<BTreeSet<_>>().len()
    }
}

pub(super) fn largest(answer: &BisectAnswer) -> Option<BisectStep> {
    let size = |step: &BisectStep| step.ratio.value.ln().abs();
    let steps = answer.steps.iter().filter(|_| answer.end == BisectEnd::Found);
    steps.max_by(|a, b| size(a).total_cmp(&size(b))).copied()
}

const OF_MACHINE: [&str; 7] = [
    "No space left on device",
    "not enough disk space",
    "MB are missing",
    "Cannot allocate memory",
    "virtual memory exhausted",
    "out of memory",
    "Killed",
];

pub(super) fn is_of_machine(why: &str) -> bool {
    OF_MACHINE.iter().any(|words| why.contains(words))
}

/// Why a version cannot be fetched or started, if it is its own fault: another attempt would fail in the same way.
pub fn own_fault(error: &anyhow::Error) -> Option<String> {
    let is_of_version = |cause: &&(dyn std::error::Error + 'static)| {
        cause.downcast_ref().is_some_and(is_unavailable)
            || cause.downcast_ref().is_some_and(does_not_start)
    };
    error.chain().find(is_of_version).map(ToString::to_string)
}

fn is_unavailable(error: &assay_provision::ProvisionError) -> bool {
    use assay_provision::ProvisionError;
    match error {
        ProvisionError::Build { lines, .. } => !lines.iter().any(|line| is_of_machine(line)),
        ProvisionError::NoVersion { unread, .. } => unread.is_empty(),
        ProvisionError::HostLibraries { .. }
        | ProvisionError::Incomplete(_)
        | ProvisionError::NotAServer { .. }
        | ProvisionError::NotCached { .. }
        | ProvisionError::NotPublished { .. }
        | ProvisionError::SubmoduleMissing { .. } => true,
        _ => false,
    }
}

fn does_not_start(error: &assay_servers::ServersError) -> bool {
    use assay_servers::ServersError;
    match error {
        ServersError::Initialize { log, .. }
        | ServersError::Ended { log, .. }
        | ServersError::NoAnswer { log, .. } => !is_of_machine(log),
        ServersError::UnknownOption { .. } | ServersError::OptionRefused { .. } => true,
        _ => false,
    }
}

/// Compares two requests apart from their systems and the sources of these.
pub fn is_alike(one: &Request, other: &Request) -> bool {
    matches!((bare(one), bare(other)), (Some(one), Some(other)) if one == other)
}

fn bare(request: &Request) -> Option<Request> {
    // A request needs systems to be written.
    let systems = ["mariadb@1", "mariadb@2"].map(SystemRequest::parse).to_vec();
    let config_options = without_places(&request.config_options);
    let request =
        Request { systems, source: None, offline: false, config_options, ..request.clone() };
    assay_plan::read_study("request", &assay_plan::write_study(&request)).ok()
}

/// Text of a request, which is equal where requests are alike.
pub(super) fn request_text(request: &Request) -> Result<String> {
    let request = bare(request).context("the request of the search cannot be written")?;
    Ok(assay_plan::write_study(&request))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const TERMS: SearchTerms = SearchTerms {
        measure: SearchMeasure::Instructions,
        is_of_commits: false,
        comparisons_max: 20,
    };

    /// `None` in `values` is a version that cannot be used.
    fn searched(values: &[Option<f64>], terms: SearchTerms) -> (ComparedRange, BisectAnswer) {
        let version = |at: usize| NamedVersion {
            words: format!("mariadb@11.4.{at}"),
            name: format!("11.4.{at}"),
            title: None,
        };
        let mut range = ComparedRange::new((0..values.len()).map(version).collect());
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
                    range.compared.push(VersionComparison {
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
    fn comparisons_that_disagree_widen_the_error() {
        assert_eq!(pooled(&[]), None);
        assert_eq!(pooled(&[(f64::NAN, 0.1), (0.1, f64::INFINITY)]), None);
        let (mean, se) = pooled(&[(0.1, 0.01), (0.1, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && (se - 0.01 / 2.0_f64.sqrt()).abs() < 1e-12);
        let (mean, wide) = pooled(&[(0.0, 0.01), (0.2, 0.01)]).unwrap();
        assert!((mean - 0.1).abs() < 1e-12 && wide > 10.0 * se, "{wide}");
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
        let steps = |values: [f64; 4], makers: [&str; 4]| {
            let (mut range, _) = searched(&values.map(Some), TERMS);
            range.compared = (1..4)
                .map(|at| (at, values[at]))
                .map(|(version, value)| VersionComparison {
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
        assert_eq!(steps([1.0, 1.03, 0.9, 0.9], mixed), [2]);
        assert_eq!(steps([1.0, 1.03, 1.0, 1.0], mixed), [0; 0]);
        assert_eq!(steps([1.0, 1.03, 1.0, 1.0], ["apt"; 4]), [1, 2]);
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
        let new = NamedVersion { words: "mariadb@11.4.0.5".to_owned(), ..first.clone() };
        let narrower = range.narrowed(vec![first, new.clone(), range.versions[3].clone()]);
        let known: Vec<usize> = narrower.compared.iter().map(|it| it.version).collect();
        assert_eq!(known, [2]);
        assert!(range.narrowed(vec![new, range.versions[3].clone()]).compared.is_empty());
    }

    #[test]
    fn a_noisy_machine_is_not_believed_at_once() {
        let timed = SearchTerms { measure: SearchMeasure::Qps, ..TERMS };
        let noise = |se: f64| {
            let mut range = ComparedRange::new(searched(&[Some(1.0); 3], TERMS).0.versions);
            let (low, high) = ((-Z_95 * se).exp(), (Z_95 * se).exp());
            let ratio = Estimate { value: 1.0, low, high };
            let study = String::new();
            let makers = [None, None];
            range.compared.push(VersionComparison {
                study,
                base: 0,
                version: 2,
                ratio,
                makers,
                unusable: 0,
            });
            range.noise(timed).instance
        };
        assert!((noise(0.05) - 0.05).abs() < 1e-9 && noise(0.001) == INSTANCE);
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

    #[test]
    fn the_number_of_comparisons_that_is_told_can_be_true() {
        let message = |measure, versions: usize, comparisons_max| {
            let version = |at: usize| NamedVersion {
                words: format!("mariadb@11.4.{at}"),
                name: format!("11.4.{at}"),
                title: None,
            };
            let terms = SearchTerms { measure, is_of_commits: false, comparisons_max };
            let mut range = ComparedRange::new((0..versions).map(version).collect());
            range.skip(1, "broken".to_owned());
            let search = VersionSearch {
                id: String::new(),
                words: String::new(),
                request: Request::default(),
                terms,
                releases: Vec::new(),
                ranges: vec![range],
                spent_s: 0.0,
                followed: None,
                unfinished: None,
            };
            search.at_most()
        };
        assert_eq!(message(SearchMeasure::Instructions, 5, 60), "at most 3");
        assert_eq!(message(SearchMeasure::Instructions, 5, 2), "at most 2");
        assert_eq!(message(SearchMeasure::Instructions, 1000, 60), "about 14");
        assert_eq!(message(SearchMeasure::Qps, 5, 60), "at most 60");
    }

    fn build(line: &str) -> anyhow::Error {
        anyhow::Error::from(assay_provision::ProvisionError::Build {
            advice: Vec::new(),
            place: "../postgres".to_owned(),
            step: "compiling",
            status: "exit status: 2".to_owned(),
            lines: vec![line.to_owned()].into(),
            log: PathBuf::new().into(),
        })
    }

    #[test]
    fn a_version_is_at_fault_where_another_attempt_would_end_in_the_same_way() {
        let fault = own_fault(&build("error: unknown type name").context("cannot get it"));
        assert!(fault.unwrap().starts_with("compiling `../postgres` failed"));
        assert_eq!(own_fault(&build("cc1plus: fatal: Killed signal terminated program")), None);
        assert_eq!(own_fault(&build("as: No space left on device")), None);
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(own_fault(&assay_provision::ProvisionError::from(full).into()), None);
        let missing = assay_provision::ProvisionError::ToolMissing("bison".to_owned());
        assert_eq!(own_fault(&missing.into()), None);
        let option = assay_servers::ServersError::UnknownOption {
            server: "postgres 9.6".to_owned(),
            option: "jit".to_owned(),
            nearest: None,
        };
        let started: anyhow::Result<()> = Err(option).context("cannot start `postgres@9.6`");
        assert!(own_fault(&started.unwrap_err()).is_some());
    }
}
