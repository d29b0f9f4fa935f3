//! The report of a study: its sections in their order, and the summary of one with limits.

use assay_model::StudyRecord;
use assay_verdict::{BesideStudy, Judgement};

use super::study::JudgedStudy;
use super::{
    afterwards, again, answer, brief, causes, conditions, count_page, doubts, groups, insert_bench,
    limits, matrix, outcomes, profiles, ranking, responses, startup, statements, steps, sweep,
    table, tails, to_do, tpcc, versions, way_on,
};
use crate::charts::{self, ChartFile};
use crate::data;
use crate::document::{Block, Heading, PageDocument, Wish};
use crate::page::{Page, PageContent};

/// A section from the figures of a study to its blocks, of which there are none if it has nothing to say.
type ReportSection = for<'r> fn(&'r JudgedStudy<'r>, &Wish<'_>) -> Vec<Block<'r>>;

/// What has a section: a terminal shows those that most readers need, unless it is verbose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShownIn {
    All,
    Full,
    Short,
}

const SECTIONS: &[(ShownIn, ReportSection)] = &[
    (ShownIn::All, startup::blocks),
    (ShownIn::All, answer::blocks),
    (ShownIn::All, causes::blocks),
    (ShownIn::Full, doubts::blocks),
    (ShownIn::All, outcomes::blocks),
    (ShownIn::All, to_do::findings),
    (ShownIn::All, ranking::blocks),
    (ShownIn::All, insert_bench::blocks),
    (ShownIn::All, tpcc::blocks),
    (ShownIn::Full, groups::blocks),
    (ShownIn::Full, sweep::blocks),
    (ShownIn::Full, matrix::blocks),
    (ShownIn::All, versions::blocks),
    (ShownIn::All, sweep::page),
    (ShownIn::All, table::blocks),
    (ShownIn::All, tails::blocks),
    (ShownIn::All, statements::blocks),
    (ShownIn::All, profiles::blocks),
    (ShownIn::All, afterwards::blocks),
    (ShownIn::All, count_page::blocks),
    (ShownIn::All, responses::blocks),
    (ShownIn::All, steps::blocks),
    (ShownIn::Short, how_to_see_more),
    (ShownIn::Full, versions::images),
    (ShownIn::Full, sweep::crossovers),
    (ShownIn::Full, causes::smaller),
    (ShownIn::Full, conditions::blocks),
    (ShownIn::Full, again::blocks),
];

/// Of a study that only counts instructions.
const COUNTED: &[(ShownIn, ReportSection)] = &[
    (ShownIn::All, startup::blocks),
    (ShownIn::All, answer::blocks),
    (ShownIn::All, causes::counted),
    (ShownIn::All, count_page::blocks),
    (ShownIn::All, afterwards::blocks),
    (ShownIn::Short, how_to_see_more),
    (ShownIn::Full, conditions::blocks),
    (ShownIn::Full, again::blocks),
];

fn blocks<'r>(study: &'r JudgedStudy<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let all = if study.counts_only() { COUNTED } else { SECTIONS };
    let is_shown = |shown: ShownIn| match shown {
        ShownIn::All => true,
        ShownIn::Full => !wish.is_short(),
        ShownIn::Short => wish.is_short(),
    };
    let shown = all.iter().filter(|(shown, _)| is_shown(*shown));
    shown.flat_map(|(_, section)| section(study, wish)).collect()
}

fn how_to_see_more(study: &JudgedStudy, _: &Wish<'_>) -> Vec<Block<'static>> {
    let id = &study.record.study.id;
    let last = format!("more: `assay report {id} --verbose`, or a page: `-o report.html`");
    let longer = way_on::way_on(study).filter(|_| !doubts::lines(study).is_empty());
    vec![Block::Lines(longer.into_iter().chain([last]).collect())]
}

pub fn report<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(BesideStudy { record, judgement })
}

/// A line per system, as at the start of a text report.
pub fn answer(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    let study = JudgedStudy::new(record, judgement);
    limits::headline(&study).map_or_else(|| answer::lines(&study), |headline| vec![headline])
}

/// A summary of a study with limits for people, the whole study for scripts. A study without limits has its report.
pub fn limits<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(LimitsSummary(BesideStudy { record, judgement }))
}

/// A document about the systems of a study.
pub(super) fn with_heading<'r>(
    study: &JudgedStudy,
    wish: &Wish<'_>,
    document: PageDocument<'r>,
) -> PageDocument<'r> {
    let others: Vec<String> = study.others().map(|system| study.titled(system)).collect();
    let heading = Heading::for_comparison(&study.titled(study.base), &others);
    let repeats_answer = wish.is_terminal() && wish.is_verbose;
    PageDocument { title: heading.line(), heading, repeats_answer, ..document }
}

impl PageContent for BesideStudy<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let study = JudgedStudy::new(self.record, self.judgement);
        let mut document = PageDocument { blocks: blocks(&study, wish), ..PageDocument::default() };
        if wish.is_page() {
            document.about = conditions::about(study.record);
            document.above = answer::above(&study);
            document.has_script = true;
        }
        then(&with_heading(&study, wish, document));
    }

    fn json(&self) -> Option<String> {
        Some(data::json::render(self.record, self.judgement))
    }

    fn brief(&self, findings: usize) -> Option<PageDocument<'static>> {
        let study = JudgedStudy::new(self.record, self.judgement);
        Some(PageDocument { blocks: brief::blocks(&study, findings), ..PageDocument::default() })
    }

    fn csv(&self) -> Option<String> {
        Some(data::csv::cells_csv(&[(self.record, self.judgement)]))
    }

    fn charts(&self) -> Vec<ChartFile> {
        charts::charts(&JudgedStudy::new(self.record, self.judgement))
    }
}

struct LimitsSummary<'a>(BesideStudy<'a>);

impl PageContent for LimitsSummary<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let study = JudgedStudy::new(self.0.record, self.0.judgement);
        if wish.is_page() || study.judgement.limits.is_none() {
            return self.0.document(wish, then);
        }
        let mut blocks = limits::blocks(&study, wish);
        let id = &study.record.study.id;
        blocks.push(Block::Lines(answer::warning_lines(&study)));
        blocks.push(Block::Break);
        let (word, stop) = if wish.is_terminal() { ("study", "") } else { ("Study", ".") };
        let (before, after) = (format!("{word} {id}: "), format!(" shows every test{stop}"));
        blocks.push(Block::command(before, format!("assay report {id}"), after));
        let document = PageDocument { blocks, ..PageDocument::default() };
        then(&with_heading(&study, wish, document));
    }

    fn json(&self) -> Option<String> {
        self.0.json()
    }

    fn brief(&self, findings: usize) -> Option<PageDocument<'static>> {
        self.0.brief(findings)
    }

    fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.0.charts()
    }
}
