//! Checks published claims against measured values.
//!
//! A value with an interval holds if its whole interval does, and fails if none of it does. A published value decides
//! by itself; a measured one that cannot have an interval decides within [`MARGIN`].

use std::collections::BTreeMap;

use assay_model::{Artifact, CellId, Estimate, Setup, StudyRecord};
use assay_verdict::{CellJudgement, JudgedRates};

use crate::statement::{Quantity, Region, Relation, Share, ShareUnit, Statement, Summary};

/// How far a measured value without an interval must be from what decides, as a share of the value.
pub const MARGIN: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimStatus {
    Holds,
    Fails,
    Unknown,
}

impl ClaimStatus {
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Unknown => "cannot say",
        }
    }

    /// Conjunction: all must hold, and one failure suffices to fail.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().fold(Self::Holds, |so_far, it| match (so_far, it) {
            (Self::Fails, _) | (_, Self::Fails) => Self::Fails,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Holds, Self::Holds) => Self::Holds,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimScope {
    pub(crate) pairs: Vec<(usize, Option<usize>)>,
    pub(crate) cells: Vec<CellId>,
    pub(crate) extremes: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClaimFigure {
    pub study: String,
    pub system: String,
    pub than: Option<String>,
    /// `None` for a summary of several.
    pub test: Option<String>,
    /// Number of tests with a value; 1 for a single test.
    pub tests: u32,
    pub setup: Setup,
    pub value: Option<Estimate>,
    /// Whether the value never has an interval, so that it decides by itself.
    pub decides_alone: bool,
    /// Its assumed half-width then, as a share of the value.
    pub margin: f64,
    pub is_extreme: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedStatement {
    pub status: ClaimStatus,
    pub figures: Vec<(ClaimFigure, ClaimStatus)>,
    /// Number of tests or values counted by the share, by status: holds, fails, unknown.
    pub counts: [u32; 3],
}

/// A study whose systems can each serve as base.
#[derive(Debug)]
pub(crate) struct ClaimSource<'a> {
    record: &'a StudyRecord,
    /// By base, computed on demand.
    judged: BTreeMap<usize, JudgedRates>,
}

impl<'a> ClaimSource<'a> {
    pub(crate) fn new(record: &'a StudyRecord) -> Self {
        Self { record, judged: BTreeMap::new() }
    }

    /// By pair of systems, then by cell.
    pub(crate) fn figures(
        &mut self,
        scope: &ClaimScope,
        statement: &Statement,
    ) -> Vec<ClaimFigure> {
        let record = self.record;
        let mut figures = Vec::new();
        for &(system, than) in &scope.pairs {
            let base = than.unwrap_or(0);
            let judge = || JudgedRates::from_record(&compared_with(record, base));
            let judged = self.judged.entry(base).or_insert_with(judge);
            let values = ClaimValues { record, scope, statement, system, than, judged };
            match statement.summary {
                None => figures.extend(scope.cells.iter().map(|cell| values.of_test(*cell))),
                Some(summary) => figures.extend(values.of_setups(summary)),
            }
        }
        figures
    }
}

fn compared_with(record: &StudyRecord, base: usize) -> StudyRecord {
    let mut record = record.clone();
    for (index, system) in record.systems.iter_mut().enumerate() {
        system.is_base = index == base;
    }
    record
}

struct ClaimValues<'a> {
    record: &'a StudyRecord,
    scope: &'a ClaimScope,
    statement: &'a Statement,
    system: usize,
    than: Option<usize>,
    judged: &'a JudgedRates,
}

impl ClaimValues<'_> {
    fn of_test(&self, cell: CellId) -> ClaimFigure {
        let judged = self.cells().find(|judged| judged.cell == cell);
        let value = judged.and_then(|judged| self.value(judged));
        self.figure(
            Some(cell.test.name().to_owned()),
            u32::from(value.is_some()),
            cell.setup,
            value,
        )
    }

    fn of_setups(&self, summary: Summary) -> Vec<ClaimFigure> {
        let mut setups: Vec<Setup> = self.scope.cells.iter().map(|cell| cell.setup).collect();
        setups.sort_unstable();
        setups.dedup();
        let of_setup = |setup| {
            let cells = self.scope.cells.iter().filter(|cell| cell.setup == setup).count();
            let here = self.cells().filter(|judged| judged.cell.setup == setup);
            let values: Vec<Estimate> = here.filter_map(|judged| self.value(judged)).collect();
            let value = match (summary, self.statement.quantity) {
                // A test without a value may have had any.
                _ if values.len() < cells => None,
                // Neither bounds nor counts can be resampled by blocks.
                (Summary::Median, Quantity::Rqps)
                    if !self.record.counts_only() && !values.iter().any(|it| it.is_bound()) =>
                {
                    self.median(setup)
                }
                _ => summarised(summary, &values),
            };
            self.figure(None, values.len() as u32, setup, value)
        };
        setups.into_iter().map(of_setup).collect()
    }

    fn cells(&self) -> impl Iterator<Item = &CellJudgement> {
        self.judged.judgement.cells.iter().filter(|it| self.is_meant(it))
    }

    fn value(&self, judged: &CellJudgement) -> Option<Estimate> {
        let base = self.than.and_then(|than| self.judged.judgement.cell(judged.cell, than));
        self.statement.quantity.value(judged, base, self.record)
    }

    fn is_meant(&self, judged: &CellJudgement) -> bool {
        judged.system == self.system && self.scope.cells.contains(&judged.cell)
    }

    fn median(&self, setup: Setup) -> Option<Estimate> {
        self.judged
            .median(self.record, |judged| judged.cell.setup == setup && self.is_meant(judged))
    }

    fn figure(
        &self,
        test: Option<String>,
        tests: u32,
        setup: Setup,
        value: Option<Estimate>,
    ) -> ClaimFigure {
        let systems = &self.record.systems;
        let name = |index: usize| systems.get(index).map_or_else(String::new, |it| it.name.clone());
        let is_reported = |index: &usize| {
            systems.get(*index).is_some_and(|it| matches!(it.artifact, Artifact::Reported(_)))
        };
        let are_reported = is_reported(&self.system) && self.than.as_ref().is_none_or(is_reported);
        let quantity = self.statement.quantity;
        ClaimFigure {
            study: self.record.study.id.clone(),
            system: name(self.system),
            than: self.than.map(name),
            test,
            tests,
            setup,
            value: value.filter(|it| it.value.is_finite()),
            decides_alone: are_reported || !quantity.has_interval(),
            margin: if are_reported || quantity.is_yes_or_no() { 0.0 } else { MARGIN },
            is_extreme: self.scope.extremes.contains(&self.system),
        }
    }
}

/// A statistic of values. Its interval contains the true one if all intervals contain theirs: its ends are the
/// statistics of the values' ends.
fn summarised(summary: Summary, values: &[Estimate]) -> Option<Estimate> {
    let value = summary.compute(&values.iter().map(|it| it.value).collect::<Vec<_>>())?;
    let Some(ends) = values.iter().map(|it| it.ends()).collect::<Option<Vec<(f64, f64)>>>() else {
        return Some(Estimate::without_interval(value));
    };
    if summary == Summary::Stddev {
        return spread(value, values);
    }
    let (low, high): (Vec<f64>, Vec<f64>) = ends.into_iter().unzip();
    let (low, high) = (summary.compute(&low)?, summary.compute(&high)?);
    Some(match values.iter().any(|it| it.is_bound()) {
        true => Estimate::between(value, (low, high)),
        false => Estimate { value, low, high },
    })
}

/// A standard deviation with its interval: it changes at most by that of the changes of the values. `None` with bounds.
fn spread(value: f64, values: &[Estimate]) -> Option<Estimate> {
    let half = |it: &Estimate| (it.value - it.low).max(it.high - it.value);
    let sum: f64 = values.iter().map(|it| half(it) * half(it)).sum();
    let room = (sum / (values.len() as f64 - 1.0)).sqrt();
    let is_known = values.iter().all(|it| it.has_interval());
    is_known.then(|| Estimate { value, low: (value - room).max(0.0), high: value + room })
}

impl ClaimFigure {
    fn ends(&self) -> Option<(f64, f64)> {
        let value = self.value?;
        // It is below any limit that it may not reach, however close.
        let (least, most) = (f64::MIN_POSITIVE, f64::MAX);
        match value.ends() {
            Some((low, high)) if value.is_bound() => Some((low.max(least), high.min(most))),
            ends => ends.or_else(|| {
                let room = self.margin * value.value.abs();
                self.decides_alone.then_some((value.value - room, value.value + room))
            }),
        }
    }
}

pub(crate) fn check_claim(statement: &Statement, figures: Vec<ClaimFigure>) -> CheckedStatement {
    let figures = match &statement.relation {
        Relation::In(region) => {
            figures.into_iter().map(|it| (in_region(&it, *region), it)).collect()
        }
        Relation::Lowest(_) => extremes(figures, |low, high| (low, high)),
        Relation::Highest(_) => extremes(figures, |low, high| (-high, -low)),
    };
    let statuses: Vec<ClaimStatus> = match statement.counted {
        ShareUnit::Cells => figures.iter().map(|(status, _)| *status).collect(),
        ShareUnit::Tests => {
            let mut tests: Vec<(Option<&str>, ClaimStatus)> = Vec::new();
            for (status, figure) in &figures {
                let known = tests
                    .iter_mut()
                    .find(|(test, _)| test.is_some() && *test == figure.test.as_deref());
                match known {
                    Some((_, so_far)) => *so_far = ClaimStatus::of_all([*so_far, *status]),
                    None => tests.push((figure.test.as_deref(), *status)),
                }
            }
            tests.into_iter().map(|(_, status)| status).collect()
        }
    };
    let all = [ClaimStatus::Holds, ClaimStatus::Fails, ClaimStatus::Unknown];
    let counts = all.map(|it| statuses.iter().filter(|status| **status == it).count() as u32);
    let figures = figures.into_iter().map(|(status, figure)| (figure, status)).collect();
    CheckedStatement { status: shared(statement.share, counts), figures, counts }
}

fn in_region(figure: &ClaimFigure, region: Region) -> ClaimStatus {
    let Some((low, high)) = figure.ends() else { return ClaimStatus::Unknown };
    let below = |one: f64, other: f64| if region.is_open { one < other } else { one <= other };
    if below(region.low, low) && below(high, region.high) {
        ClaimStatus::Holds
    } else if !below(region.low, high) || !below(low, region.high) {
        ClaimStatus::Fails
    } else {
        ClaimStatus::Unknown
    }
}

/// The values claimed to be smallest, each against the others of its test, setup and study. `ends` turns the largest
/// into the smallest.
fn extremes(
    figures: Vec<ClaimFigure>,
    ends: fn(f64, f64) -> (f64, f64),
) -> Vec<(ClaimStatus, ClaimFigure)> {
    let status = |figure: &ClaimFigure| {
        let is_rival = |other: &&ClaimFigure| {
            !other.is_extreme
                && (&other.study, &other.test, other.setup)
                    == (&figure.study, &figure.test, figure.setup)
        };
        let rivals: Vec<&ClaimFigure> = figures.iter().filter(is_rival).collect();
        if rivals.is_empty() {
            return ClaimStatus::Unknown;
        }
        ClaimStatus::of_all(rivals.iter().map(|rival| {
            let (Some(mine), Some(theirs)) = (figure.ends(), rival.ends()) else {
                return ClaimStatus::Unknown;
            };
            let (mine, theirs) = (ends(mine.0, mine.1), ends(theirs.0, theirs.1));
            if mine.1 < theirs.0 {
                ClaimStatus::Holds
            } else if theirs.1 < mine.0 || mine == theirs && mine.0 == mine.1 {
                ClaimStatus::Fails
            } else {
                ClaimStatus::Unknown
            }
        }))
    };
    let statuses: Vec<Option<ClaimStatus>> =
        figures.iter().map(|it| it.is_extreme.then(|| status(it))).collect();
    let both = statuses.into_iter().zip(figures);
    both.filter_map(|(status, figure)| Some((status?, figure))).collect()
}

fn shared(share: Share, [holds, fails, unknown]: [u32; 3]) -> ClaimStatus {
    let all = holds + fails + unknown;
    let (least, most) = match share {
        Share::Every => (all, all),
        Share::None => (0, 0),
        Share::Most => (all / 2 + 1, all),
        // So that 90% of 10 are 9, whatever the rounding error.
        Share::Part(part) => ((part * f64::from(all) - 1e-9).ceil() as u32, all),
        Share::Count { of: Some(of), .. } if of != all => return ClaimStatus::Unknown,
        Share::Count { least, most, .. } => (least, most),
    };
    if all == 0 {
        ClaimStatus::Unknown
    } else if least <= holds && holds + unknown <= most {
        ClaimStatus::Holds
    } else if holds + unknown < least || holds > most {
        ClaimStatus::Fails
    } else {
        ClaimStatus::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(test: &str, value: f64, room: f64) -> ClaimFigure {
        let value = match room {
            0.0 => Estimate::without_interval(value),
            room => Estimate { value, low: value - room, high: value + room },
        };
        ClaimFigure {
            study: "s".to_owned(),
            system: "new".to_owned(),
            than: Some("old".to_owned()),
            test: Some(test.to_owned()),
            tests: 1,
            setup: Setup { clients: 1, tables: 1, rows: 1 },
            value: Some(value),
            decides_alone: false,
            margin: 0.0,
            is_extreme: false,
        }
    }

    fn statement(relation: Relation, share: Share) -> Statement {
        let (quantity, counted) = (Quantity::Rqps, ShareUnit::Tests);
        Statement { quantity, summary: None, relation, share, counted }
    }

    fn faster() -> Relation {
        Relation::In(Region { low: 1.0, high: f64::INFINITY, is_open: true })
    }

    #[test]
    fn a_bound_decides_what_it_excludes() {
        let slower = Region { low: f64::NEG_INFINITY, high: 0.01, is_open: true };
        let faster = Region { low: 100.0, high: f64::INFINITY, is_open: true };
        let near = Region { low: 0.9, high: 1.1, is_open: false };
        let (most, least) = (Estimate::at_most(0.002), Estimate::at_least(400.0));
        let status = |bound: Estimate, region: Region| {
            in_region(&ClaimFigure { value: Some(bound), ..figure("a", 1.0, 0.0) }, region)
        };
        assert_eq!(
            [slower, near].map(|it| status(most, it)),
            [ClaimStatus::Holds, ClaimStatus::Fails]
        );
        assert_eq!(
            [faster, near].map(|it| status(least, it)),
            [ClaimStatus::Holds, ClaimStatus::Fails]
        );
        let far = Region { high: 0.001, ..slower };
        assert_eq!(status(most, far), ClaimStatus::Unknown);
    }

    /// The test without an answer counts among those of the median, with a value beyond its bound.
    #[test]
    fn summaries_of_bounds_say_what_they_may_be() {
        let all = [Estimate::at_most(0.002), Estimate { value: 0.98, low: 0.93, high: 1.03 }];
        let summarise = |summary| summarised(summary, &all).unwrap();
        assert!((summarise(Summary::Median).low - 0.465).abs() < 1e-9);
        assert!((summarise(Summary::Median).high - 0.516).abs() < 1e-9);
        let least = summarise(Summary::Min);
        assert!(least.is_bound() && least.high == 0.002, "{least:?}");
        assert_eq!(summarise(Summary::Max), Estimate { value: 0.98, low: 0.93, high: 1.03 });
    }

    /// Of three values that are 0.1 apart, known within 0.03: the deviation is known within 0.03 × √(3 / 2).
    #[test]
    fn averages_and_deviations_have_intervals_if_their_values_do() {
        let all =
            [0.9, 1.0, 1.1].map(|value| Estimate { value, low: value - 0.03, high: value + 0.01 });
        let summarise = |summary| summarised(summary, &all).unwrap();
        let [average, spread] = [summarise(Summary::Average), summarise(Summary::Stddev)];
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(near(average.value, 1.0) && near(average.low, 0.97) && near(average.high, 1.01));
        let room = 0.03 * 1.5_f64.sqrt();
        assert!(near(spread.value, 0.1) && near(spread.low, 0.1 - room), "{spread:?}");
        assert!(near(spread.high, 0.1 + room), "{spread:?}");
        let alone = summarised(Summary::Stddev, &[1.0, 1.2].map(Estimate::without_interval));
        assert!(alone.is_some_and(|it| !it.has_interval()));
        assert_eq!(summarised(Summary::Stddev, &[Estimate::at_most(0.1), all[0]]), None);
    }

    #[test]
    fn a_measured_value_without_an_interval_decides_within_a_margin() {
        let most = Region { low: f64::NEG_INFINITY, high: 100.0, is_open: false };
        for (value, margin, expected) in [
            (99.0, 0.0, ClaimStatus::Holds),
            (99.0, MARGIN, ClaimStatus::Unknown),
            (95.0, MARGIN, ClaimStatus::Holds),
            (104.0, MARGIN, ClaimStatus::Unknown),
            (106.0, MARGIN, ClaimStatus::Fails),
        ] {
            let alone = ClaimFigure { decides_alone: true, margin, ..figure("a", value, 0.0) };
            assert_eq!(in_region(&alone, most), expected, "{value} {margin}");
        }
    }

    #[test]
    fn an_interval_decides_where_it_lies_on_one_side() {
        let region = Region { low: 0.97, high: 1.03, is_open: false };
        for (value, room, expected) in [
            (1.0, 0.03, ClaimStatus::Holds),
            (1.02, 0.03, ClaimStatus::Unknown),
            (1.10, 0.03, ClaimStatus::Fails),
            (0.90, 0.03, ClaimStatus::Fails),
            (1.0, 0.0, ClaimStatus::Unknown),
        ] {
            assert_eq!(in_region(&figure("a", value, room), region), expected, "{value} {room}");
        }
        let open = Region { low: 1.0, high: f64::INFINITY, is_open: true };
        let alone = |value| ClaimFigure { decides_alone: true, ..figure("a", value, 0.0) };
        assert_eq!(in_region(&alone(1.0), open), ClaimStatus::Fails);
        assert_eq!(in_region(&alone(1.001), open), ClaimStatus::Holds);
        assert_eq!(
            in_region(&ClaimFigure { value: None, ..alone(1.0) }, open),
            ClaimStatus::Unknown
        );
    }

    #[test]
    fn shares_count_tests_and_leave_open_what_is_unknown() {
        let status = |share, rooms: [(f64, f64); 3]| {
            let figures = ["a", "b", "c"].into_iter().zip(rooms);
            let figures = figures.map(|(test, (value, room))| figure(test, value, room)).collect();
            check_claim(&statement(faster(), share), figures).status
        };
        let two = [(1.1, 0.01), (1.2, 0.01), (0.8, 0.01)];
        let open = [(1.1, 0.01), (1.0, 0.1), (0.8, 0.01)];
        let count = |least, most, all| Share::Count { least, most, of: all };
        for (share, known, unknown) in [
            (Share::Every, ClaimStatus::Fails, ClaimStatus::Fails),
            (Share::None, ClaimStatus::Fails, ClaimStatus::Fails),
            (Share::Most, ClaimStatus::Holds, ClaimStatus::Unknown),
            (Share::Part(0.6), ClaimStatus::Holds, ClaimStatus::Unknown),
            (count(2, 2, Some(3)), ClaimStatus::Holds, ClaimStatus::Unknown),
            (count(2, 2, Some(4)), ClaimStatus::Unknown, ClaimStatus::Unknown),
            (count(0, 2, None), ClaimStatus::Holds, ClaimStatus::Holds),
            (count(3, 9, None), ClaimStatus::Fails, ClaimStatus::Fails),
        ] {
            assert_eq!((status(share, two), status(share, open)), (known, unknown), "{share:?}");
        }
    }

    #[test]
    fn a_test_counts_only_if_all_of_its_values_do() {
        let all = vec![figure("a", 1.2, 0.1), figure("a", 0.8, 0.1), figure("b", 1.2, 0.1)];
        let count = Share::Count { least: 1, most: 1, of: Some(2) };
        let checked = check_claim(&statement(faster(), count), all.clone());
        assert_eq!((checked.status, checked.counts), (ClaimStatus::Holds, [1, 1, 0]));
        let mut cells = statement(faster(), count);
        cells.counted = ShareUnit::Cells;
        assert_eq!(check_claim(&cells, all).counts, [2, 1, 0]);
        assert_eq!(check_claim(&cells, Vec::new()).status, ClaimStatus::Unknown);
    }

    #[test]
    fn the_smallest_must_lie_below_all_others() {
        let status = |mine: (f64, f64), theirs: (f64, f64)| {
            let mine = ClaimFigure { is_extreme: true, ..figure("a", mine.0, mine.1) };
            let lowest = statement(Relation::Lowest("x".to_owned()), Share::Every);
            check_claim(&lowest, vec![figure("a", theirs.0, theirs.1), mine]).status
        };
        assert_eq!(status((0.5, 0.1), (0.8, 0.1)), ClaimStatus::Holds);
        assert_eq!(status((0.7, 0.1), (0.8, 0.1)), ClaimStatus::Unknown);
        assert_eq!(status((1.2, 0.1), (0.8, 0.1)), ClaimStatus::Fails);
    }
}
