//! Steps between neighbouring versions, and crossovers, of studies whose true effects are known.

use assay_model::{CellId, Setup, SliceOutcome, System, Verdict};
use assay_verdict::{Judgement, LineStep, judge};

use crate::common::{Versions, versions};

fn step_of(judgement: &Judgement, cell: CellId, from: usize) -> &LineStep {
    judgement.steps.iter().find(|step| step.cell == cell && step.from == from).unwrap()
}

const THREE: [&str; 3] = ["10.11", "11.4", "11.8"];

#[test]
fn the_step_at_which_a_test_changed_is_found_with_its_size() {
    let speed = |cell, system| if cell < 16 && system == 2 { -0.08 } else { 0.0 };
    let record = Versions::new(&THREE, speed).quiet().record(1);
    let judgement = judge(&record);
    assert_eq!((judgement.steps.len(), judgement.lines.len()), (64, 32));
    for (number, planned) in record.study.cells.iter().enumerate() {
        let (first, second) =
            (step_of(&judgement, planned.id, 0), step_of(&judgement, planned.id, 1));
        let line = &judgement.lines[number];
        assert_eq!((first.to, second.to, &line.systems[..]), (1, 2, &[0, 1, 2][..]));
        assert!(!first.is_change && first.verdict == Verdict::Same, "{first:?}");
        let ratio = second.ratio.unwrap();
        if number < 16 {
            assert!(second.is_change && second.verdict == Verdict::Slower, "{second:?}");
            assert!(ratio.low < 0.924 && ratio.high > 0.922, "{ratio:?}");
            assert!(second.beyond_threshold > Some(0.99), "{second:?}");
            let main = line.main.unwrap();
            assert_eq!((main.from, main.to), (1, 2));
            assert!((0.9..1.1).contains(&main.share) && main.confidence > 0.99, "{main:?}");
        } else {
            assert!(!second.is_change && line.main.is_none(), "{second:?}");
        }
    }
}

/// The step from the base is the comparison with the base, so both have one answer.
#[test]
fn a_step_from_the_base_says_what_its_cell_says() {
    let speed = |cell, system| [0.0, -0.03, -0.05][system] * f64::from(u8::from(cell % 2 == 0));
    for seed in 0..4 {
        let judgement = judge(&Versions::new(&THREE, speed).record(seed));
        for step in judgement.steps.iter().filter(|step| step.from == 0) {
            let cell = judgement.cell(step.cell, step.to).unwrap();
            assert_eq!(
                (step.ratio, step.verdict, step.beyond_threshold),
                (cell.rqps, cell.verdict, cell.beyond_threshold)
            );
        }
        for line in &judgement.lines {
            let last = judgement.cell(line.cell, 2).unwrap();
            assert_eq!((line.ratio, line.verdict), (last.rqps, last.verdict));
        }
    }
}

/// As posts print them: MariaDB against its first version and MySQL against its own, and the last ones of both.
#[test]
fn groups_have_statistics_of_pairs_without_the_base() {
    let speed = |_, system| [0.0, -0.5, -0.1, -0.7, -0.9][system];
    let systems = ["10.11", "mysql@8.0", "11.4", "mysql@8.4", "mysql@9.7"];
    let record = Versions::new(&systems, speed).quiet().record(1);
    let judgement = judge(&record);
    let logs = [((3, 1), -0.2), ((4, 1), -0.4), ((2, 4), 0.8)];
    assert_eq!(judgement.group_pairs.len(), logs.len() * 4);
    for ((system, than), log) in logs {
        let of_pair = judgement.group_pairs.iter();
        let of_pair = of_pair.filter(|it| (it.system, it.than) == (system, than));
        let sizes = of_pair.inspect(|group| {
            assert!((group.median.ln() - log).abs() < 0.01, "{group:?}");
            assert!(group.min <= group.avg && group.avg <= group.max, "{group:?}");
            assert!(group.stddev.unwrap() < 0.02, "{group:?}");
        });
        assert_eq!(sizes.map(|group| group.n).collect::<Vec<_>>(), [9, 5, 8, 10]);
    }
    let two = Versions::new(&["10.11", "mysql@8.0", "11.4"], |_, _| 0.0).quiet();
    assert_eq!(judge(&two.record(1)).group_pairs, []);
}

#[test]
fn pairs_without_the_base_follow_versions_and_not_the_order_of_the_study() {
    let systems = ["11.4", "mysql@9.7", "10.11", "mysql@8.0", "11.8", "mysql@8.4"];
    let study = Versions { rounds: 1, ..Versions::new(&systems, |_, _| 0.0) };
    let pairs = judge(&study.record(1)).group_pairs;
    let mut pairs: Vec<_> = pairs.iter().map(|it| (it.system, it.than)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    // MySQL with its oldest version, and the newest MariaDB with the newest MySQL.
    assert_eq!(pairs, [(1, 3), (4, 1), (5, 3)]);
}

/// A pair has the value that a report against its divisor has.
#[test]
fn a_pair_without_the_base_is_what_another_base_gives() {
    let speed = |cell: usize, system: usize| -0.01 * (cell * system) as f64;
    let versions = Versions::new(&["10.11", "mysql@8.0", "mysql@9.7"], speed).quiet();
    let mut record = versions.record(1);
    let pairs = judge(&record).group_pairs;
    record.systems[0].is_base = false;
    record.systems[1].is_base = true;
    let rebased = judge(&record);
    let groups: Vec<_> = rebased.groups.iter().filter(|it| it.system == 2).collect();
    assert_eq!(pairs.len(), groups.len());
    for (pair, group) in pairs.iter().zip(groups) {
        assert_eq!((pair.system, pair.than, pair.n), (group.system, group.than, group.n));
        let [one, other] = [pair, group].map(|it| [it.min, it.max, it.avg, it.median]);
        assert!(one.iter().zip(other).all(|(a, b)| (a / b - 1.0).abs() < 1e-3), "{pair:?}");
    }
}

#[test]
fn neighbours_are_versions_of_one_product_with_the_same_settings() {
    let pairs = |systems: &[System]| {
        let study = Versions { systems: systems.to_vec(), ..Versions::new(&[], |_, _| 0.0) };
        let mut record = Versions { rounds: 1, ..study }.record(1);
        record.study.cells.truncate(1);
        let judgement = judge(&record);
        judgement.steps.iter().map(|step| (step.from, step.to)).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&versions(&["10.11", "11.8"])), []);
    assert_eq!(pairs(&versions(&THREE)), [(0, 1), (1, 2)]);
    let mixed = ["10.11", "mysql@8.0", "11.4", "mysql@9.7", "11.8"];
    assert_eq!(pairs(&versions(&mixed)), [(0, 2), (2, 4), (1, 3)]);
    // The base and one other version are compared by the cells.
    assert_eq!(pairs(&versions(&["10.11", "11.4", "mysql@8.0", "mysql@9.7"])), [(2, 3)]);
    let mut systems = versions(&THREE);
    systems[1].spec.overrides = vec![("innodb_doublewrite".into(), "OFF".into())];
    assert_eq!(pairs(&systems), []);
    let mut systems = versions(&["10.11", "11.4", "11.8", "10.11"]);
    systems[3].is_twin = true;
    assert_eq!(pairs(&systems), [(0, 1), (1, 2)]);
}

#[test]
fn a_line_without_the_base_is_judged_as_a_whole_too() {
    let speed = |_, system| [0.0, -0.5, -0.53, -0.56][system];
    let judgement = judge(
        &Versions::new(&["11.8", "mysql@8.0", "mysql@8.4", "mysql@9.7"], speed).quiet().record(3),
    );
    assert_eq!(judgement.steps.len(), 64);
    for line in &judgement.lines {
        let ratio = line.ratio.unwrap();
        assert_eq!((&line.systems[..], line.verdict), (&[1, 2, 3][..], Verdict::Slower));
        assert!((ratio.value.ln() + 0.06).abs() < 0.01, "{ratio:?}");
    }
}

#[test]
fn a_system_that_failed_has_no_steps_there() {
    let mut record = Versions::new(&THREE, |_, _| 0.0).quiet().record(2);
    let cell = record.study.cells[5].id;
    let failing = record.slices.iter_mut().find(|it| it.cell == cell && it.system == 1).unwrap();
    failing.outcome = SliceOutcome::Failed("server went away".into());
    let judgement = judge(&record);
    for step in judgement.steps.iter().filter(|step| step.cell == cell) {
        assert_eq!((step.verdict, step.is_change), (Verdict::Failed, false));
        assert_eq!(step.beyond_threshold, None);
    }
    let line = judgement.lines.iter().find(|line| line.cell == cell).unwrap();
    assert_eq!((line.verdict, line.main), (Verdict::Same, None));
}

/// Share of a study's named steps at which nothing changed (mean over studies), share of changes that are named, and
/// share of intervals that contain the truth.
fn false_discoveries(versions: &Versions, studies: u64) -> [f64; 3] {
    let (mut rate, mut found, mut changes, mut covered, mut steps) = (0.0, 0, 0, 0, 0);
    for seed in 0..studies {
        let record = versions.record(1000 + seed);
        let judgement = judge(&record);
        let (mut named, mut wrong) = (0, 0);
        for step in &judgement.steps {
            let number = record.study.cells.iter().position(|it| it.id == step.cell).unwrap();
            let truth = (versions.speed)(number, step.to) - (versions.speed)(number, step.from);
            let ratio = step.ratio.unwrap();
            steps += 1;
            covered += u32::from(ratio.low.ln() <= truth && truth <= ratio.high.ln());
            named += u32::from(step.is_change);
            wrong += u32::from(step.is_change && truth == 0.0);
            changes += u32::from(truth != 0.0);
            found += u32::from(step.is_change && truth != 0.0);
            assert!(!step.is_change || ratio.low > 1.0 || ratio.high < 1.0, "{step:?}");
        }
        rate += f64::from(wrong) / f64::from(named.max(1));
    }
    let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
    [rate / studies as f64, share(found, changes), share(covered, steps)]
}

/// In each scenario, some comparison with the base has another answer than the steps.
#[test]
fn at_most_one_in_twenty_named_steps_is_false() {
    let four = ["10.11", "11.0", "11.4", "11.8"];
    let two_products = ["10.11", "11.4", "11.8", "mysql@8.0", "mysql@9.7"];
    let scenarios = [
        ("no change", Versions::new(&four, |_, _| 0.0)),
        (
            "a quarter of the tests at the second step",
            Versions::new(
                &four,
                |cell, system| {
                    if cell % 4 == 0 && system > 1 { -0.10 } else { 0.0 }
                },
            ),
        ),
        (
            "another product is slower, and no version changed",
            Versions::new(&two_products, |_, system| if system > 2 { -0.3 } else { 0.0 }),
        ),
    ];
    let mut report = String::new();
    let mut rates = Vec::new();
    for (name, versions) in scenarios {
        let [rate, found, covered] = false_discoveries(&versions, STUDIES);
        report += &format!("{name}: false {rate:.3}, found {found:.2}, covered {covered:.3}\n");
        rates.push(rate);
        assert!(covered > 0.94, "{report}");
    }
    println!("{report}");
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!(mean <= 0.06, "{report}");
}

/// Studies per scenario, few enough for every test run. docs/lab/derivations.md has the results of more.
const STUDIES: u64 = 24;

#[test]
fn a_crossover_is_found_between_the_client_counts() {
    // Slower by 6% with one client and by 4% with four, faster by 4% with sixteen.
    let speed = |cell: usize, system: usize| {
        if system == 0 || cell >= 3 { 0.0 } else { [-0.06, -0.04, 0.04][cell] }
    };
    let versions = Versions::new(&["10.11", "11.8"], speed).quiet();
    let mut record = versions.record(1);
    let tests: Vec<_> = record.study.cells.iter().take(2).map(|cell| cell.id.test).collect();
    let like = record.study.cells[0].clone();
    let setups = [1, 4, 16].map(|clients| Setup { clients, ..like.id.setup });
    record.study.setups = setups.to_vec();
    record.study.cells = tests
        .iter()
        .flat_map(|&test| setups.map(|setup| CellId { test, setup }))
        .map(|id| assay_model::PlannedCell { id, ..like.clone() })
        .collect();
    record.slices.clear();
    versions.measure(&mut record, 1);
    let judgement = judge(&record);
    let [crossover] = &judgement.crossovers[..] else { panic!("{:?}", judgement.crossovers) };
    assert_eq!((crossover.few.setup.clients, crossover.many.setup.clients), (4, 16));
    assert_eq!((crossover.system, crossover.verdict), (1, Verdict::Slower));
    assert!(crossover.holds_below && crossover.holds_above, "{crossover:?}");
    let clients = crossover.clients;
    assert!(clients.low < 8.0 && clients.high > 8.0, "{clients:?}");
    assert!(clients.low > 5.5 && clients.high < 11.5, "{clients:?}");
}
