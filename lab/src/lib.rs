//! Validates assay's verdicts: simulated studies with a known truth, studies of real servers, and their tables and
//! plots for the documentation.

mod bisect;
mod busy;
mod lines;
mod machine;
mod map_truth;
mod plot;
mod real;
// As files, because the crates of these wings bring the whole executor with them.
#[path = "../../wings/bisect/src/decisions/mod.rs"]
mod search_decisions;
mod sim;
pub mod truth;
mod watch;
#[path = "../../wings/watch/src/decisions.rs"]
mod watch_decisions;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

const USAGE: &str = "\
usage: cargo lab sim [--studies N] [--case GLOB]
                           | real aa|known|manual|turns|equal|long|hour|causes|steps [--program PATH] [--short]
                           | busy [--program PATH] [--budget TIME] [--equal N | --decided REFERENCE]
                           | bisect [--runs N]
                           | watch [--runs N]
                           | map-truth [--map DIR] [--against DIR]
                           | plot

sim   simulates studies whose truth is known and counts right and wrong verdicts; by default 1,000 of each case
real  measures real servers: the same system twice, changes of known direction, the manual design, lengths of turns,
      short and long turns in equal time, long runs, studies of an hour, causes that are planted, steps of the
      Insert Benchmark in segments: the same system twice, planted changes, and whole steps
busy  measures beside other work at both priorities, and prints a table; 50 minutes and more. With --decided, the
      table has the tests that are decided after 1, 2 and 5 minutes, and how many agree with a reference of 10
      minutes, which is measured first unless the file REFERENCE has it; 75 minutes
bisect
      simulates searches for the version that made a change, and prints a table; by default 1,000 of each case
watch simulates a watch over 200 commits with five changes, and prints what it found; by default 100 times
map-truth
      sets the ratios of the map of instructions (the folder map, or DIR) beside those of published rates, and prints
      how they correlate and which tests differ most; ASSAY_PUBLISHED names the folder with the published tables. With
      --against, it prints how many cells of two maps agree, such as those of two machines
plot  writes the tables in the notebooks in docs/lab, and the plots in docs/lab/plots

Results are appended to docs/lab/data, and a command that was interrupted goes on where it stopped. Servers that an
interrupted \"half a CPU\" leaves behind are in `assay server list`.
--short measures little, to see that everything works, and writes to target/calibration";

#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(words: &[String]) -> Result<()> {
    let root = root()?;
    match words.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        Some(("sim", rest)) => sim::run(&root, rest),
        Some(("real", rest)) => real::run(&root, rest),
        Some(("busy", rest)) => busy::run(&root, rest),
        Some(("bisect", rest)) => bisect::run(rest),
        Some(("watch", rest)) => watch::run(rest),
        Some(("map-truth", rest)) => map_truth::run(&root, rest),
        Some(("plot", [])) => plot::run(&root),
        _ => {
            println!("{USAGE}");
            bail!("measure what?")
        }
    }
}

fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("the lab has no parent folder")?.to_owned())
}

/// Rejects words that are neither among `options`, each with a value, nor among `switches`.
fn expect_only(words: &[String], options: &[&str], switches: &[&str]) -> Result<()> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if options.contains(&word.as_str()) {
            words.next();
        } else if !switches.contains(&word.as_str()) {
            bail!("`{word}` is no option of this command\n\n{USAGE}");
        }
    }
    Ok(())
}

fn option<'a>(words: &'a [String], name: &str) -> Result<Option<&'a str>> {
    let Some(at) = words.iter().position(|word| word == name) else { return Ok(None) };
    let value = words.get(at + 1).with_context(|| format!("`{name}` needs a value"))?;
    Ok(Some(value))
}
