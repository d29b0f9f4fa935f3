//! A study record with simulated slices: the noise of a shared virtual machine, and changes chosen by the test.

use assay_model::*;
use assay_workloads::tests_of;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Simulation {
    pub(crate) seed: u64,
    pub(crate) preset: Preset,
    pub(crate) blocks: u32,
    pub(crate) rounds: u32,
    pub(crate) effect: f64,
    /// Number of changed cells, which come first.
    pub(crate) changing: usize,
    pub(crate) pair_sd: f64,
    /// Spread between fresh instances; most of it common to all tests.
    pub(crate) block_sd: f64,
    /// Share of slices slowed to half their speed.
    pub(crate) spikes: f64,
}

impl Simulation {
    /// Sizes measured on a shared virtual machine: pairs 0.11, instances 0.01, drift, one spike in fifty.
    pub(crate) const MEASURED: Self = Self {
        seed: 1,
        preset: Preset::Quick,
        blocks: 4,
        rounds: 40,
        effect: 0.0,
        changing: usize::MAX,
        pair_sd: 0.11,
        block_sd: 0.01,
        spikes: 0.02,
    };

    pub(crate) fn record(self) -> StudyRecord {
        let mut record = empty(self.seed, self.preset, self.blocks);
        let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(self.seed));
        let cells: Vec<CellId> = record.study.cells.iter().map(|cell| cell.id).collect();
        let mut drift = 0.0;
        for block in 0..self.blocks {
            // Three quarters of the variance between instances are common to all tests.
            let common =
                [(); 2].map(|()| noise.normal() * self.block_sd * 0.75_f64.sqrt() / 2_f64.sqrt());
            for (number, &cell) in cells.iter().enumerate() {
                let effect = if number < self.changing { self.effect } else { 0.0 };
                let own = [(); 2].map(|()| noise.normal() * self.block_sd * 0.5 / 2_f64.sqrt());
                for round in 0..self.rounds {
                    drift = 0.95 * drift + 0.03 * noise.normal();
                    for system in 0..2 {
                        let shift = effect * system as f64 + common[system] + own[system];
                        let spike = if noise.uniform() < self.spikes { -0.7 } else { 0.0 };
                        let wobble = self.pair_sd / 2_f64.sqrt() * noise.normal();
                        let speed = (9.0 + drift + shift + wobble + spike).exp();
                        record.slices.push(slice(system, cell, block, round, speed));
                    }
                }
            }
        }
        record
    }
}

pub(crate) struct Noise(pub(crate) Xoshiro256PlusPlus);

impl Noise {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }
}

pub(crate) fn slice(system: usize, cell: CellId, block: u32, round: u32, speed: f64) -> Slice {
    let mut slice = Slice { block, round, position: system as u32, ..Slice::new(system, cell) };
    // A fixed amount of work, so that time carries the speed without rounding.
    slice.work.events = 1000;
    slice.work.read = 1000;
    slice.work.elapsed_ns = (slice.ops() / speed * 1e9) as u64;
    // One client, never idle.
    slice.work.event_ns_sum = slice.work.elapsed_ns;
    slice.counters.extend([
        ("client_cpu_ns", slice.work.elapsed_ns / 3),
        ("client_runq_ns", 0),
        ("connection_cpu_ns", slice.work.elapsed_ns / 2),
        ("connection_user_ns", 0),
        ("connection_sys_ns", 0),
        ("connection_runq_ns", 0),
        ("connection_context_switches", 2000),
        ("background_cpu_ns", 0),
        ("background_context_switches", 0),
    ]);
    slice
}

pub(crate) fn empty(seed: u64, preset: Preset, blocks: u32) -> StudyRecord {
    let setup = Setup { clients: 1, tables: 1, rows: 100_000 };
    let cells = tests_of(TestSet::Set32).into_iter().map(|test| PlannedCell {
        warm_ms: 10,
        warm_us: Some(10_000),
        turn_ms: 50,
        slice_ms: 50,
        placement: CpuPlacement::OneCpu,
        priority: Priority::Normal,
        ..PlannedCell::new(CellId { test, setup })
    });
    let study = Study {
        preset,
        set: TestSet::Set32,
        seed,
        threshold: 0.02,
        budget_s: 600.0,
        blocks,
        rounds: 40,
        cells: cells.collect(),
        setups: vec![setup],
        experiment: Experiment::Interleaved,
        ..Study::published("simulated".to_owned(), 0, &[])
    };
    let systems = vec![system("10.11", true), system("11.8", false)];
    StudyRecord { finished: true, ..StudyRecord::new(study, Host::default(), systems) }
}

pub(crate) fn system(version: &str, is_base: bool) -> System {
    System {
        name: format!("mariadb@{version}"),
        spec: SystemSpec::new(Product::MariaDb, Origin::Version(version.into())),
        artifact: Artifact::Prefix(Prefix {
            path: "/prefix".into(),
            sha256: "0".repeat(64),
            product: Product::MariaDb,
            version: version.into(),
            build: Build {
                source: "apt".into(),
                channel: "bookworm".into(),
                package_version: version.into(),
                released: true,
                notes: Vec::new(),
            },
            packages: Vec::new(),
            layout: Layout::default(),
        }),
        is_base,
        is_twin: false,
        options: Vec::new(),
    }
}

#[derive(Clone)]
pub(crate) struct Versions {
    pub(crate) systems: Vec<System>,
    /// True log QPS of each system in a cell, by the cell's number.
    pub(crate) speed: fn(cell: usize, system: usize) -> f64,
    pub(crate) rounds: u32,
    pub(crate) pair_sd: f64,
    pub(crate) block_sd: f64,
}

/// MariaDB versions; `mysql@` in front makes one of MySQL.
pub(crate) fn versions(names: &[&str]) -> Vec<System> {
    let one = |(number, name): (usize, &&str)| {
        let mysql = name.strip_prefix("mysql@");
        let mut system = system(mysql.unwrap_or(name), number == 0);
        if mysql.is_some() {
            system.spec.product = Product::MySql;
        }
        system
    };
    names.iter().enumerate().map(one).collect()
}

impl Versions {
    pub(crate) fn new(names: &[&str], speed: fn(usize, usize) -> f64) -> Self {
        Self { systems: versions(names), speed, rounds: 10, pair_sd: 0.11, block_sd: 0.01 }
    }

    pub(crate) fn quiet(self) -> Self {
        Self { pair_sd: 0.01, block_sd: 0.002, ..self }
    }

    pub(crate) fn record(&self, seed: u64) -> StudyRecord {
        let mut record = empty(seed, Preset::Quick, 4);
        record.systems = self.systems.clone();
        self.measure(&mut record, seed);
        record
    }

    pub(crate) fn measure(&self, record: &mut StudyRecord, seed: u64) {
        let cells: Vec<CellId> = record.study.cells.iter().map(|cell| cell.id).collect();
        let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut drift = 0.0;
        for block in 0..4 {
            let mut shifts = |share: f64| -> Vec<f64> {
                let sd = self.block_sd * share.sqrt() / 2_f64.sqrt();
                self.systems.iter().map(|_| noise.normal() * sd).collect()
            };
            // Three quarters of the variance between instances are common to all tests.
            let common = shifts(0.75);
            let own: Vec<Vec<f64>> = cells.iter().map(|_| shifts(0.25)).collect();
            for (number, &cell) in cells.iter().enumerate() {
                for round in 0..self.rounds {
                    drift = 0.95 * drift + 0.03 * noise.normal();
                    for system in 0..self.systems.len() {
                        let log =
                            (self.speed)(number, system) + common[system] + own[number][system];
                        let wobble = self.pair_sd / 2_f64.sqrt() * noise.normal();
                        let speed = (9.0 + drift + log + wobble).exp();
                        record.slices.push(slice(system, cell, block, round, speed));
                    }
                }
            }
        }
    }
}
