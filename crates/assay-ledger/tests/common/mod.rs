//! Records made up by rule: valid, but with extreme and odd values everywhere.

use std::path::PathBuf;

use assay_model::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers that fit into SQLite's integers.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(i64::MAX as u64), 0..1_000_000_000_u64]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("'; DROP TABLE slice; --".to_owned()), "\\PC{0,12}"]
}

fn setup() -> impl Strategy<Value = Setup> {
    (any::<u32>(), 1..64_u32, any::<u32>()).prop_map(|(clients, tables, rows)| Setup {
        clients,
        tables,
        rows,
    })
}

fn tasks() -> impl Strategy<Value = TaskCounters> {
    vec(number(), 6).prop_map(|n| TaskCounters {
        cpu_ns: n[0],
        user_ns: n[1],
        sys_ns: n[2],
        runq_ns: n[3],
        disk_wait_ns: n[4],
        context_switches: n[5],
    })
}

fn server() -> impl Strategy<Value = ServerCounters> {
    (tasks(), tasks(), vec(number(), 4)).prop_map(|(connections, background, n)| ServerCounters {
        connections,
        background,
        read_calls: n[0],
        read_bytes: n[1],
        write_calls: n[2],
        write_bytes: n[3],
    })
}

fn machine() -> impl Strategy<Value = HostCounters> {
    vec(number(), 8).prop_map(|n| HostCounters {
        busy_ns: n[0],
        steal_ns: n[1],
        other_ns: n[2],
        context_switches: n[3],
        device_reads: n[4],
        device_read_kb: n[5],
        device_writes: n[6],
        device_write_kb: n[7],
    })
}

fn work() -> impl Strategy<Value = WorkCounters> {
    let errors = vec((any::<u32>(), any::<u64>()), 0..3);
    (vec(number(), 9), errors, vec(any::<u8>(), 0..300)).prop_map(|(n, errors, latency_hdr)| {
        WorkCounters {
            events: n[0],
            read: n[1],
            write: n[2],
            other: n[3],
            rows: n[4],
            bytes_sent: n[5],
            bytes_received: n[6],
            errors,
            elapsed_ns: n[7],
            event_ns_sum: n[8],
            latency_hdr,
        }
    })
}

fn slice(cells: Vec<CellId>, systems: usize) -> impl Strategy<Value = Slice> {
    let outcome = prop_oneof![
        Just(SliceOutcome::Good),
        Just(SliceOutcome::Troubled),
        text().prop_map(SliceOutcome::Failed)
    ];
    let trouble =
        vec(select(vec![Trouble::Steal, Trouble::OtherProcess, Trouble::ClockJump]), 0..3);
    let place = (0..systems, select(cells), any::<[u32; 3]>(), any::<i64>());
    (place, outcome, trouble, work(), tasks(), server(), machine()).prop_map(
        |(
            (system, cell, [block, round, position], started_ms),
            outcome,
            trouble,
            work,
            tasks,
            server,
            host,
        )| {
            Slice {
                system,
                cell,
                block,
                round,
                position,
                started_ms,
                outcome,
                trouble,
                work,
                client: ClientCounters { tasks },
                server,
                host,
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
    (select(Product::ALL.to_vec()), origin, engine, vec((text(), text()), 0..3)).prop_map(
        |(product, origin, engine, overrides)| SystemSpec { product, origin, engine, overrides },
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

fn system() -> impl Strategy<Value = System> {
    (text(), spec(), prefix(), any::<bool>(), any::<bool>(), vec(text(), 0..4)).prop_map(
        |(name, spec, prefix, is_base, is_twin, options)| System {
            name,
            spec,
            prefix,
            is_base,
            is_twin,
            options,
        },
    )
}

fn cell() -> impl Strategy<Value = PlannedCell> {
    let placement =
        select(vec![CpuPlacement::OneCpu, CpuPlacement::ConnectionsOnOneCpu, CpuPlacement::Free]);
    let test = select(Microbenchmark::ALL.to_vec());
    (test, setup(), any::<[u32; 2]>(), option::of(number()), placement).prop_map(
        |(test, setup, [warm_ms, slice_ms], events, placement)| PlannedCell {
            id: CellId { test, setup },
            warm_ms,
            slice_ms,
            events,
            placement,
        },
    )
}

fn study() -> impl Strategy<Value = Study> {
    let preset = select(vec![Preset::Smoke, Preset::Quick, Preset::Standard, Preset::Published]);
    let set = select(vec![TestSet::Set27, TestSet::Set32, TestSet::Set42, TestSet::Set47]);
    let words = (text(), text(), preset, set);
    let numbers = (any::<i64>(), any::<u64>(), 0.0..1.0_f64, 0.0..1e9_f64, any::<[u32; 3]>());
    let experiment = select(vec![Experiment::Interleaved, Experiment::Sequential]);
    let id_key = select(vec![IdKey::Primary, IdKey::Secondary]);
    let statements = select(vec![StatementMode::Prepared, StatementMode::Text]);
    let how = (experiment, id_key, statements, text());
    (words, numbers, vec(cell(), 1..8), vec(setup(), 0..3), how).prop_map(
        |((id, assay_version, preset, set), numbers, mut cells, setups, how)| {
            let (experiment, id_key, statements, recipe) = how;
            let (started_ms, seed, threshold, budget_s, [blocks, rounds, workload_version]) =
                numbers;
            cells.sort_by_key(|cell| cell.id);
            cells.dedup_by_key(|cell| cell.id);
            Study {
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
                id_key,
                statements,
                recipe,
                workload_version,
                assay_version,
            }
        },
    )
}

fn host() -> impl Strategy<Value = Host> {
    (vec(text(), 4), any::<u32>(), number(), option::of(text())).prop_map(
        |(t, cpus, memory_kb, hypervisor)| Host {
            cpu: t[0].clone(),
            cpus,
            memory_kb,
            kernel: t[1].clone(),
            os: t[2].clone(),
            hypervisor,
            filesystem: t[3].clone(),
            counts_disk_wait: cpus % 2 == 0,
            counts_device: cpus % 3 == 0,
        },
    )
}

fn instance(systems: usize) -> impl Strategy<Value = Instance> {
    let start_from = select(vec![StartFrom::Fresh, StartFrom::Aged]);
    (0..systems, any::<u32>(), data_set(), start_from, any::<i64>(), number()).prop_map(
        |(system, block, data, start_from, started_ms, start_took_ms)| Instance {
            system,
            block,
            data,
            start_from,
            started_ms,
            start_took_ms,
        },
    )
}

fn event(systems: usize) -> impl Strategy<Value = StudyEvent> {
    (any::<i64>(), option::of(0..systems), text()).prop_map(|(when_ms, system, what)| StudyEvent {
        when_ms,
        system,
        what,
    })
}

fn finding(systems: usize) -> impl Strategy<Value = AuditFinding> {
    let class = select(vec![AuditClass::Expected, AuditClass::Harmless, AuditClass::Suspicious]);
    (text(), vec(option::of(text()), systems), class, text())
        .prop_map(|(setting, values, class, why)| AuditFinding { setting, values, class, why })
}

fn data_set() -> impl Strategy<Value = DataSet> {
    (any::<u32>(), any::<u32>()).prop_map(|(tables, rows)| DataSet { tables, rows })
}

fn content(systems: usize) -> impl Strategy<Value = DataContent> {
    let start_from = select(vec![StartFrom::Fresh, StartFrom::Aged]);
    (0..systems, data_set(), start_from, number(), text()).prop_map(
        |(system, data, start_from, rows, checksum)| DataContent {
            system,
            data,
            start_from,
            rows,
            checksum,
        },
    )
}

/// Blocks of all cells or of the first.
fn blocks_of(study: &Study, blocks: &[(u32, bool)]) -> Vec<Block> {
    (0..)
        .zip(blocks)
        .map(|(number, (rounds, all))| {
            let take = if *all { study.cells.len() } else { 1 };
            let cells = study.cells.iter().take(take).map(|cell| cell.id).collect();
            Block { number, rounds: *rounds, cells }
        })
        .collect()
}

/// A record as a study loop would write it; the ends of runs are left to the ledger.
pub(crate) fn record() -> impl Strategy<Value = StudyRecord> {
    (study(), host(), vec(system(), 1..4), any::<bool>()).prop_flat_map(
        |(study, host, systems, finished)| {
            let cells = study.cells.iter().map(|cell| cell.id).collect();
            let count = systems.len();
            let parts = (
                vec(instance(count), 0..4),
                vec(slice(cells, count), 0..12),
                vec(event(count), 0..4),
                vec(finding(count), 0..4),
                option::of(content(count)),
                vec(0..4_000_000_000_000_i64, 1..3),
                vec((any::<u32>(), any::<bool>()), 0..3),
            );
            parts.prop_map(move |(instances, slices, events, audit, data, runs, blocks)| {
                StudyRecord {
                    data: data.into_iter().collect(),
                    runs: runs
                        .into_iter()
                        .map(|at| Run { started_ms: at, updated_ms: at })
                        .collect(),
                    blocks: blocks_of(&study, &blocks),
                    study: study.clone(),
                    host: host.clone(),
                    systems: systems.clone(),
                    instances,
                    slices,
                    events,
                    audit,
                    finished,
                }
            })
        },
    )
}

/// One record, the same every time, with slices.
pub(crate) fn sample() -> StudyRecord {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    loop {
        let mut record = record().new_tree(&mut runner).unwrap().current();
        if record.slices.len() > 2 && !record.audit.is_empty() && !record.events.is_empty() {
            record.study.id = "sample".to_owned();
            return record;
        }
    }
}
