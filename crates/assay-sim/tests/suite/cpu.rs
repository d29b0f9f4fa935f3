//! Verdicts on CPU per operation, which varies less than time on a machine that others use.

use assay_model::{Class, CpuVerdict, JudgedFigures, StudyRecord, Verdict};
use assay_sim::{CpuNoise, Scenario, Truth, simulate};
use assay_verdict::judge;

/// Rates vary by 12% between slices and by 10% between instances, CPU per operation by 3% and by 1.2%.
fn busy(seed: u64, changes: Vec<f64>) -> Scenario {
    let mut scenario = Scenario::quick(seed);
    scenario.record.study.blocks = 8;
    let cpu = CpuNoise { slice_sd: 0.03, block_sd: 0.012 };
    let truth = Truth {
        changes: vec![changes],
        slice_sd: 0.12,
        block_sd: 0.1,
        cpu: Some(cpu),
        ..Truth::default()
    };
    Scenario { truth, ..scenario }
}

/// Whether each test is called different by time, by CPU of serving threads, and by CPU of all threads.
fn called(record: &StudyRecord) -> Vec<[bool; 3]> {
    let judged = judge(record);
    let others = judged.cells.iter().filter(|cell| cell.system > 0);
    let is_changed = |verdict| matches!(verdict, CpuVerdict::More | CpuVerdict::Less);
    let calls = others.map(|cell| {
        let by_time = matches!(cell.verdict, Verdict::Faster | Verdict::Slower);
        let [serving, all] = [cell.cpu, cell.cpu_total()].map(Option::unwrap);
        [by_time, is_changed(serving.verdict), is_changed(all.verdict)]
    });
    calls.collect()
}

#[test]
fn cpu_calls_a_change_of_a_tenth_where_time_does_not() {
    const CHANGED: usize = 3;
    let (mut found, mut wrong, mut all) = ([0; 3], [0; 3], 0);
    for seed in 0..6 {
        let changes = vec![0.9_f64.ln(); CHANGED];
        let calls = called(&simulate(busy(seed, changes)).unwrap().record);
        for (cell, calls) in calls.into_iter().enumerate() {
            let counts = if cell < CHANGED { &mut found } else { &mut wrong };
            counts.iter_mut().zip(calls).for_each(|(count, call)| *count += u32::from(call));
            all += u32::from(cell < CHANGED);
        }
    }
    println!(
        "of {all} changed tests by time, CPU, CPU of all threads: {found:?}; wrong: {wrong:?}"
    );
    assert!(found[1] * 10 >= all * 9 && found[2] * 10 >= all * 9, "{found:?} of {all}");
    assert!(found[0] * 2 <= found[1], "{found:?} of {all}");
    assert!(wrong.iter().all(|wrong| *wrong <= 2), "{wrong:?}");
}

/// At most one in twenty such studies calls anything, by time or by CPU.
#[test]
fn equal_systems_are_seldom_called_different_by_either() {
    let studies = std::env::var("ASSAY_STUDIES").ok().and_then(|it| it.parse().ok());
    let studies: u64 = studies.unwrap_or(12);
    let mut calling = 0;
    for seed in 100..100 + studies {
        let calls = called(&simulate(busy(seed, Vec::new())).unwrap().record);
        calling += u64::from(calls.iter().flatten().any(|call| *call));
    }
    println!("{calling} of {studies} studies call something");
    assert!(calling <= 2 + studies / 20, "{calling} of {studies}");
}

/// A study that judges CPU ends when CPU is decided.
#[test]
fn a_study_that_judges_cpu_measures_until_cpu_is_decided() {
    let used_s = |judge| {
        let mut scenario = busy(7, vec![0.5_f64.ln(); 32]);
        scenario.truth.cpu = Some(CpuNoise { slice_sd: 0.002, block_sd: 0.001 });
        scenario.record.study.blocks = 12;
        scenario.record.study.judge = judge;
        simulate(scenario).unwrap().used_s
    };
    let [cpu, time] = [JudgedFigures::Cpu, JudgedFigures::Time].map(used_s);
    assert!(cpu < time, "{cpu} {time}");
}

/// CPU shows the change of the first tests at once. It could show that the others are equal.
#[test]
fn a_study_on_a_noisy_machine_spends_its_rounds_on_what_cpu_leaves_undecided() {
    const CHANGED: usize = 16;
    let mut scenario = busy(11, vec![0.7_f64.ln(); CHANGED]);
    scenario.truth.cpu = Some(CpuNoise { slice_sd: 0.06, block_sd: 0.002 });
    scenario.record.study.is_noisy = true;
    let record = simulate(scenario).unwrap().record;
    let slices = |is_changed: bool| {
        let cells = record.study.cells.iter().enumerate();
        let cells = cells.filter(|(number, cell)| {
            (*number < CHANGED) == is_changed && cell.id.test.class == Class::Read
        });
        let counts = cells.map(|(_, cell)| {
            record.slices.iter().filter(|slice| slice.cell == cell.id).count() as f64
        });
        let counts: Vec<f64> = counts.collect();
        counts.iter().sum::<f64>() / counts.len() as f64
    };
    let [decided, open] = [true, false].map(slices);
    assert!(open > 1.1 * decided, "{open} {decided}");
}
