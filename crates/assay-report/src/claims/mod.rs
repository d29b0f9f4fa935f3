//! Published statements and what the evidence says of them: `assay claims`.

mod checked;
mod rows;
mod words;

pub use checked::{CheckedClaim, CheckedPart};

use assay_model::{counted, printable, printable_lines};
use assay_verdict::ClaimStatus;

use crate::data::json;
use crate::format::{Format, TextOptions};
use crate::markdown::{self, Column};
use crate::text::paint;
use crate::text::wrap::wrap;
use crate::words::sentence;
use rows::document;
use words::{claimed, exceptions, found};

/// Shows statements with what the evidence says of them. `studies` has the names of the studies that were searched.
/// CSV and HTML are no formats of this list; they show its text.
#[must_use]
pub fn claims(
    list: &[CheckedClaim],
    studies: &[String],
    format: Format,
    options: &TextOptions,
) -> String {
    match format {
        Format::Json => json::text(&document(list, studies)),
        Format::Markdown => printable_lines(&in_markdown(list, studies)).into_owned(),
        Format::Text | Format::Html | Format::Csv => text(list, studies, options),
    }
}

/// `5 claims: 3 hold, 1 does not hold, 1 cannot be decided`.
fn answer(list: &[CheckedClaim]) -> String {
    let count = |status| list.iter().filter(|claim| claim.status() == status).count();
    let part = |status, one: &str, several: &str| match count(status) {
        0 => None,
        1 => Some(format!("1 {one}")),
        more => Some(format!("{more} {several}")),
    };
    let parts = [
        part(ClaimStatus::Holds, "holds", "hold"),
        part(ClaimStatus::Fails, "does not hold", "do not hold"),
        part(ClaimStatus::Unknown, "cannot be decided", "cannot be decided"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match (list, parts.as_slice()) {
        ([_], [only]) => only.replacen('1', "the claim", 1),
        _ => format!("{}: {}", counted(list.len() as u64, "claim"), parts.join(", ")),
    }
}

/// The studies, or how many there are.
fn evidence(studies: &[String]) -> String {
    match studies {
        [only] => format!("study {only}"),
        several => format!("{} studies: {}", several.len(), several.join(", ")),
    }
}

/// Whether some value decided by itself because nothing is known of its uncertainty.
fn has_single_values(list: &[CheckedClaim]) -> bool {
    let figures = list.iter().flat_map(|it| &it.parts).flat_map(|part| &part.checked.figures);
    figures.into_iter().any(|(figure, _)| {
        figure.decides_alone && figure.value.is_some_and(|value| !value.has_interval())
    })
}

const SINGLE_VALUES: &str = "the uncertainty of values without an interval is unknown: such a value decides by itself, \
    so another run may decide otherwise";

const INTERVALS: &str = "each value has a 95% interval of its own; a claim about many values is not corrected for \
    their number";

fn notes(list: &[CheckedClaim]) -> Vec<&'static str> {
    let figures = list.iter().flat_map(|it| &it.parts).flat_map(|part| &part.checked.figures);
    let has_intervals =
        figures.into_iter().any(|(it, _)| it.value.is_some_and(|it| it.has_interval()));
    let mut notes = Vec::new();
    notes.extend(has_intervals.then_some(INTERVALS));
    notes.extend(has_single_values(list).then_some(SINGLE_VALUES));
    notes
}

fn symbol(status: ClaimStatus) -> &'static str {
    match status {
        ClaimStatus::Holds => "✓",
        ClaimStatus::Fails => "✗",
        ClaimStatus::Unknown => "?",
    }
}

fn text(list: &[CheckedClaim], studies: &[String], options: &TextOptions) -> String {
    let mut lines = vec![answer(list), format!("  {}", evidence(studies))];
    let common = list.first().filter(|it| list.iter().all(|other| other.source == it.source));
    lines.extend(common.map(|it| format!("  source: {}", it.source)));
    for claim in list {
        let status = claim.status();
        lines.push(String::new());
        lines.push(format!("{} {}: {}", symbol(status), status.words(), claim.text));
        lines.extend(common.is_none().then(|| format!("    source: {}", claim.source)));
        lines.extend(claim.reading.iter().map(|it| format!("    read as: {it}")));
        for part in &claim.parts {
            lines.push(format!("    claimed: {}", claimed(part)));
            lines.push(format!("    found: {}", found(part)));
            lines.extend(exceptions(part).map(|it| format!("      {it}")));
        }
    }
    let notes = notes(list);
    if !notes.is_empty() {
        lines.push(String::new());
    }
    lines.extend(notes.iter().map(|note| format!("  {note}")));
    let shown = lines.iter().flat_map(|line| wrap(&printable(line), options.width));
    let mut shown: Vec<String> = shown.collect();
    if options.color {
        paint::paint(&mut shown);
    }
    shown.join("\n") + "\n"
}

fn in_markdown(list: &[CheckedClaim], studies: &[String]) -> String {
    let columns = ["result", "claim", "claimed", "found"].map(Column::left);
    let rows = list.iter().map(|claim| {
        let status = claim.status();
        let joined = |of: &dyn Fn(&CheckedPart) -> String| {
            claim.parts.iter().map(of).collect::<Vec<_>>().join("; ")
        };
        vec![
            format!("{} {}", symbol(status), status.words()),
            format!("{} ({})", claim.text, claim.source),
            joined(&claimed),
            joined(&found),
        ]
    });
    let mut sections = vec![format!("**{}**", markdown::escaped(&answer(list)))];
    sections.push(markdown::escaped(&sentence(&evidence(studies))));
    sections.push(markdown::table(&columns, rows));
    sections.extend(notes(list).into_iter().map(|note| markdown::escaped(&sentence(note))));
    sections.join("\n\n") + "\n"
}
