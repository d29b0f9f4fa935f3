//! The report as data: every sentence, table and figure, independent of formats.
//!
//! [`Report::new`] reads the study and its judgement once and makes all decisions. Text, Markdown and HTML only lay it
//! out: they see no slice, estimate nothing and decide nothing about the result.

pub(crate) mod account;
pub(crate) mod again;
pub(crate) mod answer;
pub(crate) mod answers;
pub(crate) mod beside;
pub(crate) mod causes;
pub(crate) mod caveats;
pub(crate) mod certainty;
pub(crate) mod conditions;
mod counted;
pub(crate) mod counts;
pub(crate) mod crossovers;
pub(crate) mod drawing;
pub(crate) mod figure;
pub(crate) mod findings;
pub(crate) mod gate;
pub(crate) mod groups;
pub(crate) mod insert_bench;
pub(crate) mod matrix;
pub(crate) mod measured;
pub(crate) mod metrics;
mod noise;
mod nothing;
mod outcomes;
pub(crate) mod plans;
pub(crate) mod profile;
pub(crate) mod published;
mod query_cache;
pub(crate) mod ranking;
pub(crate) mod reasons;
pub(crate) mod responses;
pub(crate) mod rounds;
pub(crate) mod same;
pub(crate) mod seconds;
pub(crate) mod session_sets;
mod sessions;
pub(crate) mod shaded;
pub(crate) mod soak;
pub(crate) mod startup;
pub(crate) mod statements;
pub(crate) mod step_bars;
mod step_metrics;
pub(crate) mod steps;
pub(crate) mod study;
pub(crate) mod sweep;
mod to_do;
mod totals;
pub(crate) mod tpcc;
mod trouble;
pub(crate) mod undecided;
mod unequal;
pub(crate) mod unmeasured;
pub(crate) mod versions;

use std::collections::BTreeMap;

use assay_model::{Estimate, Setup, StudyRecord, counted};
use assay_verdict::{Judgement, threshold};

use again::Again;
use answer::SystemAnswer;
use answers::FindingList;
use causes::Cause;
use caveats::Caveats;
use conditions::Conditions;
use counts::Counts;
use gate::Gate;
use groups::GroupRow;
use insert_bench::InsertBench;
use matrix::Matrix;
use measured::Tests;
use ranking::RankingSection;
use shaded::ShadedTable;
use soak::LongerLook;
use startup::Obstacle;
use steps::{StepTable, TestChange};
use study::JudgedStudy;
use sweep::Sweep;
use to_do::ToDo;
use versions::VersionLine;

use crate::words::Separated as _;

pub(crate) struct Report<'a> {
    pub(crate) base: &'a str,
    /// Titles of systems, which have exact versions, by label.
    titles: BTreeMap<&'a str, String>,
    /// `None` if the study is not a gate.
    pub(crate) gate: Option<Gate<'a>>,
    /// One for each system but the base and its twin.
    pub(crate) answers: Vec<SystemAnswer<'a>>,
    pub(crate) caveats: Caveats,
    /// Cells that failed or have an explanation, the most important first.
    pub(crate) causes: Vec<Cause<'a>>,
    pub(crate) undecided: Vec<String>,
    /// `None` for fewer than three systems.
    pub(crate) ranking: Option<RankingSection>,
    pub(crate) groups: Vec<GroupRow<'a>>,
    /// `None` for other studies.
    pub(crate) insert_bench: Option<InsertBench<'a>>,
    /// Transactions of the TPC-C-like workload; `None` for other studies.
    pub(crate) tpcc: Option<ShadedTable>,
    /// Tests by client count; `None` for a single count.
    pub(crate) sweep: Option<Sweep<'a>>,
    pub(crate) responses: Option<ShadedTable>,
    /// Obstacles to starting with the config file, and to logging in for users of the dump.
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) outcomes: Option<Vec<(String, String)>>,
    pub(crate) findings: Vec<FindingList>,
    pub(crate) statements: Vec<ShadedTable>,
    pub(crate) counts: Option<Counts>,
    pub(crate) soak: Option<LongerLook>,
    pub(crate) tests: Tests<'a>,
    pub(crate) steps: Vec<StepTable<'a>>,
    pub(crate) versions: Vec<VersionLine<'a>>,
    pub(crate) matrix: Matrix<'a>,
    pub(crate) metrics: Vec<ShadedTable>,
    /// A line for each system and test that is slower at some client counts and faster at others.
    pub(crate) crossovers: Vec<String>,
    pub(crate) conditions: Conditions<'a>,
    pub(crate) again: Again<'a>,
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
        match self.conditions.study.has_known_tables {
            true => setup.separated(),
            false => counted(setup.clients, "client"),
        }
    }

    pub(crate) fn setup_in_full(&self, setup: Setup) -> String {
        match self.conditions.study.has_known_tables {
            true => format!("{} ({})", setup.separated(), SETUP_COLUMNS),
            false => self.setup(setup),
        }
    }

    pub(crate) fn titled<'l>(&'l self, label: &'l str) -> &'l str {
        self.titles.get(label).map_or(label, String::as_str)
    }

    pub(crate) fn plain_setup(&self, setup: Setup) -> String {
        match self.conditions.study.has_known_tables {
            true => setup.to_string(),
            false => self.setup(setup),
        }
    }

    pub(crate) fn setup_column(&self) -> &'static str {
        if self.conditions.study.has_known_tables { SETUP_COLUMNS } else { "clients" }
    }

    fn new(study: &'a JudgedStudy<'a>) -> Self {
        Self {
            base: study.label(study.base),
            titles: (0..study.record.systems.len())
                .map(|it| (study.label(it), study.titled(it)))
                .collect(),
            gate: Gate::new(study),
            answers: match study.counts_only() {
                true => counted::answers(study),
                false => answer::answers(study),
            },
            caveats: Caveats::new(study),
            causes: causes::causes(study),
            undecided: undecided::lines(study),
            ranking: ranking::section(study),
            groups: groups::rows(study),
            insert_bench: InsertBench::new(study),
            tpcc: tpcc::table(study),
            sweep: Sweep::new(study),
            responses: responses::table(study),
            obstacles: startup::obstacles(study),
            outcomes: outcomes::outcomes(study),
            findings: findings_of_users(study),
            statements: statements::tables(study),
            counts: Counts::new(study),
            soak: LongerLook::new(study),
            tests: Tests::new(study),
            steps: steps::tables(study),
            versions: versions::lines(study),
            matrix: Matrix::new(study),
            metrics: metrics::tables(study),
            crossovers: crossovers::lines(study),
            conditions: Conditions::new(study),
            again: Again::new(study.record),
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

    pub(crate) fn has_profiles(&self) -> bool {
        let mut rows = self.tests.sections.iter().flat_map(|section| &section.rows);
        !self.is_large && rows.any(measured::TestRow::has_profile)
    }

    /// In lines of versions, the largest change first.
    pub(crate) fn changes(&self) -> Vec<&TestChange> {
        steps::changes(&self.steps)
    }

    /// Systems that are the same, the ranking of three or more systems, and a line for each system, or the false calls
    /// if the base is only compared with itself. A suspicious audit is stamped on the line after the equal systems.
    pub(crate) fn answer_lines(&self) -> Vec<String> {
        let contradictions = self.soak.iter().flat_map(|it| it.contradictions.iter().cloned());
        let answers: Vec<String> = if self.answers.is_empty() {
            self.caveats.twins.clone()
        } else {
            self.answers.iter().map(|answer| answer.sentence.clone()).collect()
        };
        let fastest = self.ranking.iter().filter_map(|it| it.headline.clone());
        let mut lines: Vec<String> = fastest.chain(contradictions).chain(answers).collect();
        if let (Some(first), false) = (lines.first_mut(), self.caveats.suspicious.is_empty()) {
            *first = format!("[suspicious audit] {first}");
        }
        self.caveats.same.iter().cloned().chain(lines).collect()
    }

    pub(crate) fn warning_lines(&self) -> Vec<String> {
        let caveats = &self.caveats;
        let mut lines = Vec::new();
        if !caveats.suspicious.is_empty() {
            let settings = caveats.suspicious.join(", ");
            lines.push(format!("suspicious: differences that matter: {settings}"));
        }
        lines.extend(caveats.warnings.iter().map(|it| format!("warning: {it}")));
        lines.extend(caveats.unmeasured.iter().map(|it| format!("not measured: {it}")));
        lines
    }

    /// Lines below the answer: the twin, warnings, notes, and the basis of the answer.
    pub(crate) fn caveat_lines(&self) -> Vec<String> {
        let caveats = &self.caveats;
        let mut lines: Vec<String> =
            self.answers.iter().flat_map(|answer| answer.reasons(self.answers.len() > 1)).collect();
        if !caveats.suspicious.is_empty() {
            let settings = caveats.suspicious.join(", ");
            lines.push(format!("suspicious: differences that matter: {settings}"));
        }
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

fn findings_of_users(study: &JudgedStudy) -> Vec<FindingList> {
    let to_do: BTreeMap<usize, ToDo> =
        study.compared.iter().map(|system| (*system, ToDo::of(study, *system))).collect();
    let is_told = |system: usize, test: &str, failure: &str| {
        to_do.get(&system).is_some_and(|it| it.tells(test, Some(failure)))
    };
    [to_do::lists(study), sessions::lists(study, is_told), answers::lists(study)].concat()
}

pub(crate) fn with_report<T>(
    record: &StudyRecord,
    judgement: &Judgement,
    layout: impl FnOnce(&Report) -> T,
) -> T {
    let study = JudgedStudy::new(record, judgement);
    layout(&Report::new(&study))
}
