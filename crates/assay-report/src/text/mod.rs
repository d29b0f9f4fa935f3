//! The report in a terminal: the answer in words, the causes, groups, tests, conditions, how to reproduce it.

mod gate;
mod groups;
mod insert_bench;
pub(crate) mod matrix;
pub(crate) mod paint;
pub(crate) mod table;
mod tests;
pub(crate) mod wrap;

use assay_model::{Verdict, printable};

use crate::format::TextOptions;
use crate::lines::{self, Line};
use crate::view::Report;
use crate::view::again::Again;
use crate::view::causes::Cause;
use crate::view::gate::Gate;
use crate::view::steps::TestChange;
use crate::view::sweep::Sweep;
use crate::view::{metrics, published};
use crate::words::{CROSSOVERS_LEGEND, STEPS_LEGEND, Symbol};
use tests::Room;

/// A report with more lines than this repeats its answer at the end, next to the prompt.
const SCREEN: usize = 40;

/// Lines that stand together, with a blank line before and after them.
enum Section {
    /// Words, broken at spaces where the terminal ends.
    Prose(Vec<String>),
    /// Tables, commands and files, as they are.
    Verbatim(Vec<String>),
}

impl Section {
    fn lines(self, width: usize) -> Vec<String> {
        match self {
            Self::Prose(lines) => lines.iter().flat_map(|line| wrap::wrap(line, width)).collect(),
            Self::Verbatim(lines) => lines,
        }
    }
}

/// Renders the report.
pub(crate) fn render(report: &Report, options: TextOptions) -> String {
    let width = options.width;
    let sections = if options.verbose { every(report, width) } else { short(report, width) };
    let gate = report.gate.iter().flat_map(|gate| gate_sections(gate, width));
    let mut lines: Vec<String> = Vec::new();
    for section in gate.chain(sections) {
        push_section(&mut lines, section.lines(width));
    }
    if options.verbose && lines.len() > SCREEN {
        let mut answer = vec!["answer".to_owned()];
        answer.extend(report.answer_lines().iter().map(|line| format!("  {line}")));
        push_section(&mut lines, Section::Prose(answer).lines(width));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

/// The answer, the causes and the table of tests, and how to see the rest.
fn short(report: &Report, width: usize) -> Vec<Section> {
    let tests = tests::tables(report, width, Room::Short);
    let (why, _) = causes(report, CAUSES_SHORT);
    let more = report.causes.len().saturating_sub(CAUSES_SHORT);
    let id = report.again.id;
    // A study without a recipe was measured elsewhere.
    let is_open = !report.undecided.is_empty() && !report.again.recipe.is_empty();
    let longer = format!("undecided tests: `assay resume {id} --more 10m` measures them longer");
    let last = format!("more: `assay report {id} --verbose`, or a page: `-o report.html`");
    vec![
        Section::Prose([report.answer_lines(), report.caveat_lines()].concat()),
        Section::Prose(and_more(why, more)),
        Section::Verbatim(
            report.insert_bench.iter().flat_map(|it| insert_bench::lines(it, width)).collect(),
        ),
        Section::Verbatim(tests.lines),
        Section::Prose(tests.key),
        Section::Verbatim(responses(report, RESPONSES_SHORT, width)),
        Section::Prose(changes(report, CHANGES_SHORT)),
        Section::Prose(is_open.then_some(longer).into_iter().chain([last]).collect()),
    ]
}

/// All that a terminal shows of a study.
fn every(report: &Report, width: usize) -> Vec<Section> {
    let tests = tests::tables(report, width, Room::Ample);
    let (why, more) = causes(report, CAUSES_ABOVE);
    let mark = Verdict::Undecided.symbol();
    let undecided = report.undecided.iter().map(|line| format!("{mark} {line}"));
    vec![
        Section::Prose([report.answer_lines(), report.caveat_lines()].concat()),
        Section::Prose(why),
        Section::Prose(headed("undecided, and what would help", undecided)),
        Section::Verbatim(
            report.insert_bench.iter().flat_map(|it| insert_bench::lines(it, width)).collect(),
        ),
        Section::Verbatim(groups::lines(report, width)),
        Section::Verbatim(sweep(report, width)),
        Section::Verbatim(tests.lines),
        Section::Prose([tests.key, tests.legend].concat()),
        Section::Verbatim(responses(report, usize::MAX, width)),
        Section::Prose(changes(report, usize::MAX)),
        Section::Prose(crossovers(report)),
        Section::Prose(more),
        Section::Prose(conditions(report)),
        Section::Verbatim(again(&report.again)),
    ]
}

/// The most tests and systems whose response times a short report shows.
const RESPONSES_SHORT: usize = 24;

/// Response times and errors of published results, unless there are more.
fn responses(report: &Report, most: usize, width: usize) -> Vec<String> {
    let shown = report.responses.iter().filter(|it| it.rows.len() <= most);
    shown.flat_map(|it| insert_bench::table(it, width)).collect()
}

/// Renders relative QPS as in published posts.
pub(crate) fn render_published(report: &Report, options: TextOptions) -> String {
    let base = report.base;
    let mut lines =
        wrap::wrap(&format!("study {}, {}", report.again.id, published::NOTE), options.width);
    for mut shown in published::tables(&report.matrix, report.several_setups) {
        shown.note = format!("QPS divided by that of {base}");
        push_section(&mut lines, insert_bench::table(&shown, options.width));
    }
    if !report.metrics.is_empty() {
        push_section(&mut lines, wrap::wrap(metrics::NOTE, options.width));
    }
    for shown in &report.metrics {
        push_section(&mut lines, insert_bench::table(shown, options.width));
    }
    let mut lines: Vec<String> =
        lines.into_iter().map(|line| printable(&line).into_owned()).collect();
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

/// Throughput and response times by client count, if there are many counts.
fn sweep(report: &Report, width: usize) -> Vec<String> {
    let wide = report.sweep.iter().filter(|sweep| sweep.is_wide);
    let tables: Vec<Vec<String>> =
        wide.flat_map(Sweep::few_tables).map(|shown| insert_bench::table(shown, width)).collect();
    tables.join(&String::new())
}

/// Renders what the gate says, without the figures of every test.
pub(crate) fn render_gate(report: &Report, gate: &Gate, options: TextOptions) -> String {
    let id = report.again.id;
    let last = format!("study {id}: `assay report {id}` shows every test");
    let rest = [Section::Prose(report.warning_lines()), Section::Prose(vec![last])];
    let mut lines: Vec<String> = Vec::new();
    for section in gate_sections(gate, options.width).into_iter().chain(rest) {
        push_section(&mut lines, section.lines(options.width));
    }
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn gate_sections(gate: &Gate, width: usize) -> [Section; 3] {
    let mut rest = gate.rest.clone();
    rest.push(gate.basis.clone());
    [
        Section::Prose(vec![gate.headline.clone()]),
        Section::Verbatim(gate::lines(gate, width)),
        Section::Prose(rest),
    ]
}

fn push_section(lines: &mut Vec<String>, section: Vec<String>) {
    if !lines.is_empty() && !section.is_empty() {
        lines.push(String::new());
    }
    // Names and messages come from elsewhere: none of them may control the terminal.
    lines.extend(section.into_iter().map(|line| printable(&line).into_owned()));
}

/// The lines indented under a heading; nothing where there are none.
fn headed(heading: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut section: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    if !section.is_empty() {
        section.insert(0, heading.to_owned());
    }
    section
}

/// Number of causes above the tables. The rest stand below them.
const CAUSES_ABOVE: usize = 8;

/// Number of causes and of changing tests in a short report.
const CAUSES_SHORT: usize = 5;
const CHANGES_SHORT: usize = 8;

/// The largest changes with their causes, and the rest.
fn causes(report: &Report, above: usize) -> (Vec<String>, Vec<String>) {
    let (largest, smaller) = report.causes.split_at(report.causes.len().min(above));
    let section = |heading, causes: &[Cause]| {
        let line =
            |cause: &Cause| format!("{} {}: {}", cause.verdict.symbol(), cause.name, cause.why);
        headed(heading, causes.iter().map(line))
    };
    (
        section("why, the largest changes first", largest),
        section("why, the smaller changes", smaller),
    )
}

/// Where tests changed in a line of versions: at most so many.
fn changes(report: &Report, most: usize) -> Vec<String> {
    let changes = report.changes();
    let more = changes.len().saturating_sub(most);
    let lines = changes.into_iter().take(most).map(TestChange::line);
    let section = headed("where it changed, the largest changes first", lines);
    explained(and_more(section, more), STEPS_LEGEND)
}

/// A section with the number of lines that it leaves out.
fn and_more(mut section: Vec<String>, more: usize) -> Vec<String> {
    section.extend((more > 0).then(|| format!("  and {more} more")));
    section
}

fn crossovers(report: &Report) -> Vec<String> {
    explained(headed("crossovers", report.crossovers.iter().cloned()), CROSSOVERS_LEGEND)
}

/// A section with a legend, if there is a section.
fn explained(mut section: Vec<String>, legend: &str) -> Vec<String> {
    if !section.is_empty() {
        section.push(format!("  {legend}"));
    }
    section
}

fn conditions(report: &Report) -> Vec<String> {
    let lines = lines::conditions(&report.conditions).into_iter();
    let indented = |Line { depth, text }| format!("{}{text}", "  ".repeat(depth));
    std::iter::once("conditions".to_owned()).chain(lines.map(indented)).collect()
}

/// One command, or the study file if one command is not enough, followed by the command that shows the report again.
fn again(again: &Again) -> Vec<String> {
    let mut lines = vec!["reproduce".to_owned()];
    match again.command {
        Some(command) => lines.push(format!("  {command}")),
        None if again.recipe.is_empty() => {}
        None => {
            lines.push("  assay run study.toml, with this study.toml:".to_owned());
            let recipe = again.recipe.lines();
            lines.extend(recipe.map(|line| format!("    {line}").trim_end().to_owned()));
        }
    }
    if again.needs_password {
        lines.push(
            "  (passwords are not stored: add them to the URLs or set `ASSAY_PASSWORD`)".to_owned(),
        );
    }
    lines.push(format!("  assay report {}  (shows this report again)", again.id));
    let profiles = again.profiles();
    lines.extend(
        profiles.map(|(command, shows)| format!("  {command}  (writes a page with the {shows})")),
    );
    lines
}
