//! Judging and rendering a study of twelve systems, 47 tests and three client counts: times, size of the page, and the
//! time of judging relative to decoding all latencies with the histogram library.

#![expect(clippy::print_stdout, reason = "a bench prints its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod common;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::{Counters, Setup, StudyRecord, TestSet};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use common::studies::{ONE, study};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Repetitions of each part; the median counts.
const TIMES: usize = 5;

fn median(mut act: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let began = Instant::now();
            act();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[TIMES / 2]
}

/// Slices read from a ledger share the names of their counters.
fn share_names(record: &mut StudyRecord) {
    let mut known: BTreeMap<Vec<String>, Arc<[String]>> = BTreeMap::new();
    for slice in &mut record.slices {
        let all = slice.counters.iter().map(|(name, value)| (name.to_owned(), value));
        let (names, values): (Vec<String>, Vec<u64>) = all.unzip();
        let shared = known.entry(names).or_insert_with_key(|names| names.as_slice().into());
        slice.counters = Counters::new(Arc::clone(shared), values).unwrap();
    }
}

fn main() {
    let others: Vec<String> = (0..11).map(|number| format!("11.{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let setups = [1, 4, 16].map(|clients| Setup { clients, ..ONE });
    let mut record = study(&others, TestSet::Set47, &setups, false);
    share_names(&mut record);
    let options = TextOptions { width: 80, color: false, verbose: true };
    let judgement = judge(&record);
    let judging = median(|| drop(black_box(judge(&record))));
    let rendering = median(|| drop(black_box(render(&record, &judgement, Format::HTML, &options))));
    let decoding = median(|| {
        let mut merged = Histogram::<u64>::new(3).unwrap();
        for slice in &record.slices {
            let bytes = &mut slice.work.latency_hdr.as_slice();
            let one: Histogram<u64> = Deserializer::new().deserialize(bytes).unwrap();
            merged.add(one).unwrap();
        }
        black_box(merged);
    });
    let page = render(&record, &judgement, Format::HTML, &options);
    let [judging, rendering, decoding] = [judging, rendering, decoding].map(|it| it.as_secs_f64());
    println!(
        "{} slices of {} systems and {} cells",
        record.slices.len(),
        others.len() + 1,
        record.study.cells.len()
    );
    println!(
        "judging {judging:.2} s, rendering {rendering:.2} s, page {:.2} MB",
        page.len() as f64 / 1e6
    );
    println!("judging / decoding latencies with the library: {:.2}", judging / decoding);
}
