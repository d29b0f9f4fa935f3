//! Speed of reading a slow log of a million statements, relative to counting its lines.
//!
//! `cargo bench -p assay-capture` alternates both three times and prints medians.

#![expect(clippy::unwrap_used, reason = "a tool for the developer: it fails where it stands")]
#![expect(clippy::print_stdout, reason = "it prints its result")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufReader, Cursor, Read};
use std::time::Instant;

use assay_capture::{Capture, LogHints, PlanOptions, WorkloadTarget, plan, probe, workload};

/// Statements of a block, and repetitions of the block in the log.
const BLOCK: u64 = 100_000;
const BLOCKS: usize = 10;

const RUNS: usize = 3;

fn main() {
    let statements: usize = match std::env::var("STATEMENTS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => BLOCK as usize * BLOCKS,
    };
    let blocks = statements.div_ceil(BLOCK as usize);
    let block = log();
    let (mut floors, mut readings) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let begin = Instant::now();
        for _ in 0..blocks {
            black_box(block.iter().filter(|byte| **byte == b'\n').count());
        }
        floors.push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        let (read, tests) = read(&block, blocks);
        readings.push(begin.elapsed().as_secs_f64());
        println!("{read} statements, {tests} tests");
    }
    let (floor, reading) = (median(floors), median(readings));
    let count = (blocks as u64 * BLOCK) as f64;
    println!(
        "{:.0} MB: {reading:.2} s, {:.0} statements/s, {:.0} times as long as counting lines; {} peak",
        (block.len() * blocks) as f64 / 1e6,
        count / reading,
        reading / floor,
        peak()
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn read(block: &[u8], blocks: usize) -> (u64, usize) {
    let given = LogHints::default();
    let head = &block[..assay_capture::HEAD_BYTES.min(block.len())];
    let probe = probe(head, None, &given).unwrap();
    let mut capture = Capture::new(given);
    let empty: Box<dyn Read> = Box::new(std::io::empty());
    let whole = (0..blocks).fold(empty, |all, _| Box::new(all.chain(Cursor::new(block))));
    let mut source = BufReader::with_capacity(256 << 10, whole);
    capture.read("slow.log", head, &probe, &mut source).unwrap();
    let captured = capture.finish();
    let plan = plan(&captured, &PlanOptions { writes: true, ..PlanOptions::default() }).unwrap();
    let target = WorkloadTarget { stem: "app".to_owned(), dump: None, schema: None };
    let written = workload(&captured, &plan, &target);
    black_box(&written);
    (captured.counts.statements, plan.works.len())
}

fn peak() -> String {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|it| it.starts_with("VmHWM:")).unwrap();
    line.trim_start_matches("VmHWM:").trim().to_owned()
}

/// A slow log of a shop and a forum, with 120 different statements and transactions.
fn log() -> Vec<u8> {
    let mut random = 42_u64;
    let mut next = move |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut text =
        String::from("/usr/sbin/mysqld, Version: 8.0.33 (Source distribution). started with:\n");
    let mut sent = 0;
    while sent < BLOCK {
        let session = next(50);
        let mut send = |sql: &str, us: u64| {
            sent += 1;
            let seconds = 1_795_819_519 + sent / 100;
            let _ = write!(
                text,
                "# Time: 2026-11-27T22:{:02}:{:02}.{:06}Z\n# User@Host: app[app] @ web [10.0.0.1]  Id: {session:5}\n\
                 # Query_time: {:.6}  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
                 SET timestamp={seconds};\n{sql};\n",
                sent / 100 / 60 % 60,
                sent / 100 % 60,
                sent % 1_000_000,
                us as f64 / 1e6
            );
        };
        let (kind, id, other) = (next(59), next(100_000), next(1000));
        match next(10) {
            0 => {
                send("START TRANSACTION", 20);
                send(&format!("SELECT stock FROM product_{kind} WHERE id = {id} FOR UPDATE"), 150);
                send(&format!("UPDATE product_{kind} SET stock = stock - 1 WHERE id = {id}"), 250);
                send("COMMIT", 900);
            }
            1 => {
                let ids: Vec<String> = (0..=next(20)).map(|_| next(100_000).to_string()).collect();
                send(
                    &format!("SELECT * FROM topic_{kind} WHERE id IN ({})", ids.join(",")),
                    400 + other,
                );
            }
            2 | 3 => send(
                &format!(
                    "SELECT p.id, p.name FROM post_{kind} p WHERE p.title LIKE 'word{other}%' \
                     ORDER BY p.made DESC LIMIT 20"
                ),
                2000 + other,
            ),
            _ => send(
                &format!(
                    "SELECT id, name, email, made FROM customer_{kind} WHERE id = {id} AND status = 'active'"
                ),
                100 + other,
            ),
        }
    }
    text.into_bytes()
}
