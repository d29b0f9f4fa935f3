//! The parts of the page of a study that only a page has: charts, keys for sorting, words for filters. `templates/`
//! gives them their form.

mod chart;
mod facts;
mod panels;
mod rows;

use askama::Template;
use assay_model::AuditClass;

use crate::charts::compared;
use crate::charts::curves::inline as curves;
use crate::document::{Block, Document, Heading};
use crate::number::NONE;
use crate::report::tests::{marked, widest};
use crate::scale::Scale;
use crate::view::Report;
use crate::view::caveats::Caveats;
use crate::view::figure::Figure;
use crate::words::{CROSSOVERS_LEGEND, STEPS_LEGEND, Separated, Symbol, sentence};
use chart::Axis;
use panels::panels;
use rows::{Filters, rank, verdict_words};

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    report: &'a Report<'a>,
    /// The systems in the table of tests. The twin is not among them; it has a line of its own.
    others: Vec<&'a str>,
    caveats: Caveats,
    scale: Scale,
    axis: Axis,
    /// The axis of a column of a table.
    column_axis: Axis,
    /// Whether any system but the twin has a group with a relative QPS.
    has_groups: bool,
    /// Whether it is told what the changes of any group come from.
    has_group_reasons: bool,
    filters: Filters<'a>,
    figures: Vec<Figure>,
    /// Figures with columns of their own, where one system is compared with the base.
    changes: Vec<Figure>,
    facts: Vec<(&'static str, String)>,
    none: &'static str,
}

/// The warnings that stand above the heading.
#[derive(Template)]
#[template(path = "stamp.html")]
struct Stamp<'a> {
    caveats: &'a Caveats,
}

/// The page.
pub(crate) fn document<'a>(report: &Report) -> Document<'a> {
    let others = compared(report);
    let heading = Heading::of(report.base, &others);
    let caveats = sentences(report);
    Document {
        title: heading.line(),
        heading,
        about: facts::about(&report.conditions),
        above: vec![Block::Markup(Stamp { caveats: &caveats }.to_string())],
        places: places(report),
        has_script: true,
        repeats_answer: false,
        blocks: vec![Block::Markup(body(report, caveats))],
    }
}

/// The sections that the page has.
fn places(report: &Report) -> Vec<(&'static str, &'static str)> {
    let all = [
        (true, "groups", "Groups"),
        (report.matrix.labels.len() > 2, "matrix", "Matrix"),
        (!report.versions.is_empty(), "versions", "Versions"),
        (report.sweep.is_some(), "clients", "Clients"),
        (!report.is_large, "tests", "Tests"),
        (report.has_profiles(), "profiles", "Profiles"),
        (!report.steps.is_empty(), "steps", "Steps"),
        (!report.crossovers.is_empty(), "crossovers", "Crossovers"),
        (true, "conditions", "Conditions"),
        (true, "audit", "Audit"),
        (true, "again", "Reproduce"),
    ];
    all.into_iter().filter(|(has, ..)| *has).map(|(_, id, name)| (id, name)).collect()
}

fn body(report: &Report, caveats: Caveats) -> String {
    let scale = Scale::fitting(&report.ratios, report.threshold);
    let page = Page {
        report,
        others: compared(report),
        caveats,
        scale,
        axis: Axis { scale, distance: 12.0 },
        column_axis: Axis { scale, distance: 25.0 },
        has_groups: report.groups.iter().any(|row| !row.is_twin),
        has_group_reasons: report.groups.iter().any(|row| !row.is_twin && row.why.is_some()),
        filters: Filters::new(report),
        figures: report.tests.details.clone(),
        changes: changes(report),
        facts: facts::facts(&report.conditions),
        none: NONE,
    };
    page.to_string()
}

/// The figures per operation that a page shows as base → system, if that is one and they were measured.
fn changes(report: &Report) -> Vec<Figure> {
    if report.tests.systems.iter().filter(|system| !system.is_twin).count() != 1 {
        return Vec::new();
    }
    let rows = || report.tests.sections.iter().flat_map(|section| &section.rows);
    let figures = [Figure::ServerCpu, Figure::ClientCpu, Figure::ContextSwitches];
    let is_known = |figure: &Figure| rows().any(|row| !row.change(figure).is_empty());
    figures.into_iter().filter(is_known).collect()
}

/// The caveats as sentences.
fn sentences(report: &Report) -> Caveats {
    let caveats = &report.caveats;
    let mut warnings = caveats.warnings.clone();
    let systems = report.conditions.systems.iter();
    for system in systems.filter(|system| !system.is_twin && !system.is_released) {
        warnings.push(format!(
            "{} is from {}, which is not a release channel",
            system.label, system.origin
        ));
    }
    let sentences = |lines: &[String]| lines.iter().map(|line| sentence(line)).collect();
    Caveats {
        suspicious: caveats.suspicious.clone(),
        twins: caveats.twins.iter().map(|twin| sentence(twin)).collect(),
        warnings: sentences(&warnings),
        notes: sentences(&caveats.notes),
        unmeasured: caveats.unmeasured.as_deref().map(sentence),
        basis: sentence(&caveats.basis),
    }
}

/// A part of a whole in percent.
fn percent(share: &f64) -> String {
    format!("{:.1}", 100.0 * share)
}
