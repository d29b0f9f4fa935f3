//! Tests of limits: its rules by example, and its errors by simulation.

use assay_model::{Setup, TestSet};
use assay_workloads::tests_of;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::effect::tests::effect;

fn case(effect: Option<Effect>) -> LimitedCase {
    let setup = Setup { clients: 1, tables: 1, rows: 1 };
    let cell = CellId { test: tests_of(TestSet::Set32)[0], setup };
    LimitedCase {
        bound: None,
        cell,
        system: 1,
        margin: 0.03,
        is_cost: false,
        effect,
        is_measured: true,
        has_failed: false,
        is_of_one: false,
        stalled: None,
    }
}

fn after(blocks: u32, ratio: f64, se: f64) -> LimitedCase {
    let mut effect = effect(ratio.ln(), se, f64::INFINITY);
    (effect.blocks, effect.last) = (blocks, blocks - 1);
    case(Some(effect))
}

fn verdicts(cases: &[LimitedCase], planned: u32) -> Vec<LimitVerdict> {
    judge(cases, &Rules::of_blocks(planned)).cells.iter().map(|it| it.verdict).collect()
}

#[test]
fn one_busy_block_neither_fails_nor_passes_a_limit() {
    let cases = [true, false].map(|is_of_one| LimitedCase { is_of_one, ..after(1, 0.5, 0.02) });
    assert_eq!(verdicts(&cases, 1), [LimitVerdict::Undecided, LimitVerdict::Exceeded]);
    // The base may have been the one that waited.
    let faster = [true, false].map(|is_of_one| LimitedCase { is_of_one, ..after(1, 3.0, 0.02) });
    assert_eq!(verdicts(&faster, 1), [LimitVerdict::Undecided, LimitVerdict::Passed]);
    for cases in [cases, faster] {
        let judged = judge(&cases, &Rules::of_blocks(1));
        assert_eq!(judged.cells[0].doubt, Some(VerdictDoubt::OneBusyBlock));
    }
}

#[test]
fn more_cpu_is_worse() {
    let of_cpu = |ratio| LimitedCase { is_cost: true, ..after(1, ratio, 0.005) };
    let cases = [of_cpu(0.9), of_cpu(1.0), of_cpu(1.03), of_cpu(1.1)];
    let expected = [
        LimitVerdict::Passed,
        LimitVerdict::Passed,
        LimitVerdict::Undecided,
        LimitVerdict::Exceeded,
    ];
    assert_eq!(verdicts(&cases, 1), expected);
    let ratio = judge(&cases, &Rules::of_blocks(1)).cells[3].ratio.unwrap();
    assert!((ratio.value - 1.1).abs() < 1e-9 && ratio.low > 1.0, "{ratio:?}");
}

#[test]
fn bounds_decide() {
    use LimitVerdict::{Exceeded, Failed, Passed, Undecided};
    // The limit is at 0.97; the half-width of a single look is 1.96 standard errors.
    let one = |ratio, se| verdicts(&[after(1, ratio, se)], 1)[0];
    assert_eq!(one(1.0, 0.01), Passed);
    assert_eq!(one(0.985, 0.007), Passed);
    assert_eq!(one(0.985, 0.009), Undecided);
    assert_eq!(one(0.95, 0.009), Exceeded);
    assert_eq!(one(0.95, 0.012), Undecided);
    // More cells make the bound for a failure stricter, but not that for passing.
    let many = |ratio, se| {
        verdicts(&[[after(1, ratio, se); 1].as_slice(), &[after(1, 0.97, 0.01); 31]].concat(), 1)[0]
    };
    assert_eq!(
        (many(0.985, 0.007), many(0.95, 0.009), many(0.95, 0.006)),
        (Passed, Undecided, Exceeded)
    );
    let failed = LimitedCase { has_failed: true, ..after(1, 0.5, 0.01) };
    assert_eq!(verdicts(&[failed, case(None)], 1), [Failed, Undecided]);
}

#[test]
fn a_system_that_stalls_does_not_pass() {
    let stalled = LimitedCase { stalled: Some(0.83), ..after(1, 1.0, 0.005) };
    let judged = judge(&[stalled, after(1, 1.0, 0.005)], &Rules::of_blocks(1));
    assert_eq!(judged.verdict(), LimitVerdict::Undecided);
    assert_eq!(judged.cells[0].doubt, Some(VerdictDoubt::PerhapsUneven { total: 0.83 }));
    assert_eq!(judged.cells[1].verdict, LimitVerdict::Passed);
}

#[test]
fn the_worst_cell_decides_for_the_study() {
    let outcome = |cases: &[LimitedCase]| {
        let judged = judge(cases, &Rules::of_blocks(1));
        (judged.verdict(), judged.open_cells().len())
    };
    let (good, open, bad) = (after(1, 1.0, 0.001), after(1, 0.97, 0.01), after(1, 0.9, 0.001));
    let failed = LimitedCase { has_failed: true, ..good };
    assert_eq!(outcome(&[good, good]), (LimitVerdict::Passed, 0));
    assert_eq!(outcome(&[good, open]), (LimitVerdict::Undecided, 1));
    assert_eq!(outcome(&[good, open, failed]), (LimitVerdict::Failed, 1));
    assert_eq!(outcome(&[good, open, failed, bad]), (LimitVerdict::Exceeded, 0));
}

#[test]
fn an_undecided_cell_says_how_much_longer_it_needs() {
    let doubt = |case| judge(&[case], &Rules::of_blocks(6)).cells[0].doubt;
    assert_eq!(doubt(after(6, 0.972, 0.005)), Some(VerdictDoubt::AtThreshold));
    let Some(VerdictDoubt::Wide { times, .. }) = doubt(after(6, 1.0, 0.03)) else { panic!() };
    // The half-width is twice the distance to the limit.
    assert!((times - 4.0).abs() < 0.5, "{times}");
    assert_eq!(
        doubt(LimitedCase { is_measured: false, ..case(None) }),
        Some(VerdictDoubt::Unmeasured)
    );
    assert_eq!(doubt(case(None)), Some(VerdictDoubt::SinglePair));
    assert_eq!(doubt(LimitedCase { is_cost: true, ..case(None) }), Some(VerdictDoubt::NoCpu));
    assert_eq!(doubt(after(6, 1.0, 0.001)), None);
}

/// The first example of Holm (1979) in many textbooks: of 0.01, 0.04, 0.03, 0.005 the smallest two are rejected.
#[test]
fn holm_stops_at_the_first_that_is_not_rejected() {
    assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
    assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
}

struct Errors {
    exceeded: f64,
    passed: f64,
    blocks: f64,
}

const CELLS: usize = 16;
const BLOCKS: u32 = 6;

/// Every cell changed by `ratio`, with blocks of standard deviation `sd`, estimated with `df` degrees of freedom beyond
/// those of the cell's blocks. Decided cells are measured no further.
fn simulated(ratio: f64, sd: f64, df: f64, studies: u32) -> Errors {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
    let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    let rules = Rules::of_blocks(BLOCKS);
    let (mut exceeded, mut passed, mut blocks) = (0.0, 0.0, 0.0);
    for _ in 0..studies {
        let squares: f64 = (0..df as u32).map(|_| normal().powi(2)).sum();
        let mut values = vec![Vec::new(); CELLS];
        let mut open = [true; CELLS];
        let mut judged = LimitsJudgement { cells: Vec::new() };
        for _ in 0..BLOCKS {
            blocks += 1.0;
            for (values, _) in values.iter_mut().zip(open).filter(|(_, open)| *open) {
                values.push(ratio.ln() + sd * normal());
            }
            let cases: Vec<LimitedCase> =
                values.iter().map(|it| estimated(it, squares * sd * sd, df)).collect();
            judged = judge(&cases, &rules);
            for (open, cell) in open.iter_mut().zip(&judged.cells) {
                *open = cell.verdict == LimitVerdict::Undecided;
            }
            if judged.open_cells().is_empty() {
                break;
            }
        }
        exceeded += f64::from(u8::from(judged.count(LimitVerdict::Exceeded) > 0));
        passed += judged.count(LimitVerdict::Passed) as f64;
    }
    let studies = f64::from(studies);
    Errors {
        exceeded: exceeded / studies,
        passed: passed / studies / CELLS as f64,
        blocks: blocks / studies,
    }
}

fn estimated(values: &[f64], squares: f64, df: f64) -> LimitedCase {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let own: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
    let df = df + count - 1.0;
    if df <= 0.0 {
        return case(None);
    }
    let mut effect = effect(mean, ((own + squares) / df / count).sqrt(), df);
    (effect.blocks, effect.last) = (values.len() as u32, values.len() as u32 - 1);
    case(Some(effect))
}

/// Where every system is exactly as slow as the limit allows, both verdicts are wrong.
#[test]
fn errors_keep_within_their_rates() {
    for df in [0.0, 40.0] {
        let at_limit = simulated(0.97, 0.01, df, 500);
        assert!(at_limit.exceeded <= 0.05, "{df}: {} of studies", at_limit.exceeded);
        assert!(at_limit.passed <= 0.05, "{df}: {} of cells", at_limit.passed);
        let unchanged = simulated(1.0, 0.01, df, 50);
        assert!(unchanged.passed > 0.95 && unchanged.exceeded == 0.0, "{df}: {}", unchanged.passed);
        assert!(unchanged.blocks < 5.9, "{}", unchanged.blocks);
        let slow = simulated(0.9, 0.01, df, 50);
        assert!(slow.exceeded > 0.95, "{df}: {}", slow.exceeded);
    }
}
