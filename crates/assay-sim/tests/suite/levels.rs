//! Absolute rates of systems, where no comparison cancels changes of the machine.

use assay_model::{Estimate, StudyRecord};
use assay_plan::Request;
use assay_sim::{Scenario, SimFaults, SpeedModel, Truth, simulate, study};
use assay_verdict::judge;

const STUDIES: u64 = 30;

fn plan(tests: &[&str], budget_s: f64) -> StudyRecord {
    let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
    study(&Request {
        budget_s: Some(budget_s),
        tests: tests.iter().map(|it| (*it).to_owned()).collect(),
        ..Request::of_systems(&words)
    })
}

fn rates(record: &StudyRecord, model: SpeedModel, seed: u64) -> (u32, Vec<Option<Estimate>>) {
    let mut record = record.clone();
    record.study.seed = seed;
    let truth = Truth {
        changes: vec![vec![0.0; record.study.cells.len()]],
        slice_sd: 1.0,
        speed: Some(model),
        ..Truth::default()
    };
    let ended = simulate(Scenario { seed, record, truth, faults: SimFaults::default() }).unwrap();
    let judged = judge(&ended.record);
    let blocks = judged.cells.iter().map(|it| it.blocks).max().unwrap_or(0);
    (blocks, judged.cells.iter().filter(|it| it.system == 0).map(|it| it.qps).collect())
}

/// Two blocks give one degree of freedom, which alone makes an interval of twelve standard errors.
#[test]
fn rates_of_two_blocks_have_intervals_of_use() {
    let tests = ["point-query", "hot-points", "range-covered-pk", "update-index", "insert"];
    let record = plan(&tests, 13.0);
    for model in [SpeedModel::QUIET, SpeedModel::VIRTUAL, SpeedModel::NOISY] {
        let found: Vec<_> = (1..=STUDIES).map(|seed| rates(&record, model, seed)).collect();
        assert!(found.iter().all(|(blocks, _)| *blocks == 2));
        let (mut inside, mut widest, mut count) = (0, 1.0_f64, 0);
        for cell in 0..tests.len() {
            let of: Vec<Estimate> = found.iter().map(|(_, it)| it[cell].unwrap()).collect();
            let logs: f64 = of.iter().map(|it| it.value.ln()).sum();
            let truth = (logs / of.len() as f64).exp();
            inside += of.iter().filter(|it| it.low <= truth && truth <= it.high).count();
            widest = of.iter().map(|it| it.high / it.low).fold(widest, f64::max);
            count += of.len();
        }
        let share = inside as f64 / count as f64;
        assert!(share > 0.9 && widest < 4.0, "{model:?}: {share} are right, {widest}");
    }
}
