//! The cost of a whole mix, from the tests that measure each kind of its events alone.

use assay_model::counted;
use assay_verdict::{WeightedTotal, weighted_totals};

use super::study::JudgedStudy;
use crate::number::change;
use crate::ratio::short;

/// From this factor on, a change is written as a factor.
const FACTOR: f64 = 2.0;

pub(super) fn sentences(study: &JudgedStudy, system: usize) -> impl Iterator<Item = String> {
    let totals = weighted_totals(study.record, &study.judgement.cells);
    let of_system = totals.into_iter().filter(move |total| total.system == system);
    let message: Vec<String> = of_system.map(|total| sentence(study, &total)).collect();
    message.into_iter()
}

/// `Time of 12 tests, weighted as in everything: +12.1% [+10.3%, +13.9%].`
fn sentence(study: &JudgedStudy, total: &WeightedTotal) -> String {
    let WeightedTotal { mix, time, measured, kinds, .. } = *total;
    let mix = study.cell_name(mix);
    let tests = match kinds - measured {
        0 => counted(measured as u64, "test"),
        _ => format!("{measured} of {}", counted(kinds as u64, "test")),
    };
    let written = |ratio: f64| match ratio {
        far if far >= FACTOR => format!("×{}", short(far)),
        near => change(near, 1),
    };
    let by = match (time.is_bound(), time.has_interval()) {
        (true, _) => format!("at least ×{}", short(time.value)),
        (_, true) => {
            let [value, low, high] = [time.value, time.low, time.high].map(written);
            format!("{value} [{low}, {high}]")
        }
        _ => format!("{}, without an interval", written(time.value)),
    };
    format!("Time of {tests}, weighted as in {mix}: {by}.")
}
