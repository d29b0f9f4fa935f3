//! What was concluded: cells, groups of tests, and steps between versions.

use assay_model::{CellId, CountVerdict, Estimate, Verdict};
use assay_verdict::{CellJudgement, Figure, LATENCIES, PER_OP};

use crate::exported::Exported;
use crate::studies::system;
use crate::table::Kind::{Boolean, Integer, Real, Text};
use crate::table::{Column, Table, Value, column};

/// The test and setup of a cell.
pub(crate) fn key(cell: CellId) -> [Value; 4] {
    let setup = cell.setup;
    let test = cell.test.definition().name.as_str();
    [test.into(), setup.clients.into(), setup.tables.into(), setup.rows.into()]
}

pub(crate) fn interval(estimate: Option<Estimate>) -> [Value; 3] {
    [
        estimate.map(|it| it.value).into(),
        estimate.map(|it| it.low).into(),
        estimate.map(|it| it.high).into(),
    ]
}

const CELLS: &[Column] = &[
    column("study", Text, "name of the study"),
    column("test", Text, "name of the test"),
    column("clients", Integer, "number of clients"),
    column("tables", Integer, "number of tables"),
    column("rows", Integer, "rows of each table"),
    column("group", Text, "group of the test: point, range-1, range-2, writes"),
    column("system", Text, "name of the system"),
    column(
        "verdict",
        Text,
        "faster, slower, same, uneven, undecided, failed; null for the base, unless it failed",
    ),
    column("qps", Real, "operations per second"),
    column("qps_low", Real, "lower end of its 95% interval; null if unknown"),
    column("qps_high", Real, "upper end"),
    column("rqps", Real, "QPS divided by that of the base; null for the base"),
    column(
        "rqps_low",
        Real,
        "lower end of its 95% interval; null if unknown; alone, without `rqps`, a bound",
    ),
    column("rqps_high", Real, "upper end"),
    column("total_rqps", Real, "relative QPS of all operations by all the time, stalls included"),
    column("total_rqps_low", Real, "lower end of its 95% interval"),
    column("total_rqps_high", Real, "upper end"),
    column("cpu_verdict", Text, "verdict on `cpu_ratio`; slower means more CPU time"),
    column("cpu_ratio", Real, "server CPU time per operation divided by that of the base"),
    column("cpu_ratio_low", Real, "lower end of its 95% interval"),
    column("cpu_ratio_high", Real, "upper end"),
    column("beyond_threshold", Real, "confidence that the change exceeds the threshold, 0 to 1"),
    column("detectable", Real, "smallest relative change that 4 of 5 such studies would call"),
    column("tps", Real, "events per second"),
    column(
        "ops",
        Real,
        "operations in the slices that the verdict uses; null if only a rate was published",
    ),
    column("slices", Integer, "slices that the verdict uses"),
    column("blocks", Integer, "blocks with such slices; null for published results"),
    column("troubled", Integer, "slices in machine trouble; null for published results"),
    column(
        "disturbed",
        Boolean,
        "whether the verdict uses slices in machine trouble, too; null for published results",
    ),
    column("errors", Integer, "retried errors in all slices; null if they were not counted"),
    column("failure", Text, "why a slice was cut off; null if none was"),
];

/// What `--count` adds. These columns come last.
const COUNTS: [Column; 16] = [
    column(
        "instructions",
        Real,
        "instructions per operation outside the kernel; null if not counted",
    ),
    column("instructions_low", Real, "lower end of its 95% interval"),
    column("instructions_high", Real, "upper end"),
    column("instructions_ratio", Real, "`instructions` divided by that of the base"),
    column("instructions_ratio_low", Real, "lower end of its 95% interval"),
    column("instructions_ratio_high", Real, "upper end"),
    column(
        "instructions_verdict",
        Text,
        "more, fewer, same, undecided; null for the base and if not counted",
    ),
    column("background_instructions", Real, "those of the server's other threads, per operation"),
    column(
        "kernel_instructions",
        Real,
        "those of the kernel for the serving thread, per operation; null if not counted",
    ),
    column("instructions_total", Real, "`instructions` and `background_instructions` together"),
    column("instructions_total_low", Real, "lower end of its 95% interval"),
    column("instructions_total_high", Real, "upper end"),
    column("instructions_total_ratio", Real, "`instructions_total` divided by that of the base"),
    column("instructions_total_ratio_low", Real, "lower end of its 95% interval"),
    column("instructions_total_ratio_high", Real, "upper end"),
    column(
        "instructions_total_verdict",
        Text,
        "more, fewer, same, undecided; null for the base and if not counted",
    ),
];

/// The figures, whose columns come before those of counts.
fn figures() -> impl Iterator<Item = &'static Figure> {
    LATENCIES.iter().chain(PER_OP).filter(|figure| figure.is_in_files())
}

pub(crate) fn cells(studies: &[Exported]) -> Table {
    let of_figure =
        |figure: &Figure| Column { about: figure.meaning().into(), ..column(figure.key, Real, "") };
    let columns = CELLS.iter().cloned().chain(figures().map(of_figure)).chain(COUNTS).collect();
    let rows = studies.iter().flat_map(|it| it.judgement.cells.iter().map(|cell| row(it, cell)));
    let about = "One row for each cell and system: the verdict and the figures per operation.";
    Table { name: "cells", about, columns, rows: rows.collect() }
}

/// The verdict; none on the base, which is compared with nothing, unless it failed.
fn verdict(it: &Exported, cell: &CellJudgement) -> Option<&'static str> {
    let is_base = it.record.systems.get(cell.system).is_some_and(|system| system.is_base);
    (!is_base || cell.verdict == Verdict::Failed).then(|| cell.verdict.word())
}

fn row(it: &Exported, cell: &CellJudgement) -> Vec<Value> {
    let mut row = vec![it.record.study.id.as_str().into()];
    row.extend(key(cell.cell));
    row.extend([
        cell.group.word.as_str().into(),
        system(&it.record, cell.system),
        verdict(it, cell).into(),
    ]);
    row.extend([cell.qps, cell.rqps, cell.total].into_iter().flat_map(interval));
    row.push(cell.cpu_verdict.map(Verdict::word).into());
    row.extend(interval(cell.cpu_ratio));
    // Only assay counts these.
    let (is_measured, is_counted) = (!it.record.is_reported(), cell.is_counted(&it.record));
    row.extend([
        cell.beyond_threshold.into(),
        cell.detectable.into(),
        cell.tps.into(),
        is_counted.then_some(cell.ops).into(),
        cell.slices.into(),
        is_measured.then_some(cell.blocks).into(),
        is_measured.then_some(cell.troubled).into(),
        is_measured.then_some(cell.is_disturbed).into(),
        is_counted.then_some(cell.errors).into(),
        cell.failure.as_deref().into(),
    ]);
    // What follows from the counters of published results means nothing.
    let is_known = |figure: &Figure| is_measured || !figure.is_per_op();
    row.extend(figures().map(|it| Value::from(it.value(cell).filter(|_| is_known(it)))));
    let count = cell.count.as_ref();
    row.extend(interval(count.map(|it| it.instructions)));
    row.extend(interval(count.and_then(|it| it.ratio)));
    row.extend([
        count.and_then(|it| it.verdict).map(CountVerdict::word).into(),
        count.and_then(|it| it.background).into(),
        count.and_then(|it| it.kernel).into(),
    ]);
    let total = count.and_then(|it| it.total);
    row.extend(interval(total.map(|it| it.instructions)));
    row.extend(interval(total.and_then(|it| it.ratio)));
    row.push(total.and_then(|it| it.verdict).map(CountVerdict::word).into());
    row
}

const GROUPS: &[Column] = &[
    column("study", Text, "name of the study"),
    column("group", Text, "group of tests"),
    column("clients", Integer, "number of clients"),
    column("tables", Integer, "number of tables"),
    column("rows", Integer, "rows of each table"),
    column("system", Text, "name of the system"),
    column("tests", Integer, "tests that have a relative QPS"),
    column("rqps_min", Real, "smallest relative QPS"),
    column("rqps_max", Real, "largest relative QPS"),
    column("rqps_avg", Real, "mean of the relative QPS"),
    column("rqps_median", Real, "median of the relative QPS"),
    column("rqps_median_low", Real, "lower end of its 95% interval; null if unknown"),
    column("rqps_median_high", Real, "upper end"),
    column("rqps_stddev", Real, "sample standard deviation; null for a single test"),
];

pub(crate) fn groups(studies: &[Exported]) -> Table {
    let rows = studies.iter().flat_map(|it| {
        it.judgement.groups.iter().map(|group| {
            let setup = group.setup;
            vec![
                it.record.study.id.as_str().into(),
                group.group.word.as_str().into(),
                setup.clients.into(),
                setup.tables.into(),
                setup.rows.into(),
                system(&it.record, group.system),
                group.n.into(),
                group.min.into(),
                group.max.into(),
                group.avg.into(),
                group.median.into(),
                group.median_interval.map(|it| it.low).into(),
                group.median_interval.map(|it| it.high).into(),
                group.stddev.into(),
            ]
        })
    });
    let about = "One row for each setup, group and system other than the base.";
    Table { name: "groups", about, columns: GROUPS.into(), rows: rows.collect() }
}

const STEPS: &[Column] = &[
    column("study", Text, "name of the study"),
    column("test", Text, "name of the test"),
    column("clients", Integer, "number of clients"),
    column("tables", Integer, "number of tables"),
    column("rows", Integer, "rows of each table"),
    column("from_system", Text, "the earlier version"),
    column("to_system", Text, "the later version"),
    column("ratio", Real, "QPS of the later version divided by that of the earlier one"),
    column("ratio_low", Real, "lower end of its 95% interval; null if unknown"),
    column("ratio_high", Real, "upper end"),
    column("verdict", Text, "verdict on `ratio`"),
    column("beyond_threshold", Real, "confidence that the change exceeds the threshold, 0 to 1"),
    column("is_change", Boolean, "whether reports name it as a place of change"),
];

pub(crate) fn steps(studies: &[Exported]) -> Table {
    let rows = studies.iter().flat_map(|it| {
        it.judgement.steps.iter().map(|step| {
            let mut row = vec![it.record.study.id.as_str().into()];
            row.extend(key(step.cell));
            row.extend([system(&it.record, step.from), system(&it.record, step.to)]);
            row.extend(interval(step.ratio));
            row.extend([
                step.verdict.word().into(),
                step.beyond_threshold.into(),
                step.is_change.into(),
            ]);
            row
        })
    });
    let about = "One row for each cell and step from one version to the next, in studies of several versions.";
    Table { name: "steps", about, columns: STEPS.into(), rows: rows.collect() }
}
