//! `assay report --beside`: a study beside another one, in every format.

use askama::Template;
use assay_model::{StudyRecord, printable, printable_lines};
use assay_verdict::{Agreement, Judged, Judgement, TestBeside};
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

/// Renders a study beside another one. Ends with a line feed.
#[must_use]
pub fn render_beside(
    ours: (&StudyRecord, &Judgement),
    theirs: (&StudyRecord, &Judgement),
    format: Format,
    options: &TextOptions,
) -> String {
    let judged = |(record, judgement)| Judged { record, judgement };
    let beside = Beside::new(judged(ours), judged(theirs));
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
        lines.extend(table(pair, has_several(beside)));
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

fn table(pair: &Pair, several: bool) -> Vec<String> {
    let mut table = plain_table();
    let headings = HEADINGS.map(left);
    table.set_header(std::iter::once(left("test")).chain(headings));
    let mut group = "";
    for test in &pair.found.tests {
        if test.group.word != group {
            group = &test.group.word;
            let of_group = pair
                .found
                .groups
                .iter()
                .find(|it| it.group.word == group && it.setup == test.cell.setup);
            let median =
                |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.2}"));
            let quotient = of_group.map(|it| it.ours / it.theirs);
            table.add_row([
                left(format!("{group}, median")),
                left(median(of_group.map(|it| it.ours))),
                left(median(of_group.map(|it| it.theirs))),
                left(median(quotient)),
                right(""),
            ]);
        }
        let [name, rest @ ..] = cells(test, several);
        table.add_row(std::iter::once(left(format!("   {name}"))).chain(rest.map(left)));
    }
    trimmed(&table)
}

fn in_markdown(beside: &Beside) -> String {
    let escaped = markdown::escaped;
    let mut sections: Vec<String> = prose(beside).iter().map(|line| escaped(line)).collect();
    for pair in &beside.pairs {
        let mut rows = vec![
            "| test | here | there | here / there | |".to_owned(),
            "|---|---|---|---|---|".to_owned(),
        ];
        rows.extend(pair.found.tests.iter().map(|test| {
            let cells = cells(test, has_several(beside)).map(|cell| escaped(&cell));
            format!("| {} |", cells.join(" | "))
        }));
        sections.push(format!("### {}\n\n{}", escaped(&heading(pair)), rows.join("\n")));
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
    their_median: Number,
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
            tests: found.tests.iter().map(test_row).collect(),
            groups: (found.groups.iter())
                .map(|it| GroupRow {
                    group: &it.group.word,
                    clients: it.setup.clients,
                    tables: it.setup.tables,
                    rows: it.setup.rows,
                    n: it.tests,
                    median: it.ours.into(),
                    their_median: it.theirs.into(),
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
const COLUMNS: [csv::Column; 17] = [
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
    rows: Vec<(&'static str, [String; 5])>,
    disagreements: &'a [String],
}

fn page(beside: &Beside) -> String {
    let several = has_several(beside);
    let pairs = beside.pairs.iter().map(|pair| PairPage {
        heading: heading(pair),
        scatter: scatter(pair),
        headings: HEADINGS,
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
