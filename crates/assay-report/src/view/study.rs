//! A study and its judgement, with the facts about its systems that every section needs.

use std::collections::BTreeMap;

use assay_model::{CellId, StudyRecord, Verdict, counted};
use assay_verdict::{CellJudgement, Judgement, PlanFindings};

use crate::label::{exact_names, labels};

/// A report has the figures of each comparison with the base up to this many. Browsers would take long to show more,
/// and nobody would read them.
const RESULTS_MAX: usize = 800;

/// A study, its judgement, and the roles and labels of its systems.
pub(crate) struct JudgedStudy<'a> {
    pub(crate) record: &'a StudyRecord,
    pub(crate) judgement: &'a Judgement,
    /// Index of the base among the systems.
    pub(crate) base: usize,
    /// Indices of the systems that are compared with the base. The twin is among them only if there is no other system.
    pub(crate) compared: Vec<usize>,
    labels: Vec<String>,
    /// The labels with exact versions.
    exact: Vec<String>,
    /// Where each cell and system is among the judged ones.
    judged: BTreeMap<(CellId, usize), usize>,
    /// The number of each cell in the study, from 1.
    numbers: BTreeMap<CellId, usize>,
    /// What the audit found about plans.
    pub(crate) plans: PlanFindings<'a>,
    /// The directions of the steps that reports name, by cell and later system.
    named_steps: BTreeMap<(CellId, usize), Verdict>,
}

impl<'a> JudgedStudy<'a> {
    pub(crate) fn new(record: &'a StudyRecord, judgement: &'a Judgement) -> Self {
        let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
        let (twins, others): (Vec<usize>, Vec<usize>) = (0..record.systems.len())
            .filter(|&system| system != base)
            .partition(|&system| record.systems[system].is_twin);
        let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
        let exact = exact_names(&record.systems);
        let compared = if others.is_empty() { twins } else { others };
        let judged = judgement.cells.iter().enumerate();
        let cells = record.study.cells.iter().zip(1..);
        let named = judgement.steps.iter().filter(|step| step.is_change);
        Self {
            record,
            judgement,
            base,
            compared,
            labels: labels(&names),
            exact: labels(&exact.iter().map(String::as_str).collect::<Vec<_>>()),
            judged: judged.map(|(at, cell)| ((cell.cell, cell.system), at)).collect(),
            numbers: cells.map(|(planned, number)| (planned.id, number)).collect(),
            plans: PlanFindings::new(&record.audit),
            named_steps: named.map(|step| ((step.cell, step.to), step.verdict)).collect(),
        }
    }

    pub(crate) fn cell(&self, cell: CellId, system: usize) -> Option<&'a CellJudgement> {
        self.judgement.cells.get(*self.judged.get(&(cell, system))?)
    }

    /// The direction of the step to a system from the version before it, if reports name that step.
    pub(crate) fn named_step(&self, cell: CellId, system: usize) -> Option<Verdict> {
        self.named_steps.get(&(cell, system)).copied()
    }

    /// The short name of a system, for tables and sentences.
    pub(crate) fn label(&self, system: usize) -> &str {
        self.labels.get(system).map_or("?", String::as_str)
    }

    /// The label of a system with its exact version, for headings and the answer.
    pub(crate) fn titled(&self, system: usize) -> String {
        let label = self.exact.get(system).map_or("?", String::as_str);
        let Some(system) = self.record.systems.get(system) else { return label.to_owned() };
        let (product, version) = (system.spec.product.word(), system.artifact.version());
        match (label.contains(version), label.starts_with(product)) {
            (true, _) => label.to_owned(),
            (false, true) => format!("{label} ({version})"),
            (false, false) => format!("{label} ({product} {version})"),
        }
    }

    /// Whether a system is the base's twin.
    pub(crate) fn is_twin(&self, system: usize) -> bool {
        self.record.systems.get(system).is_some_and(|system| system.is_twin)
    }

    /// Whether it has so many results that reports show its tests only as a matrix and charts.
    pub(crate) fn is_large(&self) -> bool {
        self.record.study.cells.len() * self.compared.len() > RESULTS_MAX
    }

    /// Whether it may have verdicts: published results have none unless runs were repeated.
    pub(crate) fn has_verdicts(&self) -> bool {
        !self.record.is_reported() || self.judgement.cells.iter().any(|cell| cell.blocks > 1)
    }

    /// Whether nothing was timed, and only instructions were counted.
    pub(crate) fn counts_only(&self) -> bool {
        self.record.counts_only()
    }

    /// Whether the study has more than one combination of clients, tables and rows.
    pub(crate) fn several_setups(&self) -> bool {
        self.record.study.setups.len() > 1
    }

    /// The name of a cell: its test, and its setup where there are several.
    pub(crate) fn cell_name(&self, cell: CellId) -> String {
        let test = &cell.test.name;
        match (self.several_setups(), self.record.study.has_known_tables()) {
            (false, _) => test.clone(),
            (true, true) => format!("{test} at {}", cell.setup),
            (true, false) => format!("{test} at {}", counted(cell.setup.clients, "client")),
        }
    }

    /// The number of a cell in the study, from 1.
    pub(crate) fn number_of(&self, cell: CellId) -> usize {
        self.numbers.get(&cell).copied().unwrap_or(1)
    }
}
