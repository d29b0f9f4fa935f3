//! Steps, lines of versions and crossovers for scripts.

use assay_model::{CellId, StudyRecord};
use assay_verdict::{Crossover, LineSummary, MainStep, Step, WeightedTotal};
use serde::Serialize;

use super::number::{Interval, Number};
use super::row::{system_name, tables_and_rows};

#[derive(Serialize)]
pub(crate) struct CellKey<'a> {
    test: &'a str,
    clients: u32,
    tables: Option<u32>,
    rows: Option<u32>,
}

impl CellKey<'_> {
    pub(crate) fn new(record: &StudyRecord, cell: CellId) -> Self {
        let (tables, rows) = tables_and_rows(record, cell.setup);
        Self { test: &cell.test.definition().name, clients: cell.setup.clients, tables, rows }
    }
}

/// A version against the one before it, in one cell.
#[derive(Serialize)]
pub(crate) struct StepRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    from: &'a str,
    to: &'a str,
    /// QPS of `to` divided by that of `from`.
    ratio: Option<Interval>,
    verdict: &'static str,
    beyond_threshold: Number,
    is_change: bool,
}

impl<'a> StepRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, step: &Step) -> Self {
        Self {
            cell: CellKey::new(record, step.cell),
            from: system_name(record, step.from),
            to: system_name(record, step.to),
            ratio: step.ratio.map(Into::into),
            verdict: step.verdict.word(),
            beyond_threshold: Number(step.beyond_threshold),
            is_change: step.is_change,
        }
    }
}

/// Three or more versions in one cell, the last against the first.
#[derive(Serialize)]
pub(crate) struct LineRow<'a> {
    #[serde(flatten)]
    cell: CellKey<'a>,
    systems: Vec<&'a str>,
    ratio: Option<Interval>,
    verdict: &'static str,
    main_step: Option<MainStepRow<'a>>,
}

/// The step that changed most in the direction of the whole change.
#[derive(Serialize)]
struct MainStepRow<'a> {
    from: &'a str,
    to: &'a str,
    share: Number,
    confidence: Number,
}

impl<'a> LineRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, line: &LineSummary) -> Self {
        let main_step = |main: MainStep| MainStepRow {
            from: system_name(record, main.from),
            to: system_name(record, main.to),
            share: main.share.into(),
            confidence: main.confidence.into(),
        };
        Self {
            cell: CellKey::new(record, line.cell),
            systems: line.systems.iter().map(|&system| system_name(record, system)).collect(),
            ratio: line.ratio.map(Into::into),
            verdict: line.verdict.word(),
            main_step: line.main.map(main_step),
        }
    }
}

/// The client counts between which a system changes from faster to slower, or back.
#[derive(Serialize)]
pub(crate) struct CrossoverRow<'a> {
    test: &'a str,
    tables: Option<u32>,
    rows: Option<u32>,
    system: &'a str,
    /// The measured count below the crossover, and the verdict there. Above, the verdict is the opposite.
    clients_below: u32,
    verdict_below: &'static str,
    clients_above: u32,
    /// The count at which the system is as fast as the base.
    clients: Interval,
}

impl<'a> CrossoverRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, crossover: &Crossover) -> Self {
        let Crossover { few, many, .. } = crossover;
        let (tables, rows) = tables_and_rows(record, few.setup);
        Self {
            test: &few.test.definition().name,
            tables,
            rows,
            system: system_name(record, crossover.system),
            clients_below: few.setup.clients,
            verdict_below: crossover.verdict.word(),
            clients_above: many.setup.clients,
            clients: crossover.clients.into(),
        }
    }
}

/// Costs of the events of a mix in a system, from the tests that measure each kind alone.
#[derive(Serialize)]
pub(crate) struct TotalRow<'a> {
    #[serde(flatten)]
    mix: CellKey<'a>,
    system: &'a str,
    /// Time in the system, divided by the time in the base.
    time: Interval,
    measured: usize,
    kinds: usize,
}

impl<'a> TotalRow<'a> {
    pub(crate) fn new(record: &'a StudyRecord, total: &WeightedTotal) -> Self {
        let WeightedTotal { mix, system, time, measured, kinds } = *total;
        let system = system_name(record, system);
        Self { mix: CellKey::new(record, mix), system, time: time.into(), measured, kinds }
    }
}
