//! One HTML page: offline, nothing outside of it, readable without JavaScript.
//!
//! Each section is a module that turns the study into words; `templates/` gives them their form. The page's policy lets
//! exactly this style and this script run, by their digests: whatever a name or a setting holds stays text.

mod answer;
mod chart;
mod conditions;
mod figure;
mod groups;
mod tests;

use askama::Template;
use assay_model::StudyRecord;
use assay_verdict::Judgement;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::label::label;
use crate::number::duration;
use crate::words::{base_index, command, rfc3339};
use answer::Answer;
use chart::{Axis, Scale};
use conditions::Conditions;
use groups::GroupRow;
use tests::Tests;

const STYLE: &str = include_str!("../../templates/page.css");
const SCRIPT: &str = include_str!("../../templates/page.js");

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    title: String,
    base: String,
    others: Vec<String>,
    /// Date, preset, duration and machine in short.
    about: Vec<String>,
    answer: Answer,
    groups: Vec<GroupRow>,
    several_setups: bool,
    axis: Axis,
    tests: Tests,
    figures: &'static [(&'static str, &'static str)],
    conditions: Conditions,
    command: Option<&'a str>,
    recipe: &'a str,
    id: &'a str,
}

/// Renders the report.
pub(crate) fn render(record: &StudyRecord, judgement: &Judgement) -> String {
    let systems = record.systems.iter().enumerate();
    let others: Vec<String> = systems
        .filter(|(_, system)| !system.is_base && !system.is_twin)
        .map(|(index, _)| label(record, index))
        .collect();
    let base = label(record, base_index(record));
    let estimates = judgement.cells.iter().filter_map(|cell| cell.rqps);
    let scale = Scale::fitting(estimates, record.study.threshold);
    let page = Page {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        title: format!("{base} against {}", others.join(", ")),
        base,
        others,
        about: about(record),
        answer: Answer::new(record, judgement, scale),
        groups: groups::rows(record, judgement, scale),
        several_setups: record.study.setups.len() > 1,
        axis: Axis { scale, distance: 12.0 },
        tests: Tests::new(record, judgement, scale),
        figures: &tests::FIGURES,
        conditions: Conditions::new(record, judgement),
        command: command(record),
        recipe: record.study.recipe.trim_end(),
        id: &record.study.id,
    };
    let mut html = page.to_string();
    html.push('\n');
    html
}

fn about(record: &StudyRecord) -> Vec<String> {
    let (study, host) = (&record.study, record.host());
    let date = rfc3339(study.started_ms).map(|moment| moment.chars().take(10).collect());
    let mut about: Vec<String> = date.into_iter().collect();
    about.extend([
        format!("study {}", study.id),
        format!("preset {}", study.preset.word()),
        duration(record.elapsed_s()),
        format!("{} × {}", host.cpus, host.cpu),
    ]);
    about
}

/// Forbids every load from outside and every script and style but the page's own.
fn policy() -> String {
    let digest = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}
