//! Generated records: valid, but with extreme and odd values everywhere.
#![allow(dead_code, reason = "each user takes its own part")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_ledger::Ledger;
use assay_model::limits::{BLOCKS, CLIENTS, ROUNDS, ROWS, SLICE_MS, TABLES, search};
use assay_model::*;
use assay_workloads::tests_of;
use proptest::array;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1 << 60), 0..1_000_000_000_u64]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("'; DROP TABLE slice; --".to_owned()), "\\PC{0,12}"]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1 << 40), 0..1_000_000_000_u64]
}

fn moment() -> impl Strategy<Value = i64> {
    0..253_402_300_800_000_i64
}

fn setup() -> impl Strategy<Value = Setup> {
    (CLIENTS, TABLES, ROWS).prop_map(|(clients, tables, rows)| Setup { clients, tables, rows })
}

/// A latency histogram with these counts: HDR, V2 encoding, up to an hour in nanoseconds, three digits.
pub(crate) fn histogram(counts: &[u8]) -> Vec<u8> {
    let mut bytes = 0x1c84_9313_u32.to_be_bytes().to_vec();
    bytes.extend((counts.len() as u32).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 3]);
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend(3_600_000_000_000_u64.to_be_bytes());
    bytes.extend(1_f64.to_be_bytes());
    // In ZigZag, below numbers that take two bytes.
    bytes.extend(counts.iter().map(|count| count % 64 * 2));
    bytes
}

fn counters() -> impl Strategy<Value = Counters> {
    let name = "(client_|host_|status\\.)[A-Za-z_]{1,9}";
    prop::collection::btree_map(name, number(), 0..6).prop_map(Counters::from_iter)
}

fn work() -> impl Strategy<Value = WorkCounters> {
    let errors = vec((any::<u32>(), 0..1_u64 << 32), 0..3);
    let latencies = option::of(vec(any::<u8>(), 0..300));
    (vec(number(), 9), errors, count(), latencies).prop_map(|(n, errors, events, latencies)| {
        WorkCounters {
            events,
            read: n[1],
            write: n[2],
            other: n[3],
            rows: n[4],
            bytes_sent: n[5],
            bytes_received: n[6],
            errors,
            elapsed_ns: n[7],
            event_ns_sum: n[8],
            latency_hdr: latencies.map(|counts| histogram(&counts)).unwrap_or_default(),
        }
    })
}

fn slice(cells: Vec<CellId>, systems: usize, runs: usize) -> impl Strategy<Value = Slice> {
    let outcome = prop_oneof![
        Just(SliceOutcome::Good),
        Just(SliceOutcome::Troubled),
        text().prop_map(SliceOutcome::Failed),
        text().prop_map(SliceOutcome::Unanswered)
    ];
    let trouble =
        vec(select(vec![Trouble::Steal, Trouble::OtherProcess, Trouble::Throttled]), 0..3);
    let turn = (0..1000_u32, 0..20_000_u32, 0..100_u32).prop_map(<[u32; 3]>::from);
    let turns = vec(array::uniform4(0..1_000_000_000_u64).prop_map(Turn::from), 0..4);
    let place = (0..systems, select(cells), 0..runs, turn, moment());
    (place, outcome, trouble, (work(), turns), counters()).prop_map(
        |(
            (system, cell, run, [block, round, position], started_ms),
            outcome,
            trouble,
            (work, turns),
            counters,
        )| {
            Slice {
                system,
                cell,
                run,
                block,
                round,
                position,
                started_ms,
                outcome,
                trouble,
                work,
                turns,
                step: None,
                published: Vec::new(),
                counters,
            }
        },
    )
}

fn spec() -> impl Strategy<Value = SystemSpec> {
    let origin = prop_oneof![
        text().prop_map(Origin::Version),
        text().prop_map(|path| Origin::Dir(PathBuf::from(path))),
        text().prop_map(Origin::Git)
    ];
    let engine = select(vec![Engine::InnoDb, Engine::RocksDb, Engine::Heap]);
    let overrides = vec((option_name(), option_value()), 0..3);
    (select(Product::ALL.to_vec()), origin, engine, overrides, any::<bool>()).prop_map(
        |(product, origin, engine, overrides, has_lto)| {
            let is_built = matches!(origin, Origin::Git(_));
            let lto = (is_built && has_lto).then(|| (BuildFlag::Lto, "on".to_owned()));
            let build = lto.into_iter().collect();
            SystemSpec { product, origin, engine, overrides, build }
        },
    )
}

fn prefix() -> impl Strategy<Value = Prefix> {
    (vec(text(), 7), any::<bool>(), vec(text(), 0..3), option::of(text())).prop_map(
        |(t, released, notes, loader)| Prefix {
            path: PathBuf::from(&t[0]),
            sha256: t[1].clone(),
            product: Product::MySql,
            version: t[2].clone(),
            build: Build {
                source: t[3].clone(),
                channel: t[4].clone(),
                package_version: t[5].clone(),
                released,
                notes: notes.clone(),
            },
            packages: notes
                .into_iter()
                .map(|name| Package { name, version: t[6].clone(), sha256: t[1].clone() })
                .collect(),
            layout: Layout {
                loader: loader.map(PathBuf::from),
                library_path: vec![PathBuf::from(&t[2])],
                server: PathBuf::from(&t[3]),
                basedir: PathBuf::from(&t[4]),
                share_dir: PathBuf::from(&t[5]),
                charsets_dir: PathBuf::from(&t[6]),
                plugin_dir: PathBuf::from(&t[0]),
            },
        },
    )
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let running = (vec(text(), 3), option::of(text())).prop_map(|(t, program)| RunningServer {
        url: t[0].clone(),
        product: Product::Postgres,
        version: t[1].clone(),
        program: program.map(PathBuf::from),
        notes: t[2..].to_vec(),
    });
    let reported = vec(text(), 3).prop_map(|t| ReportedServer {
        reported_in: t[0].clone(),
        product: Some(Product::MariaDb).filter(|_| t[0].len() % 2 == 0),
        version: t[1].clone(),
        notes: t[2..].to_vec(),
    });
    prop_oneof![
        prefix().prop_map(Artifact::Prefix),
        running.prop_map(Artifact::Running),
        reported.prop_map(Artifact::Reported)
    ]
}

/// No option set by assay begins like this.
fn option_name() -> impl Strategy<Value = String> {
    "x[A-Za-z_-]{0,9}"
}

/// One line without paths to other directories.
fn option_value() -> impl Strategy<Value = String> {
    text().prop_map(|text| line(&text).replace(['/', '~'], "").replace("..", ""))
}

fn line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn system() -> impl Strategy<Value = System> {
    let name = text().prop_map(|name| line(&name));
    let option =
        (option_name(), option_value()).prop_map(|(name, value)| format!("--{name}={value}"));
    (name, spec(), artifact(), any::<bool>(), vec(option, 0..4)).prop_map(
        |(name, spec, artifact, is_twin, options)| System {
            name,
            spec,
            artifact,
            is_base: false,
            is_twin,
            options,
        },
    )
}

fn cell() -> impl Strategy<Value = PlannedCell> {
    let placement =
        select(vec![CpuPlacement::OneCpu, CpuPlacement::ConnectionsOnOneCpu, CpuPlacement::Free]);
    let test = select(tests_of(TestSet::All));
    let warm_us = option::of(0..=3_600_000_000_u32);
    let lengths = (0..=SLICE_MS, warm_us, 0..=SLICE_MS, 0..=SLICE_MS);
    (test, setup(), lengths, option::of(count()), placement).prop_map(
        |(test, setup, (warm_ms, warm_us, turn_ms, slice_ms), events, placement)| PlannedCell {
            id: CellId { test, setup },
            warm_ms,
            warm_us,
            turn_ms,
            slice_ms,
            events: events.filter(|_| test.class == Class::Write),
            placement,
            priority: if slice_ms % 2 == 0 { Priority::Normal } else { Priority::Realtime },
        },
    )
}

fn study() -> impl Strategy<Value = Study> {
    let preset = select(vec![Preset::Smoke, Preset::Quick, Preset::Standard, Preset::Published]);
    let set = select(vec![TestSet::Set27, TestSet::Set32, TestSet::Set42, TestSet::Set47]);
    let words = ("[0-9a-z][0-9A-Za-z._-]{0,12}", text(), preset, set);
    let times = (BLOCKS, 1..=*ROUNDS.end(), any::<u32>());
    let numbers = (moment(), any::<u64>(), 0.0..1.0_f64, 0.0..1e9_f64, times);
    let experiment = select(vec![
        Experiment::Interleaved,
        Experiment::Sequential,
        Experiment::Stepwise,
        Experiment::Consecutive,
    ]);
    let statements = select(vec![StatementMode::Prepared, StatementMode::Text]);
    let form = (any::<bool>(), any::<bool>(), "[ -9<-~]{0,20}");
    let form = form.prop_map(|(auto_inc, create_secondary, create_table_options)| TableForm {
        auto_inc,
        create_secondary,
        create_table_options,
    });
    let form = (form, proptest::option::of("[a-z][a-z-]{0,12}"));
    let how = (experiment, form, statements, text());
    (words, numbers, vec(cell(), 1..8), vec(setup(), 1..3), how).prop_map(
        |((id, assay_version, preset, set), numbers, mut cells, setups, how)| {
            let (experiment, (table_form, terms), statements, request) = how;
            let (started_ms, seed, threshold, budget_s, (blocks, rounds, workload_version)) =
                numbers;
            cells.sort_by_key(|cell| cell.id);
            cells.dedup_by_key(|cell| cell.id);
            let limits = |blocks: u32| RegressionLimits {
                margins: vec![f64::from(blocks % 99 + 1) / 100.0; cells.len()],
                allow_undecided: blocks.is_multiple_of(3),
            };
            Study {
                limits: blocks.is_multiple_of(2).then(|| limits(blocks)),
                search: blocks.is_multiple_of(5).then(|| search(blocks)),
                followed: blocks.is_multiple_of(3).then(|| FollowedRange {
                    name: "nightly".to_owned(),
                    range: "postgres@git:../pg a..b".to_owned(),
                }),
                id,
                started_ms,
                preset,
                set,
                seed,
                threshold,
                budget_s,
                blocks,
                rounds,
                cells,
                setups,
                experiment,
                segments: blocks % 3,
                cpus: CpuLists { servers: (0..blocks % 3).collect(), clients: Vec::new() },
                table_form,
                statements,
                terms,
                request: request.into(),
                workload_version,
                assay_version,
                is_noisy: blocks.is_multiple_of(7),
                ..Study::published(String::new(), 0, &[])
            }
        },
    )
}

fn search(number: u32) -> SearchPart {
    let version = |number: u32| NamedVersion {
        words: format!("postgres@git:../pg#{number:040x}"),
        name: format!("{number:012x}"),
        title: (number > 0).then(|| "2026-11-27 Faster, \"much\"".to_owned()),
    };
    SearchPart {
        id: format!("bisect-{number}"),
        range: "postgres@git:../pg a..b".to_owned(),
        measure: SearchMeasure::Instructions,
        comparisons_max: number % search::COMPARISONS + 1,
        level: number % 2,
        releases: vec!["10.5.29".to_owned()],
        versions: (0..4).map(version).collect(),
        unusable: vec![UnusableVersion { version: 1, why: "does not build".to_owned() }],
        version: 3,
        spent_s: 0.5,
    }
}

/// Numbers that JSON keeps exactly.
fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1e12), (0..1_000_000_u32).prop_map(|it| f64::from(it) / 8.0)]
}

fn noise() -> impl Strategy<Value = Noise> {
    let correlation = (amount(), select(vec![-1.0, 0.0, 0.5, 1.0]))
        .prop_map(|(lag_ms, value)| Correlation { lag_ms, value });
    let turn = (amount(), amount()).prop_map(|(turn_ms, error)| TurnError { turn_ms, error });
    (amount(), amount(), vec(correlation, 0..3), vec(turn, 0..3)).prop_map(
        |(seconds, asked_ms, correlations, turns)| Noise { seconds, correlations, turns, asked_ms },
    )
}

fn busy() -> impl Strategy<Value = BusyProcess> {
    (text(), any::<i32>(), any::<u32>()).prop_map(|(name, pid, cpu_percent)| BusyProcess {
        name,
        pid,
        cpu_percent,
    })
}

fn examination() -> impl Strategy<Value = Examination> {
    let facts = (vec(option::of(text()), 3), vec(option::of(number()), 4), any::<u32>());
    let others = (vec(busy(), 0..3), option::of(any::<bool>()), option::of(noise()));
    (facts, vec(option::of(amount()), 8), others).prop_map(
        |((t, n, count), a, (busiest, switch, noise))| Examination {
            cpus: CpuFacts {
                allowed: count,
                quota: a[0],
                governor: t[0].clone(),
                turbo: switch,
                smt: switch,
                numa_nodes: Some(count),
            },
            load: LoadFacts { seconds: 2.5, steal_cpus: a[1], other_cpus: a[2], busiest },
            memory: MemoryFacts {
                available_kb: n[0],
                huge_pages: t[1].clone(),
                swap_kb: n[1],
                swap_used_kb: n[2],
                swappiness: None,
            },
            delays: Delays {
                clock: t[2].clone(),
                clock_read_ns: 25.5,
                sleep_late_us: a[3].zip(a[4]).map(|(median, p99)| Quantiles { median, p99 }),
                timer_slack_ns: n[3],
                wake_one_cpu_us: a[5],
                wake_two_cpus_us: a[6],
                flush_us: a[6].zip(a[7]).map(|(median, p99)| Quantiles { median, p99 }),
            },
            noise_realtime: noise.clone().filter(|_| count % 2 == 0),
            noise,
        },
    )
}

fn host() -> impl Strategy<Value = Host> {
    let doctor = option::of(examination());
    (vec(text(), 4), any::<u32>(), number(), option::of(text()), doctor).prop_map(
        |(t, cpus, memory_kb, hypervisor, doctor)| Host {
            cpu: t[0].clone(),
            cpus,
            memory_kb,
            kernel: t[1].clone(),
            os: t[2].clone(),
            hypervisor,
            filesystem: t[3].clone(),
            counts_disk_wait: cpus % 2 == 0,
            counts_device: cpus % 3 == 0,
            realtime: [None, Some(RealtimeAccess::Permitted), Some(RealtimeAccess::Limit)]
                [cpus as usize % 3],
            cpu_weight: cpus.is_multiple_of(5).then_some(cpus % 10_000),
            server_nodes: if cpus.is_multiple_of(7) { vec![0, 1] } else { Vec::new() },
            doctor,
        },
    )
}

fn instance(systems: usize, runs: usize) -> impl Strategy<Value = InstanceRecord> {
    let start_from = select(vec![StartFrom::Fresh, StartFrom::Aged]);
    let place = (0..systems, 0..runs, 0..1000_u32);
    (place, data_set(), start_from, moment(), number()).prop_map(
        |((system, run, block), data, start_from, started_ms, start_took_ms)| InstanceRecord {
            system,
            run,
            block,
            data,
            start_from,
            started_ms,
            start_took_ms,
        },
    )
}

fn event(systems: usize) -> impl Strategy<Value = StudyEvent> {
    let what = prop_oneof![
        Just(EventKind::Resumed),
        (any::<u32>(), any::<u32>()).prop_map(|(seconds, blocks)| EventKind::Extended {
            seconds,
            blocks,
            ended_after: blocks.checked_sub(3),
        }),
        text().prop_map(|sql| EventKind::Unprepared { sql }),
        (any::<u32>(), text()).prop_map(|(tests, error)| EventKind::NotMeasured { tests, error }),
        vec(busy(), 0..3).prop_map(|processes| EventKind::OtherProcesses { processes }),
        text().prop_map(|error| EventKind::StartedAgain { error }),
    ];
    (moment(), option::of(0..systems), what).prop_map(|(when_ms, system, what)| StudyEvent {
        when_ms,
        system,
        what,
    })
}

fn finding(systems: usize) -> impl Strategy<Value = AuditFinding> {
    let class = select(vec![AuditClass::Expected, AuditClass::Harmless, AuditClass::Suspicious]);
    (text(), vec(option::of(text()), systems), class, text(), any::<bool>()).prop_map(
        |(setting, values, class, why, is_asked)| {
            let plan = |it: &Option<String>| it.as_ref().map(|it| it.len() as u32);
            let plans = values.iter().map(plan).collect();
            let statement = StatementPlans { kind: u32::MAX, step: 2, plans };
            let statements = if is_asked { vec![statement] } else { Vec::new() };
            AuditFinding { setting, values, class, why, is_asked, statements }
        },
    )
}

fn data_set() -> impl Strategy<Value = DataSet> {
    (TABLES, ROWS).prop_map(|(tables, rows)| DataSet { tables, rows })
}

fn content(systems: usize) -> impl Strategy<Value = DataContent> {
    let start_from = select(vec![StartFrom::Fresh, StartFrom::Aged]);
    (0..systems, data_set(), start_from, number(), "(mysql:)?[0-9a-f]{16}").prop_map(
        |(system, data, start_from, rows, checksum)| DataContent {
            system,
            data,
            start_from,
            rows,
            checksum,
        },
    )
}

fn blocks_of(study: &Study, blocks: &[(u32, bool)]) -> Vec<PlannedBlock> {
    (0..)
        .zip(blocks)
        .map(|(number, (rounds, all))| {
            let take = if *all { study.cells.len() } else { 1 };
            let cells = (*rounds..=*ROUNDS.end()).zip(study.cells.iter().take(take));
            let cells = cells.map(|(rounds, cell)| BlockCell { id: cell.id, rounds }).collect();
            PlannedBlock { number, run: 0, left: 1 + number % 3, cells }
        })
        .collect()
}

/// A record as a study loop writes it; ends of runs are left to the ledger.
pub(crate) fn record() -> impl Strategy<Value = StudyRecord> {
    let resumed = vec((moment(), host(), text()), 0..2);
    (study(), host(), vec(system(), 1..4), any::<bool>(), resumed).prop_flat_map(
        |(study, host, mut systems, finished, resumed)| {
            let begun = (study.started_ms, host, study.assay_version.clone());
            let runs: Vec<Run> = std::iter::once(begun)
                .chain(resumed)
                .map(|(at, host, assay_version)| Run {
                    started_ms: at,
                    updated_ms: at,
                    host,
                    assay_version,
                    shard: None,
                })
                .collect();
            systems[0].is_base = true;
            let last = systems.len() - 1;
            systems[..last].iter_mut().for_each(|system| system.is_twin = false);
            let cells = study.cells.iter().map(|cell| cell.id).collect();
            let count = systems.len();
            let parts = (
                vec(instance(count, runs.len()), 0..4),
                vec(slice(cells, count, runs.len()), 0..12),
                vec(event(count), 0..4),
                vec(finding(count), 0..4),
                option::of(content(count)),
                vec((1..=*ROUNDS.end(), any::<bool>()), 0..3),
            );
            parts.prop_map(move |(instances, slices, events, audit, data, blocks)| {
                let mut seen = BTreeSet::new();
                let is_first = |it: &Slice| seen.insert((it.system, it.cell, it.block, it.round));
                StudyRecord {
                    data: data.into_iter().collect(),
                    runs: runs.clone(),
                    blocks: blocks_of(&study, &blocks),
                    study: study.clone(),
                    systems: systems.clone(),
                    instances,
                    slices: slices.into_iter().filter(is_first).collect(),
                    series: Vec::new(),
                    profiles: Vec::new(),
                    counts: Vec::new(),
                    documents: StudyDocuments::default(),
                    events,
                    audit,
                    finished,
                    running: false,
                    foreign: false,
                }
            })
        },
    )
}

pub(crate) fn sample() -> StudyRecord {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    loop {
        let mut record = record().new_tree(&mut runner).unwrap().current();
        let has_reads = record.study.cells.iter().any(|cell| cell.id.test.class != Class::Write);
        let has_all = !record.audit.is_empty() && !record.events.is_empty();
        if record.slices.len() > 2 && has_reads && has_all {
            record.study.id = "sample".to_owned();
            return record;
        }
    }
}

/// Writes a record except for the ends of its runs.
pub(crate) fn write(ledger: &mut Ledger, record: &StudyRecord) {
    let id = &record.study.id;
    ledger.create_study(&record.study, &record.runs[0], &record.systems).unwrap();
    for run in &record.runs[1..] {
        ledger.add_run(id, run).unwrap();
    }
    for block in &record.blocks {
        ledger.add_block(id, block).unwrap();
    }
    for content in &record.data {
        ledger.set_content(id, content).unwrap();
    }
    for instance in &record.instances {
        ledger.add_instance(id, instance).unwrap();
    }
    ledger.set_audit(id, &record.audit).unwrap();
    for slice in &record.slices {
        ledger.add_slice(id, slice).unwrap();
    }
    for event in &record.events {
        ledger.add_event(id, event).unwrap();
    }
    if record.finished {
        ledger.finish(id).unwrap();
    }
}

pub(crate) fn sample_ledger(directory: &Path) -> (Ledger, StudyRecord, PathBuf) {
    let path = directory.join("ledger.db");
    let record = sample();
    let mut ledger = Ledger::open(&path).unwrap();
    write(&mut ledger, &record);
    (ledger, record, path)
}
