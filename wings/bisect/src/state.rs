//! A search and its state, from its studies. Pure.

use std::collections::BTreeSet;

use assay_model::{BisectPart, BisectVersion, StudyRecord, WatchPart};
use assay_plan::{FileError, Request};
use assay_study::{BisectAnswer, BisectEnd, BisectStep};

use super::range::{Range as Wanted, within_step};
use super::search::{Range, Terms};

pub(super) struct Search {
    pub(super) id: String,
    /// The range, as the user named it.
    pub(super) words: String,
    pub(super) request: Request,
    pub(super) terms: Terms,
    /// Names of all releases between the ends; empty for commits.
    pub(super) releases: Vec<String>,
    pub(super) ranges: Vec<Range>,
    pub(super) spent_s: f64,
    pub(super) watch: Option<WatchPart>,
    pub(super) unfinished: Option<String>,
}

impl Search {
    pub(super) fn begun(part: &BisectPart, record: &StudyRecord) -> Result<Self, FileError> {
        let request = assay_plan::request_of(&record.study)?;
        let is_git = |words: &str| words.contains("@git:");
        Ok(Self {
            id: part.id.clone(),
            words: part.range.clone(),
            request: Request { systems: Vec::new(), ..request },
            terms: Terms {
                measure: part.measure,
                is_of_commits: part.versions.first().is_some_and(|it| is_git(&it.words)),
                comparisons_max: part.comparisons_max,
            },
            releases: part.releases.clone(),
            ranges: Vec::new(),
            spent_s: 0.0,
            watch: record.study.watch.clone(),
            unfinished: None,
        })
    }

    /// Adds a study, in the order of their starts. Returns why it has no result, if its comparison is to be repeated.
    pub(super) fn add(&mut self, part: &BisectPart, record: &StudyRecord) -> Option<String> {
        if self.ranges.len() <= part.level as usize {
            let versions = part.versions.clone();
            self.ranges.push(match self.ranges.last() {
                Some(wider) => wider.narrowed(versions),
                None => Range::new(versions),
            });
        }
        self.spent_s = part.spent_s + record.elapsed_s();
        if !record.finished {
            self.unfinished = Some(record.study.id.clone());
            return None;
        }
        self.ranges.get_mut(part.level as usize)?.add(part, record)
    }

    pub(super) fn first_versions(&self) -> impl Iterator<Item = &BisectVersion> {
        self.ranges.first().into_iter().flat_map(|range| &range.versions)
    }

    /// Whether later ranges have no other versions than the first one and releases within it.
    pub(super) fn has_known_versions(&self) -> bool {
        let [_, later @ ..] = self.ranges.as_slice() else { return false };
        let within = Wanted::read(&self.words, None).ok();
        let release = |name: &String| Some(within.as_ref()?.release(name).words);
        let known: BTreeSet<String> = (self.first_versions().map(|it| it.words.clone()))
            .chain(self.releases.iter().filter_map(release))
            .collect();
        let later = later.iter().flat_map(|range| &range.versions);
        later.into_iter().all(|version| known.contains(&version.words))
    }

    /// Terms of the current range: earlier comparisons count towards the maximum.
    pub(super) fn terms(&self) -> Terms {
        let own = self.range().map_or(0, |range| range.compared.len());
        let earlier = u32::try_from(self.comparisons().saturating_sub(own)).unwrap_or(u32::MAX);
        let comparisons_max = self.terms.comparisons_max.saturating_sub(earlier);
        Terms { comparisons_max, ..self.terms }
    }

    pub(super) fn range(&self) -> Option<&Range> {
        self.ranges.last()
    }

    pub(super) fn has_ended(&self) -> bool {
        let is_open = |range: &Range| range.next(self.terms()).is_continue();
        self.unfinished.is_none() && !self.range().is_none_or(is_open) && self.narrower().is_none()
    }

    /// Releases within the step found between two series; `None` if there are none or no such step.
    pub(super) fn narrower(&self) -> Option<Vec<BisectVersion>> {
        let [range] = self.ranges.as_slice() else { return None };
        let step = largest(&range.next(self.terms).break_value()?)?;
        let [after, at] = [step.after, step.at].map(|at| range.versions.get(at));
        let words = Wanted::read(&self.words, None).ok()?;
        let within = within_step(words.product, &self.releases, [&after?.name, &at?.name])?;
        // A version that the range has already is no narrower range.
        let is_new = within.iter().any(|it| range.versions.iter().all(|known| known.name != *it));
        is_new.then(|| within.iter().map(|it| words.release(it)).collect())
    }

    /// Maximum number of comparisons, as text: an exact measure compares no version twice, and about halves the range
    /// each time.
    pub(super) fn at_most(&self) -> String {
        let most = self.terms.comparisons_max as usize;
        let Some(range) = self.range().filter(|_| self.terms.is_exact()) else {
            return format!("at most {most}");
        };
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

#[cfg(test)]
mod tests {
    use assay_model::BisectMeasure;

    use super::*;

    #[test]
    fn the_number_of_comparisons_that_is_told_can_be_true() {
        let message = |measure, versions: usize, comparisons_max| {
            let version = |at: usize| BisectVersion {
                words: format!("mariadb@11.4.{at}"),
                name: format!("11.4.{at}"),
                title: None,
            };
            let terms = Terms { measure, is_of_commits: false, comparisons_max };
            let mut range = Range::new((0..versions).map(version).collect());
            range.skip(1, "broken".to_owned());
            let search = Search {
                id: String::new(),
                words: String::new(),
                request: Request::default(),
                terms,
                releases: Vec::new(),
                ranges: vec![range],
                spent_s: 0.0,
                watch: None,
                unfinished: None,
            };
            search.at_most()
        };
        assert_eq!(message(BisectMeasure::Instructions, 5, 60), "at most 3");
        assert_eq!(message(BisectMeasure::Instructions, 5, 2), "at most 2");
        assert_eq!(message(BisectMeasure::Instructions, 1000, 60), "about 14");
        assert_eq!(message(BisectMeasure::Qps, 5, 60), "at most 60");
    }
}
