//! Tables and plots of the results.

mod causes;
mod docs;
mod noise;
mod real;
mod sim;
mod stats;
mod svg;

use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::lines::Lines;

/// Pages that may show tables, from the root of the repository.
const PAGES: [&str; 5] = [
    "docs/lab/turns.md",
    "docs/lab/long-runs.md",
    "docs/lab/aims.md",
    "docs/lab/derivations.md",
    "docs/lab/causes.md",
];

/// From the root of the repository.
const PLOTS: &str = "docs/lab/plots";

/// Output of `assay doctor --format json` on the machine, if present; from the root of the repository.
const DOCTOR: &str = "docs/lab/data/doctor.json";

struct Plot {
    /// File name without its extension.
    name: &'static str,
    /// Empty if nothing was measured.
    svg: String,
}

#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(root: &Path) -> Result<()> {
    let simulated = Lines::open(&root.join(super::sim::RESULTS))?;
    let fingerprint = super::sim::fingerprint()?;
    let (simulated, stale) = sim::Case::from_lines(simulated.values(), &fingerprint);
    if stale > 0 {
        println!("left out {stale} lines that other statistics or another simulation gave");
    }
    let real = Lines::open(&root.join(super::real::RESULTS))?;
    let mut tables = sim::tables(&simulated);
    tables.extend(real::tables(real.values()));
    tables.push(causes::table(real.values()));
    for page in PAGES {
        docs::replace(&root.join(page), &tables)?;
    }
    let mut plots = sim::plots(&simulated);
    plots.extend(real::plots(real.values()));
    let doctor = root.join(DOCTOR);
    if doctor.exists() {
        plots.push(noise::plot(&serde_json::from_str(&fs::read_to_string(doctor)?)?));
    }
    fs::create_dir_all(root.join(PLOTS))?;
    for plot in plots.iter().filter(|plot| !plot.svg.is_empty()) {
        let path = root.join(PLOTS).join(plot.name).with_extension("svg");
        fs::write(&path, &plot.svg)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// In percent, with the digits that its size needs.
fn percent(value: f64) -> String {
    let percent = 100.0 * value;
    match percent.abs() {
        size if size >= 10.0 => format!("{percent:.1}%"),
        _ => format!("{percent:.2}%"),
    }
}

fn percent_between(interval: Option<stats::Interval>) -> String {
    interval.map_or_else(String::new, |it| {
        format!("{} [{:.1}, {:.1}]", percent(it.value), 100.0 * it.low, 100.0 * it.high)
    })
}
