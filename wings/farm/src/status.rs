//! `assay status`: progress of the shards of a study, from their ledgers and, if it answers, from the scheduler.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use assay_ledger::Ledger;
use assay_model::{Verdict, counted};
use assay_plan::duration_text;
use clap::Args;
use serde::Serialize;

use super::collect::{Attempt, ShardLedgers, ShardsArg, find};
use super::submit::output_of;
use assay_command::args::ShapeArg;
use assay_command::exit::Exit;
use assay_command::ledger_files::open_ledger;
use assay_command::report;
use assay_command::verb::{Arguments, CommandGroup};
use assay_run::study_records;

#[derive(Debug, Serialize)]
struct JobProgress {
    study: String,
    /// `None` if it was not submitted here.
    job: Option<u64>,
    shards: Vec<ShardProgress>,
    verdicts: BTreeMap<&'static str, u32>,
}

#[derive(Debug, Serialize)]
struct ShardProgress {
    shard: u32,
    /// State in the scheduler's words; `None` if it does not know the task.
    task: Option<String>,
    node: Option<String>,
    slices: u64,
    finished: bool,
    /// Seconds; `None` if it has not begun.
    left_s: Option<f64>,
}

/// `assay status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub shards: ShardsArg,

    #[command(flatten)]
    pub shape: ShapeArg,
}

impl Arguments for StatusArgs {
    const NAME: &'static str = "status";
    const ABOUT: &'static str = "Show how far the shards of a study are, and the verdicts so far";
    const GROUP: CommandGroup = CommandGroup::ManyMachines;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let found = find(&self.shards)?;
        let tasks = found.job.as_ref().and_then(|job| job.job).map(tasks).unwrap_or_default();
        let shards = (1..=found.of).map(|shard| {
            let counted = found.attempts.get(&shard).and_then(|attempts| attempts.last());
            shard_progress(shard, counted, tasks.get(&shard))
        });
        let shards = shards.collect();
        let job = found.job.as_ref().and_then(|job| job.job);
        let study = found.study.clone();
        let progress = JobProgress { study, job, shards, verdicts: verdicts(&found)? };
        report::put_one(&self.shape, &progress, words)?;
        Ok(Exit::Done)
    }
}

fn shard_progress(
    shard: u32,
    counted: Option<&Attempt>,
    task: Option<&(String, String)>,
) -> ShardProgress {
    let left_s = counted.and_then(|attempt| {
        let record = open_ledger(&attempt.file).ok()?.read(&attempt.study.id).ok()?;
        let left_s = record.budget_s() - record.elapsed_s();
        Some(if record.finished { 0.0 } else { left_s.max(0.0) })
    });
    let of_task = task.map(|(_, node)| node.clone()).filter(|node| !node.is_empty());
    ShardProgress {
        shard,
        task: task.map(|(state, _)| state.clone()),
        node: of_task.or_else(|| counted.map(|attempt| attempt.study.shard.node.clone())),
        slices: counted.map_or(0, |attempt| attempt.study.slices),
        finished: counted.is_some_and(|attempt| attempt.study.finished),
        left_s,
    }
}

fn verdicts(found: &ShardLedgers) -> Result<BTreeMap<&'static str, u32>> {
    let mut ledger = Ledger::in_memory()?;
    found.collect_into(&mut ledger)?;
    let mut counts = BTreeMap::new();
    if !ledger.contains(&found.study)? {
        return Ok(counts);
    }
    let record = study_records::read(&ledger, &found.study)?;
    for cell in assay_verdict::judge(&record).conclusions() {
        if !record.systems[cell.system].is_base {
            *counts.entry(Verdict::word(cell.verdict)).or_default() += 1;
        }
    }
    Ok(counts)
}

fn tasks(job: u64) -> BTreeMap<u32, (String, String)> {
    let mut command = Command::new("squeue");
    command.args(["--noheader", "--array", "--format=%K|%T|%N"]).arg(format!("--jobs={job}"));
    output_of(&mut command).lines().filter_map(task).collect()
}

fn task(line: &str) -> Option<(u32, (String, String))> {
    let mut parts = line.trim().split('|');
    let number = parts.next()?.parse().ok()?;
    Some((number, (parts.next()?.to_lowercase(), parts.next()?.to_owned())))
}

fn words(progress: &JobProgress) -> String {
    let JobProgress { study, job, shards, verdicts } = progress;
    let job = job.map_or_else(String::new, |job| format!(", job {job}"));
    let finished = shards.iter().filter(|shard| shard.finished).count();
    let mut lines = vec![format!("{study}{job}: {finished} of {} shards finished", shards.len())];
    lines.extend(shards.iter().map(|it| {
        let state = match (&it.task, it.finished, it.slices) {
            (_, true, _) => "finished",
            (Some(task), ..) => task.as_str(),
            (None, false, 0) => "not begun",
            (None, false, _) => "interrupted",
        };
        let node = it.node.as_ref().map_or_else(String::new, |node| format!(" on {node}"));
        let left = it.left_s.filter(|_| !it.finished);
        let left =
            left.map_or_else(String::new, |left| format!(", {} left", duration_text(left.ceil())));
        format!("  {:>4}  {state}{node}, {}{left}", it.shard, counted(it.slices, "slice"))
    }));
    let verdicts: Vec<String> =
        verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    if !verdicts.is_empty() {
        lines.push(format!("verdicts so far: {}", verdicts.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_says_of_a_task_is_read() {
        let running = Some((3, ("running".to_owned(), "n2".to_owned())));
        assert_eq!(task("3|RUNNING|n2"), running);
        assert_eq!(task("12|PENDING|"), Some((12, ("pending".to_owned(), String::new()))));
        for wrong in ["", "N/A|PENDING|", "3|RUNNING"] {
            assert_eq!(task(wrong), None, "{wrong}");
        }
    }
}
