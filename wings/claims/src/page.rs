//! Published statements and the values found for them. Pure: no I/O, no clock.

use std::collections::BTreeSet;

use assay_claim_check::{
    CheckedClaim, CheckedPart, ClaimFigure, ClaimStatus, MARGIN, Quantity, Region, Relation, Share,
    ShareUnit, Statement, Summary,
};
use assay_model::{Estimate, Setup, counted};
use assay_report::Page;
use assay_report::blocks::{
    self, Block, Column, Heading, Interval, NONE, PageContent, PageDocument, Quotient, Rate, Ratio,
    Row, Table, Wish, versioned,
};
use serde::Serialize;

/// `studies` has the names of the studies searched.
pub fn claims<'a>(list: &'a [CheckedClaim], studies: &'a [String]) -> Page<'a> {
    Page::new(ClaimsPage { list, studies })
}

struct ClaimsPage<'a> {
    list: &'a [CheckedClaim],
    studies: &'a [String],
}

impl PageContent for ClaimsPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let Self { list, studies } = *self;
        let mut blocks = vec![Block::Answer(vec![answer(list)])];
        blocks.push(Block::Notes(vec![searched(studies)]));
        if wish.is_terminal() {
            blocks.extend(terminal(list));
        } else {
            blocks.push(Block::Table(table(list)));
        }
        blocks.extend(Block::notes(notes(list)));
        let before = "Published statements".to_owned();
        let heading = Heading { before, ..Heading::default() };
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        Some(versioned(document(self.list, self.studies)))
    }
}

/// `5 claims: 3 hold, 1 does not hold, 1 cannot be decided`.
pub fn answer(list: &[CheckedClaim]) -> String {
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

fn searched(studies: &[String]) -> String {
    match studies {
        [only] => format!("study {only}"),
        several => format!("{} studies: {}", several.len(), several.join(", ")),
    }
}

/// Whether values of unknown uncertainty decided alone: published ones, and measured ones.
fn single_values(list: &[CheckedClaim]) -> [bool; 2] {
    let figures = list.iter().flat_map(|it| &it.parts).flat_map(|part| &part.checked.figures);
    let alone = figures.map(|(figure, _)| figure).filter(|figure| {
        figure.decides_alone && figure.value.is_some_and(|value| !value.has_interval())
    });
    let (measured, published): (Vec<_>, Vec<_>) = alone.partition(|figure| figure.margin > 0.0);
    [!published.is_empty(), !measured.is_empty()]
}

const SINGLE_VALUES: &str = "the uncertainty of values without an interval is unknown: such a value decides by itself, \
    so another run may decide otherwise";

const INTERVALS: &str = "each value has a 95% interval of its own; a claim about many values is not corrected for \
    their number";

fn notes(list: &[CheckedClaim]) -> Vec<String> {
    let figures = list.iter().flat_map(|it| &it.parts).flat_map(|part| &part.checked.figures);
    let has_intervals =
        figures.into_iter().any(|(it, _)| it.value.is_some_and(|it| it.has_interval()));
    let [published, measured] = single_values(list);
    let mut notes = Vec::new();
    notes.extend(has_intervals.then(|| INTERVALS.to_owned()));
    notes.extend(published.then(|| SINGLE_VALUES.to_owned()));
    notes.extend(measured.then(|| {
        let margin = blocks::share(MARGIN);
        format!(
            "a measured value without an interval decides only if one {margin} larger and one {margin} smaller would \
             decide the same"
        )
    }));
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
        let joined = |show: &dyn Fn(&CheckedPart) -> String| {
            claim.parts.iter().map(show).collect::<Vec<_>>().join("; ")
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

const EXCEPTIONS: usize = 8;

/// `rqps > 1 in exactly 7 of 9 tests; point, 1 client`.
fn claimed(part: &CheckedPart) -> String {
    let statement = &part.statement;
    let summary = statement.summary.map_or_else(String::new, |it| format!("{} ", it.word()));
    let relation = match &statement.relation {
        Relation::In(region) => range(*region),
        Relation::Lowest(words) => format!("lowest in {words}"),
        Relation::Highest(words) => format!("highest in {words}"),
    };
    let scope = if part.scope.is_empty() { "all tests" } else { part.scope.as_str() };
    let share = match statement.summary {
        Some(_) if statement.share == Share::Every => String::new(),
        _ => format!(" in {}", share(statement.share, statement.counted)),
    };
    format!("{summary}{} {relation}{share}; {scope}", statement.quantity.word())
}

fn range(Region { low, high, is_open }: Region) -> String {
    let number = |value: f64| {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let sign = |open: &'static str, closed: &'static str| if is_open { open } else { closed };
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("from {} to {}", number(low), number(high)),
        (true, false) => format!("{} {}", sign(">", "≥"), number(low)),
        (false, true) => format!("{} {}", sign("<", "≤"), number(high)),
        (false, false) => "any".to_owned(),
    }
}

fn share(share: Share, of_what: ShareUnit) -> String {
    let (one, several) = match of_what {
        ShareUnit::Tests => ("test", "tests"),
        ShareUnit::Cells => ("cell", "cells"),
    };
    match share {
        Share::Every => format!("every {one}"),
        Share::None => format!("no {one}"),
        Share::Most => format!("most {several}"),
        Share::Part(part) => format!("at least {} of {several}", blocks::share(part)),
        Share::Count { least, most, of } => {
            let bound = match (least, most) {
                (least, most) if least == most => format!("exactly {least}"),
                (least, u32::MAX) => format!("at least {least}"),
                (_, most) => format!("at most {most}"),
            };
            let what = if bound.ends_with(" 1") { one } else { several };
            of.map_or_else(|| format!("{bound} {what}"), |of| format!("{bound} of {of} {several}"))
        }
    }
}

/// `7 of 9 tests; mariadb@13.0.0 / mariadb@10.2.30; values from 0.95 to 1.21`.
fn found(part: &CheckedPart) -> String {
    if !part.missing.is_empty() {
        return part.missing.join("; ");
    }
    let statement = &part.statement;
    let figures = &part.checked.figures;
    match figures.as_slice() {
        [] => "nothing of it was measured".to_owned(),
        [(only, _)] => format!("{} ({})", shown(statement, only.value), place(only)),
        several => {
            let [holds, fails, unknown] = part.checked.counts;
            let what = match part.statement.counted {
                ShareUnit::Tests if part.statement.summary.is_none() => "test",
                _ => "value",
            };
            let all = u64::from(holds + fails + unknown);
            let unknown = match unknown {
                0 => String::new(),
                more => format!(", {more} undecided"),
            };
            let count = format!("{holds} of {}{unknown}", counted(all, what));
            let mut words = vec![count];
            words.extend(common(several, pair));
            words.extend(extent(statement, several));
            words.join("; ")
        }
    }
}

fn extent(statement: &Statement, figures: &[(ClaimFigure, ClaimStatus)]) -> Option<String> {
    let values = || figures.iter().filter_map(|(it, _)| it.value);
    let least = values().min_by(|one, other| one.value.total_cmp(&other.value))?;
    let most = values().max_by(|one, other| one.value.total_cmp(&other.value))?;
    Some(format!("from {} to {}", shown(statement, Some(least)), shown(statement, Some(most))))
}

fn common(
    figures: &[(ClaimFigure, ClaimStatus)],
    show: impl Fn(&ClaimFigure) -> String,
) -> Option<String> {
    let all: BTreeSet<String> = figures.iter().map(|(it, _)| show(it)).collect();
    (all.len() == 1).then(|| all.into_iter().next()).flatten()
}

fn pair(figure: &ClaimFigure) -> String {
    match &figure.than {
        Some(than) => format!("{} / {than}", figure.system),
        None => figure.system.clone(),
    }
}

/// `update-one, 4 clients, mariadb@13.0.0 / mariadb@10.2.30`.
fn place(figure: &ClaimFigure) -> String {
    let test = match &figure.test {
        Some(test) => test.clone(),
        None => counted(figure.tests, "test"),
    };
    let clients = counted(figure.setup.clients, "client");
    format!("{test}, {clients}, {}", pair(figure))
}

/// Values that contradict the claim, or leave it open, in the order found. Empty if the claim holds.
fn exceptions(part: &CheckedPart) -> impl Iterator<Item = String> {
    let checked = &part.checked;
    let is_shown = checked.status != ClaimStatus::Holds && checked.figures.len() > 1;
    let mut odd: Vec<&(ClaimFigure, ClaimStatus)> =
        checked.figures.iter().filter(|(_, it)| is_shown && *it != ClaimStatus::Holds).collect();
    odd.sort_by_key(|(_, status)| *status == ClaimStatus::Unknown);
    let more = odd.len().saturating_sub(EXCEPTIONS);
    let statement = &part.statement;
    let line = move |(figure, status): &(ClaimFigure, ClaimStatus)| {
        let word = if *status == ClaimStatus::Fails { "not so" } else { "undecided" };
        format!("{word}: {} ({})", shown(statement, figure.value), place(figure))
    };
    let mut lines: Vec<String> = odd.into_iter().take(EXCEPTIONS).map(line).collect();
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines.into_iter()
}

fn shown(statement: &Statement, value: Option<Estimate>) -> String {
    let quantity = statement.quantity;
    match value {
        None => NONE.to_owned(),
        // A deviation is no ratio.
        Some(_) if statement.summary == Some(Summary::Stddev) => Rate(value).to_string(),
        Some(_) if quantity == Quantity::Rqps => Ratio(value).value_with_interval(),
        Some(_) if quantity.is_ratio() => Quotient(value).value_with_interval(),
        Some(it) if quantity.is_yes_or_no() => {
            if it.value > 0.0 { "met" } else { "missed" }.to_owned()
        }
        Some(_) => Rate(value).to_string(),
    }
}

#[derive(Serialize)]
struct ClaimsDocument<'a> {
    studies: &'a [String],
    claims: Vec<ClaimRow<'a>>,
}

#[derive(Serialize)]
struct ClaimRow<'a> {
    text: &'a str,
    source: &'a str,
    reading: Option<&'a str>,
    status: &'static str,
    parts: Vec<ClaimPartRow<'a>>,
}

#[derive(Serialize)]
struct ClaimPartRow<'a> {
    status: &'static str,
    quantity: String,
    summary: Option<&'static str>,
    claimed: String,
    found: String,
    missing: &'a [String],
    as_claimed: u32,
    not_so: u32,
    undecided: u32,
    figures: Vec<ClaimFigureRow<'a>>,
}

#[derive(Serialize)]
struct ClaimFigureRow<'a> {
    study: &'a str,
    system: &'a str,
    than: Option<&'a str>,
    test: Option<&'a str>,
    tests: u32,
    #[serde(flatten)]
    setup: Setup,
    value: Option<Interval>,
    status: &'static str,
}

/// For scripts.
pub fn document<'a>(list: &'a [CheckedClaim], studies: &'a [String]) -> impl Serialize {
    let claims = list.iter().map(|claim| ClaimRow {
        text: &claim.text,
        source: &claim.source,
        reading: claim.reading.as_deref(),
        status: claim.status().words(),
        parts: claim.parts.iter().map(part).collect(),
    });
    ClaimsDocument { studies, claims: claims.collect() }
}

fn part(part: &CheckedPart) -> ClaimPartRow<'_> {
    let [as_claimed, not_so, undecided] = part.checked.counts;
    ClaimPartRow {
        status: part.checked.status.words(),
        quantity: part.statement.quantity.word(),
        summary: part.statement.summary.map(|it| it.word()),
        claimed: claimed(part),
        found: found(part),
        missing: &part.missing,
        as_claimed,
        not_so,
        undecided,
        figures: part.checked.figures.iter().map(figure).collect(),
    }
}

fn figure((figure, status): &(ClaimFigure, ClaimStatus)) -> ClaimFigureRow<'_> {
    ClaimFigureRow {
        study: &figure.study,
        system: &figure.system,
        than: figure.than.as_deref(),
        test: figure.test.as_deref(),
        tests: figure.tests,
        setup: figure.setup,
        value: figure.value.map(Interval::from),
        status: status.words(),
    }
}
