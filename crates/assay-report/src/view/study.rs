//! A study and its judgement, with the facts about its systems that every section needs.

use std::collections::BTreeMap;

use assay_model::{CellId, StudyRecord, Verdict, counted};
use assay_verdict::{CellJudgement, Judgement, PlanFindings};

use assay_model::{exact_names, labels};

/// Maximum number of comparisons with the base for a report with all figures. Browsers would take long to show more,
/// and nobody would read them.
const RESULTS_MAX: usize = 800;

pub(crate) struct JudgedStudy<'a> {
    pub(crate) record: &'a StudyRecord,
    pub(crate) judgement: &'a Judgement,
    pub(crate) base: usize,
    /// Indices of the systems compared with the base. They include the twin only if there is no other system.
    pub(crate) compared: Vec<usize>,
    labels: Vec<String>,
    exact: Vec<String>,
    judged: BTreeMap<(CellId, usize), usize>,
    numbers: BTreeMap<CellId, usize>,
    pub(crate) plans: PlanFindings<'a>,
    /// Directions of the steps that reports name, by cell and later system.
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

    pub(crate) fn named_step(&self, cell: CellId, system: usize) -> Option<Verdict> {
        self.named_steps.get(&(cell, system)).copied()
    }

    /// Short name for tables and sentences.
    pub(crate) fn label(&self, system: usize) -> &str {
        self.labels.get(system).map_or("?", String::as_str)
    }

    /// Label with the exact version, for headings and the answer.
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

    pub(crate) fn is_twin(&self, system: usize) -> bool {
        self.record.systems.get(system).is_some_and(|system| system.is_twin)
    }

    /// Too many results: reports show the tests only as a matrix and charts.
    pub(crate) fn is_large(&self) -> bool {
        self.record.study.cells.len() * self.compared.len() > RESULTS_MAX
    }

    /// Published results have no verdicts unless runs were repeated.
    pub(crate) fn has_verdicts(&self) -> bool {
        !self.record.is_reported() || self.judgement.cells.iter().any(|cell| cell.blocks > 1)
    }

    /// Nothing was timed; only instructions were counted.
    pub(crate) fn counts_only(&self) -> bool {
        self.record.counts_only()
    }

    /// Whether there is more than one combination of clients, tables and rows.
    pub(crate) fn several_setups(&self) -> bool {
        self.record.study.setups.len() > 1
    }

    pub(crate) fn cell_name(&self, cell: CellId) -> String {
        let test = &cell.test.name;
        match (self.several_setups(), self.record.study.has_known_tables()) {
            (false, _) => test.clone(),
            (true, true) => format!("{test} at {}", cell.setup),
            (true, false) => format!("{test} at {}", counted(cell.setup.clients, "client")),
        }
    }

    /// From 1.
    pub(crate) fn number_of(&self, cell: CellId) -> usize {
        self.numbers.get(&cell).copied().unwrap_or(1)
    }
}
