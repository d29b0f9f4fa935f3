//! One HTML page: self-contained, works offline, readable without JavaScript.
//!
//! `templates/` gives the report its form. The modules add what only a page has: charts, keys for sorting, words for
//! filters. The page's policy allows exactly this style and this script, by their digests, so text from names and
//! settings can never run.

mod chart;
mod facts;
mod panels;
mod rows;

use askama::Template;
use assay_model::AuditClass;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::charts::curves::inline as curves;
use crate::number::NONE;
use crate::scale::Scale;
use crate::text::matrix::{marked, widest};
use crate::view::Report;
use crate::view::caveats::Caveats;
use crate::view::figure::Figure;
use crate::view::shaded::ShadedTable;
use crate::view::{metrics, published};
use crate::words::{CROSSOVERS_LEGEND, STEPS_LEGEND, Separated, Symbol, sentence};
use chart::Axis;
use panels::panels;
use rows::{Filters, rank, verdict_words};

pub(crate) const STYLE: &str = include_str!("../../templates/page.css");
const SCRIPT: &str = include_str!("../../templates/page.js");

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    report: &'a Report<'a>,
    /// The systems in the table of tests. The twin is not among them; it has a line of its own.
    others: Vec<&'a str>,
    about: Vec<String>,
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

/// Renders the report.
pub(crate) fn render(report: &Report) -> String {
    let systems = report.tests.systems.iter().filter(|system| !system.is_twin);
    let scale = Scale::fitting(&report.ratios, report.threshold);
    let page = Page {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        report,
        others: systems.map(|system| system.label).collect(),
        about: facts::about(&report.conditions),
        caveats: sentences(report),
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
    let mut html = page.to_string();
    html.push('\n');
    html
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

/// The tables of a study as in published posts.
#[derive(Template)]
#[template(path = "published.html")]
struct Published<'a> {
    policy: String,
    style: &'static str,
    report: &'a Report<'a>,
    others: Vec<&'a str>,
    note: &'static str,
    metrics_note: &'static str,
    tables: Vec<ShadedTable>,
}

/// Renders relative QPS as in published posts.
pub(crate) fn render_published(report: &Report) -> String {
    let page = Published {
        policy: policy(),
        style: STYLE,
        report,
        others: report.matrix.labels.iter().skip(1).copied().collect(),
        note: published::NOTE,
        metrics_note: metrics::NOTE,
        tables: published::tables(&report.matrix, report.several_setups),
    };
    format!("{page}\n")
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

/// Forbids every load from outside and every script and style but the page's own.
pub(crate) fn policy() -> String {
    policy_of("form-action 'none'")
}

/// The same with a rule for forms.
pub(crate) fn policy_of(forms: &str) -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; {forms}",
        digest(STYLE),
        digest(SCRIPT)
    )
}
