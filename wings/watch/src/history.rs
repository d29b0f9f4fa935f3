//! History of a watch in the ledger.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{BisectMeasure, BisectVersion, CellId, Origin, StudyRecord, WatchPart};
use assay_plan::parse_system;
use assay_study::WatchSearch;

use super::values::{Line, Versions, add};
use assay_bisect::{Known, Wanted, known};
use assay_run::study;

pub(super) struct History {
    pub(super) lines: Vec<Line>,
    pub(super) searches: Vec<Searched>,
    pub(super) measured: BTreeSet<usize>,
    /// Sources of the builds; that of commits has no name.
    pub(super) sources: Vec<String>,
}

pub(super) struct Searched {
    pub(super) known: Known,
    pub(super) line: usize,
    /// Indices of its ends; `None` if one of them is no longer among the versions.
    pub(super) ends: Option<[usize; 2]>,
}

impl Searched {
    pub(super) fn steps(&self, versions: &Versions) -> Vec<[usize; 2]> {
        let of =
            |[after, at]: &[BisectVersion; 2]| Some([versions.place(after)?, versions.place(at)?]);
        self.known.steps.iter().filter_map(|(ends, _)| of(ends)).collect()
    }

    pub(super) fn says(&self, versions: &Versions) -> Vec<WatchSearch> {
        match self.ends {
            Some(ends) => vec![WatchSearch { ends, has_found: !self.known.steps.is_empty() }],
            None => {
                let of = |ends| WatchSearch { ends, has_found: true };
                self.steps(versions).into_iter().map(of).collect()
            }
        }
    }
}

impl History {
    pub(super) fn read(
        ledger: &Ledger,
        watch: &WatchPart,
        versions: &Versions,
        cells: &[CellId],
    ) -> Result<Self> {
        let (mut lines, mut sources) = (Vec::new(), Vec::new());
        let mut measured = BTreeSet::new();
        for record in studies(ledger, watch, true)? {
            let places = record.systems.iter().map(|it| versions.place_of(it));
            let places: Vec<Option<usize>> = places.collect();
            if places.first() != Some(&Some(0)) {
                continue;
            }
            let judgement = assay_verdict::judge(&record);
            add(&mut lines, (&record, &judgement), versions, cells, &mut sources);
            let has = |cell: &CellId| {
                let planned = record.study.cells.iter().map(|it| it.id);
                let mut alike = planned.filter(|it| it.test.name() == cell.test.name());
                alike.any(|it| it.setup == cell.setup)
            };
            if cells.iter().all(has) {
                measured.extend(places.into_iter().flatten());
            }
        }
        lines.sort_by(|a: &Line, b| {
            (&a.test, a.setup, a.measure).cmp(&(&b.test, b.setup, b.measure))
        });
        let searches = known(ledger, watch)?.into_iter().filter_map(|known| {
            let line = lines.iter().position(|line| is_of(&known, line))?;
            let [first, last] = &known.ends;
            let ends = versions.place(first).zip(versions.place(last));
            Some(Searched { known, line, ends: ends.map(|(first, last)| [first, last]) })
        });
        let searches = searches.collect();
        Ok(Self { lines, searches, measured, sources })
    }
}

fn is_of(known: &Known, line: &Line) -> bool {
    let is_setup = |setup: &assay_plan::SetupRequest| {
        setup.rows.is_none_or(|rows| rows == line.setup.rows)
            && setup.tables.is_none_or(|tables| tables == line.setup.tables)
            && (line.measure == BisectMeasure::Instructions
                || setup.clients.as_ref().is_none_or(|it| *it == [line.setup.clients]))
    };
    known.request.tests == [line.test.clone()]
        && known.measure == line.measure
        && known.request.setups.first().is_some_and(is_setup)
}

/// Studies of a watch outside of searches, oldest first. Those from elsewhere do not count.
pub(super) fn studies(
    ledger: &Ledger,
    watch: &WatchPart,
    finished: bool,
) -> Result<Vec<StudyRecord>> {
    let mut records = Vec::new();
    for (study, _) in ledger.watched()?.into_iter().filter(|(_, part)| part.name == watch.name) {
        let Some(record) = study::if_own(ledger, &study)? else { continue };
        if record.finished == finished && record.study.bisect.is_none() {
            records.push(record);
        }
    }
    Ok(records)
}

pub(super) fn foreign(ledger: &Ledger, watch: &WatchPart) -> Result<u64> {
    let named = ledger.watched()?.into_iter().filter(|(_, part)| part.name == watch.name);
    Ok(named.filter(|(study, _)| !study::is_mine(ledger, study)).count() as u64)
}

/// The range from the baseline of the first study, as long as the file names the same range: a series or a branch whose
/// end moves, and whose baseline does not.
pub(super) fn with_baseline(range: Wanted, ledger: &Ledger, watch: &WatchPart) -> Result<Wanted> {
    let all = ledger.watched()?.into_iter().filter(|(_, part)| part == watch);
    for (study, _) in all {
        let Some(record) = study::if_own(ledger, &study)? else { continue };
        let base = record.systems.first().filter(|_| record.study.bisect.is_none());
        let version = base.and_then(|base| match &base.spec.origin {
            Origin::Version(version) => Some(version.clone()),
            Origin::Git(place) => place.rsplit_once('#').map(|(_, commit)| commit.to_owned()),
            _ => None,
        });
        if let (Some(base), Some(version)) = (base, version)
            && parse_system(&range.version(&version).words).is_ok_and(|spec| spec == base.spec)
        {
            let [_, last] = range.ends.clone();
            return Ok(range.between_ends([version, last]));
        }
    }
    Ok(range)
}
