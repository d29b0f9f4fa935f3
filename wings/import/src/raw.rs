//! Directories of raw runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use assay_import::{
    Gathered, IbenchResult, RawRun, ibench_run, iostat, run_metrics, step_seconds,
    study_of_ibench_runs, study_of_raw_runs, sysbench_run, vmstat, without_size,
};
use assay_model::Setup;

use super::common::{about, name, open, tell};
use super::data_sets::{CLIENT, files};
use assay_run::advice::Advised;

pub(super) fn of_sysbench(
    directories: &[PathBuf],
    origin: String,
    setup: Setup,
) -> Result<Gathered> {
    let mut runs = Vec::new();
    for directory in directories {
        let files = files(directory)?;
        for (file, path) in files.iter().filter(|(_, path)| path.is_file()) {
            // The log of the pause after the writes, among others, has a similar name.
            let Some(run) = file.strip_prefix("sb.o.") else { continue };
            let read = || raw_run(path, &files, run, name(directory));
            let raw = read().with_context(|| format!("cannot import `{}`", path.display()))?;
            let is_log = raw.run.reports == 0 && !run.contains(".dop");
            runs.extend(Some(raw).filter(|_| !is_log));
        }
    }
    let about = about(origin, setup);
    study_of_raw_runs(&runs, &about).map_err(|_| {
        let hint = "an output of sysbench is called `sb.o.TEST.range100.pk1.dop1` and ends with its report";
        Advised::new("there is no complete output of sysbench", hint).into()
    })
}

fn raw_run(
    output: &Path,
    files: &BTreeMap<String, PathBuf>,
    run: &str,
    server: String,
) -> Result<RawRun> {
    let (found, faults) = sysbench_run(&output.display().to_string(), open(output)?)?;
    tell(&faults);
    let beside = |word: &str| files.get(&format!("sb.{word}.{run}")).filter(|it| it.is_file());
    let metrics = beside("met").map(|path| {
        let (found, faults) = run_metrics(&path.display().to_string(), open(path)?)?;
        tell(&faults);
        anyhow::Ok(found)
    });
    let metrics = metrics.transpose()?.unwrap_or_default();
    // The metrics were made from these.
    let samples = |word: &str| beside(word).filter(|_| metrics.is_empty());
    let vmstat = samples("vm").map(|path| {
        let (found, faults) = vmstat(&path.display().to_string(), open(path)?)?;
        tell(&faults);
        anyhow::Ok(found)
    });
    let iostat = samples("io").map(|path| {
        let (found, faults) = iostat(&path.display().to_string(), open(path)?)?;
        tell(&faults);
        anyhow::Ok(found)
    });
    let (vmstat, iostat) = (vmstat.transpose()?, iostat.transpose()?);
    Ok(RawRun { server, name: run.to_owned(), run: found, metrics, vmstat, iostat })
}

pub(super) fn of_steps(directories: &[PathBuf], origin: String, setup: Setup) -> Result<Gathered> {
    let mut results = Vec::new();
    let plain: BTreeSet<String> =
        directories.iter().map(|it| without_size(&name(it)).to_owned()).collect();
    for directory in directories {
        let full = name(directory);
        // The size is part of the name if it distinguishes servers.
        let server =
            if plain.len() < directories.len() { full.as_str() } else { without_size(&full) };
        let mut steps = Vec::new();
        for (step, path) in files(directory)? {
            if path.is_dir() && !path.is_symlink() {
                let read = || result(&path, step, server.to_owned());
                let found =
                    read().with_context(|| format!("cannot import `{}`", path.display()))?;
                steps.extend(found);
            }
        }
        steps.sort_by_key(|result: &IbenchResult| order(&result.step));
        results.extend(steps);
    }
    let about = about(origin, setup);
    study_of_ibench_runs(&results, &about).map_err(|_| {
        let hint = "the steps are the names of directories, such as `l.i0` and `qr100.L1`";
        Advised::new("there is no output of a step of the Insert Benchmark", hint).into()
    })
}

/// Loads first, then query steps by number: `qr100.L1`, `qp100.L2`.
fn order(step: &str) -> (bool, u32, String) {
    let number = step.rsplit_once(".L").and_then(|(_, number)| number.parse().ok());
    let place = ["l.i0", "l.x", "l.i1", "l.i2"].iter().position(|it| *it == step);
    let is_query = place.is_none();
    (is_query, number.or(place.map(|it| it as u32)).unwrap_or(u32::MAX), step.to_owned())
}

/// Result of the clients of a step; `None` without their outputs.
fn result(directory: &Path, step: String, server: String) -> Result<Option<IbenchResult>> {
    let mut clients = Vec::new();
    let mut seconds = None;
    for (file, path) in files(directory)? {
        if file.starts_with(CLIENT) {
            let (run, faults) = ibench_run(&path.display().to_string(), open(&path)?)?;
            tell(&faults);
            clients.push(run);
        } else if file.starts_with("o.res.dop") {
            seconds = step_seconds(open(&path)?)?;
        }
    }
    Ok((!clients.is_empty()).then_some(IbenchResult { step, server, seconds, clients }))
}
