//! Prints the cost of a snapshot of a running process, compared with one read of one file under `/proc`.
//!
//! Takes the process id of a server. Without one, this process itself plays a server of 30 idle threads.

#![expect(clippy::print_stdout, reason = "prints its result")]

use std::error::Error;
use std::sync::Barrier;
use std::time::Instant;

use assay_probe::{ProbeConfig, ProbedServer, UsageProbe};
use rustix::io::pread;
use rustix::process::getpid;
use rustix::thread::gettid;

const SNAPSHOTS: u32 = 1000;
const IDLE_THREADS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let barrier = Barrier::new(IDLE_THREADS + 1);
    std::thread::scope(|scope| {
        for _ in 0..IDLE_THREADS {
            scope.spawn(|| barrier.wait());
        }
        let measured = measure();
        barrier.wait();
        measured
    })
}

fn measure() -> Result<(), Box<dyn Error>> {
    let server_pid = match std::env::args().nth(1) {
        Some(pid) => pid.parse()?,
        None => getpid().as_raw_nonzero().get(),
    };
    let mut probe = UsageProbe::new(ProbeConfig {
        client_tids: vec![gettid().as_raw_nonzero().get()],
        server: Some(ProbedServer {
            pid: server_pid,
            connection_tids: None,
            data_dir: std::env::current_dir()?,
        }),
    })?;
    let began = Instant::now();
    for _ in 0..SNAPSHOTS {
        probe.snapshot()?;
    }
    let snapshot_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(SNAPSHOTS);

    let file = fs_err::File::open("/proc/self/schedstat")?;
    let mut buffer = [0; 256];
    let began = Instant::now();
    for _ in 0..SNAPSHOTS {
        pread(file.file(), &mut buffer, 0)?;
    }
    let read_us = began.elapsed().as_secs_f64() * 1e6 / f64::from(SNAPSHOTS);
    println!(
        "snapshot {snapshot_us:.1} us, one read {read_us:.2} us, ratio {:.0}",
        snapshot_us / read_us
    );
    Ok(())
}
