//! Studies as large and as odd as real ones, derived from the small one; no randomness.

use assay_model::*;
use assay_workloads::tests_of;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use super::record;

/// MariaDB 10.11 and `others`: every test of `set` under every setup, with an optional twin.
pub(crate) fn study(others: &[&str], set: TestSet, setups: &[Setup], twin: bool) -> StudyRecord {
    let mut study = record(others);
    let planned = study.study.cells[0].clone();
    study.study.set = set;
    study.study.setups = setups.to_vec();
    study.study.cells = setups
        .iter()
        .flat_map(|&setup| tests_of(set).into_iter().map(move |test| CellId { test, setup }))
        .map(|id| PlannedCell { id, ..planned.clone() })
        .collect();
    if twin {
        let mut twin = study.systems[0].clone();
        (twin.name, twin.is_base, twin.is_twin) = (format!("{} (twin)", twin.name), false, true);
        study.systems.push(twin);
    }
    for system in &mut study.systems {
        system.options =
            ["innodb_buffer_pool_size=4G", "innodb_flush_log_at_trx_commit=1", "skip-networking"]
                .map(str::to_owned)
                .to_vec();
    }
    let systems = study.systems.len();
    study.audit = audit(systems);
    study.slices = slices(&study);
    study.study.recipe =
        "base = \"mariadb@10.11\"\nothers = [\"mariadb@11.8\"]\npreset = \"quick\"\n".into();
    study
}

pub(crate) const ONE: Setup = Setup { clients: 1, tables: 1, rows: 100_000 };

/// Four clients on one table, and on four tables with the same total of rows. The file does not have all combinations
/// of these numbers.
pub(crate) const FOUR: [Setup; 2] = [
    Setup { clients: 4, tables: 1, rows: 1_000_000 },
    Setup { clients: 4, tables: 4, rows: 250_000 },
];

fn audit(systems: usize) -> Vec<AuditFinding> {
    let finding = |setting: &str, base: &str, other: Option<&str>, class, why: &str| AuditFinding {
        setting: setting.into(),
        values: std::iter::once(Some(base.to_owned()))
            .chain(std::iter::repeat_n(other.map(str::to_owned), systems - 1))
            .collect(),
        class,
        why: why.into(),
        is_asked: why == "requested",
        statements: Vec::new(),
    };
    vec![
        finding(
            "innodb_flush_method",
            "fsync",
            Some("O_DIRECT"),
            AuditClass::Harmless,
            "the data is cached",
        ),
        finding(
            "innodb_change_buffering",
            "none",
            None,
            AuditClass::Harmless,
            "the newer version has none",
        ),
        finding("innodb_doublewrite", "ON", Some("OFF"), AuditClass::Expected, "requested"),
    ]
}

/// Pseudorandom in [-1, 1).
fn noise(seeds: [u64; 4]) -> f64 {
    let mixed = seeds.iter().fold(7_u64, |state, seed| {
        let z = (state ^ seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    });
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn slices(study: &StudyRecord) -> Vec<Slice> {
    let like = study.slices[0].clone();
    let mut slices = Vec::new();
    for block in 0..4_u64 {
        for (number, cell) in study.study.cells.iter().enumerate() {
            for round in 0..6_u64 {
                for (index, system) in study.systems.iter().enumerate() {
                    let (number, index) = (number as u64, index as u64);
                    // Base speed by test, change by test and system, and two sources of noise.
                    let base = 10f64.powf(3.3 + noise([number, 1, 0, 0]));
                    let is_base = system.is_base || system.is_twin;
                    let size =
                        if is_base { 0.0 } else { noise([number, index, 2, 0]).powi(3) * 0.45 };
                    let jitter = 0.012 * noise([number, index, block, 40 + round])
                        + 0.01
                            * noise([number % 7, index, block, 3])
                            * (1.0 + (number % 11 == 3) as u64 as f64 * 9.0);
                    let qps = base * (size + jitter).exp();
                    let mut slice =
                        Slice { block: block as u32, round: round as u32, ..like.clone() };
                    (slice.system, slice.cell) = (index as usize, cell.id);
                    work(&mut slice, qps);
                    slices.push(slice);
                }
            }
        }
    }
    let middle = slices.len() / 2;
    (slices[middle].outcome, slices[middle].trouble) =
        (SliceOutcome::Troubled, vec![Trouble::Steal]);
    slices[7].work.errors = vec![(1213, 12)];
    slices
}

fn work(slice: &mut Slice, qps: f64) {
    let ns = 1e9 / qps;
    slice.work = WorkCounters {
        events: (qps * 2.0) as u64,
        read: (qps * 2.0) as u64,
        elapsed_ns: 2_000_000_000,
        event_ns_sum: 2_000_000_000,
        latency_hdr: histogram(ns),
        ..WorkCounters::default()
    };
    let share = |part: f64| (2e9 * part) as u64;
    let is_write = slice.cell.test.class == Class::Write;
    slice.counters.extend([
        ("connection_cpu_ns", share(0.62 + 0.2 * (ns / 1e6).min(1.0))),
        ("connection_context_switches", (qps * 4.1) as u64),
        ("background_cpu_ns", share(0.03)),
        ("server_write_bytes", if is_write { (qps * 9000.0) as u64 } else { 0 }),
        ("client_cpu_ns", share(0.12)),
        ("host_device_reads", 3),
    ]);
}

fn histogram(ns: f64) -> Vec<u8> {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for percent in 1..=100_u32 {
        histogram.record((ns * (0.7 + f64::from(percent).powi(6) / 1e12)) as u64).unwrap();
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    bytes
}

/// Truncates one test of the last system.
pub(crate) fn failed(mut study: StudyRecord, number: usize) -> StudyRecord {
    let (cell, system) = (study.study.cells[number].id, study.systems.len() - 1);
    for slice in study.slices.iter_mut().filter(|s| s.cell == cell && s.system == system) {
        slice.outcome =
            SliceOutcome::Failed("Duplicate entry `17` for key `PRIMARY` (1062, 23000)".into());
    }
    study
}

#[allow(dead_code, reason = "not every test needs several setups")]
/// The same results under each setup.
pub(crate) fn with_setups(record: StudyRecord, setups: &[Setup]) -> StudyRecord {
    let mut several = record.clone();
    several.study.setups = setups.to_vec();
    several.study.cells.clear();
    several.slices.clear();
    for &setup in setups {
        let id = |cell: CellId| CellId { setup, ..cell };
        let cells = record.study.cells.iter().cloned();
        several.study.cells.extend(cells.map(|it| PlannedCell { id: id(it.id), ..it }));
        let slices = record.slices.iter().cloned();
        several.slices.extend(slices.map(|it| Slice { cell: id(it.cell), ..it }));
    }
    several
}
