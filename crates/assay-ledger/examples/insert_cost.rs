//! Prints the cost of writing and reading a slice, compared with a plain append with fsync.

#![expect(clippy::print_stdout, reason = "prints its result")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_ledger::Ledger;
use assay_model::*;

const SLICES: u32 = 1000;
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
        ledger.add_slice("sample", &Slice { round, ..slice.clone() })?;
    }
    let insert_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(SLICES);
    let began = Instant::now();
    let slices = ledger.read("sample")?.slices.len();
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

fn begin(ledger: &mut Ledger) -> Result<Slice, Box<dyn Error>> {
    let record = common::sample();
    ledger.create_study(&record.study, &record.runs[0], &record.systems)?;
    let mut slice = record.slices.into_iter().next().ok_or("a sample without slices")?;
    slice.run = 0;
    slice.work.latency_hdr = common::histogram(&[1; HISTOGRAM_BYTES]);
    Ok(slice)
}
