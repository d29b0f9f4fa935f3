//! A study and its judgement, with the facts about its systems that every section needs.

use std::collections::BTreeMap;

use assay_model::{
    CellId, Estimate, Group, Setup, StudyRecord, Verdict, counted, exact_names, labels,
};
use assay_verdict::{CellJudgement, JudgedFigure, Judgement, PlanFindings, threshold};

use crate::ratio::Ratio;
use crate::scale::RatioScale;
use crate::words::{Separated as _, Symbol as _, sentence};

/// Maximum number of comparisons with the base for a report with all figures. Browsers would take long to show more,
/// and nobody would read them.
const RESULTS_MAX: usize = 800;

const SETUP_COLUMNS: &str = "clients × tables × rows";

pub struct JudgedStudy<'a> {
    pub record: &'a StudyRecord,
    pub judgement: &'a Judgement,
    pub base: usize,
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

/// Rows of the tests of a group under a setup.
pub(crate) struct TestGroup<T> {
    pub(crate) setup: Setup,
    pub(crate) group: &'static Group,
    pub(crate) rows: Vec<T>,
}

/// The results of a test under a setup.
pub(crate) struct TestRow<'a> {
    pub(crate) base: &'a CellJudgement,
    /// One for each compared system, `None` without a result, so that columns keep their places.
    pub(crate) others: Vec<Option<&'a CellJudgement>>,
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
        Some(&self.judgement.cells[*self.judged.get(&(cell, system))?])
    }

    /// Relative to the base, for which it is 1; `None` if the cell failed or was not measured.
    pub(crate) fn ratio(&self, cell: CellId, system: usize) -> Option<Estimate> {
        let judged = self.cell(cell, system)?;
        match judged.verdict {
            _ if system == self.base => judged.qps.map(|_| Estimate::without_interval(1.0)),
            Verdict::Failed => None,
            _ => judged.rqps,
        }
    }

    /// Relative QPS of a result, of which a failure has none.
    pub(crate) fn ratio_unless_failed(&self, cell: &CellJudgement) -> Ratio {
        Ratio(cell.rqps.filter(|_| cell.verdict != Verdict::Failed))
    }

    /// Rows of tests, grouped as published; in a group, in the order in which the tests run. `row` gets the result of
    /// the base.
    pub(crate) fn grouped<T>(
        &self,
        mut row: impl FnMut(&'a CellJudgement) -> Option<T>,
    ) -> Vec<TestGroup<T>> {
        let of_base = self.judgement.cells.iter().filter(|cell| cell.system == self.base);
        let mut cells: Vec<&CellJudgement> = of_base.collect();
        let key = |cell: &CellJudgement| (cell.cell.setup, cell.group);
        // A stable sort keeps the order.
        cells.sort_by_key(|cell| key(cell));
        let groups = cells.chunk_by(|one, next| key(one) == key(next)).map(|cells| {
            let (setup, group) = key(cells[0]);
            TestGroup { setup, group, rows: cells.iter().filter_map(|cell| row(cell)).collect() }
        });
        groups.filter(|group| !group.rows.is_empty()).collect()
    }

    pub(crate) fn tests(&self) -> Vec<TestGroup<TestRow<'a>>> {
        self.grouped(|base| {
            let systems = self.compared.iter();
            let others = systems.map(|&system| self.cell(base.cell, system)).collect();
            Some(TestRow { base, others })
        })
    }

    /// Whether its verdict means something; that of a published single run does not.
    pub(crate) fn says(&self, verdict: Verdict) -> bool {
        verdict != Verdict::Undecided || self.has_verdicts()
    }

    /// Empty if the verdict means nothing, like the word.
    pub(crate) fn symbol(&self, verdict: Verdict) -> &'static str {
        if self.says(verdict) { verdict.symbol() } else { "" }
    }

    pub(crate) fn word(&self, verdict: Verdict) -> &'static str {
        if self.says(verdict) { verdict.word() } else { "" }
    }

    /// ` of mariadb@11.8`, if several systems are compared with the base.
    pub(crate) fn of_system(&self, system: usize) -> String {
        match self.compared.len() {
            1 => String::new(),
            _ => format!(" of {}", self.label(system)),
        }
    }

    pub(crate) fn named_step(&self, cell: CellId, system: usize) -> Option<Verdict> {
        self.named_steps.get(&(cell, system)).copied()
    }

    /// The results of the systems of a row that are compared with the base, without the twin.
    pub(crate) fn without_twin(
        &self,
        row: &TestRow<'a>,
    ) -> impl Iterator<Item = &'a CellJudgement> {
        row.others.iter().flatten().copied().filter(|cell| !self.is_twin(cell.system))
    }

    /// The systems compared with the base, without the twin.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> {
        self.compared.iter().copied().filter(|system| !self.is_twin(*system))
    }

    /// The results of a cell: those of the base, then those of the systems compared with it.
    pub(crate) fn measured(&self, cell: CellId) -> impl Iterator<Item = &'a CellJudgement> {
        let systems = std::iter::once(self.base).chain(self.compared.iter().copied());
        systems.filter_map(move |system| self.cell(cell, system))
    }

    pub(crate) fn base_label(&self) -> &str {
        self.label(self.base)
    }

    /// Short name for tables and sentences.
    pub fn label(&self, system: usize) -> &str {
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

    /// A lower-case line as a sentence. A name that a user gave to a system keeps its case.
    pub(crate) fn sentence(&self, line: &str) -> String {
        let starts = |name: &String| {
            let rest = line.strip_prefix(name.as_str()).filter(|_| !name.is_empty());
            rest.is_some_and(|rest| rest.starts_with([' ', ':', ',']))
        };
        match self.labels.iter().any(starts) {
            true => format!("{line}."),
            false => sentence(line),
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

    /// Whose CPU time the CPU ratio is about.
    pub(crate) fn cpu_owner(&self) -> &'static str {
        if self.record.is_reported() { "machine" } else { "server" }
    }

    /// The figure that decides the study.
    pub(crate) fn figure(&self) -> JudgedFigure {
        self.record.study.judge.into()
    }

    /// Nothing was timed; only instructions were counted.
    pub(crate) fn counts_only(&self) -> bool {
        self.record.counts_only()
    }

    /// Whether there is more than one combination of clients, tables and rows.
    pub(crate) fn several_setups(&self) -> bool {
        self.record.study.setups.len() > 1
    }

    pub(crate) fn several_systems(&self) -> bool {
        self.compared.len() > 1
    }

    fn has_known_tables(&self) -> bool {
        self.record.study.has_known_tables()
    }

    /// With separated thousands; only the clients if the tables are unknown.
    pub(crate) fn setup(&self, setup: Setup) -> String {
        if self.has_known_tables() { setup.separated() } else { counted(setup.clients, "client") }
    }

    /// `None` if the study has a single setup.
    pub(crate) fn setup_if_several(&self, setup: Setup) -> Option<String> {
        self.several_setups().then(|| self.setup(setup))
    }

    /// For a heading; empty if the study has a single setup.
    pub(crate) fn of_setup(&self, setup: Setup) -> String {
        match (self.several_setups(), self.has_known_tables()) {
            (false, _) => String::new(),
            (true, true) => format!(", {} ({SETUP_COLUMNS})", setup.separated()),
            (true, false) => format!(", {}", self.setup(setup)),
        }
    }

    pub(crate) fn plain_setup(&self, setup: Setup) -> String {
        if self.has_known_tables() { setup.to_string() } else { self.setup(setup) }
    }

    pub(crate) fn setup_column(&self) -> &'static str {
        if self.has_known_tables() { SETUP_COLUMNS } else { "clients" }
    }

    /// The test, with its setup if there are several.
    pub fn cell_name(&self, cell: CellId) -> String {
        let test = &cell.test.name;
        match self.several_setups() {
            true => format!("{test} at {}", self.plain_setup(cell.setup)),
            false => test.clone(),
        }
    }

    /// Smallest change of practical interest, as a fraction.
    pub(crate) fn threshold(&self) -> f64 {
        threshold(&self.record.study)
    }

    /// The scale of all relative QPS of the study.
    pub(crate) fn scale(&self) -> RatioScale {
        let ratios = self.judgement.cells.iter().filter_map(|cell| cell.rqps);
        RatioScale::fitting(&ratios.collect::<Vec<_>>(), self.threshold())
    }

    /// From 1.
    pub(crate) fn number_of(&self, cell: CellId) -> usize {
        self.numbers[&cell]
    }
}
