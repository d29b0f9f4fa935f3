//! History of a watch in the ledger, and the page that shows it.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_bisect::{
    KnownSearch, SearchRange, SuspectedChange, error, known, maker, pooled, ratio, value,
};
use assay_ledger::Ledger;
use assay_model::{
    CellId, Estimate, FollowedRange, JudgedFigures, NamedVersion, Origin, SearchMeasure, Setup,
    StudyRecord, System, SystemSpec,
};
use assay_plan::parse_system;
use assay_run::study;

use super::decisions::{WatchSearch, WatchValue};
use super::page::{WatchedChange, WatchedLine, WatchedSuspicion, WatchedValue};

/// Name of the part of plans.
const PART: &str = "watch";

pub(super) struct WatchHistory {
    pub(super) lines: Vec<WatchLine>,
    pub(super) searches: Vec<PastSearch>,
    pub(super) measured: BTreeSet<usize>,
    /// Sources of the builds; that of commits has no name.
    pub(super) sources: Vec<String>,
}

pub(super) struct PastSearch {
    pub(super) known: KnownSearch,
    pub(super) line: usize,
    /// Indices of its ends; `None` if one of them is no longer among the versions.
    pub(super) ends: Option<[usize; 2]>,
}

impl PastSearch {
    /// The ranges that need no further search.
    pub(super) fn searched(&self, versions: &Versions) -> Vec<WatchSearch> {
        let steps = &self.known.steps;
        match self.ends {
            Some(ends) => vec![WatchSearch { ends, has_found: !steps.is_empty() }],
            None => {
                let ranges = steps.iter().filter_map(|(ends, _)| versions.places(ends));
                ranges.map(|ends| WatchSearch { ends, has_found: true }).collect()
            }
        }
    }
}

impl WatchHistory {
    pub(super) fn read(
        ledger: &Ledger,
        watch: &FollowedRange,
        versions: &Versions,
        cells: &[CellId],
    ) -> Result<Self> {
        let (mut lines, mut sources) = (Vec::new(), Vec::new());
        let mut measured = BTreeSet::new();
        for record in studies(ledger, watch, true)? {
            let places = record.systems.iter().map(|system| versions.place_of(system));
            let places: Vec<Option<usize>> = places.collect();
            if places.first() != Some(&Some(0)) {
                continue;
            }
            add(&mut lines, &record, versions, cells, &mut sources);
            let has = |cell: &CellId| record.study.cells.iter().any(|it| is_same(&it.id, cell));
            if cells.iter().all(has) {
                measured.extend(places.into_iter().flatten());
            }
        }
        lines.sort_by(|a: &WatchLine, b| {
            (&a.test, a.setup, a.measure).cmp(&(&b.test, b.setup, b.measure))
        });
        let own = ledger.parts::<FollowedRange>(PART)?.into_iter();
        let own = own.filter(|(id, part)| part.name == watch.name && study::is_mine(ledger, id));
        let own: BTreeSet<String> = own.map(|(id, _)| id).collect();
        let searches = known(ledger, &own)?.into_iter().filter_map(|known| {
            let line = lines.iter().position(|line| is_of(&known, line))?;
            Some(PastSearch { line, ends: versions.places(&known.ends), known })
        });
        let searches = searches.collect();
        Ok(Self { lines, searches, measured, sources })
    }
}

/// Whether cells have the same work. The digests of their tests may differ.
fn is_same(one: &CellId, other: &CellId) -> bool {
    (one.test.name(), one.setup) == (other.test.name(), other.setup)
}

fn is_of(known: &KnownSearch, line: &WatchLine) -> bool {
    let is_setup = |setup: &assay_plan::SetupRequest| {
        setup.rows.is_none_or(|rows| rows == line.setup.rows)
            && setup.tables.is_none_or(|tables| tables == line.setup.tables)
            && (line.measure == SearchMeasure::Instructions
                || setup.clients.as_ref().is_none_or(|it| *it == [line.setup.clients]))
    };
    known.request.tests == [line.test.clone()]
        && known.measure == line.measure
        && known.request.setups.first().is_some_and(is_setup)
}

/// Studies of a watch outside of searches, oldest first. Those from elsewhere do not count.
pub(super) fn studies(
    ledger: &Ledger,
    watch: &FollowedRange,
    finished: bool,
) -> Result<Vec<StudyRecord>> {
    let mut records = Vec::new();
    for (study, _) in
        ledger.parts::<FollowedRange>(PART)?.into_iter().filter(|(_, part)| part.name == watch.name)
    {
        let Some(record) = study::if_own(ledger, &study)? else { continue };
        if record.finished == finished && record.study.search.is_none() {
            records.push(record);
        }
    }
    Ok(records)
}

pub(super) fn foreign(ledger: &Ledger, watch: &FollowedRange) -> Result<u64> {
    let named = ledger
        .parts::<FollowedRange>(PART)?
        .into_iter()
        .filter(|(_, part)| part.name == watch.name);
    Ok(named.filter(|(study, _)| !study::is_mine(ledger, study)).count() as u64)
}

/// The range from the baseline of the first study, as long as the file names the same range: a series or a branch whose
/// end moves, and whose baseline does not.
pub(super) fn with_baseline(
    range: SearchRange,
    ledger: &Ledger,
    watch: &FollowedRange,
) -> Result<SearchRange> {
    let all = ledger.parts::<FollowedRange>(PART)?.into_iter().filter(|(_, part)| part == watch);
    for (study, _) in all {
        let Some(record) = study::if_own(ledger, &study)? else { continue };
        let base = record.systems.first().filter(|_| record.study.search.is_none());
        let version = base.and_then(|base| match &base.spec.origin {
            Origin::Version(version) => Some(version.clone()),
            Origin::Git(place) => place.rsplit_once('#').map(|(_, commit)| commit.to_owned()),
            _ => None,
        });
        if let (Some(base), Some(version)) = (base, version)
            && parse_system(&range.version(&version).words).is_ok_and(|spec| spec == base.spec)
        {
            return Ok(range.with_ends([version, range.ends[1].clone()]));
        }
    }
    Ok(range)
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchLine {
    pub(super) test: String,
    pub(super) setup: Setup,
    pub(super) measure: SearchMeasure,
    pub(super) values: Vec<WatchValue>,
}

/// In order. The first one is the baseline.
pub(super) struct Versions {
    pub(super) all: Vec<NamedVersion>,
    specs: Vec<Option<SystemSpec>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewestVersion {
    pub(super) version: usize,
    /// The last measured version of the same or an earlier series.
    pub(super) before: Option<usize>,
}

impl Versions {
    pub(super) fn new(all: Vec<NamedVersion>) -> Self {
        let specs = all.iter().map(|it| parse_system(&it.words).ok()).collect();
        Self { all, specs }
    }

    /// Indices of two versions; `None` if one of them is no longer among them.
    fn places(&self, [one, other]: &[NamedVersion; 2]) -> Option<[usize; 2]> {
        let place = |wanted: &NamedVersion| {
            self.all.iter().position(|version| version.words == wanted.words)
        };
        Some([place(one)?, place(other)?])
    }

    /// Index of a system's version; `None` if it is no longer among them, such as a commit of a branch that was
    /// rebased.
    pub(super) fn place_of(&self, system: &System) -> Option<usize> {
        self.specs.iter().position(|spec| spec.as_ref() == Some(&system.spec))
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

/// Measures of a watched test beside its instructions, by what a study is judged by.
fn timed_measures(judge: JudgedFigures) -> &'static [SearchMeasure] {
    match judge {
        JudgedFigures::Both => &[SearchMeasure::Cpu, SearchMeasure::Qps],
        JudgedFigures::Time => &[SearchMeasure::Qps],
        JudgedFigures::Cpu => &[SearchMeasure::Cpu],
    }
}

fn add(
    lines: &mut Vec<WatchLine>,
    record: &StudyRecord,
    versions: &Versions,
    cells: &[CellId],
    sources: &mut Vec<String>,
) {
    let judgement = assay_verdict::judge(record);
    let mut source = |system: usize| {
        let name = maker(record, system).unwrap_or_default();
        sources.iter().position(|it| *it == name).unwrap_or_else(|| {
            sources.push(name);
            sources.len() - 1
        })
    };
    let timed = timed_measures(record.study.judge).iter().copied();
    for measure in std::iter::once(SearchMeasure::Instructions).chain(timed) {
        for judged in judgement.cells.iter().filter(|it| it.system != 0) {
            let system = Some(&record.systems[judged.system]).filter(|system| !system.is_twin);
            let version = system.and_then(|system| versions.place_of(system));
            let ratio = value(measure, judged).filter(|it| !it.is_bound() && it.value > 0.0);
            let (Some(version), Some(ratio)) = (version, ratio) else { continue };
            let (test, setup) = (judged.cell.test.name(), judged.cell.setup);
            if !cells.iter().any(|cell| is_same(cell, &judged.cell)) {
                continue;
            }
            let value = WatchValue {
                version,
                log_ratio: ratio.value.ln(),
                se: error(ratio),
                source: source(judged.system),
            };
            let is_it = |it: &&mut WatchLine| {
                (it.test.as_str(), it.setup, it.measure) == (test, setup, measure)
            };
            match lines.iter_mut().find(is_it) {
                Some(line) => line.values.push(value),
                None => {
                    let baseline =
                        WatchValue { version: 0, log_ratio: 0.0, se: 0.0, source: source(0) };
                    let (test, values) = (test.to_owned(), vec![baseline, value]);
                    lines.push(WatchLine { test, setup, measure, values });
                }
            }
        }
    }
}

/// Lines of the page. Changes of searches that were not reported yet are new.
pub(super) fn lines(
    history: &WatchHistory,
    versions: &Versions,
    reported: &BTreeSet<String>,
) -> Vec<WatchedLine> {
    let page_line = |(place, line): (usize, &WatchLine)| {
        let own = history.searches.iter().filter(|it| it.line == place && it.known.has_ended);
        let own: Vec<&PastSearch> = own.collect();
        WatchedLine {
            test: line.test.clone(),
            setup: line.setup,
            measure: line.measure,
            values: values(line),
            changes: own.iter().flat_map(|it| changes(versions, it, reported)).collect(),
            suspected: suspected(versions, &own),
        }
    };
    history.lines.iter().enumerate().map(page_line).collect()
}

pub(super) fn sources(history: &WatchHistory) -> Option<String> {
    let named: Vec<&str> = history.sources.iter().map(String::as_str).collect();
    (named.len() > 1).then(|| {
        format!(
            "the builds come from several sources ({}), whose compilers and options differ: the ratio of two versions \
             from different sources may be off by some percent, which its interval does not contain",
            named.join(", ")
        )
    })
}

fn values(line: &WatchLine) -> Vec<WatchedValue> {
    let versions: BTreeSet<usize> = line.values.iter().map(|it| it.version).collect();
    let value = |version: usize| {
        if version == 0 {
            let ratio = Estimate::without_interval(1.0);
            return Some(WatchedValue { version, ratio, studies: 0 });
        }
        let own = line.values.iter().filter(|it| it.version == version);
        let logs: Vec<(f64, f64)> = own.map(|it| (it.log_ratio, it.se)).collect();
        Some(WatchedValue { version, ratio: ratio(pooled(&logs)?), studies: logs.len() })
    };
    versions.into_iter().filter_map(value).collect()
}

fn changes(
    versions: &Versions,
    search: &PastSearch,
    reported: &BTreeSet<String>,
) -> impl Iterator<Item = WatchedChange> {
    search.known.steps.iter().filter_map(|(ends, step)| {
        let [after, at] = versions.places(ends)?;
        let is_new = !reported.contains(&search.known.id);
        Some(WatchedChange { after, at, step: *step, search: search.known.id.clone(), is_new })
    })
}

/// Suspicions from the searches of a line, oldest first. A later search of the same versions replaces an earlier one.
fn suspected(versions: &Versions, searches: &[&PastSearch]) -> Vec<WatchedSuspicion> {
    let suspicion = |(nth, search): (usize, &&PastSearch)| {
        let SuspectedChange { ends, ratio, probability } = search.known.suspected.clone()?;
        let [after, at] = versions.places(&ends)?;
        let mut later = searches[nth + 1..].iter().filter_map(|search| search.ends);
        let is_replaced = later.any(|[first, last]| first <= after && at <= last);
        let search = search.known.id.clone();
        (!is_replaced).then_some(WatchedSuspicion { after, at, ratio, probability, search })
    };
    searches.iter().enumerate().filter_map(suspicion).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(words: &[&str]) -> Versions {
        let version = |words: &&str| NamedVersion {
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
