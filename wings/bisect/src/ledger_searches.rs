//! The searches of a ledger.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Estimate, NamedVersion, SearchMeasure, SearchPart, StudySummary};
use assay_plan::Request;

use super::lock::is_own;
use super::messages;
use super::page::{Bisection, RangeEnd, VersionStep};
use super::search::VersionSearch;
use assay_command::args::ResumeArgs;
use assay_command::study_id;
use assay_run::study;

/// Name of the part of plans.
const PART: &str = "bisect";

/// The searches of a ledger, oldest first. Studies from elsewhere never count.
pub(super) fn searches(
    ledger: &Ledger,
    fits: impl Fn(&SearchPart) -> bool,
) -> Result<Vec<VersionSearch>> {
    let mut all: Vec<VersionSearch> = Vec::new();
    for (study, part) in
        ledger.parts::<SearchPart>(PART)?.into_iter().filter(|(_, part)| fits(part))
    {
        let Some(record) = study::if_own(ledger, &study)? else { continue };
        let place = match all.iter().position(|search| search.id == part.id) {
            Some(place) => place,
            None => {
                all.push(VersionSearch::begun(&part, &record)?);
                all.len() - 1
            }
        };
        all[place].add(&part, &record);
    }
    Ok(all)
}

/// The search that `assay resume` means: by its id or that of one of its studies, else the latest one, if nothing else
/// is unfinished.
pub(super) fn meant(ledger: &Ledger, args: &ResumeArgs) -> Result<Option<String>> {
    if args.more.is_some() {
        return Ok(None);
    }
    let parts = ledger.parts::<SearchPart>(PART)?;
    if parts.is_empty() {
        return Ok(None);
    }
    if let Some(name) = &args.study
        && parts.iter().any(|(study, part)| part.id == *name && study::is_mine(ledger, study))
    {
        return Ok(Some(name.clone()));
    }
    let is_open = |study: &StudySummary| !study.finished && study::is_mine(ledger, &study.id);
    match study_id::find(ledger, args.study.as_deref(), is_open)? {
        Some(study) => {
            let mut of_study =
                parts.into_iter().filter(|(id, _)| *id == study && study::is_mine(ledger, id));
            Ok(of_study.next().map(|(_, part)| part.id))
        }
        None => {
            let all = searches(ledger, |_| true)?;
            let goes_on = |search: &VersionSearch| !search.has_ended() && is_own(search);
            let latest = all.into_iter().rev().find(goes_on);
            Ok(latest.map(|search| search.id))
        }
    }
}

#[derive(Debug, Clone)]
pub struct KnownSearch {
    pub id: String,
    /// The range, as the search names it.
    pub words: String,
    pub measure: SearchMeasure,
    pub request: Request,
    pub ends: [NamedVersion; 2],
    pub has_ended: bool,
    pub steps: Vec<([NamedVersion; 2], VersionStep)>,
    pub suspected: Option<SuspectedChange>,
}

#[derive(Debug, Clone)]
pub struct SuspectedChange {
    pub ends: [NamedVersion; 2],
    pub ratio: Estimate,
    pub probability: f64,
}

impl SuspectedChange {
    pub(super) fn in_answer(answer: &Bisection<'_>) -> Option<Self> {
        let range = answer.ranges.last().filter(|it| it.is_suspicious())?;
        // Versions at the ends that cannot be used say nothing.
        let mut compared = range.versions.iter().filter(|it| it.ratio.is_some());
        let first = compared.next()?;
        let last = compared.next_back()?;
        Some(Self {
            ends: [first, last].map(|it| it.version.clone()),
            ratio: range.ends,
            probability: 1.0 - range.no_step,
        })
    }
}

/// The searches with any of these studies.
pub fn known(ledger: &Ledger, studies: &BTreeSet<String>) -> Result<Vec<KnownSearch>> {
    let parts =
        ledger.parts::<SearchPart>(PART)?.into_iter().filter(|(study, _)| studies.contains(study));
    let ids: BTreeSet<String> = parts.map(|(_, part)| part.id).collect();
    let all = searches(ledger, |part| ids.contains(&part.id))?;
    let known = all.iter().filter_map(|search| {
        let whole = &search.ranges.first()?.versions;
        let answer = messages::bisection(search, false, messages::Functions::default());
        let found = answer.ranges.last().filter(|range| range.end == RangeEnd::Found);
        let steps = found.into_iter().flat_map(|range| {
            let version = |at: usize| range.versions[at].version.clone();
            range.steps.iter().map(move |step| ([step.after, step.at].map(version), *step))
        });
        Some(KnownSearch {
            id: search.id.clone(),
            words: search.words.clone(),
            measure: search.terms.measure,
            request: search.request.clone(),
            ends: [whole.first()?.clone(), whole.last()?.clone()],
            has_ended: search.has_ended(),
            steps: steps.collect(),
            suspected: SuspectedChange::in_answer(&answer),
        })
    });
    Ok(known.collect())
}
