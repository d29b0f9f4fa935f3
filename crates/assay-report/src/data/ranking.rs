//! Rankings for scripts.

use assay_model::StudyRecord;
use assay_verdict::{RankedPair, Ranking, Rankings};
use serde::Serialize;

use super::number::Interval;
use super::row::system_name;
use super::steps::CellKey;

/// Only for three or more systems.
#[derive(Serialize)]
pub(crate) struct RankingRow<'a> {
    /// Over all tests; null if no test has all of the ranked systems.
    overall: Option<OverallRow<'a>>,
    tests: Vec<TestRow<'a>>,
}

#[derive(Serialize)]
struct OverallRow<'a> {
    tests: u32,
    left_out: u32,
    #[serde(flatten)]
    order: OrderRow<'a>,
}

#[derive(Serialize)]
struct TestRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    #[serde(flatten)]
    order: OrderRow<'a>,
}

#[derive(Serialize)]
struct OrderRow<'a> {
    /// Fastest group first. The systems of a group are indistinguishable.
    groups: Vec<Vec<&'a str>>,
    systems: Vec<SystemRow<'a>>,
    pairs: Vec<PairRow<'a>>,
    unranked: Vec<&'a str>,
}

#[derive(Serialize)]
struct SystemRow<'a> {
    system: &'a str,
    rank: u32,
}

/// Two systems, the lower one relative to the higher one.
#[derive(Serialize)]
struct PairRow<'a> {
    system: &'a str,
    than: &'a str,
    /// QPS of `system` divided by that of `than`, with its simultaneous interval.
    ratio: Interval,
    verdict: &'static str,
}

impl<'a> RankingRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, rankings: &Rankings) -> Self {
        let test = |ranking: &Ranking| {
            let cell = CellKey::new(record, ranking.cell?);
            Some(TestRow { cell, order: OrderRow::new(record, ranking) })
        };
        let overall = |ranking: &Ranking| OverallRow {
            tests: ranking.tests,
            left_out: ranking.left_out,
            order: OrderRow::new(record, ranking),
        };
        Self {
            overall: rankings.overall.as_ref().map(overall),
            tests: rankings.tests.iter().filter_map(test).collect(),
        }
    }
}

impl<'a> OrderRow<'a> {
    fn new(record: &'a StudyRecord, ranking: &Ranking) -> Self {
        let name = |system: usize| system_name(record, system);
        let names = |systems: &[usize]| systems.iter().map(|&it| name(it)).collect();
        let pair = |it: &RankedPair| PairRow {
            system: name(it.below),
            than: name(it.above),
            ratio: it.ratio.into(),
            verdict: it.verdict.word(),
        };
        let system = |system: usize| SystemRow { system: name(system), rank: ranking.rank(system) };
        Self {
            groups: ranking.groups.iter().map(|group| names(group)).collect(),
            systems: ranking.systems().map(system).collect(),
            pairs: ranking.pairs.iter().map(pair).collect(),
            unranked: names(&ranking.unranked),
        }
    }
}
