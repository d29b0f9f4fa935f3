//! The page of a study beside another one, and its scatter plots.

use askama::Template;
use assay_verdict::TestBeside;

use super::words::{
    GROUP_HEADINGS, HEADINGS, cells, group_cells, has_several, heading, prose, word,
};
use crate::charts::paper::{MARGIN, Paper};
use crate::charts::{ChartFile, Place, scatter, stem};
use crate::html;
use crate::view::beside::{Beside, Pair};

/// A point in words.
fn title(test: &TestBeside) -> String {
    let [name, here, there, ..] = cells(test, false);
    format!("{name}: {here} here, {there} there")
}

/// The scatter plot of a pair, as a part of the page.
fn inline(pair: &Pair) -> String {
    let (width, height) = scatter::PLOT;
    let mut paper = Paper::new(width);
    scatter::draw(&mut paper, (0.0, 0.0), &pair.found.tests, title);
    let label = "Relative QPS of every test, here over there; the table below has the numbers";
    paper.inline(height, label)
}

/// The scatter plots of all pairs with tests, as files.
pub(super) fn charts(beside: &Beside) -> Vec<ChartFile> {
    let pairs = beside.pairs.iter().filter(|pair| !pair.found.tests.is_empty());
    pairs.map(chart).collect()
}

fn chart(pair: &Pair) -> ChartFile {
    let [_, other] = &pair.names;
    let heading = format!("{other}: relative QPS here and there");
    let notes = [heading_of(pair), pair.answer.clone(), scatter::note(&pair.found.tests)];
    let (width, height) = scatter::PLOT;
    let (mut paper, top) = Paper::titled(width + 2.0 * MARGIN, &heading, &notes);
    scatter::draw(&mut paper, (MARGIN, top), &pair.found.tests, title);
    let told: Vec<String> = pair.found.tests.iter().map(title).collect();
    ChartFile {
        name: stem("beside", [Some(other.clone())]),
        alt: heading.clone(),
        svg: paper.file(
            top + height,
            &heading,
            &format!("{} {}.", notes.join(" "), told.join("; ")),
        ),
        place: Place::Elsewhere,
    }
}

fn heading_of(pair: &Pair) -> String {
    format!("{}.", heading(pair))
}

#[derive(Template)]
#[template(path = "beside.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    lines: Vec<String>,
    /// The systems that are compared: `mariadb@11.8 against mariadb@10.11`.
    title: String,
    ours: &'a str,
    theirs: &'a str,
    pairs: Vec<PairPage<'a>>,
}

struct PairPage<'a> {
    heading: String,
    /// The scatter plot as markup, and what it shows; `None` without tests.
    scatter: Option<(String, String)>,
    headings: [&'static str; 4],
    group_headings: [&'static str; 6],
    groups: Vec<[String; 7]>,
    rows: Vec<(&'static str, [String; 5])>,
    disagreements: &'a [String],
}

/// The systems of all pairs.
fn title_of(beside: &Beside) -> String {
    let base = beside.pairs.first().map(|pair| pair.names[0].clone());
    let others: Vec<&str> = beside.pairs.iter().map(|pair| pair.names[1].as_str()).collect();
    match base {
        Some(base) => format!("{base} (base) against {}", others.join(", ")),
        None => "No system in common".to_owned(),
    }
}

pub(super) fn render(beside: &Beside) -> String {
    let several = has_several(beside);
    let pairs = beside.pairs.iter().map(|pair| PairPage {
        heading: heading(pair),
        scatter: (!pair.found.tests.is_empty())
            .then(|| (inline(pair), scatter::note(&pair.found.tests))),
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
        title: title_of(beside),
        ours: &beside.ours.study.id,
        theirs: &beside.theirs.study.id,
        pairs: pairs.collect(),
    };
    page.to_string() + "\n"
}
