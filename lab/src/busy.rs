//! Benefit of real-time priority on a busy machine: the same study at both priorities, under loads of several kinds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{expect_only, machine, option};

const SYSTEMS: [&str; 2] = ["mariadb@10.11", "mariadb@11.8"];

const BUDGET: &str = "5m";

const PRIORITIES: [&str; 3] = ["normal", WEIGHTED, "realtime"];

/// Budgets of studies that count what is decided, and that of the reference on the machine as it is.
const BUDGETS: [&str; 3] = ["1m", "2m", "5m"];
const REFERENCE_BUDGET: &str = "10m";

/// Normal priority, in a control group with a high CPU weight, as with `systemd-run --user --scope -p CPUWeight=10000`.
/// Needs root.
const WEIGHTED: &str = "weighted";

#[derive(Debug, Clone, Copy)]
enum Load {
    /// Whatever runs anyway.
    Present,
    Hogs(usize),
    Build,
}

impl Load {
    fn in_words(self) -> String {
        match self {
            Self::Present => "as it is".to_owned(),
            Self::Hogs(count) => format!("{count} hogs"),
            Self::Build => "a build".to_owned(),
        }
    }
}

/// Measures the table; with `--equal`, studies of a system against itself; with `--decided`, how much is decided after
/// one, two and five minutes: `[--program PATH] [--budget TIME] [--equal N | --decided REFERENCE]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(root: &Path, words: &[String]) -> Result<()> {
    expect_only(words, &["--program", "--budget", "--equal", "--decided"], &[])?;
    let program = option(words, "--program")?.map(PathBuf::from);
    let program = program.map_or_else(|| machine::build("assay"), Ok)?;
    let bench = Bench {
        program: std::path::absolute(program)?,
        root: root.to_owned(),
        budget: option(words, "--budget")?.unwrap_or(BUDGET).to_owned(),
    };
    if let Some(count) = option(words, "--equal")? {
        return bench.compare_with_itself(count.parse().context("`--equal`")?);
    }
    if let Some(reference) = option(words, "--decided")? {
        return bench.count_decided(Path::new(reference));
    }
    println!(
        "| load | priority | rate: median half-width | CPU/op: median half-width | decided by time | by CPU | blocks \
         | median difference from `normal`, as it is |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    let mut reference = None;
    for load in [Load::Present, Load::Hogs(2), Load::Build, Load::Hogs(16)] {
        for priority in PRIORITIES {
            if priority == WEIGHTED && WeightedGroup::create().is_err() {
                continue;
            }
            let measured = bench.beside(load, priority, SYSTEMS)?;
            let reference = reference.get_or_insert_with(|| measured.clone());
            println!("| {} | {priority} | {} |", load.in_words(), measured.row(reference));
        }
    }
    Ok(())
}

#[derive(Clone)]
struct Bench {
    program: PathBuf,
    root: PathBuf,
    budget: String,
}

#[derive(Debug, Clone)]
struct BusyResult {
    cells: BTreeMap<String, Cell>,
    blocks: u64,
}

#[derive(Debug, Clone)]
struct Cell {
    /// Value and ends of the interval.
    rate: Option<[f64; 3]>,
    cpu: Option<[f64; 3]>,
    /// The verdict, unless it is undecided or the test failed.
    by_time: Option<String>,
    /// The verdict on the CPU time of the serving threads: `more`, `less` or `same`.
    by_cpu: Option<String>,
}

impl Cell {
    fn new(cell: &Value) -> Self {
        let interval = |estimate: &Value| {
            let part = |part: &str| estimate[part].as_f64();
            Some([part("value")?, part("low")?, part("high")?])
        };
        let decided = |verdict: &Value, words: &[&str]| {
            let word = verdict.as_str().filter(|word| words.contains(word));
            word.map(str::to_owned)
        };
        Self {
            rate: interval(&cell["rqps"]),
            cpu: interval(&cell["cpu"]["ratio"]),
            by_time: decided(&cell["verdict"], &["faster", "slower", "uneven", "same"]),
            by_cpu: decided(&cell["cpu"]["verdict"], &["more", "less", "same"]),
        }
    }

    fn is_called(&self) -> bool {
        self.by_time.as_ref().is_some_and(|verdict| verdict != "same")
    }

    fn verdict(&self, figure: DecidingFigure) -> Option<&str> {
        match figure {
            DecidingFigure::Time => self.by_time.as_deref(),
            DecidingFigure::Cpu => self.by_cpu.as_deref(),
        }
    }

    fn holds_one(&self) -> bool {
        self.rate.is_some_and(|[_, low, high]| low <= 1.0 && 1.0 <= high)
    }
}

#[derive(Debug, Clone, Copy)]
enum DecidingFigure {
    Time,
    Cpu,
}

/// Tests that are decided by one of some figures, and their agreement with a reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct DecidedTests {
    decided: usize,
    /// Decided in the reference too, by one of the same figures.
    comparable: usize,
    agreeing: usize,
}

impl BusyResult {
    fn decided(&self, reference: &Self, figures: &[DecidingFigure]) -> DecidedTests {
        let mut tests = DecidedTests::default();
        for (name, cell) in &self.cells {
            if figures.iter().all(|figure| cell.verdict(*figure).is_none()) {
                continue;
            }
            tests.decided += 1;
            let other = reference.cells.get(name);
            let pairs: Vec<(&str, &str)> = (figures.iter())
                .filter_map(|figure| cell.verdict(*figure).zip(other?.verdict(*figure)))
                .collect();
            tests.comparable += usize::from(!pairs.is_empty());
            let agrees = !pairs.is_empty() && pairs.iter().all(|(here, there)| here == there);
            tests.agreeing += usize::from(agrees);
        }
        tests
    }

    /// The columns of the table of decided tests after load, priority and budget.
    fn decided_row(&self, reference: &Self) -> String {
        let all = self.cells.len();
        let by = |figures: &[DecidingFigure]| {
            let DecidedTests { decided, comparable, agreeing } = self.decided(reference, figures);
            format!("{decided} of {all} | {agreeing} of {comparable}")
        };
        let both = [DecidingFigure::Time, DecidingFigure::Cpu];
        format!("{} | {} | {}", by(&both[..1]), by(&both[1..]), by(&both))
    }

    fn new(document: &Value) -> Self {
        let cells = document["cells"].as_array().into_iter().flatten();
        let others = cells.filter(|cell| !cell["rqps"].is_null() || cell["verdict"] == "failed");
        let blocks = others.clone().filter_map(|cell| cell["blocks"].as_u64()).max().unwrap_or(0);
        let name = |cell: &Value| cell["test"].as_str().unwrap_or_default().to_owned();
        Self { cells: others.map(|cell| (name(cell), Cell::new(cell))).collect(), blocks }
    }

    /// The columns of the table after load and priority.
    fn row(&self, reference: &Self) -> String {
        let half = |part: fn(&Cell) -> Option<[f64; 3]>| {
            let half = |[value, low, high]: [f64; 3]| (high - low) / 2.0 / value;
            percent(median(self.cells.values().filter_map(part).map(half).collect()))
        };
        let count = |is_so: fn(&Cell) -> bool| self.cells.values().filter(|it| is_so(it)).count();
        let all = self.cells.len();
        let away = self.cells.iter().filter_map(|(name, cell)| {
            let other = reference.cells.get(name)?.rate?;
            Some((cell.rate?[0] / other[0]).ln().abs())
        });
        format!(
            "±{} | ±{} | {} of {all} | {} of {all} | {} | {}",
            half(|cell| cell.rate),
            half(|cell| cell.cpu),
            count(|cell| cell.by_time.is_some()),
            count(|cell| cell.by_cpu.is_some()),
            self.blocks,
            percent(median(away.collect())),
        )
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.2}%", 100.0 * share))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let (low, high) =
        (values.get(values.len().saturating_sub(1) / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

impl Bench {
    /// Every verdict other than *same* or *undecided* is false.
    #[expect(clippy::print_stdout, reason = "a task reports on stdout")]
    fn compare_with_itself(&self, count: usize) -> Result<()> {
        println!("| load | a system against itself | called | not called | intervals that hold |");
        println!("|---|---|---:|---:|---:|");
        let loads = [Load::Build, Load::Hogs(2), Load::Hogs(16), Load::Present];
        for (number, load) in (1..=count).zip(loads.into_iter().cycle()) {
            let measured = self.beside(load, "realtime", [SYSTEMS[1]; 2])?;
            let cells = measured.cells.values();
            let called = cells.clone().filter(|cell| cell.is_called()).count();
            let holds = cells.clone().filter(|cell| cell.holds_one()).count();
            let all = cells.len();
            println!("| {} | {number} | {called} | {} | {holds} |", load.in_words(), all - called);
        }
        Ok(())
    }

    /// How many tests are decided beside each load, after each budget, with and without real-time turns, and how many
    /// of them as in a reference. The file keeps the JSON of the reference: an existing one is read instead of
    /// measured.
    #[expect(clippy::print_stdout, reason = "a task reports on stdout")]
    fn count_decided(&self, file: &Path) -> Result<()> {
        if !file.exists() {
            let bench = Self { budget: REFERENCE_BUDGET.to_owned(), ..self.clone() };
            let reference = bench.report(Load::Present, "realtime", SYSTEMS)?;
            fs_err::write(file, serde_json::to_vec(&reference)?)?;
        }
        let reference = BusyResult::new(&serde_json::from_slice(&fs_err::read(file)?)?);
        let itself = reference.decided_row(&reference);
        println!(
            "| beside | priority | budget | decided by time | as in the reference | by CPU | as in the reference | by \
             either | as in the reference |"
        );
        println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
        println!("| reference | realtime | {REFERENCE_BUDGET} | {itself} |");
        for load in [Load::Hogs(2), Load::Build, Load::Hogs(16)] {
            for priority in ["normal", "realtime"] {
                for budget in BUDGETS {
                    let bench = Self { budget: budget.to_owned(), ..self.clone() };
                    let row = bench.beside(load, priority, SYSTEMS)?.decided_row(&reference);
                    println!("| {} | {priority} | {budget} | {row} |", load.in_words());
                }
            }
        }
        Ok(())
    }

    fn beside(&self, load: Load, priority: &str, systems: [&str; 2]) -> Result<BusyResult> {
        Ok(BusyResult::new(&self.report(load, priority, systems)?))
    }

    /// The JSON of a study beside this load.
    fn report(&self, load: Load, priority: &str, systems: [&str; 2]) -> Result<Value> {
        let _others = OtherLoad::start(load, &self.root)?;
        let mut command = Command::new(&self.program);
        command.arg("compare").args(systems).args(["--budget", &self.budget]);
        let group = (priority == WEIGHTED).then(WeightedGroup::create).transpose()?;
        let priority = if priority == WEIGHTED { "normal" } else { priority };
        command.args(["--priority", priority, "--format", "json", "--quiet"]);
        command.current_dir(&self.root).stdin(Stdio::null()).stderr(Stdio::inherit());
        command.stdout(Stdio::piped());
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        group.as_ref().map(|group| group.admit(child.id())).transpose()?;
        let output = child.wait_with_output()?;
        // 0: done; 3: done, but a cell failed.
        let is_done = matches!(output.status.code(), Some(0 | 3));
        ensure!(is_done, "{}: {command:?}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// Directory of a control group whose processes take precedence over others.
struct WeightedGroup(PathBuf);

impl WeightedGroup {
    fn create() -> Result<Self> {
        let name = "assay-lab";
        let (directory, weight) = match Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
            true => (Path::new("/sys/fs/cgroup").join(name), ("cpu.weight", "10000")),
            // The same weight in the first version of control groups.
            false => (Path::new("/sys/fs/cgroup/cpu").join(name), ("cpu.shares", "102400")),
        };
        fs_err::create_dir_all(&directory)?;
        fs_err::write(directory.join(weight.0), weight.1)?;
        Ok(Self(directory))
    }

    fn admit(&self, pid: u32) -> Result<()> {
        Ok(fs_err::write(self.0.join("cgroup.procs"), pid.to_string())?)
    }
}

impl Drop for WeightedGroup {
    fn drop(&mut self) {
        drop(fs_err::remove_dir(&self.0));
    }
}

/// Other work, until it is dropped.
struct OtherLoad {
    hogs: Vec<Child>,
    build: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl OtherLoad {
    fn start(load: Load, root: &Path) -> Result<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        let mut others = Self { hogs: Vec::new(), build: None, ends: Arc::clone(&ends) };
        match load {
            Load::Present => {}
            Load::Hogs(count) => {
                for _ in 0..count {
                    let mut hog = Command::new("sh");
                    others.hogs.push(hog.args(["-c", "while :; do :; done"]).spawn()?);
                }
            }
            Load::Build => {
                let root = root.to_owned();
                others.build = Some(std::thread::spawn(move || build_until(&ends, &root)));
            }
        }
        Ok(others)
    }
}

/// Builds a crate repeatedly, in a separate directory.
fn build_until(ends: &AtomicBool, root: &Path) {
    let cargo = |words: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(words).args(["--quiet", "--target-dir", "target/calibration/build"]);
        command.current_dir(root).stderr(Stdio::null()).spawn()
    };
    while !ends.load(Ordering::SeqCst) {
        for words in [["clean"].as_slice(), &["build", "-p", "assay-provision"]] {
            let Ok(mut child) = cargo(words) else { return };
            while child.try_wait().is_ok_and(|ended| ended.is_none()) {
                if ends.load(Ordering::SeqCst) {
                    drop(child.kill());
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    }
}

impl Drop for OtherLoad {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        for hog in &mut self.hogs {
            drop(hog.kill().and_then(|()| hog.wait()));
        }
        drop(self.build.take().map(JoinHandle::join));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn interval(value: f64) -> Value {
        json!({"value": value, "low": value - 0.01, "high": value + 0.01})
    }

    fn cell(test: &str, value: f64, verdict: &str, cpu: &str) -> Value {
        json!({"test": test, "rqps": interval(value), "verdict": verdict, "blocks": 3,
               "cpu": {"ratio": interval(1.0), "verdict": cpu}})
    }

    #[test]
    fn a_study_becomes_a_row() {
        let base = json!({"test": "a", "rqps": null, "verdict": "same", "blocks": 3});
        let cells = [
            base,
            cell("a", 1.0, "same", "same"),
            cell("b", 0.8, "slower", "more"),
            cell("c", 1.0, "undecided", "less"),
        ];
        let measured = BusyResult::new(&json!({ "cells": cells }));
        assert_eq!(measured.row(&measured), "±1.00% | ±1.00% | 2 of 3 | 3 of 3 | 3 | 0.00%");
        assert_eq!(measured.cells.values().filter(|it| it.holds_one()).count(), 2);
        assert_eq!(measured.cells.values().filter(|it| it.is_called()).count(), 1);
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn decided_tests_agree_with_a_reference_where_it_decides_too() {
        let result = |cells: &[Value]| BusyResult::new(&json!({ "cells": cells }));
        let reference = result(&[
            cell("a", 1.0, "same", "same"),
            cell("b", 0.8, "slower", "more"),
            cell("c", 1.0, "undecided", "less"),
            cell("d", 1.0, "same", "same"),
        ]);
        let busy = result(&[
            cell("a", 1.0, "undecided", "same"),
            cell("b", 0.8, "slower", "undecided"),
            cell("c", 1.1, "faster", "more"),
            cell("d", 1.0, "undecided", "undecided"),
        ]);
        let tests = |decided, comparable, agreeing| DecidedTests { decided, comparable, agreeing };
        // The reference does not decide on `c` by time.
        assert_eq!(busy.decided(&reference, &[DecidingFigure::Time]), tests(2, 1, 1));
        assert_eq!(busy.decided(&reference, &[DecidingFigure::Cpu]), tests(2, 2, 1));
        assert_eq!(
            busy.decided(&reference, &[DecidingFigure::Time, DecidingFigure::Cpu]),
            tests(3, 3, 2)
        );
        let row = "2 of 4 | 1 of 1 | 2 of 4 | 1 of 2 | 3 of 4 | 2 of 3";
        assert_eq!(busy.decided_row(&reference), row);
    }
}
