//! A study and its judgement, with the facts about its systems that every section needs.

use assay_model::{CellId, StudyRecord};
use assay_verdict::Judgement;

use crate::label::labels;

/// A study, its judgement, and the roles and labels of its systems.
pub(crate) struct JudgedStudy<'a> {
    pub(crate) record: &'a StudyRecord,
    pub(crate) judgement: &'a Judgement,
    /// Index of the base among the systems.
    pub(crate) base: usize,
    /// Indices of the systems that are compared with the base. The twin is among them only if there is no other system.
    pub(crate) compared: Vec<usize>,
    labels: Vec<String>,
}

impl<'a> JudgedStudy<'a> {
    pub(crate) fn new(record: &'a StudyRecord, judgement: &'a Judgement) -> Self {
        let base = record.systems.iter().position(|system| system.is_base).unwrap_or(0);
        let (twins, others): (Vec<usize>, Vec<usize>) = (0..record.systems.len())
            .filter(|&system| system != base)
            .partition(|&system| record.systems[system].is_twin);
        let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
        let compared = if others.is_empty() { twins } else { others };
        Self { record, judgement, base, compared, labels: labels(&names) }
    }

    /// The short name of a system, for tables and sentences.
    pub(crate) fn label(&self, system: usize) -> &str {
        self.labels.get(system).map_or("?", String::as_str)
    }

    /// Whether a system is the base's twin.
    pub(crate) fn is_twin(&self, system: usize) -> bool {
        self.record.systems.get(system).is_some_and(|system| system.is_twin)
    }

    /// Whether the study has more than one combination of clients, tables and rows.
    pub(crate) fn several_setups(&self) -> bool {
        self.record.study.setups.len() > 1
    }

    /// The name of a cell: its test, and its setup where there are several.
    pub(crate) fn cell_name(&self, cell: CellId) -> String {
        let test = &cell.test.name;
        if self.several_setups() { format!("{test} at {}", cell.setup) } else { test.clone() }
    }

    /// The number of a cell in the study, from 1.
    pub(crate) fn number_of(&self, cell: CellId) -> usize {
        self.record.study.cells.iter().position(|planned| planned.id == cell).unwrap_or(0) + 1
    }
}
