//! The report of a study: the answer, causes, groups, tests, conditions, and how to reproduce it.

use assay_model::{StudyRecord, Verdict};
use assay_verdict::{BesideStudy, Judgement};

use super::{answer as cards, counts, matrix, profiles, sections, table, tables, versions};
use crate::charts::{self, ChartFile, Place};
use crate::data;
use crate::document::{Block, Heading, PageDocument, Wish};
use crate::page::{Page, PageContent};
use crate::view::{
    Report, again, conditions, gate, ranking, responses, startup, statements, sweep, to_do, tpcc,
    undecided, with_report,
};

#[must_use]
pub fn report<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(BesideStudy { record, judgement })
}

/// A line per system, as at the start of a text report.
#[must_use]
pub fn answer(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    with_report(record, judgement, |report| match gate::headline(report.study) {
        Some(headline) => vec![headline],
        None => report.answer_lines(),
    })
}

/// A summary of a gate for people, the whole study for scripts. A study that is not a gate has its report.
#[must_use]
pub fn gate<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(GateSummary(BesideStudy { record, judgement }))
}

pub(super) fn laid_out(
    judged: &BesideStudy<'_>,
    wish: &Wish<'_>,
    content: impl for<'r> Fn(&'r Report<'r>, &Wish<'_>) -> PageDocument<'r>,
    then: &mut dyn FnMut(&PageDocument<'_>),
) {
    with_report(judged.record, judged.judgement, |report| {
        let others = report.compared().into_iter().map(|label| report.titled(label));
        let heading = Heading::of(report.titled(report.base), &others.collect::<Vec<_>>());
        let title = heading.line();
        let repeats_answer = wish.is_terminal() && wish.is_verbose;
        then(&PageDocument { title, heading, repeats_answer, ..content(report, wish) });
    });
}

impl PageContent for BesideStudy<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        laid_out(self, wish, document, then);
    }

    fn json(&self) -> Option<String> {
        Some(data::json::render(self.record, self.judgement))
    }

    fn csv(&self) -> Option<String> {
        Some(data::csv::cells_csv(&[(self.record, self.judgement)]))
    }

    fn charts(&self) -> Vec<ChartFile> {
        with_report(self.record, self.judgement, charts::charts)
    }
}

struct GateSummary<'a>(BesideStudy<'a>);

impl PageContent for GateSummary<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        if wish.is_page() {
            return self.0.document(wish, then);
        }
        laid_out(&self.0, wish, gate_summary, then);
    }

    fn json(&self) -> Option<String> {
        self.0.json()
    }

    fn csv(&self) -> Option<String> {
        self.0.csv()
    }

    fn charts(&self) -> Vec<ChartFile> {
        self.0.charts()
    }
}

fn gate_summary<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> PageDocument<'r> {
    if report.study.judgement.gate.is_none() {
        return document(report, wish);
    }
    let mut blocks = gate::blocks(report.study, wish);
    let id = report.id();
    blocks.push(Block::Lines(report.warning_lines()));
    blocks.push(Block::Break);
    let (study, stop) = if wish.is_terminal() { ("study", "") } else { ("Study", ".") };
    let (before, after) = (format!("{study} {id}: "), format!(" shows every test{stop}"));
    blocks.push(Block::command(before, format!("assay report {id}"), after));
    PageDocument { blocks, ..PageDocument::default() }
}

/// Maximum number of causes above the tables of a terminal, and in a short report. The rest are below the tables.
const CAUSES_ABOVE: usize = 8;
const CAUSES_SHORT: usize = 5;

const CHANGES_SHORT: usize = 8;
const RESPONSES_SHORT: usize = 24;

const FINDINGS_SHORT: usize = 10;

const STATEMENTS_SHORT: usize = 24;

fn document<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> PageDocument<'r> {
    let mut blocks = startup::blocks(report.study, wish);
    blocks.extend(sections(report, wish));
    if !wish.is_page() {
        return PageDocument { blocks, ..PageDocument::default() };
    }
    PageDocument {
        about: conditions::about(report.study.record),
        above: cards::above(report),
        has_script: true,
        blocks,
        ..PageDocument::default()
    }
}

/// A terminal shows the sections that most readers need, unless it is verbose.
fn sections<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let (study, is_short) = (report.study, wish.is_terminal() && !wish.is_verbose);
    let at_most = |most: usize| if is_short { most } else { usize::MAX };
    let (above, below) = match (wish.is_terminal(), is_short) {
        (_, true) => (CAUSES_SHORT, 0),
        (true, _) => (CAUSES_ABOVE, usize::MAX),
        _ => (usize::MAX, 0),
    };
    if report.counts_only {
        return counts_only(report, wish, is_short);
    }
    let (largest, smaller) = report.causes.split_at(report.causes.len().min(above));
    let mut blocks;
    if wish.is_page() {
        blocks = cards::cards(report);
        blocks.extend(gate::blocks(study, wish));
    } else {
        blocks = gate::blocks(study, wish);
        blocks.push(Block::Answer(report.answer_lines()));
        blocks.push(Block::Lines(report.caveat_lines()));
        let more = if is_short { smaller.len() } else { 0 };
        let heading = wish.heading("why, the largest changes first");
        blocks.extend(cards::causes(heading, largest, more));
        if !is_short {
            blocks.extend(cards::undecided(report, wish));
        }
    }
    blocks.extend(to_do::outcomes(study, wish));
    blocks.extend(to_do::findings(study, wish, at_most(FINDINGS_SHORT)));
    blocks.extend(ranking::blocks(study, wish, at_most(0)));
    blocks.push(Block::Images(wish.images.at(&Place::InsertBench)));
    blocks.extend(report.insert_bench.iter().flat_map(|it| tables::insert_bench(it, wish)));
    blocks.extend(tpcc::blocks(study, wish));
    if !is_short {
        blocks.push(Block::Images(wish.images.at(&Place::Groups)));
        blocks.extend(tables::groups(report, wish));
        blocks.push(Block::Images(wish.images.at(&Place::Clients)));
        // A page has it next to the charts of versions.
        if !wish.is_page() {
            blocks.extend(tables::sweep(report, wish));
        }
        blocks.extend(matrix::blocks(report, wish));
    }
    if wish.is_page() {
        blocks.extend(versions::panels(report));
        blocks.extend(tables::sweep(report, wish));
    }
    blocks.extend(table::blocks(report, wish));
    blocks.extend(statements::blocks(study, wish, at_most(STATEMENTS_SHORT)));
    blocks.extend(wish.is_page().then(|| profiles::blocks(report)).into_iter().flatten());
    blocks.extend(sections::blocks(report, wish, is_short));
    blocks.extend(counts::blocks(report, wish, is_short));
    blocks.extend(responses::blocks(study, wish, at_most(RESPONSES_SHORT)));
    blocks.extend(versions::changes(report, at_most(CHANGES_SHORT), wish));
    if is_short {
        blocks.push(how_to_see_more(report));
        return blocks;
    }
    blocks.push(Block::Images(wish.images.at(&Place::Versions)));
    blocks.extend(sweep::crossovers(study, wish));
    let smaller = &smaller[..smaller.len().min(below)];
    blocks.extend(cards::causes(wish.heading("why, the smaller changes"), smaller, 0));
    blocks.extend(conditions::blocks(report.study, wish));
    blocks.extend(again::blocks(report.study, wish));
    blocks
}

fn counts_only<'r>(report: &'r Report<'r>, wish: &Wish<'_>, is_short: bool) -> Vec<Block<'r>> {
    let mut blocks;
    if wish.is_page() {
        blocks = cards::cards(report);
        blocks.extend(gate::blocks(report.study, wish));
    } else {
        blocks = gate::blocks(report.study, wish);
        blocks.push(Block::Answer(report.answer_lines()));
        blocks.push(Block::Lines(report.caveat_lines()));
    }
    // Failures come first.
    let failed = report.causes.partition_point(|it| it.verdict == Verdict::Failed);
    let (failed, changed) = report.causes.split_at(failed);
    blocks.extend(cards::causes(wish.heading("not counted"), failed, 0));
    if !wish.is_page() {
        let (largest, smaller) =
            changed.split_at(changed.len().min(if is_short { CAUSES_SHORT } else { usize::MAX }));
        let heading = wish.heading("why, the largest changes first");
        blocks.extend(cards::causes(heading, largest, smaller.len()));
    }
    blocks.extend(counts::blocks(report, wish, is_short));
    if is_short {
        blocks.push(how_to_see_more(report));
        return blocks;
    }
    blocks.extend(conditions::blocks(report.study, wish));
    blocks.extend(again::blocks(report.study, wish));
    blocks
}

fn how_to_see_more(report: &Report) -> Block<'static> {
    let last =
        format!("more: `assay report {} --verbose`, or a page: `-o report.html`", report.id());
    let longer = undecided::way_on(report.study.record);
    let longer = longer.filter(|_| !undecided::lines(report.study).is_empty());
    Block::Lines(longer.into_iter().chain([last]).collect())
}
