//! The report of a study: the answer, causes, groups, tests, conditions, and how to reproduce it.

use assay_model::{StudyRecord, Verdict};
use assay_verdict::Judgement;

use super::judged::Judged;
use super::{
    again, answer as cards, conditions, counts, gate, matrix, profiles, ranking, soak, table,
    tables, versions,
};
use crate::charts::{self, ChartFile, Place};
use crate::data;
use crate::document::{Block, Document, Wish};
use crate::page::{Content, Page};
use crate::text::Text;
use crate::view::answers::FindingList;
use crate::view::startup::Obstacle;
use crate::view::{Report, with_report};

#[must_use]
pub fn report<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(Judged { record, judgement })
}

/// A line per system, as at the start of a text report.
#[must_use]
pub fn answer(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    with_report(record, judgement, |report| match &report.gate {
        Some(gate) => vec![gate.headline.clone()],
        None => report.answer_lines(),
    })
}

impl Content for Judged<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        self.document(wish, document, then);
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

/// Maximum number of causes above the tables of a terminal, and in a short report. The rest are below the tables.
const CAUSES_ABOVE: usize = 8;
const CAUSES_SHORT: usize = 5;

const CHANGES_SHORT: usize = 8;
const RESPONSES_SHORT: usize = 24;

const FINDINGS_SHORT: usize = 10;

const STATEMENTS_SHORT: usize = 24;

pub(super) fn document<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Document<'r> {
    let mut blocks = obstacles(report, wish);
    blocks.extend(sections(report, wish));
    if !wish.is_page() {
        return Document { blocks, ..Document::default() };
    }
    Document {
        about: conditions::about(&report.conditions),
        above: cards::above(report),
        has_script: true,
        blocks,
        ..Document::default()
    }
}

/// A terminal shows the sections that most readers need, unless it is verbose.
fn sections<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let is_short = wish.is_terminal() && !wish.is_verbose;
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
        blocks.extend(gate::blocks(report, wish));
    } else {
        blocks = gate::blocks(report, wish);
        blocks.push(Block::Answer(report.answer_lines()));
        blocks.push(Block::Lines(report.caveat_lines()));
        let more = if is_short { smaller.len() } else { 0 };
        let heading = wish.heading("why, the largest changes first");
        blocks.extend(cards::causes(heading, largest, more));
        blocks.extend((!is_short).then(|| cards::undecided(report, wish)).into_iter().flatten());
    }
    blocks.extend(outcomes(report, wish));
    blocks.extend(findings(report, wish, if is_short { FINDINGS_SHORT } else { usize::MAX }));
    let ranked_tests = if is_short { 0 } else { usize::MAX };
    blocks.extend(report.ranking.iter().flat_map(|it| ranking::blocks(it, wish, ranked_tests)));
    blocks.push(Block::Images(wish.images.at(&Place::InsertBench)));
    blocks.extend(report.insert_bench.iter().flat_map(|it| tables::insert_bench(it, wish)));
    blocks.extend(report.tpcc.iter().flat_map(|it| tables::tpcc(it, wish)));
    if !is_short {
        blocks.push(Block::Images(wish.images.at(&Place::Groups)));
        blocks.extend(tables::groups(report, wish));
        blocks.push(Block::Images(wish.images.at(&Place::Clients)));
        // A page has it next to the charts of versions.
        blocks.extend((!wish.is_page()).then(|| tables::sweep(report, wish)).into_iter().flatten());
        blocks.extend(matrix::blocks(report, wish));
    }
    if wish.is_page() {
        blocks.extend(versions::panels(report));
        blocks.extend(tables::sweep(report, wish));
    }
    blocks.extend(table::blocks(report, wish));
    blocks.extend(statements(report, wish, if is_short { STATEMENTS_SHORT } else { usize::MAX }));
    blocks.extend(wish.is_page().then(|| profiles::blocks(report)).into_iter().flatten());
    blocks.extend(soak::blocks(report, wish, is_short));
    blocks.extend(counts::blocks(report, wish, is_short));
    blocks.extend(responses(report, wish, if is_short { RESPONSES_SHORT } else { usize::MAX }));
    blocks.extend(versions::changes(
        report,
        if is_short { CHANGES_SHORT } else { usize::MAX },
        wish,
    ));
    if is_short {
        blocks.push(how_to_see_more(report));
        return blocks;
    }
    blocks.push(Block::Images(wish.images.at(&Place::Versions)));
    blocks.extend(versions::crossovers(report, wish));
    let smaller = &smaller[..smaller.len().min(below)];
    blocks.extend(cards::causes(wish.heading("why, the smaller changes"), smaller, 0));
    blocks.extend(conditions::blocks(report, wish));
    blocks.extend(again::blocks(&report.again, wish));
    blocks
}

fn counts_only<'r>(report: &'r Report<'r>, wish: &Wish<'_>, is_short: bool) -> Vec<Block<'r>> {
    let mut blocks;
    if wish.is_page() {
        blocks = cards::cards(report);
        blocks.extend(gate::blocks(report, wish));
    } else {
        blocks = gate::blocks(report, wish);
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
    blocks.extend(conditions::blocks(report, wish));
    blocks.extend(again::blocks(&report.again, wish));
    blocks
}

fn responses(report: &Report, wish: &Wish<'_>, most: usize) -> Vec<Block<'static>> {
    let Some(shown) = report.responses.as_ref().filter(|it| it.rows.len() <= most) else {
        return Vec::new();
    };
    if wish.is_page() {
        let table = Block::Table(shown.table());
        return Block::place("responses", "", "Response times and errors", vec![table]);
    }
    vec![Block::Table(shown.titled(wish))]
}

fn obstacles(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let blocks = |Obstacle { heading, facts }: &Obstacle| {
        let facts = facts.iter().map(|(name, told)| (name.clone(), told.as_str().into()));
        // The heading begins with the name of a product.
        [Block::Heading(1, heading.as_str().into()), Block::Facts(facts.collect())]
    };
    let blocks: Vec<Block<'static>> = report.obstacles.iter().flat_map(blocks).collect();
    Block::place("start", "Start", wish.heading("before anything else"), blocks)
}

fn outcomes(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    const HEADING: &str = "what happens to the statements";
    let Some(shown) = &report.outcomes else { return Vec::new() };
    let fact = |(name, told): &(String, String)| (wish.heading(name), told.as_str().into());
    let facts = Block::Facts(shown.iter().map(fact).collect());
    Block::place("outcomes", "Statements", wish.heading(HEADING), vec![facts])
}

fn findings(report: &Report, wish: &Wish<'_>, most: usize) -> Vec<Block<'static>> {
    let list = |list: &FindingList| {
        let shown = list.facts.iter().take(most);
        let mut facts: Vec<(String, Text)> =
            shown.map(|(about, found)| (about.clone(), found.as_str().into())).collect();
        if list.facts.len() > most {
            let more = format!("{} more", list.facts.len() - most);
            facts.push((more, "`--verbose` shows all".into()));
        }
        let heading = Block::Heading(1, wish.heading(list.title).into());
        [heading, Block::Lines(vec![wish.sentence(list.note)]), Block::Facts(facts)]
    };
    let blocks: Vec<Block<'static>> = report.findings.iter().flat_map(list).collect();
    match blocks.is_empty() {
        true => blocks,
        false => Block::place("findings", "Answers", wish.heading("answers and the dump"), blocks),
    }
}

fn statements(report: &Report, wish: &Wish<'_>, most: usize) -> Vec<Block<'static>> {
    let shown = &report.statements;
    if shown.iter().map(|it| it.rows.len()).sum::<usize>() > most {
        return Vec::new();
    }
    if wish.is_page() {
        let tables = shown.iter().map(|it| Block::Table(it.titled(wish))).collect();
        return Block::place("statements", "Statements", "Statements one by one", tables);
    }
    shown.iter().map(|it| Block::Table(it.titled(wish))).collect()
}

fn how_to_see_more(report: &Report) -> Block<'static> {
    let id = report.again.id;
    let last = format!("more: `assay report {id} --verbose`, or a page: `-o report.html`");
    let longer = report.again.way_on.clone().filter(|_| !report.undecided.is_empty());
    Block::Lines(longer.into_iter().chain([last]).collect())
}
