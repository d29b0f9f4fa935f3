//! A requested search, new or already begun.

use std::path::Path;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{
    Counting, FollowedRange, JudgedFigures, Profiling, SearchMeasure, SearchPart, limits,
};
use assay_plan::Request;
use jiff::Timestamp;

use super::ledger_searches::{KnownSearch, searches};
use super::lock::{SearchLock, is_own, mark_own};
use super::range::{SearchRange, first};
use super::search::{COMPARISON_S, ComparedRange, SearchTerms, VersionSearch, is_alike};
use assay_run::systems::Environment;

/// Minimum of a search: the ends alone need some comparisons.
const COMPARISONS_MIN: u32 = 6;

#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Only the first one whose ends are in order is searched.
    pub ranges: Vec<SearchRange>,
    pub paths: Vec<String>,
    pub measure: SearchMeasure,
    /// Request of each comparison, with the single test and setup of the search.
    pub request: Request,
    pub budget_s: f64,
    pub followed: Option<FollowedRange>,
}

impl SearchRequest {
    pub fn is(&self, known: &KnownSearch) -> bool {
        let names: Vec<String> = self.ranges.iter().map(|it| named(it, &self.paths)).collect();
        names.contains(&known.words)
            && known.measure == self.measure
            && is_alike(&known.request, &timed(self.request.clone(), self.measure))
    }

    /// Continues an unfinished search that this user's assay has begun, or begins a new one. Only this process has it.
    pub(super) fn begin(
        &self,
        file: &Path,
        env: &Environment<'_>,
        ledger: &Ledger,
    ) -> Result<(VersionSearch, SearchLock)> {
        let request = timed(self.request.clone(), self.measure);
        let names: Vec<String> = self.ranges.iter().map(|it| named(it, &self.paths)).collect();
        let is_asked =
            |part: &SearchPart| names.contains(&part.range) && part.measure == self.measure;
        let begun = || -> Result<Option<VersionSearch>> {
            let mut all = searches(ledger, is_asked)?;
            all.retain(|search| {
                is_alike(&search.request, &request)
                    && search.followed == self.followed
                    && is_own(search)
            });
            Ok(all.pop())
        };
        let first = || first(&self.ranges, &self.paths, request.source.as_deref(), env);
        let (words, found) = match begun()? {
            Some(search) => (search.words, None),
            None => {
                let found = first()?;
                (named(&found.range, &self.paths), Some(found))
            }
        };
        let test = request.tests.first().map_or("", String::as_str);
        let lock = SearchLock::take(file, &words, self.measure, test)?;
        // Another process may have begun or continued it until now.
        if let Some(search) = begun()? {
            env.progress.note(&format!("going on with search {}", search.id));
            return Ok((search, lock));
        }
        let found = found.map_or_else(first, Ok)?;
        found.check()?;
        env.progress.note(&found.message());
        let profile_s = if request.profile == Profiling::None { 0.0 } else { PROFILE_S };
        let terms = SearchTerms {
            measure: self.measure,
            is_of_commits: found.range.is_of_commits(),
            comparisons_max: ((self.budget_s / (COMPARISON_S + profile_s)) as u32)
                .clamp(COMPARISONS_MIN, limits::search::COMPARISONS),
        };
        let search = VersionSearch {
            id: new_id(),
            words,
            request: Request { source: found.source.or(request.source.clone()), ..request.clone() },
            terms,
            releases: found.releases,
            ranges: vec![ComparedRange::new(found.versions)],
            spent_s: 0.0,
            followed: self.followed.clone(),
            unfinished: None,
        };
        mark_own(&search)?;
        Ok((search, lock))
    }
}

/// The measure of the latest unfinished search of these ranges, if this user's assay has begun one. The same command
/// continues it, whatever the machine can count now.
pub(super) fn begun_measure(
    ranges: &[SearchRange],
    paths: &[String],
    request: &Request,
    ledger: &Ledger,
) -> Result<Option<SearchMeasure>> {
    let names: Vec<String> = ranges.iter().map(|range| named(range, paths)).collect();
    let all = searches(ledger, |part| names.contains(&part.range))?;
    let is_begun = |search: &&VersionSearch| {
        let is_open = !search.has_ended() && search.followed.is_none() && is_own(search);
        is_open && is_alike(&search.request, &timed(request.clone(), search.terms.measure))
    };
    Ok(all.iter().rev().find(is_begun).map(|search| search.terms.measure))
}

/// A request with the effort of another one.
pub fn with_effort(request: Request, effort: Request) -> Request {
    let Request { preset, check, profile, slice_s, write_slice_s, turn_s, blocks, rounds, .. } =
        effort;
    Request { preset, check, profile, slice_s, write_slice_s, turn_s, blocks, rounds, ..request }
}

const PROFILE_S: f64 = 21.0;

pub(super) fn timed(request: Request, measure: SearchMeasure) -> Request {
    let request = Request {
        systems: Vec::new(),
        twin: Some(false),
        limits: None,
        threshold: None,
        count: Counting::None,
        // It also decides when a comparison has measured enough.
        judge: match measure {
            SearchMeasure::Cpu => JudgedFigures::Cpu,
            SearchMeasure::Qps | SearchMeasure::Instructions => JudgedFigures::default(),
        },
        budget_s: Some(COMPARISON_S),
        ..request
    };
    if measure != SearchMeasure::Instructions {
        // The version before a change is like the base, and its profile is needed too.
        let profile = match request.profile {
            Profiling::Changed => Profiling::All,
            other => other,
        };
        return Request { profile, ..request };
    }
    let mut request = Request {
        count: Counting::Only,
        profile: Profiling::None,
        budget_s: None,
        twin: None,
        ..request
    };
    request.setups.iter_mut().for_each(|setup| setup.clients = None);
    request
}

fn named(range: &SearchRange, paths: &[String]) -> String {
    let words = range.words();
    if paths.is_empty() { words } else { format!("{words} -- {}", paths.join(" ")) }
}

fn new_id() -> String {
    let now = Timestamp::now();
    let milliseconds = now.subsec_nanosecond() / 1_000_000;
    format!("bisect-{}-{milliseconds:03}", now.strftime("%Y%m%d-%H%M%S"))
}
