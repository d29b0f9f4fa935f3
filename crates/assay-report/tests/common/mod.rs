//! A small synthetic study: two or more systems, five tests, four blocks of ten rounds, no randomness.

#[allow(dead_code, reason = "not every test has a browser")]
pub(crate) mod browser;
#[allow(dead_code, reason = "not every test looks at counts")]
pub(crate) mod count_study;
#[allow(dead_code, reason = "not every test has steps")]
pub(crate) mod ibench;
#[allow(dead_code, reason = "not every test has a page of a wing")]
pub(crate) mod sequence;
#[allow(dead_code, reason = "not every test looks at large studies")]
pub(crate) mod studies;

use assay_model::*;
use assay_workloads::test_by_name;

/// MariaDB 10.11 and `others`.
pub(crate) fn record(others: &[&str]) -> StudyRecord {
    let setup = Setup { clients: 1, tables: 1, rows: 100_000 };
    let names = [
        "point-query",
        "range-covered-pk",
        "read-only_range=10000",
        "points-notcovered-pk",
        "insert",
    ];
    let cells: Vec<PlannedCell> = names
        .into_iter()
        .filter_map(test_by_name)
        .map(|test| PlannedCell {
            warm_ms: 10,
            warm_us: Some(10_000),
            turn_ms: 50,
            slice_ms: 50,
            placement: CpuPlacement::OneCpu,
            priority: Priority::Normal,
            ..PlannedCell::new(CellId { test, setup })
        })
        .collect();
    let mut systems = vec![system("10.11", "10.11.19", "bookworm-security", true)];
    systems.extend(others.iter().map(|name| system(name, &format!("{name}.4"), "trixie", false)));
    let slices = slices(&cells, systems.len());
    StudyRecord {
        runs: vec![run(1_795_000_000_000, 1_795_000_543_000)],
        slices,
        events: vec![StudyEvent {
            when_ms: 1_795_000_100_000,
            system: Some(1),
            what: event_of("no answer in 60 s"),
        }],
        audit: vec![AuditFinding {
            setting: "innodb_flush_method".into(),
            values: std::iter::repeat_n(Some("fsync".into()), others.len())
                .chain([Some("O_DIRECT".into())])
                .collect(),
            class: AuditClass::Harmless,
            why: "the data is cached".into(),
            is_asked: false,
            statements: Vec::new(),
        }],
        finished: true,
        running: false,
        foreign: false,
        ..StudyRecord::new(study(cells, setup), host(), systems)
    }
}

#[allow(dead_code, reason = "not every test looks at audits")]
pub(crate) fn suspicious(mut record: StudyRecord) -> StudyRecord {
    for finding in &mut record.audit {
        finding.class = AuditClass::Suspicious;
    }
    record
}

fn slices(cells: &[PlannedCell], systems: usize) -> Vec<Slice> {
    let mut slices = Vec::new();
    for block in 0..4_u32 {
        for (number, cell) in cells.iter().enumerate() {
            for round in 0..10_u32 {
                for system in 0..systems {
                    // A fixed zigzag instead of noise.
                    let zigzag = f64::from((block * 7 + round * 3 + number as u32) % 5) - 2.0;
                    let change = [0.80, 0.99, 1.15, 0.93, 1.004][number];
                    let factor = if system == 0 { 1.0 } else { change + 0.004 * zigzag };
                    slices.push(slice(system, cell.id, block, round, 20_000.0 * factor));
                }
            }
        }
    }
    let (first, last) = (slices.len() / 2, slices.len() - 1);
    slices[first].outcome = SliceOutcome::Troubled;
    slices[first].trouble = vec![Trouble::Steal];
    slices[last].work.errors = vec![(1213, 2)];
    slices
}

fn slice(system: usize, cell: CellId, block: u32, round: u32, qps: f64) -> Slice {
    let cpu = |us: f64, qps: f64| (us * 1e3 * qps * 0.05) as u64;
    let counters = [
        ("client_cpu_ns", cpu(12.0, qps)),
        ("client_runq_ns", 0),
        ("client_context_switches", 0),
        ("connection_cpu_ns", cpu(600_000.0 / qps, qps)),
        ("connection_user_ns", cpu(400_000.0 / qps, qps)),
        ("connection_sys_ns", cpu(200_000.0 / qps, qps)),
        ("connection_runq_ns", 1_000_000),
        ("connection_context_switches", (2.0 * qps * 0.05) as u64),
        ("connection_disk_wait_ns", 0),
        ("background_cpu_ns", 0),
        ("background_context_switches", 0),
        ("server_read_bytes", 0),
        ("server_write_bytes", 0),
        ("host_device_reads", 0),
        ("host_device_read_kb", 0),
        ("host_device_write_kb", 0),
    ];
    Slice {
        block,
        round,
        position: system as u32,
        started_ms: 1_795_000_000_000,
        work: WorkCounters {
            events: (qps * 0.05) as u64,
            read: (qps * 0.05) as u64,
            elapsed_ns: 50_000_000,
            ..WorkCounters::default()
        },
        counters: counters.into_iter().collect(),
        ..Slice::new(system, cell)
    }
}

fn study(cells: Vec<PlannedCell>, setup: Setup) -> Study {
    Study {
        preset: Preset::Quick,
        set: TestSet::Set32,
        seed: 7,
        threshold: 0.02,
        budget_s: 600.0,
        blocks: 4,
        rounds: 10,
        cells,
        setups: vec![setup],
        experiment: Experiment::Interleaved,
        terms: Some("lean".to_owned()),
        recipe: "# assay compare mariadb@10.11 mariadb@11.8 --seed 7\ncompare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n"
            .into(),
        workload_version: 1,
        assay_version: "0.1.0".into(),
        ..Study::published("20261118-0a1b".into(), 1_795_000_000_000, &[])
    }
}

#[allow(dead_code, reason = "not every test changes it")]
pub(crate) fn run(started_ms: i64, updated_ms: i64) -> Run {
    Run { started_ms, updated_ms, host: host(), assay_version: "0.1.0".into(), shard: None }
}

fn host() -> Host {
    Host {
        cpu: "Example CPU".into(),
        cpus: 2,
        memory_kb: 24 << 20,
        kernel: "6.1.0".into(),
        os: "Debian GNU/Linux 12 (bookworm)".into(),
        hypervisor: Some("KVM".into()),
        filesystem: "ext4".into(),
        counts_disk_wait: true,
        counts_device: true,
        realtime: None,
        cpu_weight: None,
        server_nodes: Vec::new(),
        doctor: None,
    }
}

fn system(name: &str, version: &str, channel: &str, is_base: bool) -> System {
    System {
        name: format!("mariadb@{name}"),
        spec: SystemSpec::new(Product::MariaDb, Origin::Version(name.into())),
        artifact: Artifact::Prefix(Prefix {
            path: "/prefix".into(),
            sha256: "0123456789abcdef".repeat(4),
            product: Product::MariaDb,
            version: version.into(),
            build: Build {
                source: "apt".into(),
                channel: channel.into(),
                package_version: format!("1:{version}-0+deb12u1"),
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

/// An event that quotes text from outside, such as the error of a server.
#[allow(dead_code, reason = "not every test changes it")]
pub(crate) fn event_of(text: &str) -> EventKind {
    EventKind::StartedAgain { error: text.into() }
}

#[allow(dead_code, reason = "not every test changes it")]
pub(crate) fn prefix_of(system: &mut System) -> &mut Prefix {
    match &mut system.artifact {
        Artifact::Prefix(prefix) => prefix,
        other => panic!("{other:?}"),
    }
}
