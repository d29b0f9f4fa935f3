//! The sections of a report: every sentence, table and figure, each decided once for all formats.
//!
//! Most sections are blocks made from a [`study::JudgedStudy`]. [`Report`] has what charts and several sections share.

pub(crate) mod account;
pub(crate) mod again;
pub(crate) mod answer;
pub(crate) mod answers;
pub(crate) mod causes;
pub(crate) mod caveats;
pub(crate) mod conditions;
mod counted;
pub(crate) mod counts;
pub(crate) mod drawing;
pub(crate) mod figure;
pub(crate) mod findings;
pub(crate) mod gate;
pub(crate) mod groups;
pub(crate) mod insert_bench;
pub(crate) mod matrix;
pub(crate) mod measured;
pub(crate) mod metrics;
pub(crate) mod profile;
pub(crate) mod ranking;
pub(crate) mod reasons;
pub(crate) mod responses;
pub(crate) mod shaded;
pub(crate) mod startup;
pub(crate) mod statements;
mod step_metrics;
pub(crate) mod steps;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod to_do;
pub(crate) mod tpcc;
mod trouble;
pub(crate) mod undecided;
pub(crate) mod versions;
mod work;

use std::collections::BTreeMap;

use assay_model::{Estimate, Setup, StudyRecord, counted};
use assay_verdict::{Judgement, threshold};

use answer::SystemAnswer;
use causes::ExplainedCause;
use caveats::Caveats;
use counts::Counts;
use groups::GroupRow;
use insert_bench::InsertBenchTables;
use matrix::Matrix;
use measured::MeasuredTests;
use steps::{StepTable, TestChange};
use study::JudgedStudy;
use sweep::Sweep;
use versions::VersionLine;

use crate::section::{self, ShownSection};
use crate::words::Separated as _;

pub(crate) struct Report<'a> {
    pub(crate) study: &'a JudgedStudy<'a>,
    pub(crate) base: &'a str,
    /// Titles of systems, which have exact versions, by label.
    titles: BTreeMap<&'a str, String>,
    /// One for each system but the base and its twin.
    pub(crate) answers: Vec<SystemAnswer<'a>>,
    pub(crate) caveats: Caveats,
    /// Cells that failed or have an explanation, the most important first.
    pub(crate) causes: Vec<ExplainedCause<'a>>,
    pub(crate) groups: Vec<GroupRow<'a>>,
    /// `None` for other studies.
    pub(crate) insert_bench: Option<InsertBenchTables<'a>>,
    /// Tests by client count; `None` for a single count.
    pub(crate) sweep: Option<Sweep<'a>>,
    pub(crate) counts: Option<Counts>,
    /// Of the work after the study.
    pub(crate) sections: Vec<ShownSection>,
    pub(crate) tests: MeasuredTests<'a>,
    pub(crate) steps: Vec<StepTable<'a>>,
    pub(crate) versions: Vec<VersionLine<'a>>,
    pub(crate) matrix: Matrix<'a>,
    /// Every relative QPS of the study, for a scale that all charts share.
    pub(crate) ratios: Vec<Estimate>,
    /// Smallest change of practical interest, as a fraction.
    pub(crate) threshold: f64,
    /// Nothing was timed; only instructions were counted.
    pub(crate) counts_only: bool,
    /// Too many results: reports show the tests only as a matrix and charts.
    pub(crate) is_large: bool,
    pub(crate) several_setups: bool,
}

const SETUP_COLUMNS: &str = "clients × tables × rows";

impl<'a> Report<'a> {
    /// With separated thousands; only the clients if the tables are unknown.
    pub(crate) fn setup(&self, setup: Setup) -> String {
        if self.has_known_tables() { setup.separated() } else { counted(setup.clients, "client") }
    }

    /// For a heading; empty if the study has a single setup.
    pub(crate) fn of_setup(&self, setup: Setup) -> String {
        match (self.several_setups, self.has_known_tables()) {
            (false, _) => String::new(),
            (true, true) => format!(", {} ({SETUP_COLUMNS})", setup.separated()),
            (true, false) => format!(", {}", self.setup(setup)),
        }
    }

    fn has_known_tables(&self) -> bool {
        self.study.record.study.has_known_tables()
    }

    pub(crate) fn id(&self) -> &'a str {
        &self.study.record.study.id
    }

    pub(crate) fn titled<'l>(&'l self, label: &'l str) -> &'l str {
        self.titles.get(label).map_or(label, String::as_str)
    }

    pub(crate) fn plain_setup(&self, setup: Setup) -> String {
        if self.has_known_tables() { setup.to_string() } else { self.setup(setup) }
    }

    pub(crate) fn setup_column(&self) -> &'static str {
        if self.has_known_tables() { SETUP_COLUMNS } else { "clients" }
    }

    fn new(study: &'a JudgedStudy<'a>) -> Self {
        Self {
            study,
            base: study.label(study.base),
            titles: (0..study.record.systems.len())
                .map(|it| (study.label(it), study.titled(it)))
                .collect(),
            answers: match study.counts_only() {
                true => counted::answers(study),
                false => answer::answers(study),
            },
            caveats: Caveats::new(study),
            causes: causes::causes(study),
            groups: groups::rows(study),
            insert_bench: InsertBenchTables::new(study),
            sweep: Sweep::new(study),
            counts: Counts::new(study),
            sections: section::sections(study),
            tests: MeasuredTests::new(study),
            steps: steps::tables(study),
            versions: versions::lines(study),
            matrix: Matrix::new(study),
            ratios: study.judgement.cells.iter().filter_map(|cell| cell.rqps).collect(),
            threshold: threshold(&study.record.study),
            counts_only: study.counts_only(),
            is_large: study.is_large(),
            several_setups: study.several_setups(),
        }
    }

    pub(crate) fn several_systems(&self) -> bool {
        self.tests.systems.len() > 1
    }

    /// Labels of the systems compared with the base, without the twin.
    pub(crate) fn compared(&self) -> Vec<&'a str> {
        let systems = self.tests.systems.iter().filter(|system| !system.is_twin);
        systems.map(|system| system.label).collect()
    }

    pub(crate) fn has_profiles(&self) -> bool {
        let mut rows = self.tests.sections.iter().flat_map(|section| &section.rows);
        !self.is_large && rows.any(measured::TestRow::has_profile)
    }

    /// Sentences of the work after the study that contradict the answer.
    pub(crate) fn contradictions(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().flat_map(|it| &it.content.contradictions).map(String::as_str)
    }

    /// In lines of versions, the largest change first.
    pub(crate) fn changes(&self) -> Vec<&TestChange> {
        steps::changes(&self.steps)
    }

    /// Systems that are the same, the ranking of three or more systems, and a line for each system, or the false calls
    /// if the base is only compared with itself. A suspicious audit is stamped on the line after the equal systems.
    pub(crate) fn answer_lines(&self) -> Vec<String> {
        let contradictions = self.contradictions().map(str::to_owned);
        let answers: Vec<String> = if self.answers.is_empty() {
            self.caveats.twins.clone()
        } else {
            self.answers.iter().map(|answer| answer.sentence.clone()).collect()
        };
        let fastest = ranking::headline(self.study).into_iter();
        let mut lines: Vec<String> = fastest.chain(contradictions).chain(answers).collect();
        if let (Some(first), false) = (lines.first_mut(), self.caveats.suspicious.is_empty()) {
            *first = format!("[suspicious audit] {first}");
        }
        self.caveats.same.iter().cloned().chain(lines).collect()
    }

    fn suspicious_line(&self) -> Option<String> {
        let settings = self.caveats.suspicious.join(", ");
        let line = format!("suspicious: differences that matter: {settings}");
        (!self.caveats.suspicious.is_empty()).then_some(line)
    }

    pub(crate) fn warning_lines(&self) -> Vec<String> {
        let caveats = &self.caveats;
        let mut lines: Vec<String> = self.suspicious_line().into_iter().collect();
        lines.extend(caveats.warnings.iter().map(|it| format!("warning: {it}")));
        lines.extend(caveats.unmeasured.iter().map(|it| format!("not measured: {it}")));
        lines
    }

    /// Lines below the answer: the twin, warnings, notes, and the basis of the answer.
    pub(crate) fn caveat_lines(&self) -> Vec<String> {
        let caveats = &self.caveats;
        let mut lines: Vec<String> =
            self.answers.iter().flat_map(|answer| answer.reasons(self.answers.len() > 1)).collect();
        lines.extend(self.suspicious_line());
        if !self.answers.is_empty() {
            lines.extend(caveats.twins.iter().cloned());
        }
        lines.extend(caveats.warnings.iter().map(|it| format!("warning: {it}")));
        lines.extend(caveats.notes.iter().map(|it| format!("note: {it}")));
        lines.extend(caveats.unmeasured.iter().map(|it| format!("not measured: {it}")));
        lines.push(caveats.basis.clone());
        lines
    }
}

pub(crate) fn with_report<T>(
    record: &StudyRecord,
    judgement: &Judgement,
    layout: impl FnOnce(&Report) -> T,
) -> T {
    let study = JudgedStudy::new(record, judgement);
    layout(&Report::new(&study))
}
