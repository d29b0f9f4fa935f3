//! Scenarios: a study, the truth about its systems, noise and faults.

use assay_model::{
    Artifact, Experiment, Host, Preset, ReportedServer, StudyRecord, System, TestSet,
};
use assay_plan::{MachineFacts, PlannedSystem, Request, plan};

use crate::{NoiseSource, SimFaults, SpeedModel};

const MACHINE: MachineFacts =
    MachineFacts { cpus: 4, memory_mb: 640_000, disk_mb: 500_000, realtime: None };

#[derive(Debug, Clone, Default)]
pub struct Truth {
    /// Logarithms of true relative rates, one list per system after the base, one number per cell; 0 if missing.
    pub changes: Vec<Vec<f64>>,
    /// Standard deviation of a slice's log rate.
    pub slice_sd: f64,
    /// Standard deviation between fresh instances.
    pub block_sd: f64,
    /// Variation of speed between turns. Without it, a slice is one number with the noise above.
    pub speed: Option<SpeedModel>,
    /// Variation of CPU time per operation without a [`SpeedModel`]; `None` if it is not measured.
    pub cpu: Option<CpuNoise>,
}

/// Standard deviations of the logarithm of CPU time per operation.
#[derive(Debug, Clone, Copy)]
pub struct CpuNoise {
    /// Of a slice.
    pub slice_sd: f64,
    /// Between fresh instances.
    pub block_sd: f64,
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub record: StudyRecord,
    pub truth: Truth,
    pub faults: SimFaults,
}

impl Scenario {
    /// Preset quick on two systems, twelve of 32 tests changed by 3%, with the noise of a shared virtual machine.
    pub fn quick(seed: u64) -> Self {
        let request = Request { seed, ..systems(2) };
        let changes = vec![vec![-0.03; 12]];
        let truth = Truth { changes, slice_sd: 0.08, block_sd: 0.007, ..Truth::default() };
        Self { seed, record: study(&request), truth, faults: SimFaults::default() }
    }

    /// Four blocks of four rounds of six tests on two equal systems, nearly without noise.
    pub fn small() -> Self {
        let tests = ["point-query", "update-one", "update-index", "range-*"];
        let request = Request {
            tests: tests.map(str::to_owned).into(),
            budget_s: Some(3600.0),
            blocks: Some(4),
            rounds: Some(4),
            ..systems(2)
        };
        let truth = Truth { slice_sd: 0.0005, block_sd: 0.0002, ..Truth::default() };
        Self { seed: 7, record: study(&request), truth, faults: SimFaults::default() }
    }

    pub fn undecided(self) -> Self {
        let truth = Truth { slice_sd: 0.3, block_sd: 0.1, ..Truth::default() };
        Self { truth, ..self }
    }

    /// A small study of any shape where anything may fail. Its changes are so large and its noise is so small that no
    /// verdict may be wrong.
    pub fn faulty(seed: u64) -> Self {
        let mut noise = NoiseSource::new(seed);
        let count = 2 + noise.below(2);
        let preset = noise.one_of([Preset::Quick, Preset::Quick, Preset::Quick, Preset::Published]);
        let interleaved = preset == Preset::Quick;
        let tests: [&[&str]; 5] = [
            &["point-query"],
            &["update-*"],
            &["read-write*", "delete"],
            &["insert", "delete", "point*"],
            &["range-*", "hot*"],
        ];
        let request = Request {
            preset,
            seed,
            set: noise.one_of([TestSet::Set32, TestSet::Set42, TestSet::Set47]),
            tests: noise.one_of(tests).iter().map(|&glob| glob.to_owned()).collect(),
            twin: Some(interleaved && noise.strikes(0.3)),
            budget_s: interleaved.then(|| noise.one_of([0.5, 5.0, 20.0, 60.0, 600.0])),
            blocks: interleaved.then(|| noise.one_of([1, 2, 4, 5])),
            rounds: interleaved.then(|| noise.one_of([2, 4, 8])),
            slice_s: (!interleaved).then_some(1.0),
            write_slice_s: (!interleaved).then_some(1.0),
            ..with_clients(systems(count), noise.one_of([&[1], &[4], &[1, 8]]))
        };
        let record = study(&request);
        let cells = record.study.cells.len();
        let mut change = || noise.one_of([0.0, 0.2, -0.2]);
        let changes = (1..count).map(|_| (0..cells).map(|_| change()).collect()).collect();
        let truth = Truth { changes, slice_sd: 0.0005, block_sd: 0.0002, ..Truth::default() };
        Self { seed, record, truth, faults: SimFaults::random(&mut noise) }
    }

    pub(crate) fn change(&self, system: usize, cell: usize) -> f64 {
        let is_twin = self.record.systems[system].is_twin;
        let others = system.checked_sub(1).filter(|_| !is_twin);
        let changes = others.and_then(|other| self.truth.changes.get(other));
        changes.and_then(|changes| changes.get(cell)).copied().unwrap_or(0.0)
    }

    /// Whether to make checks costlier than the study itself: for small studies and some large ones.
    pub(crate) fn has_costly_checks(&self) -> bool {
        const CELLS: usize = 50;
        const EVERY: u64 = 16;
        let is_small = self.record.study.cells.len() <= CELLS && self.truth.speed.is_none();
        is_small || self.seed.is_multiple_of(EVERY)
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.record.study.experiment == Experiment::Sequential
    }
}

fn systems(count: usize) -> Request {
    let words = ["mariadb@10.11", "mariadb@11.8", "mysql@8.4"].map(str::to_owned);
    Request::of_systems(&words[..count])
}

fn with_clients(mut request: Request, clients: &[u32]) -> Request {
    for setup in &mut request.setups {
        setup.clients = Some(clients.to_vec());
    }
    request
}

/// A new study. Panics if the request cannot be planned.
pub fn study(request: &Request) -> StudyRecord {
    let planned = plan(request, MACHINE);
    let plan = planned.unwrap_or_else(|error| panic!("cannot plan: {error}"));
    let systems = plan.systems.into_iter().enumerate();
    let systems = systems.map(|(number, planned)| system(planned, number == 0)).collect();
    StudyRecord::new(plan.study, Host::default(), systems)
}

pub fn system(planned: PlannedSystem, is_base: bool) -> System {
    let reported = ReportedServer {
        reported_in: "a simulation".to_owned(),
        product: Some(planned.spec.product),
        version: String::new(),
        notes: Vec::new(),
    };
    System {
        name: planned.name,
        spec: planned.spec,
        artifact: Artifact::Reported(reported),
        is_base,
        is_twin: planned.is_twin,
        options: Vec::new(),
    }
}
