//! `assay report --beside`: a study beside another one, in every format.

use askama::Template;
use assay_model::{PublishedGroup, StudyRecord, printable, printable_lines};
use assay_verdict::{Agreement, GroupBeside, Judged, Judgement, TestBeside};
use serde::Serialize;

use crate::data::row::{Interval, Number};
use crate::data::{csv, json};
use crate::format::{Format, TextOptions};
use crate::html;
use crate::markdown;
use crate::number::Ratio;
use crate::text::table::{left, plain_table, right, trimmed};
use crate::text::{paint, wrap::wrap};
use crate::view::beside::{Beside, Pair};

/// Raised when the shape below changes incompatibly.
const SCHEMA: u32 = 1;

/// What stands beside a study: another one, or a published table.
#[derive(Debug, Clone, Copy)]
pub struct Other<'a> {
    /// The other study. That of a table may have systems alone.
    pub record: &'a StudyRecord,
    /// Its judgement.
    pub judgement: &'a Judgement,
    /// Statistics of groups, as far as they were published.
    pub groups: &'a [PublishedGroup],
    /// Where it was published, and what is known of its conditions.
    pub note: Option<&'a str>,
}

/// Renders a study beside another one. Ends with a line feed.
#[must_use]
pub fn render_beside(
    ours: (&StudyRecord, &Judgement),
    theirs: &Other,
    format: Format,
    options: &TextOptions,
) -> String {
    let (record, judgement) = ours;
    let there = Judged { record: theirs.record, judgement: theirs.judgement };
    let beside = Beside::new(Judged { record, judgement }, there, theirs.groups, theirs.note);
    match format {
        Format::Text => text(&beside, *options),
        Format::Markdown => printable_lines(&in_markdown(&beside)).into_owned(),
        Format::Html => printable_lines(&page(&beside)).into_owned(),
        Format::Json => json::text(&document(&beside)),
        Format::Csv => table_of_values(&beside),
    }
}

/// The lines above the tables.
fn prose(beside: &Beside) -> Vec<String> {
    let mut lines: Vec<String> = beside.pairs.iter().map(|pair| pair.answer.clone()).collect();
    if lines.is_empty() {
        lines.push("the other study has no counterpart of the base and another system".to_owned());
        let names = |record: &StudyRecord| {
            let names: Vec<&str> = record.systems.iter().map(|it| it.name.as_str()).collect();
            names.join(", ")
        };
        lines.push(format!("here: {}", names(beside.ours)));
        lines.push(format!("there: {}", names(beside.theirs)));
        lines.push("`--base SYSTEM` compares with another system of the study here".to_owned());
    }
    lines.extend(beside.differences.iter().map(|line| format!("note: {line}")));
    lines
}

fn sign(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "= agrees",
        Agreement::Differs => "≠ differs",
        Agreement::Unknown => "? unknown",
    }
}

fn word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::Unknown => "unknown",
    }
}

/// The cells of a test: name, both ratios, their quotient, agreement.
fn cells(test: &TestBeside, several: bool) -> [String; 5] {
    let setup = if several { format!(" at {}", test.cell.setup) } else { String::new() };
    [
        format!("{}{setup}", test.cell.test.name()),
        Ratio(Some(test.ours)).value_with_interval(),
        Ratio(Some(test.theirs)).value_with_interval(),
        Ratio(Some(test.quotient)).value_with_interval(),
        sign(test.agreement).to_owned(),
    ]
}

const HEADINGS: [&str; 4] = ["here", "there", "here / there", ""];

fn has_several(beside: &Beside) -> bool {
    beside.ours.study.setups.len() > 1
}

fn text(beside: &Beside, options: TextOptions) -> String {
    let mut lines: Vec<String> =
        prose(beside).iter().flat_map(|line| wrap(line, options.width)).collect();
    for pair in &beside.pairs {
        lines.push(String::new());
        lines.extend(wrap(&heading(pair), options.width));
        lines.extend(groups(pair, has_several(beside)));
        if !pair.found.tests.is_empty() {
            lines.push(String::new());
            lines.extend(table(pair, has_several(beside)));
        }
        if !pair.disagreements.is_empty() {
            lines.push(String::new());
            lines.push("where they differ, the largest differences first".to_owned());
            let named = pair.disagreements.iter().map(|line| format!("  {line}"));
            lines.extend(named.flat_map(|line| wrap(&line, options.width)));
        }
    }
    lines.push(String::new());
    lines.push(format!(
        "here: study {}; there: study {}",
        beside.ours.study.id, beside.theirs.study.id
    ));
    let mut lines: Vec<String> = lines.iter().map(|line| printable(line).into_owned()).collect();
    if options.color {
        paint::paint(&mut lines);
    }
    lines.join("\n") + "\n"
}

fn heading(pair: &Pair) -> String {
    let [base, other] = &pair.names;
    let [their_base, their_other] = pair.their_names;
    format!(
        "QPS of {other} relative to {base} here, of {their_other} relative to {their_base} there"
    )
}

const GROUP_HEADINGS: [&str; 6] =
    ["n", "median here", "there", "here / there", "range here", "range there"];

/// The cells of a group: name, tests, medians, their quotient, ranges.
fn group_cells(group: &GroupBeside, several: bool) -> [String; 7] {
    let setup = if several { format!(" at {}", group.setup) } else { String::new() };
    let range = |[least, most]: [f64; 2]| format!("{least:.2} to {most:.2}");
    [
        format!("{}{setup}", group.group.word),
        group.tests.to_string(),
        format!("{:.2}", group.ours),
        format!("{:.2}", group.theirs),
        format!("{:.2}", group.ours / group.theirs),
        range(group.our_range),
        range(group.their_range),
    ]
}

fn groups(pair: &Pair, several: bool) -> Vec<String> {
    let mut table = plain_table();
    table.set_header(std::iter::once(left("group")).chain(GROUP_HEADINGS.map(left)));
    for group in &pair.found.groups {
        let [name, n, rest @ ..] = group_cells(group, several);
        let first = [left(format!("  {name}")), right(n)];
        table.add_row(first.into_iter().chain(rest.map(left)));
    }
    if pair.found.groups.is_empty() { Vec::new() } else { trimmed(&table) }
}

fn table(pair: &Pair, several: bool) -> Vec<String> {
    let mut table = plain_table();
    let headings = HEADINGS.map(left);
    table.set_header(std::iter::once(left("test")).chain(headings));
    for test in &pair.found.tests {
        let [name, rest @ ..] = cells(test, several);
        table.add_row(std::iter::once(left(format!("  {name}"))).chain(rest.map(left)));
    }
    trimmed(&table)
}

fn in_markdown(beside: &Beside) -> String {
    let escaped = markdown::escaped;
    let mut sections: Vec<String> = prose(beside).iter().map(|line| escaped(line)).collect();
    for pair in &beside.pairs {
        let several = has_several(beside);
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("| {} |", cells.join(" | "))
        };
        sections.push(format!("### {}", escaped(&heading(pair))));
        let mut rows = vec![
            format!("| group | {} |", GROUP_HEADINGS.join(" | ")),
            "|---|---|---|---|---|---|---|".to_owned(),
        ];
        rows.extend(pair.found.groups.iter().map(|it| row(&group_cells(it, several))));
        sections.push(rows.join("\n"));
        let mut rows = vec![
            "| test | here | there | here / there | |".to_owned(),
            "|---|---|---|---|---|".to_owned(),
        ];
        rows.extend(pair.found.tests.iter().map(|test| row(&cells(test, several))));
        if !pair.found.tests.is_empty() {
            sections.push(rows.join("\n"));
        }
        if !pair.disagreements.is_empty() {
            let lines = pair.disagreements.iter().map(|line| format!("- {}", escaped(line)));
            let lines: Vec<String> = lines.collect();
            let title = "Where they differ, the largest differences first:";
            sections.push(format!("{title}\n\n{}", lines.join("\n")));
        }
    }
    let (here, there) = (&beside.ours.study.id, &beside.theirs.study.id);
    sections.push(format!("Here: study {}. There: study {}.", escaped(here), escaped(there)));
    sections.join("\n\n") + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    ours: &'a str,
    theirs: &'a str,
    differences: &'a [String],
    pairs: Vec<PairRow<'a>>,
}

#[derive(Serialize)]
struct PairRow<'a> {
    base: &'a str,
    system: &'a str,
    their_base: &'a str,
    their_system: &'a str,
    /// Of the logarithms of relative QPS.
    correlation: Option<Interval>,
    /// Root mean square of the logarithm of the quotient.
    rms_log: Number,
    agrees: usize,
    differs: usize,
    unknown: usize,
    tests: Vec<TestRow<'a>>,
    groups: Vec<GroupRow<'a>>,
}

#[derive(Serialize)]
struct TestRow<'a> {
    test: &'a str,
    group: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    rqps: Interval,
    their_rqps: Interval,
    /// `rqps` divided by `their_rqps`.
    quotient: Interval,
    agreement: &'static str,
}

#[derive(Serialize)]
struct GroupRow<'a> {
    group: &'a str,
    clients: u32,
    tables: u32,
    rows: u32,
    n: u32,
    median: Number,
    min: Number,
    max: Number,
    their_median: Number,
    their_min: Number,
    their_max: Number,
}

fn document<'a>(beside: &'a Beside<'a>) -> Document<'a> {
    let name = |record: &'a StudyRecord, index: usize| {
        record.systems.get(index).map_or("", |system| system.name.as_str())
    };
    let pair = |pair: &'a Pair<'a>| {
        let found = &pair.found;
        let count = |kind| found.tests.iter().filter(|test| test.agreement == kind).count();
        PairRow {
            base: name(beside.ours, found.ours[0]),
            system: name(beside.ours, found.ours[1]),
            their_base: name(beside.theirs, found.theirs[0]),
            their_system: name(beside.theirs, found.theirs[1]),
            correlation: found.correlation.map(Into::into),
            rms_log: Number(found.rms),
            agrees: count(Agreement::Agrees),
            differs: count(Agreement::Differs),
            unknown: count(Agreement::Unknown),
            tests: found.tests.iter().map(test_row).collect(),
            groups: (found.groups.iter())
                .map(|it| GroupRow {
                    group: &it.group.word,
                    clients: it.setup.clients,
                    tables: it.setup.tables,
                    rows: it.setup.rows,
                    n: it.tests,
                    median: it.ours.into(),
                    min: it.our_range[0].into(),
                    max: it.our_range[1].into(),
                    their_median: it.theirs.into(),
                    their_min: it.their_range[0].into(),
                    their_max: it.their_range[1].into(),
                })
                .collect(),
        }
    };
    Document {
        schema: SCHEMA,
        ours: &beside.ours.study.id,
        theirs: &beside.theirs.study.id,
        differences: &beside.differences,
        pairs: beside.pairs.iter().map(pair).collect(),
    }
}

fn test_row(test: &TestBeside) -> TestRow<'_> {
    let setup = test.cell.setup;
    TestRow {
        test: &test.cell.test.definition().name,
        group: &test.group.word,
        clients: setup.clients,
        tables: setup.tables,
        rows: setup.rows,
        rqps: test.ours.into(),
        their_rqps: test.theirs.into(),
        quotient: test.quotient.into(),
        agreement: word(test.agreement),
    }
}

/// The columns of the CSV, and where JSON has them.
const COLUMNS: [csv::Column; 19] = [
    ("base", "/base"),
    ("system", "/system"),
    ("their_base", "/their_base"),
    ("their_system", "/their_system"),
    ("test", "/test"),
    ("group", "/group"),
    ("clients", "/clients"),
    ("tables", "/tables"),
    ("rows", "/rows"),
    ("rqps", "/rqps/value"),
    ("rqps_low", "/rqps/low"),
    ("rqps_high", "/rqps/high"),
    ("their_rqps", "/their_rqps/value"),
    ("their_rqps_low", "/their_rqps/low"),
    ("their_rqps_high", "/their_rqps/high"),
    ("quotient", "/quotient/value"),
    ("quotient_low", "/quotient/low"),
    ("quotient_high", "/quotient/high"),
    ("agreement", "/agreement"),
];

/// A test with the systems of its pair.
#[derive(Serialize)]
struct Line<'a> {
    base: &'a str,
    system: &'a str,
    their_base: &'a str,
    their_system: &'a str,
    #[serde(flatten)]
    test: TestRow<'a>,
}

fn table_of_values(beside: &Beside) -> String {
    let lines = document(beside).pairs.into_iter().flat_map(|pair| {
        let PairRow { base, system, their_base, their_system, tests, .. } = pair;
        let line = move |test| Line { base, system, their_base, their_system, test };
        tests.into_iter().map(line)
    });
    csv::table(&COLUMNS, lines)
}

/// Side of the square in which a scatter plot is drawn.
const SIDE: f64 = 320.0;

/// A point of a scatter plot.
struct Point {
    x: f64,
    y: f64,
    /// Both ends of the interval of the first study; the point itself if it has none.
    low: f64,
    high: f64,
    class: &'static str,
    title: String,
}

/// A scatter plot: relative QPS there along x, here along y, both on the same logarithmic scale.
struct Scatter {
    points: Vec<Point>,
    /// Positions and labels of the axes' marks.
    marks: Vec<(f64, f64, String)>,
}

/// Ratios with a mark.
const MARKS: [f64; 19] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 3.0, 4.0, 6.0, 10.0,
];

fn scatter(pair: &Pair) -> Scatter {
    let values = pair.found.tests.iter().flat_map(|test| [test.ours.value, test.theirs.value]);
    let (low, high) =
        values.fold((0.9_f64, 1.1_f64), |(low, high), it| (low.min(it), high.max(it)));
    let (low, high) = (low / 1.03, high * 1.03);
    let at = |ratio: f64| SIDE * ((ratio / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
    let point = |test: &TestBeside| {
        let interval = Some(test.ours).filter(|it| it.has_interval() && it.low > 0.0);
        let [name, here, there, ..] = cells(test, false);
        Point {
            x: at(test.theirs.value),
            y: SIDE - at(test.ours.value),
            low: SIDE - at(interval.map_or(test.ours.value, |it| it.low)),
            high: SIDE - at(interval.map_or(test.ours.value, |it| it.high)),
            class: word(test.agreement),
            title: format!("{name}: {here} here, {there} there"),
        }
    };
    let mut marks: Vec<(f64, f64, String)> = Vec::new();
    for ratio in MARKS.into_iter().filter(|it| (low..=high).contains(it)) {
        // Labels must not touch each other.
        if marks.last().is_none_or(|(last, ..)| at(ratio) - last > 28.0) {
            marks.push((at(ratio), SIDE - at(ratio), format!("{ratio}")));
        }
    }
    Scatter { points: pair.found.tests.iter().map(point).collect(), marks }
}

#[derive(Template)]
#[template(path = "beside.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    lines: Vec<String>,
    ours: &'a str,
    theirs: &'a str,
    pairs: Vec<PairPage<'a>>,
}

struct PairPage<'a> {
    heading: String,
    scatter: Scatter,
    headings: [&'static str; 4],
    group_headings: [&'static str; 6],
    groups: Vec<[String; 7]>,
    rows: Vec<(&'static str, [String; 5])>,
    disagreements: &'a [String],
}

fn page(beside: &Beside) -> String {
    let several = has_several(beside);
    let pairs = beside.pairs.iter().map(|pair| PairPage {
        heading: heading(pair),
        scatter: scatter(pair),
        headings: HEADINGS,
        group_headings: GROUP_HEADINGS,
        groups: pair.found.groups.iter().map(|it| group_cells(it, several)).collect(),
        rows: (pair.found.tests.iter())
            .map(|test| (word(test.agreement), cells(test, several)))
            .collect(),
        disagreements: &pair.disagreements,
    });
    let page = Page {
        policy: html::policy(),
        style: html::STYLE,
        lines: prose(beside),
        ours: &beside.ours.study.id,
        theirs: &beside.theirs.study.id,
        pairs: pairs.collect(),
    };
    page.to_string() + "\n"
}
