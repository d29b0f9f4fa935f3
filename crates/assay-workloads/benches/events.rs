//! Prints what it costs to write one event, in nanoseconds, for every microbenchmark.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use assay_model::{Microbenchmark, Product, Setup, StatementMode};
use assay_workloads::{Client, EventBuf, Program};

fn main() {
    let setup = Setup { clients: 1, tables: 8, rows: 1_000_000 };
    for test in Microbenchmark::SET_32 {
        let program =
            Arc::new(Program::new(Product::MariaDb, test, setup, StatementMode::Prepared));
        let client = Client::new(program, 1, 0);
        let mut event = EventBuf::default();
        let best = (0..5)
            .map(|_| {
                let events: u64 = 20_000;
                let start = Instant::now();
                for sequence in 0..events {
                    client.write_event(sequence, 0, &mut event);
                    black_box(&event);
                }
                start.elapsed().as_nanos() as f64 / events as f64
            })
            .fold(f64::INFINITY, f64::min);
        let per_operation = best / event.operations().len() as f64;
        println!("{:>24} {best:8.0} ns/event {per_operation:8.0} ns/query", test.name());
    }
}
