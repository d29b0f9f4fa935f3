//! Rankings of systems whose true rates are known.

use assay_model::{Preset, SliceOutcome, StudyRecord, Verdict};
use assay_verdict::{Judgement, Ranking, Rankings, judge};

use crate::common::{self, Versions, empty};

const FOUR: [&str; 4] = ["10.11", "11.4", "11.8", "mysql@9.7"];

fn record(versions: &Versions, cells: usize, seed: u64) -> StudyRecord {
    let mut record = empty(seed, Preset::Quick, 4);
    record.study.cells.truncate(cells);
    record.systems = versions.systems.clone();
    versions.measure(&mut record, seed);
    record
}

fn rankings(judgement: &Judgement) -> &Rankings {
    judgement.rankings.as_ref().unwrap()
}

fn overall(judgement: &Judgement) -> &Ranking {
    rankings(judgement).overall.as_ref().unwrap()
}

#[test]
fn the_fastest_come_first_and_equal_ones_share_a_group() {
    let speed = |_, system| [0.0, -0.1, -0.1, -0.3][system];
    let judgement = judge(&record(&Versions::new(&FOUR, speed).quiet(), 6, 3));
    for ranking in rankings(&judgement).tests.iter().chain([overall(&judgement)]) {
        let mut groups = ranking.groups.clone();
        groups.iter_mut().for_each(|group| group.sort_unstable());
        assert_eq!(groups, [vec![0], vec![1, 2], vec![3]], "{:?}", ranking.cell);
        assert_eq!([0, 1, 2, 3].map(|system| ranking.rank(system)), [1, 2, 2, 4]);
        assert!(ranking.pairs.len() == 6 && ranking.unranked.is_empty());
        let pair = ranking.pair(3, 0).unwrap();
        assert_eq!((pair.above, pair.below, pair.verdict), (0, 3, Verdict::Slower));
        assert!(pair.ratio.low < (-0.3_f64).exp() && pair.ratio.high > (-0.3_f64).exp());
    }
    assert_eq!((overall(&judgement).tests, overall(&judgement).left_out), (6, 0));
}

/// Four equal systems in noisy studies. At most 5% of the rankings may tell any two of them apart, and in at least 95%
/// all intervals hold simultaneously.
#[test]
fn equal_systems_are_not_told_apart_in_more_than_five_percent_of_the_studies() {
    // No threshold hides small differences: only the correction for all pairs remains.
    let (studies, mut apart, mut missed) = (100, 0, 0);
    let (mut apart_in_a_test, mut tests) = (0, 0);
    for seed in 0..studies {
        let versions = Versions { rounds: 8, ..Versions::new(&FOUR, |_, _| 0.0) };
        let mut record = record(&versions, 5, seed as u64);
        record.study.threshold = 1e-6;
        let judgement = judge(&record);
        let is_apart =
            |ranking: &Ranking| ranking.pairs.iter().any(|it| it.verdict == Verdict::Slower);
        let misses = |ranking: &Ranking| {
            ranking.pairs.iter().any(|it| it.ratio.low > 1.0 || it.ratio.high < 1.0)
        };
        apart += usize::from(is_apart(overall(&judgement)));
        missed += usize::from(misses(overall(&judgement)));
        tests += rankings(&judgement).tests.len();
        apart_in_a_test += rankings(&judgement).tests.iter().filter(|it| is_apart(it)).count();
    }
    let limit = |rankings: usize| rankings / 20;
    assert!(apart <= limit(studies) && missed <= limit(studies), "{apart} {missed}");
    assert_eq!(tests, 5 * studies);
    assert!(apart_in_a_test <= limit(tests), "{apart_in_a_test} of {tests}");
}

/// A significant difference of no practical interest makes no rank.
#[test]
fn a_difference_within_the_threshold_is_the_same() {
    let speed = |_, system| 0.005 * system as f64;
    let versions =
        Versions { systems: common::versions(&FOUR[..3]), ..Versions::new(&FOUR, speed) };
    let quiet = Versions { pair_sd: 0.002, block_sd: 0.0005, ..versions };
    let judgement = judge(&record(&quiet, 6, 1));
    let ranking = overall(&judgement);
    assert_eq!(ranking.groups.len(), 1);
    assert!(ranking.pairs.iter().all(|it| it.verdict == Verdict::Same), "{ranking:?}");
}

#[test]
fn what_failed_is_not_ranked_and_its_test_is_left_out() {
    let speed = |_, system| -0.2 * system as f64;
    let mut record = record(&Versions::new(&FOUR, speed).quiet(), 4, 1);
    let failed = record.study.cells[1].id;
    for slice in record.slices.iter_mut().filter(|it| it.cell == failed && it.system == 2) {
        slice.outcome = SliceOutcome::Failed("killed".to_owned());
    }
    let judgement = judge(&record);
    let of_test = rankings(&judgement).tests.iter().find(|it| it.cell == Some(failed)).unwrap();
    assert_eq!((&of_test.unranked[..], of_test.groups.len()), (&[2][..], 3));
    let ranking = overall(&judgement);
    assert_eq!((ranking.tests, ranking.left_out), (3, 1));
    assert_eq!(ranking.groups, [[0], [1], [2], [3]]);
    assert!(ranking.unranked.is_empty());
}

#[test]
fn a_study_that_measured_a_part_of_its_tests_is_ranked_by_these() {
    let speed = |_, system| -0.2 * system as f64;
    let mut record = record(&Versions::new(&FOUR, speed).quiet(), 4, 1);
    let measured = record.study.cells[1].id;
    record.slices.retain(|it| it.cell == measured);
    let ranking = judge(&record).rankings.unwrap().overall.unwrap();
    assert_eq!((ranking.tests, ranking.left_out), (1, 3));
    assert_eq!(ranking.groups, [[0], [1], [2], [3]]);
}

#[test]
fn two_systems_and_a_twin_have_no_ranking() {
    let two = Versions::new(&FOUR[..2], |_, _| 0.0).quiet();
    assert_eq!(judge(&record(&two, 2, 1)).rankings, None);
    let mut twin = Versions::new(&["10.11", "11.4", "10.11"], |_, _| 0.0).quiet();
    twin.systems[2].is_twin = true;
    assert_eq!(judge(&record(&twin, 2, 1)).rankings, None);
}
