//! Claims and findings in words.

use std::collections::BTreeSet;

use assay_model::{Counted, Estimate, Quantity, Region, Relation, Share, counted};
use assay_verdict::{ClaimFigure, ClaimStatus};

use super::checked::CheckedPart;
use crate::number::{NONE, Rate};
use crate::ratio::{Quotient, Ratio};

const EXCEPTIONS: usize = 8;

/// `rqps > 1 in exactly 7 of 9 tests; point, 1 client`.
pub(super) fn claimed(part: &CheckedPart) -> String {
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

fn share(share: Share, of_what: Counted) -> String {
    let (one, several) = match of_what {
        Counted::Tests => ("test", "tests"),
        Counted::Cells => ("cell", "cells"),
    };
    match share {
        Share::Every => format!("every {one}"),
        Share::None => format!("no {one}"),
        Share::Most => format!("most {several}"),
        Share::Part(part) => format!("at least {} of {several}", crate::number::share(part)),
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
pub(super) fn found(part: &CheckedPart) -> String {
    if !part.missing.is_empty() {
        return part.missing.join("; ");
    }
    let quantity = part.statement.quantity;
    let figures = &part.checked.figures;
    match figures.as_slice() {
        [] => "nothing of it was measured".to_owned(),
        [(only, _)] => format!("{} ({})", shown(quantity, only.value), place(only)),
        several => {
            let [holds, fails, unknown] = part.checked.counts;
            let what = match part.statement.counted {
                Counted::Tests if part.statement.summary.is_none() => "test",
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
            words.extend(extent(quantity, several));
            words.join("; ")
        }
    }
}

fn extent(quantity: Quantity, figures: &[(ClaimFigure, ClaimStatus)]) -> Option<String> {
    let values = || figures.iter().filter_map(|(it, _)| it.value);
    let least = values().min_by(|one, other| one.value.total_cmp(&other.value))?;
    let most = values().max_by(|one, other| one.value.total_cmp(&other.value))?;
    Some(format!("from {} to {}", shown(quantity, Some(least)), shown(quantity, Some(most))))
}

fn common(
    figures: &[(ClaimFigure, ClaimStatus)],
    of: impl Fn(&ClaimFigure) -> String,
) -> Option<String> {
    let all: BTreeSet<String> = figures.iter().map(|(it, _)| of(it)).collect();
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
pub(super) fn exceptions(part: &CheckedPart) -> impl Iterator<Item = String> {
    let checked = &part.checked;
    let is_shown = checked.status != ClaimStatus::Holds && checked.figures.len() > 1;
    let mut odd: Vec<&(ClaimFigure, ClaimStatus)> =
        checked.figures.iter().filter(|(_, it)| is_shown && *it != ClaimStatus::Holds).collect();
    odd.sort_by_key(|(_, status)| *status == ClaimStatus::Unknown);
    let more = odd.len().saturating_sub(EXCEPTIONS);
    let quantity = part.statement.quantity;
    let line = move |(figure, status): &(ClaimFigure, ClaimStatus)| {
        let word = if *status == ClaimStatus::Fails { "not so" } else { "undecided" };
        format!("{word}: {} ({})", shown(quantity, figure.value), place(figure))
    };
    let mut lines: Vec<String> = odd.into_iter().take(EXCEPTIONS).map(line).collect();
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines.into_iter()
}

fn shown(quantity: Quantity, value: Option<Estimate>) -> String {
    match value {
        None => NONE.to_owned(),
        Some(_) if quantity == Quantity::CpuRatio => Quotient(value).value_with_interval(),
        Some(_) if quantity.is_ratio() => Ratio(value).value_with_interval(),
        Some(it) if quantity == Quantity::Sla => {
            if it.value > 0.0 { "met" } else { "missed" }.to_owned()
        }
        Some(_) => Rate(value).to_string(),
    }
}
