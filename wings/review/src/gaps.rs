//! What a benchmark did not do, or what its files do not say, as sentences without a capital letter and a full stop.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use assay_import::{Vmstat, VmstatSample};
use assay_model::counted;
use assay_report::blocks::duration;

use crate::runs::{RateUnit, ReviewedFiles, ReviewedRun, ReviewedSystem};
use crate::statistics::INTERVALS_MIN;

/// Runs below this time, seconds, are called short: Postgres has a checkpoint every 5 minutes.
const SHORT_S: f64 = 300.0;

/// Mean share of CPU time, percent, from which on the CPUs limit a rate.
const BUSY: f64 = 90.0;

/// Mean share of CPU time, percent, from which on waiting for disks and other machines is reported.
const WAITING: f64 = 10.0;
const STOLEN: f64 = 1.0;

pub(crate) fn gaps(files: &ReviewedFiles) -> Vec<String> {
    let is_table = files.runs.iter().all(|run| run.unit == RateUnit::Queries);
    let mut all = Vec::from_iter(repeats(files));
    // A table has rates only.
    if is_table {
        all.push(
            "a table of rates has neither the length of runs nor warm-up, errors and rates by second".to_owned(),
        );
    } else {
        all.extend(intervals(files));
        all.extend(warmup(files));
        all.extend(length(files));
        all.extend(errors(files));
        all.extend(clients(files));
    }
    all.extend(settings(files));
    all.extend(machine(files));
    all
}

fn repeats(files: &ReviewedFiles) -> Option<String> {
    let mut repeats: BTreeMap<(&str, &str, Option<u32>), u32> = BTreeMap::new();
    for run in &files.runs {
        *repeats.entry((&run.system, &run.test, run.clients)).or_default() += 1;
    }
    let once = repeats.values().filter(|count| **count == 1).count();
    let all = repeats.len();
    let which = if once == all { "each test".to_owned() } else { format!("{once} of {all} tests") };
    (once > 0).then(|| {
        format!(
            "no repeats: {which} ran once on a system, so how much a second run, a restart or another order of the \
             systems changes is not shown"
        )
    })
}

/// The files for which something holds: `all runs`, or their names.
fn files_where(files: &ReviewedFiles, is_so: impl Fn(&ReviewedRun) -> bool) -> Option<String> {
    let all: BTreeSet<&str> = files.runs.iter().map(|run| run.file.as_str()).collect();
    let found = files.runs.iter().filter(|run| is_so(run)).map(|run| run.file.as_str());
    let found: BTreeSet<&str> = found.collect();
    match found.len() {
        0 => None,
        count if count == all.len() => Some("all runs".to_owned()),
        count if count > 3 => Some(format!("{count} of {} files", all.len())),
        _ => Some(found.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

fn intervals(files: &ReviewedFiles) -> Option<String> {
    let which = files_where(files, |run| run.with_noise().noise.is_none())?;
    Some(format!(
        "fewer than {INTERVALS_MIN} rates by second in {which}: sysbench has them with `--report-interval=1`, pgbench \
         with `--progress=1` or `--log`, HammerDB with its transaction counter"
    ))
}

fn warmup(files: &ReviewedFiles) -> Option<String> {
    let which = files_where(files, |run| run.warmup_s.is_none_or(|seconds| seconds <= 0.0))?;
    Some(format!(
        "no warm-up is known of {which}: caches fill while they are measured, which a short run shows as a rising rate"
    ))
}

fn length(files: &ReviewedFiles) -> Option<String> {
    let seconds = files.runs.iter().filter_map(|run| run.seconds);
    let shortest = seconds.reduce(f64::min).filter(|seconds| *seconds < SHORT_S)?;
    Some(format!(
        "the shortest run took {}: checkpoints, flushing, purge and vacuum may come after it",
        duration(shortest)
    ))
}

fn errors(files: &ReviewedFiles) -> Option<String> {
    let which = files_where(files, |run| !run.has_errors)?;
    Some(format!("errors are not reported in {which}: failed transactions may be fast ones"))
}

fn clients(files: &ReviewedFiles) -> Option<String> {
    let all: BTreeSet<u32> = files.runs.iter().filter_map(|run| run.clients).collect();
    let only = all.first().filter(|_| all.len() == 1)?;
    Some(format!(
        "{} only: with fewer the CPU time of a statement decides, with more the contention",
        counted(*only, "client")
    ))
}

/// The names of the systems that lack something.
fn systems_where(files: &ReviewedFiles, is_so: impl Fn(&ReviewedSystem) -> bool) -> Option<String> {
    let found = files.systems.iter().filter(|system| is_so(system));
    let names: Vec<&str> = found.map(|system| system.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn settings(files: &ReviewedFiles) -> Option<String> {
    let without = systems_where(files, |system| system.settings.is_none())?;
    Some(format!(
        "no settings of {without}: the output of `SHOW GLOBAL VARIABLES` or of `pg_settings` would show whether the \
         systems were equal"
    ))
}

/// The limits of the machine.
fn machine(files: &ReviewedFiles) -> Vec<String> {
    let mut all = Vec::new();
    for system in &files.systems {
        all.extend(system.vmstat.iter().flat_map(|vmstat| limits(&system.name, vmstat)));
    }
    let without = systems_where(files, |system| system.vmstat.is_empty());
    all.extend(without.map(|without| {
        format!("no vmstat of {without}: whether CPUs, disks or the client limited the rate is not shown")
    }));
    all
}

fn limits(system: &str, vmstat: &Vmstat) -> Vec<String> {
    // The first sample covers the time since boot.
    let samples = vmstat.samples.get(1..).unwrap_or_default();
    let mean = |value: &dyn Fn(&VmstatSample) -> Option<f64>| {
        let values: Vec<f64> = samples.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| assay_verdict::mean(&values))
    };
    let busy = mean(&|sample| Some(sample.us + sample.sy)).filter(|busy| *busy >= BUSY);
    let waiting = mean(&|sample| sample.wa).filter(|waiting| *waiting >= WAITING);
    let stolen = mean(&|sample| sample.st).filter(|stolen| *stolen >= STOLEN);
    let count = counted(samples.len() as u64, "sample");
    let sentence = |share: f64, what: &str| {
        format!("{system}: {share:.0}% of CPU time, the mean of {count}, {what}")
    };
    let busy = busy.map(|share| {
        sentence(
            share,
            "was in use, with that of the client if it ran there: the CPUs may have limited the rate",
        )
    });
    let waiting = waiting
        .map(|share| sentence(share, "waited for disks: the rate is that of the storage as well"));
    let stolen = stolen.map(|share| sentence(share, "went to other virtual machines"));
    [busy, waiting, stolen].into_iter().flatten().collect()
}
