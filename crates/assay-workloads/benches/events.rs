//! Measures the cost of writing one event, in nanoseconds, for every test and both ways of sending it, and of one row
//! of a load.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use assay_model::{Dialect, Setup, StatementMode, TestSet};
use assay_workloads::{EventBuf, EventProgram, InsertBatches, ProgramClient, tests_of};

/// Minimum of several runs, divided by `count`, nanoseconds.
fn best(count: u64, mut work: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as f64 / count as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let setup = Setup { clients: 1, tables: 8, rows: 1_000_000 };
    for test in tests_of(TestSet::Set32) {
        for mode in [StatementMode::Prepared, StatementMode::Text] {
            let program = Arc::new(EventProgram::new(Dialect::MySql, test, setup, mode));
            let client = ProgramClient::new(program, 1, 0);
            let mut event = EventBuf::default();
            let events = 20_000;
            let per_event = best(events, || {
                for sequence in 0..events {
                    client.write_event(sequence, 0, &mut event);
                    black_box(&event);
                }
            });
            let per_query = per_event / event.operations().len() as f64;
            let (name, mode) = (test.name(), mode.word());
            println!("{name:>24} {mode:>8} {per_event:8.0} ns/event {per_query:8.0} ns/query");
        }
    }
    let rows = 200_000;
    let per_row = best(u64::from(rows), || {
        let (mut batches, mut statement) = (InsertBatches::new(1, 1, rows, false), Vec::new());
        while batches.next_into(&mut statement).rows > 0 {
            black_box(&statement);
        }
    });
    println!("{:>24} {per_row:17.0} ns/row", "load");
}
