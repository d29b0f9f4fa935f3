//! What a slice costs to write and to read, beside a plain append that waits for the disk.

#![expect(clippy::print_stdout, reason = "prints its result")]

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_ledger::Ledger;
use assay_model::*;

const SLICES: u32 = 1000;
/// About what an HDR histogram of a slice takes.
const HISTOGRAM_BYTES: usize = 2000;

fn main() -> Result<(), Box<dyn Error>> {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(base)?;
    let append_us = plain_append(&directory.path().join("plain"))?;
    let path = directory.path().join("ledger.db");
    let mut ledger = Ledger::open(&path)?;
    let slice = begin(&mut ledger)?;
    let began = Instant::now();
    for round in 0..SLICES {
        ledger.add_slice("cost", &Slice { round, ..slice.clone() })?;
    }
    let insert_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(SLICES);
    let began = Instant::now();
    let slices = ledger.read("cost")?.slices.len();
    let read_us = began.elapsed().as_secs_f64() * 1e6 / slices as f64;
    println!(
        "append and sync {append_us:.0} us, slice written {insert_us:.0} us, ratio {:.2}",
        insert_us / append_us
    );
    println!(
        "slice read {read_us:.1} us, {} bytes each",
        fs_err::metadata(&path)?.len() / slices as u64
    );
    Ok(())
}

fn plain_append(path: &Path) -> Result<f64, Box<dyn Error>> {
    let mut file = fs_err::File::create(path)?;
    let began = Instant::now();
    for _ in 0..SLICES {
        file.write_all(&[7; HISTOGRAM_BYTES])?;
        file.sync_data()?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(SLICES))
}

/// A study with one system and one cell, and a slice of it.
fn begin(ledger: &mut Ledger) -> Result<Slice, Box<dyn Error>> {
    let test = Microbenchmark::SET_32[0];
    let cell = CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1000 } };
    let study = Study {
        id: "cost".to_owned(),
        started_ms: 0,
        preset: Preset::Quick,
        set: TestSet::Set32,
        seed: 1,
        threshold: 0.02,
        budget_s: 1.0,
        blocks: 1,
        rounds: 1,
        cells: vec![PlannedCell {
            id: cell,
            warm_ms: 1,
            slice_ms: 1,
            events: None,
            placement: CpuPlacement::OneCpu,
        }],
        setups: vec![cell.setup],
        experiment: Experiment::Interleaved,
        id_key: IdKey::Primary,
        statements: StatementMode::Prepared,
        recipe: String::new(),
        workload_version: WORKLOAD_VERSION,
        assay_version: "0".to_owned(),
    };
    ledger.create_study(&study, &Host::default())?;
    ledger.add_system("cost", 0, &system())?;
    Ok(Slice {
        system: 0,
        cell,
        block: 0,
        round: 0,
        position: 0,
        started_ms: 0,
        outcome: SliceOutcome::Good,
        trouble: Vec::new(),
        work: WorkCounters { latency_hdr: vec![7; HISTOGRAM_BYTES], ..WorkCounters::default() },
        client: ClientCounters::default(),
        server: ServerCounters::default(),
        host: HostCounters::default(),
    })
}

fn system() -> System {
    let product = Product::MariaDb;
    System {
        name: "mariadb@11.8".to_owned(),
        spec: SystemSpec {
            product,
            origin: Origin::Version("11.8".to_owned()),
            engine: Engine::InnoDb,
            overrides: Vec::new(),
        },
        prefix: Prefix {
            path: PathBuf::new(),
            sha256: String::new(),
            product,
            version: "11.8".to_owned(),
            build: Build {
                source: String::new(),
                channel: String::new(),
                package_version: String::new(),
                released: true,
                notes: Vec::new(),
            },
            packages: Vec::new(),
            layout: Layout {
                loader: None,
                library_path: Vec::new(),
                server: PathBuf::new(),
                basedir: PathBuf::new(),
                share_dir: PathBuf::new(),
                charsets_dir: PathBuf::new(),
                plugin_dir: PathBuf::new(),
            },
        },
        is_base: true,
        is_twin: false,
        options: Vec::new(),
    }
}
