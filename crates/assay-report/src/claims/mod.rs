//! Published statements and the evidence for them: `assay claims`.

mod checked;
mod rows;
mod words;

pub use checked::{CheckedClaim, CheckedPart};

use assay_model::counted;
use assay_verdict::ClaimStatus;

use crate::data::json;
use crate::document::{Block, Column, Document, Heading, Row, Table, Wish};
use crate::page::{Content, Page};
use rows::document;
use words::{claimed, exceptions, found};

/// `studies` has the names of the studies searched.
#[must_use]
pub fn claims<'a>(list: &'a [CheckedClaim], studies: &'a [String]) -> Page<'a> {
    Page::new(Checked { list, studies })
}

struct Checked<'a> {
    list: &'a [CheckedClaim],
    studies: &'a [String],
}

impl Content for Checked<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&Document<'_>)) {
        let Self { list, studies } = *self;
        let mut blocks = vec![Block::Answer(vec![answer(list)])];
        blocks.push(Block::Notes(vec![evidence(studies)]));
        if wish.is_terminal() {
            blocks.extend(terminal(list));
        } else {
            blocks.push(Block::Table(table(list)));
        }
        blocks.extend(Block::notes(notes(list).into_iter().map(str::to_owned)));
        let before = "Published statements".to_owned();
        let heading = Heading { before, ..Heading::default() };
        then(&Document { title: heading.line(), heading, blocks, ..Document::default() });
    }

    fn json(&self) -> Option<String> {
        Some(json::text(&document(self.list, self.studies)))
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

fn evidence(studies: &[String]) -> String {
    match studies {
        [only] => format!("study {only}"),
        several => format!("{} studies: {}", several.len(), several.join(", ")),
    }
}

/// Whether a value of unknown uncertainty decided alone.
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

/// A section per statement, with its source unless all have the same.
fn terminal(list: &[CheckedClaim]) -> Vec<Block<'static>> {
    let common = list.first().filter(|it| list.iter().all(|other| other.source == it.source));
    let mut blocks = Block::list(common.map(|it| format!("source: {}", it.source)));
    blocks.extend(list.iter().flat_map(|claim| {
        let status = claim.status();
        let source = common.is_none().then(|| format!("  source: {}", claim.source));
        let reading = claim.reading.iter().map(|it| format!("  read as: {it}"));
        let parts = claim.parts.iter().flat_map(|part| {
            let lines =
                [format!("  claimed: {}", claimed(part)), format!("  found: {}", found(part))];
            lines.into_iter().chain(exceptions(part).map(|it| format!("    {it}")))
        });
        let lines = source.into_iter().chain(reading).chain(parts);
        let heading = format!("{} {}: {}", symbol(status), status.words(), claim.text);
        Block::section(heading, Block::list(lines))
    }));
    blocks
}

fn table(list: &[CheckedClaim]) -> Table {
    let columns = ["result", "claim", "claimed", "found"].map(Column::words);
    let rows = list.iter().map(|claim| {
        let status = claim.status();
        let joined = |of: &dyn Fn(&CheckedPart) -> String| {
            claim.parts.iter().map(of).collect::<Vec<_>>().join("; ")
        };
        Row::new([
            format!("{} {}", symbol(status), status.words()),
            format!("{} ({})", claim.text, claim.source),
            joined(&claimed),
            joined(&found),
        ])
    });
    Table::new(columns.to_vec(), rows)
}
