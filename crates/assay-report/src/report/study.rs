//! The report of a study: the answer, causes, groups, tests, conditions, how to reproduce it.

use assay_model::{StudyRecord, Verdict};
use assay_verdict::Judgement;

use super::judged::Judged;
use super::{gate, tables, tests};
use crate::charts::{self, ChartFile, Place};
use crate::data;
use crate::document::{Block, Document, Fold, Wish};
use crate::html;
use crate::lines::{self, Line};
use crate::page::{Content, Page};
use crate::view::again::Again;
use crate::view::causes::Cause;
use crate::view::steps::TestChange;
use crate::view::{Report, with_report};
use crate::words::{CROSSOVERS_LEGEND, STEPS_LEGEND, Symbol};

/// The report of a study.
#[must_use]
pub fn report<'a>(record: &'a StudyRecord, judgement: &'a Judgement) -> Page<'a> {
    Page::new(Judged { record, judgement })
}

/// The answer of a study in words, a line for each system, as its report begins with it in text.
#[must_use]
pub fn answer(record: &StudyRecord, judgement: &Judgement) -> Vec<String> {
    with_report(record, judgement, |report| match &report.gate {
        Some(gate) => vec![gate.headline.clone()],
        None => report.answer_lines(),
    })
}

impl Content for Judged<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        if wish.is_page() {
            return with_report(self.record, self.judgement, |report| {
                then(&html::document(report))
            });
        }
        self.document(wish, |report, wish| (Vec::new(), blocks(report, wish)), then);
    }

    fn json(&self) -> Option<String> {
        Some(data::json::render(self.record, self.judgement))
    }

    fn csv(&self) -> Option<String> {
        Some(data::csv::render(self.record, self.judgement))
    }

    fn charts(&self) -> Vec<ChartFile> {
        with_report(self.record, self.judgement, charts::charts)
    }
}

/// The most causes above the tables of a terminal, and the most of a short report. The rest stand below the tables.
const CAUSES_ABOVE: usize = 8;
const CAUSES_SHORT: usize = 5;

/// The most changing tests, and the most tests and systems with response times, of a short report.
const CHANGES_SHORT: usize = 8;
const RESPONSES_SHORT: usize = 24;

/// Everything that a report says. A terminal shows the sections that most readers need, unless it shows all.
pub(super) fn blocks<'r>(report: &'r Report<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let is_short = wish.is_terminal() && !wish.is_verbose;
    let (above, below) = match (wish.is_terminal(), is_short) {
        (_, true) => (CAUSES_SHORT, 0),
        (true, _) => (CAUSES_ABOVE, usize::MAX),
        _ => (usize::MAX, 0),
    };
    let mut blocks: Vec<Block> = report.gate.iter().flat_map(|it| gate::blocks(it, wish)).collect();
    blocks.push(Block::Answer(report.answer_lines()));
    blocks.push(Block::Lines(report.caveat_lines()));
    let (largest, smaller) = report.causes.split_at(report.causes.len().min(above));
    let more = if is_short { smaller.len() } else { 0 };
    blocks.extend(causes(wish.heading("why, the largest changes first"), largest, more));
    blocks.extend((!is_short).then(|| undecided(report, wish)).into_iter().flatten());
    blocks.push(Block::Images(wish.images.at(&Place::InsertBench)));
    blocks.extend(report.insert_bench.iter().flat_map(|it| tables::insert_bench(it, wish)));
    if !is_short {
        blocks.push(Block::Images(wish.images.at(&Place::Groups)));
        blocks.extend(tables::groups(report, wish));
        blocks.push(Block::Images(wish.images.at(&Place::Clients)));
        blocks.extend(report.sweep.iter().flat_map(|it| tables::sweep(it, wish)));
        blocks.push(Block::Images(wish.images.at(&Place::Matrix)));
    }
    blocks.extend(tests::blocks(report, wish));
    let most = if is_short { RESPONSES_SHORT } else { usize::MAX };
    let responses = report.responses.iter().filter(|it| it.rows.len() <= most);
    blocks.extend(responses.map(|it| Block::Table(it.titled(wish))));
    blocks.extend(changes(report, if is_short { CHANGES_SHORT } else { usize::MAX }, wish));
    if is_short {
        let id = report.again.id;
        let last = format!("more: `assay report {id} --verbose`, or a page: `-o report.html`");
        // A study without a recipe was measured elsewhere.
        let is_open = !report.undecided.is_empty() && !report.again.recipe.is_empty();
        let longer =
            format!("undecided tests: `assay resume {id} --more 10m` measures them longer");
        let longer = is_open.then_some(longer);
        blocks.push(Block::Lines(longer.into_iter().chain([last]).collect()));
        return blocks;
    }
    blocks.push(Block::Images(wish.images.at(&Place::Versions)));
    blocks.extend(explained(
        wish.heading("crossovers"),
        report.crossovers.clone(),
        CROSSOVERS_LEGEND,
    ));
    blocks.extend(causes(
        wish.heading("why, the smaller changes"),
        &smaller[..smaller.len().min(below)],
        0,
    ));
    blocks.extend(conditions(report, wish));
    blocks.extend(again(&report.again, wish));
    blocks
}

/// Changes with their causes, and how many more there are.
fn causes(heading: String, causes: &[Cause], more: usize) -> Vec<Block<'static>> {
    let line = |it: &Cause| format!("{} {}: {}", it.verdict.symbol(), it.name, it.why);
    let lines = causes.iter().map(line).chain(and_more(more));
    Block::folded(heading, Fold::Open, Block::list(lines))
}

fn and_more(more: usize) -> Option<String> {
    (more > 0).then(|| format!("and {more} more"))
}

fn undecided(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let mark = Verdict::Undecided.symbol();
    let lines = Block::list(report.undecided.iter().map(|line| format!("{mark} {line}")));
    Block::folded(wish.heading("undecided, and what would help"), Fold::Closed, lines)
}

/// Where tests changed in a line of versions: at most so many.
fn changes(report: &Report, most: usize, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let changes = report.changes();
    let more = and_more(changes.len().saturating_sub(most));
    let lines = changes.into_iter().take(most).map(TestChange::line).chain(more);
    let heading = wish.heading("where it changed, the largest changes first");
    explained(heading, lines.collect(), STEPS_LEGEND)
}

/// A list with its legend; nothing without items.
fn explained(heading: String, lines: Vec<String>, legend: &str) -> Vec<Block<'static>> {
    let mut blocks = Block::list(lines);
    if !blocks.is_empty() {
        blocks.push(Block::Notes(vec![legend.to_owned()]));
    }
    Block::section(heading, blocks)
}

fn conditions(report: &Report, wish: &Wish<'_>) -> Vec<Block<'static>> {
    let lines = lines::conditions(&report.conditions).into_iter();
    let indented = |Line { depth, text }| format!("{}{text}", "  ".repeat(depth - 1));
    Block::folded(wish.heading("conditions"), Fold::Closed, Block::list(lines.map(indented)))
}

/// One command, or the study file if one command is not enough, and the commands that show the study.
fn again<'r>(again: &Again<'r>, wish: &Wish<'_>) -> Vec<Block<'r>> {
    let with_file = match wish.is_terminal() {
        true => "assay run study.toml, with this study.toml",
        false => "With this as `study.toml`, run `assay run study.toml`",
    };
    let (intro, text) = match again.command {
        Some(command) => ("", command),
        None => (with_file, again.recipe),
    };
    let code = Block::Code { intro, text: text.to_owned() };
    let mut blocks: Vec<Block> = (!text.is_empty()).then_some(code).into_iter().collect();
    let profiles = again.profiles();
    if wish.is_terminal() {
        let shown = format!("assay report {}  (shows this report again)", again.id);
        let note = "(passwords are not stored: add them to the URLs or set `ASSAY_PASSWORD`)";
        let passwords = again.needs_password.then(|| note.to_owned());
        let profiles =
            profiles.map(|(command, shows)| format!("{command}  (writes a page with the {shows})"));
        let lines: Vec<String> = passwords.into_iter().chain([shown]).chain(profiles).collect();
        blocks.push(Block::Code { intro: "", text: lines.join("\n") });
    } else {
        blocks.extend(again.needs_password.then(|| Block::Command {
            before: "Passwords are not stored: add them to the URLs or set ".to_owned(),
            command: "ASSAY_PASSWORD".to_owned(),
            after: ".".to_owned(),
        }));
        blocks.extend(profiles.map(|(command, shows)| Block::Command {
            before: String::new(),
            command,
            after: format!(" writes a page with the {shows}."),
        }));
    }
    Block::section(wish.heading("reproduce"), blocks)
}
